"""Statistics as tables: by api, client, topic and broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.source.kafka.stats import by_count
from kwire_cli.view.grid import Cells
from kwire_cli.view.table import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.source.kafka.stats import Group, Stats
    from kwire_cli.view.lines import Line

MOST_ERRORS = 5
"""Errors of a group that its row names: a client can invent any number of them."""
_GROUP = ("requests", "responses", "req bytes", "resp bytes", "p50", "p95", "p99", "max", "in flight", "throttled", "notes")


_POINTS = ("count", "p50", "p95", "p99", "max")
_TIMES = {
    f"{of}{point.capitalize()}{'' if point == 'count' else 'Seconds'}": (f"{of}Seconds", point) for of in ("latency", "wait") for point in _POINTS
}
CSV = (
    *("by", "name", "count", "requests", "responses", "requestBytes", "responseBytes", *_TIMES),
    *("throttled", "throttleSeconds", "mostInFlight", "nodeId", "software", "stagesSeconds", "errors"),
)
"""The columns of csv: a row a group, lines by kind and anomalies by code among them. Those that a group lacks are empty."""


def csv_cells(stats: Stats) -> Iterator[list[Any]]:
    """Return the rows of csv, with the numbers that the JSON form has."""
    for by, groups in stats.to_json().items():
        for name, found in groups.items():
            row = found if isinstance(found, dict) else {"count": found}
            times = {column: row.get(of, {}).get(point) for column, (of, point) in _TIMES.items()}
            row = {"by": by, "name": name} | row | times
            yield [row.get(column) for column in CSV]


def stats_lines(stats: Stats, most: int | None = None) -> Iterator[Line]:
    """Statistics as tables: what was seen, then by api, client, topic and broker, the busiest first, of each no more than `most`."""
    yield [("lines  ", "dim"), (", ".join(f"{count} {kind}" for kind, count in by_count(stats.kinds)), "number")]
    if stats.anomalies:
        yield [("odd    ", "dim"), (", ".join(f"{count} {code}" for code, count in by_count(stats.anomalies)), "warning")]
    for name, ranked in stats.ranked():
        if not ranked:
            continue
        yield []
        shown = ranked[:most]
        width = min(max(len(name), *(len(key) for key, _ in shown)), 40)
        heads = f"{name:<{width}} requests responses   req bytes  resp bytes       p50       p95       p99       max  in flight  throttled  notes"
        yield Cells([(heads, "dim")], [name, *_GROUP], heads=True)
        for key, group in shown:
            yield _group_line(name, key, group, width)
        if len(shown) < len(ranked):
            yield [(f"… and {len(ranked) - len(shown)} more", "dim")]


def _group_line(kind: str, key: str, group: Group, width: int) -> Cells:
    sizes = (group.request_bytes, group.response_bytes) if group.sized else ("", "")
    counts = f" {group.requests:>8} {group.responses:>9} {sizes[0]:>11} {sizes[1]:>11}"
    histogram, note = (group.latency, "") if group.latency.count else (group.waits, "waits" if group.waits.count else "")
    points = [histogram.percentile(share) for share in (0.5, 0.95, 0.99)] + [histogram.largest if histogram.count else None]
    shown_points = ["" if point is None else f"{point * 1000:.2f}ms" for point in points]
    times = "".join(f" {point:>9}" for point in shown_points)
    most, throttled = str(group.most_in_flight or ""), f"{group.throttle_ms}ms" if group.throttled else ""
    errors = _errors(group)
    told = ", ".join(map(text_of, sorted(group.software))) if kind == "client" else "" if group.node is None else f"node {group.node}"
    shown = text_of(key)[:width]
    notes = [(text, style) for text, style in ((note, "dim"), (told, "text"), (errors, "warning")) if text]
    line: Line = [(f"{shown:<{width}}", "name"), (counts, "number"), (times, "number"), (f" {most:>10} {throttled:>10}", "number")]
    line += [part for text, style in notes for part in (("  ", ""), (text, style))]
    numbers = [group.requests, group.responses, *sizes, *(point or "" for point in points), group.most_in_flight or "", group.throttle_ms or ""]
    texts = [str(number) for number in numbers[:4]] + [*shown_points, most, throttled]
    told_all = "  ".join(text for text, _ in notes)
    return Cells(line, [text_of(key), *numbers, told_all], heads=False, texts=[text_of(key), *texts, told_all])


def _errors(group: Group) -> str:
    counted = by_count(group.errors)
    more = f" ({len(counted) - MOST_ERRORS} more)" if len(counted) > MOST_ERRORS else ""
    return ", ".join(f"{count} {code}" for code, count in counted[:MOST_ERRORS]) + more
