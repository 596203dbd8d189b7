"""Clients as a table: a line each, and below it the versions that it uses, or what a release of Kafka would say to them."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from kwire_cli.clients.report import errors_of, verdict_counts
from kwire_cli.clients.upgrade import ACCEPTED, CAPPED, DEPRECATED, REFUSED, UNCLEAR, VERDICTS
from kwire_cli.view.lines import counted
from kwire_cli.view.table import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.clients.report import Row, Version
    from kwire_cli.view.lines import Line

WIDEST = 36
"""Characters of a column; whatever is longer moves the rest of its line."""
TEXT = 110
"""Characters of a line with many short things in it."""
STYLES = {REFUSED: "warning", CAPPED: "number", UNCLEAR: "number", DEPRECATED: "number", ACCEPTED: "text"}
NOBODY = "-"
HEADS = ("client", "software", "address", "requests", "first seen", "last seen")
COLUMNS = (
    "clientId",
    "software",
    "address",
    "principals",
    "apiKey",
    "api",
    "apiVersion",
    "requests",
    "first",
    "last",
    "errors",
    "brokers",
    "messageFormats",
)
VERDICT_COLUMNS = ("verdict", "reason")


def client_lines(rows: list[Row]) -> Iterator[Line]:
    """All clients, with the versions that each uses."""
    table = _table(rows)
    widths = _widths(table)
    yield [(_line(table[0], widths), "dim")]
    for cells, row in zip(table[1:], rows, strict=True):
        yield _client_line(cells, widths)
        by_api: dict[str, list[str]] = {}
        for version in row.versions:
            by_api.setdefault(version.api or f"api {version.api_key}", []).append(str(version.version))
        yield from _wrapped(", ".join(f"{api} {'+'.join(versions)}" for api, versions in by_api.items()), "")
        if errors := errors_of(row.total):
            yield from _wrapped(", ".join(f"{count} {name}" for name, count in errors), "warning")


def upgrade_lines(rows: list[Row], release: str) -> Iterator[Line]:
    """What a release would say to each client: those of whom it accepts all are only counted."""
    counts = verdict_counts(rows)
    parts = [(f"{counts[verdict]} {verdict}", STYLES[verdict]) for verdict in VERDICTS if counts[verdict]]
    head: Line = [(f"Kafka {release}: ", "title"), (counted(len(rows), "client"), "")]
    for text, style in parts:
        head += [(", ", ""), (text, style)]
    yield head
    odd = [row for row in rows if row.verdict != ACCEPTED]
    if not odd:
        return
    table = _table(odd)
    widths = _widths(table)
    yield []
    yield [(_line(table[0], widths), "dim")]
    for cells, row in zip(table[1:], odd, strict=True):
        yield _client_line(cells, widths)
        for version in sorted(row.versions, key=lambda version: version.verdict.rank if version.verdict else 0):
            if version.verdict and version.verdict.verdict != ACCEPTED:
                yield _verdict_line(version)


def _verdict_line(version: Version) -> Line:
    assert version.verdict  # noqa: S101 - for the type checker
    verdict, reason = version.verdict
    line: Line = [(f"    {verdict:<10}", STYLES[verdict]), (f"  {text_of(version.name):<22}", "name"), (f"  {version.use.requests:>6}", "number")]
    return [*line, (f"  {reason}", "")]


def _table(rows: list[Row]) -> list[tuple[str, ...]]:
    """Return the heads and the cells of clients; with their capture points, if there are several."""
    named = any(row.client.capture is not None for row in rows)
    return [HEADS + (("capture",) if named else ()), *(_cells(row, named=named) for row in rows)]


def _cells(row: Row, *, named: bool) -> tuple[str, ...]:
    client, total = row.client, row.total
    who = [NOBODY if part is None else '""' if not part else text_of(part) for part in client[:3]]
    where = (NOBODY if client.capture is None else text_of(client.capture),) if named else ()
    return *who, str(total.requests), _clock(total.first), _clock(total.last), *where


def _clock(time: str | None) -> str:
    return NOBODY if time is None else time[:19].replace("T", " ")


def _widths(table: list[tuple[str, ...]]) -> list[int]:
    return [min(max(map(len, column)), WIDEST) for column in zip(*table, strict=True)]


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    padded = [f"{cell:>{width}}" if at == 3 else f"{cell:<{width}}" for at, (cell, width) in enumerate(zip(cells, widths, strict=True))]
    return "  ".join(padded).rstrip()


def _client_line(cells: tuple[str, ...], widths: list[int]) -> Line:
    text = _line(cells, widths)
    return [(text[: widths[0]], "name"), (text[widths[0] :], "")]


def _wrapped(text: str, style: str) -> Iterator[Line]:
    for line in wrap(text, TEXT, break_long_words=False, break_on_hyphens=False):
        yield [(f"    {line}", style)]


def csv_columns(rows: list[Row], *, verdicts: bool) -> list[str]:
    """The columns of csv: a row is a version that a client uses."""
    named = any(row.client.capture is not None for row in rows)
    return [*(("capture",) if named else ()), *COLUMNS, *(VERDICT_COLUMNS if verdicts else ())]


def csv_cells(row: Row, columns: list[str]) -> Iterator[list[Any]]:
    """The rows of a client in these columns; what is several stands as a list."""
    document = row.to_json()
    client = {name: document.get(name) for name in ("capture", "clientId", "software", "address", "principals")}
    for version in document["apis"]:
        cells: dict[str, Any] = client | version
        for name in ("errors", "messageFormats"):
            cells[name] = [f"{key} {count}" for key, count in (version.get(name) or {}).items()]
        yield [cells.get(name) for name in columns]
