"""The requests in brokers' request logs as a table with one row each. Rows are read lazily, as logs may be large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.answer import Answer, Column, Table
from kwire_cli.source.request_log.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.answer import Row
    from kwire_cli.source.request_log.reading import LineFault

MOST = 500
"""Maximum number of rows that are displayed."""
COLUMNS = (
    Column("file", keep=9),
    Column("line", "id", keep=3),
    Column("time", "instant", keep=1),
    Column("client", keep=6),
    Column("broker", keep=8),
    Column("principal", keep=7),
    Column("clientId", title="client id"),
    Column("software", keep=10),
    Column("api"),
    Column("apiVersion", "id", title="ver", keep=2),
    Column("correlationId", "id", title="corr", keep=5),
    Column("topics", "list", keep=4),
    Column("latencySeconds", "duration", title="latency", unit="ms"),
    Column("error", "list", level="error"),
)


def logged_requests(logs: Iterable[tuple[str | None, Iterable[Exchange | LineFault]]]) -> Answer:
    """Return the requests of request logs as a table. Its rows are read lazily, while they are written.

    The logs are pairs of a name and its requests. The name is None if there is only one log. The latency is the total
    time of the request in the log.
    """
    return Answer("Logged requests", [Table("requests", COLUMNS, _rows(logs), shown=MOST)])


def _rows(logs: Iterable[tuple[str | None, Iterable[Exchange | LineFault]]]) -> Iterator[Row]:
    names: dict[str, str] = {}
    for name, entries in logs:
        for entry in entries:
            if isinstance(entry, Exchange):
                names.update(entry.named)
                topics = dict.fromkeys(names.get(topic, topic) for topic in entry.topics)
                yield _row(name, entry, [*topics])


def _row(name: str | None, entry: Exchange, topics: list[str]) -> Row:
    return (
        name,
        entry.line,
        entry.time,
        entry.client,
        entry.broker,
        entry.principal,
        entry.client_id,
        entry.software,
        entry.api or str(entry.api_key),
        entry.api_version,
        entry.correlation_id,
        topics,
        entry.seconds,
        [str(error) for error in entry.errors],
    )
