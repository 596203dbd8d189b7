"""Tables of a capture: a line a frame as it comes, in columns of fixed width; csv; statistics."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from kwire_cli.view.lines import CONTROL, Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.source.kafka.columns import LineRow
    from kwire_cli.source.kafka.stats import Group, Stats

TABLE = ("frame", "time", "src", "dst", "kind", "api", "apiVersion", "correlationId", "clientId", "topics", "size", "latency", "error")
WIDTHS = {"frame": 6, "time": 15, "src": 21, "dst": 21, "kind": 8, "api": 20, "apiVersion": 3, "correlationId": 6, "clientId": 16, "topics": 24}
HEADINGS = {"apiVersion": "ver", "correlationId": "corr", "clientId": "client"}
NUMBERS = frozenset({"frame", "apiVersion", "correlationId", "size", "latency", "stream", "packet"})
STYLES = {
    "api": "name",
    "error": "warning",
    "time": "dim",
    "frame": "dim",
    "clientId": "text",
    "topics": "text",
    "latency": "number",
    "size": "number",
}


def heading(columns: Sequence[str]) -> Line:
    """The table's first line."""
    return [("  ".join(_fit(HEADINGS.get(name, name), name) for name in columns).rstrip(), "dim")]


def row(line: LineRow, columns: Sequence[str]) -> Line:
    """One line of the table."""
    out: Line = []
    for name in columns:
        out.append((_fit(_cell(line, name), name), STYLES.get(name, "")))
        out.append(("  ", ""))
    return out[:-1]


def _fit(text: str, name: str) -> str:
    width = WIDTHS.get(name, 8)
    return f"{text:>{width}}" if name in NUMBERS else f"{text:<{width}}"


def _cell(line: LineRow, name: str) -> str:
    value = line.value(name)
    if name == "time" and value:
        return str(value)[11:26]
    if name == "latency" and value is not None:
        return f"{value * 1000:.3f}ms"
    if name == "api" and value is None:
        return line.line.seen.protocol or line.line.seen.code or text_of(line.column("apiKey"))
    return text_of(value)


def text_of(value: Any) -> str:
    """A value in one cell: several are joined by commas, nothing is empty, nothing moves the cursor."""
    if value is None:
        return ""
    if isinstance(value, list):
        return ",".join(text_of(item) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).translate(CONTROL)


def csv_row(values: Sequence[Any]) -> str:
    """One line of csv (RFC 4180), without its end."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(
        ["" if value is None else ";".join(map(str, value)) if isinstance(value, list) else value for value in values]
    )
    return out.getvalue()


def stats_lines(stats: Stats) -> Iterator[Line]:
    """Statistics as tables: what was seen, then by api, client and topic, the busiest first."""
    yield [("lines  ", "dim"), (", ".join(f"{count} {kind}" for kind, count in stats.kinds.most_common()), "number")]
    if stats.anomalies:
        yield [("odd    ", "dim"), (", ".join(f"{count} {code}" for code, count in stats.anomalies.most_common()), "warning")]
    for name, groups in stats.groups.items():
        if not groups:
            continue
        yield []
        width = min(max(len(name), *(len(key) for key in groups)), 40)
        yield [(f"{name:<{width}} requests responses   req bytes  resp bytes       p50       p95       p99       max  errors", "dim")]
        for key, group in sorted(groups.items(), key=lambda item: -(item[1].request_bytes + item[1].response_bytes)):
            yield _group_line(key, group, width)


def _group_line(key: str, group: Group, width: int) -> Line:
    counts = f" {group.requests:>8} {group.responses:>9} {group.request_bytes:>11} {group.response_bytes:>11}"
    histogram, note = (group.latency, "") if group.latency.count else (group.waits, " waits" if group.waits.count else "")
    points = [histogram.percentile(share) for share in (0.5, 0.95, 0.99)] + [histogram.largest if histogram.count else None]
    times = "".join(f" {'' if point is None else f'{point * 1000:.2f}ms':>9}" for point in points)
    errors = ", ".join(f"{count} {code}" for code, count in group.errors.most_common())
    shown = text_of(key)[:width]
    return [(f"{shown:<{width}}", "name"), (counts, "number"), (times, "number"), (note, "dim"), (f"  {errors}" if errors else "", "warning")]
