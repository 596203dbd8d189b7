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
from kwire_cli.view.tables import Cells, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.clients import Row, Version
    from kwire_cli.analysis.stats import Group, Stats
    from kwire_cli.view.lines import Line


# Statistics as tables: by api, client, topic and broker.

MOST_ERRORS = 5
"""Errors of a group that its row names: a client can invent any number of them."""


_GROUP = (
    "requests",
    "responses",
    "req bytes",
    "resp bytes",
    "p50",
    "p95",
    "p99",
    "max",
    "in flight",
    "throttled",
    "notes",
)


_POINTS = ("count", "p50", "p95", "p99", "max")
_TIMES = {
    f"{of}{point.capitalize()}{'' if point == 'count' else 'Seconds'}": (f"{of}Seconds", point)
    for of in ("latency", "wait")
    for point in _POINTS
}
CSV = (
    *("by", "name", "count", "requests", "responses", "requestBytes", "responseBytes", *_TIMES),
    *("throttled", "throttleSeconds", "mostInFlight", "nodeId", "software", "stagesSeconds", "errors"),
)
"""The columns of csv: a row a group, lines by kind and anomalies by code among them. Those that a group lacks are
empty."""


def csv_cells(stats: Stats) -> Iterator[list[Any]]:
    """Return the rows of csv, with the numbers that the JSON form has."""
    for by, groups in stats.to_json().items():
        for name, group in groups.items():
            row = group if isinstance(group, dict) else {"count": group}
            times = {column: row.get(of, {}).get(point) for column, (of, point) in _TIMES.items()}
            row = {"by": by, "name": name} | row | times
            yield [row.get(column) for column in CSV]


def stats_lines(stats: Stats, most: int | None = None) -> Iterator[Line]:
    """Statistics as tables: what was seen, then by api, client, topic and broker, the busiest first, of each no more
    than `most`.
    """
    yield [("lines  ", "dim"), (", ".join(f"{count} {kind}" for kind, count in by_count(stats.kinds)), "number")]
    if stats.anomalies:
        yield [
            ("odd    ", "dim"),
            (", ".join(f"{count} {code}" for code, count in by_count(stats.anomalies)), "warning"),
        ]
    for name, ranked in stats.ranked():
        if not ranked:
            continue
        yield []
        busiest = ranked[:most]
        width = min(max(len(name), *(len(key) for key, _ in busiest)), 40)
        heads = (
            f"{name:<{width}} requests responses   req bytes  resp bytes       p50       p95       p99       "
            f"max  in flight  throttled  notes"
        )
        yield Cells([(heads, "dim")], [name, *_GROUP], heads=True)
        for key, group in busiest:
            yield _group_line(name, key, group, width)
        if len(busiest) < len(ranked):
            yield [(f"… and {len(ranked) - len(busiest)} more", "dim")]


def _group_line(kind: str, key: str, group: Group, width: int) -> Cells:
    sizes = (group.request_bytes, group.response_bytes) if group.sized else ("", "")
    counts = f" {group.requests:>8} {group.responses:>9} {sizes[0]:>11} {sizes[1]:>11}"
    histogram, note = (
        (group.latency, "") if group.latency.count else (group.waits, "waits" if group.waits.count else "")
    )
    points = [histogram.percentile(share) for share in (0.5, 0.95, 0.99)] + [
        histogram.largest if histogram.count else None
    ]
    shown_points = ["" if point is None else f"{point * 1000:.2f}ms" for point in points]
    times = "".join(f" {point:>9}" for point in shown_points)
    most, throttled = str(group.most_in_flight or ""), f"{group.throttle_ms}ms" if group.throttled else ""
    errors = _errors(group)
    told = (
        ", ".join(map(text_of, sorted(group.software)))
        if kind == "client"
        else ""
        if group.node is None
        else f"node {group.node}"
    )
    label = text_of(key)[:width]
    notes = [(text, style) for text, style in ((note, "dim"), (told, "text"), (errors, "warning")) if text]
    line: Line = [
        (f"{label:<{width}}", "name"),
        (counts, "number"),
        (times, "number"),
        (f" {most:>10} {throttled:>10}", "number"),
    ]
    line += [part for text, style in notes for part in (("  ", ""), (text, style))]
    numbers = [
        group.requests,
        group.responses,
        *sizes,
        *(point or "" for point in points),
        group.most_in_flight or "",
        group.throttle_ms or "",
    ]
    texts = [str(number) for number in numbers[:4]] + [*shown_points, most, throttled]
    told_all = "  ".join(text for text, _ in notes)
    return Cells(line, [text_of(key), *numbers, told_all], heads=False, texts=[text_of(key), *texts, told_all])


def _errors(group: Group) -> str:
    counted = by_count(group.errors)
    more = f" ({len(counted) - MOST_ERRORS} more)" if len(counted) > MOST_ERRORS else ""
    return ", ".join(f"{count} {code}" for code, count in counted[:MOST_ERRORS]) + more


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


def screen_lines(total: Stats, recent: Line, where: str, elapsed: float, height: int) -> Iterator[Line]:
    """A screen of so many rows: where, for how long, the last seconds, and the busiest of each kind since the
    beginning.
    """
    minutes, seconds = divmod(int(elapsed), 60)
    yield [
        (f"{where}  ", "title"),
        (f"{minutes // 60}:{minutes % 60:02}:{seconds:02}  ", "number"),
        ("Ctrl-C ends it and shows the totals", "dim"),
    ]
    yield recent
    yield []
    yield from stats_lines(total, max((height - HEAD) // TABLES - BESIDE, LEAST))
