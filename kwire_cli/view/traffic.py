"""Statistics, clients and live traffic."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.clients import (
    ACCEPTED,
    CAPPED,
    DEPRECATED,
    REFUSED,
    UNCLEAR,
    VERDICTS,
    errors_of,
    verdict_counts,
)
from kwire_cli.analysis.stats import Histogram, by_count
from kwire_cli.view.lines import counted
from kwire_cli.view.tables import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.clients import Row, Version
    from kwire_cli.analysis.stats import Stats
    from kwire_cli.view.lines import Line


# Clients as a table: a line each, and below it the versions that it uses, or what a release of Kafka would
# say to them.

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
    """Yield what a release would say to each client.

    Clients of which the release accepts everything are only counted.
    """
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
    line: Line = [
        (f"    {verdict:<10}", STYLES[verdict]),
        (f"  {text_of(version.name):<22}", "name"),
        (f"  {version.use.requests:>6}", "number"),
    ]
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
    padded = [
        f"{cell:>{width}}" if at == 3 else f"{cell:<{width}}"
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
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


def client_csv_cells(row: Row, columns: list[str]) -> Iterator[list[Any]]:
    """The rows of a client in these columns; what is several stands as a list."""
    document = row.to_json()
    client = {name: document.get(name) for name in ("capture", "clientId", "software", "address", "principals")}
    for version in document["apis"]:
        cells: dict[str, Any] = client | version
        for name in ("errors", "messageFormats"):
            cells[name] = [f"{key} {count}" for key, count in (version.get(name) or {}).items()]
        yield [cells.get(name) for name in columns]


# Traffic as it goes by: a line for a few seconds of it, and a screen of what there was so far.

TABLES = 4


HEAD, BESIDE, LEAST = 5, 3, 2
"""Rows of the screen above the tables, rows of a table beside its entries, and the fewest entries of each."""
_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def interval_line(stats: Stats, seconds: float, time: str) -> Line:
    """Return the line for an interval of so many seconds: rates, latencies and errors."""
    groups = stats.groups["api"].values()
    requests, size = (
        sum(api_group.requests for api_group in groups),
        sum(api_group.request_bytes + api_group.response_bytes for api_group in groups),
    )
    line: Line = [(time[11:19], "dim"), (f"  {requests / seconds:8.1f} req/s  {rate(size / seconds):>10}", "number")]
    latency, errors = Histogram(), sum((sum(api_group.errors.values()) for api_group in groups), 0)
    for group in groups:
        latency.merge(group.latency)
    points = [(name, latency.percentile(share)) for name, share in _SHARES.items()]
    line += [(f"  {name} {'-' if point is None else f'{point * 1000:.2f}ms':>9}", "number") for name, point in points]
    line.append(
        (f"  {counted(len(stats.groups['client']), 'client')}  {counted(len(stats.groups['topic']), 'topic')}", "")
    )
    if errors:
        named = [name for name, _ in by_count(sum((api_group.errors for api_group in groups), type(stats.kinds)()))]
        line.append((f"  {counted(errors, 'error')}: {', '.join(map(text_of, named[:3]))}", "warning"))
    if stats.anomalies:
        line.append((f"  odd: {', '.join(name for name, _ in by_count(stats.anomalies)[:3])}", "warning"))
    return line


def rate(size: float) -> str:
    """Bytes a second for eyes."""
    unit, name = next(((unit, name) for unit, name in _UNITS if size >= unit), (1, "B"))
    return f"{size / unit:.1f} {name}/s"


def screen_head(recent: Line, where: str, elapsed: float) -> Iterator[Line]:
    """Yield the first lines of a screen: where, for how long, and the last seconds."""
    minutes, seconds = divmod(int(elapsed), 60)
    yield [
        (f"{where}  ", "title"),
        (f"{minutes // 60}:{minutes % 60:02}:{seconds:02}  ", "number"),
        ("Ctrl-C ends it and shows the totals", "dim"),
    ]
    yield recent
    yield []


def rows_for(height: int) -> int:
    """Return how many rows of each table a screen of a height has room for."""
    return max((height - HEAD) // TABLES - BESIDE, LEAST)
