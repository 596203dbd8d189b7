"""The state in Kafka's internal topics, as an Answer: a table for each kind of row, such as topics or groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.state.lag import add_lag
from kwire_cli.analysis.state.tables import LISTINGS
from kwire_cli.answer import Answer, Column, Note, Table
from kwire_cli.spec.kafka import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire_cli.analysis.state.model import State
    from kwire_cli.records.batch import Hide
    from kwire_cli.source.log_inputs import LogFile

    Row = dict[str, Any]

LOGS = (
    Column("topic"),
    Column("partition", "id"),
    Column("snapshot", keep=2),
    Column("firstOffset", "id", keep=1),
    Column("lastOffset", "id"),
    Column("records", "count"),
    Column("unknown", "map", level="warning"),
    Column("undecoded", "count", level="warning"),
    Column("unapplied", "map", level="warning", keep=3),
    Column("notes", "list", level="warning"),
)
"""A log that was read: its snapshot and its offsets, then the records that could not be applied (`State`),
and `notes` on damage."""


def state_answer(parts: Sequence[State], *, hide: Hide | None, beside: Iterable[LogFile] | None = None) -> Answer:
    """Return the states of partitions: the tables of each topic, then the logs that were read.

    `hide` returns the spans to redact in a payload. With None, nothing is redacted. The lag is computed from the logs
    of other topics in the log directories of the files `beside`.
    """
    notes: list[Note] = []
    tables: list[Table] = []
    for topic in dict.fromkeys(part.topic for part in parts):
        rows: dict[str, list[Row]] = {listing.name: [] for listing in LISTINGS[topic]}
        for part in parts:
            for name, row in part.all_rows(hide=hide) if part.topic == topic else ():
                rows[name].append(row)
        if beside is not None and topic == CONSUMER_OFFSETS:
            notes = add_lag(rows, beside)
        tables += (listing.table(rows[listing.name]) for listing in LISTINGS[topic])
    return Answer("State", [*tables, Table("logs", LOGS, [*map(_log, parts)], title="logs"), *notes])


def _log(part: State) -> tuple[Any, ...]:
    passed = part.passed
    return (
        part.topic,
        part.partition,
        part.snapshot,
        passed.first,
        passed.last,
        passed.records,
        dict(sorted(part.unknown.items())),
        part.undecoded or None,
        dict(sorted(part.unapplied.items())) or None,
        passed.notes,
    )
