"""Tables of a capture: a line a frame as it comes, in columns of fixed width."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kwire_cli.source.kafka.columns import ALIASES, COLUMNS
from kwire_cli.view.lines import Line, escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.message.plain import Plain
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.columns import LineRow

TABLE = ("frame", "time", "src", "dst", "kind", "api", "apiVersion", "correlationId", "clientId", "topics", "size", "latency", "error")
WIDTHS = {"frame": 6, "time": 15, "src": 21, "dst": 21, "kind": 8, "api": 20, "apiVersion": 3, "correlationId": 6, "clientId": 16, "topics": 24}
WIDEST, HELD = 40, 50
"""A column is no wider for the sake of a cell; and the rows by which columns that were asked for are made wide enough."""
HEADINGS = {"apiVersion": "ver", "correlationId": "corr", "clientId": "client"}
CSV_HEADINGS = {"latency": "latencySeconds", "throttle": "throttleSeconds"}
"""What columns of durations are called in csv."""
NUMBERS = frozenset({"frame", "apiVersion", "correlationId", "size", "latency", "stream", "packet", "throttle", "inFlight", "broker"})
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


def widths_of(columns: Sequence[str], rows: Sequence[Sequence[str]] = ()) -> list[int]:
    """The widths of the columns: as is usual, or as wide as their headings and the cells of these rows."""
    usual = [max(WIDTHS.get(ALIASES.get(name, name), 8), len(HEADINGS.get(name, name))) for name in columns]
    return [max([width, *(min(len(row[at]), WIDEST) for row in rows)]) for at, width in enumerate(usual)]


def heading(columns: Sequence[str], widths: Sequence[int] | None = None) -> Line:
    """The table's first line."""
    return [("".join(text for text, _ in fitted([HEADINGS.get(name, name) for name in columns], columns, widths)).rstrip(), "dim")]


def row(line: LineRow, columns: Sequence[str]) -> Line:
    """One line of the table."""
    return fitted(cells(line, columns), columns)


def cells(line: LineRow, columns: Sequence[str]) -> list[str]:
    """The cells of a line as text."""
    return [_cell(line, name) for name in columns]


def fitted(texts: Sequence[str], columns: Sequence[str], widths: Sequence[int] | None = None) -> Line:
    """Cells in their columns; `widths` are those of `widths_of`."""
    out: Line = []
    for text, name, width in zip(texts, columns, widths or widths_of(columns), strict=True):
        out.append((f"{text:>{width}}" if name in NUMBERS else f"{text:<{width}}", STYLES.get(name, "")))
        out.append(("  ", ""))
    return out[:-1]


def plain_rows(columns: Sequence[str], widths: Sequence[int] | None = None) -> Callable[[Captured], str] | None:
    """What makes a line of the table, without colours, of a line of the capture; None where a column is the path of a field."""
    if not all(ALIASES.get(name, name) in COLUMNS for name in columns):
        return None
    made = [_plain_cell(name) for name in columns]
    each = zip(columns, widths or widths_of(columns), strict=True)
    form = "  ".join(f"%{'' if name in NUMBERS else '-'}{width}s" for name, width in each)

    def line_of(line: Captured) -> str:
        return (form % tuple([cell(line) for cell in made])).rstrip()

    def usual(line: Captured) -> str:
        plain = line.seen.plain
        return line_of(line) if plain is None else (form % _usual_cells(line, plain)).rstrip()

    return usual if tuple(columns) == TABLE else line_of


def _usual_cells(line: Captured, plain: Plain) -> tuple[Any, ...]:
    """The cells of TABLE, of a frame without ado: the same as `_plain_cell` gives one by one."""
    layout, seen, time, latency = plain.layout, line.seen, line.time, line.latency
    client, topics, errors = line.client_id, line.topics, line.errors
    return (
        line.number,
        time[11:26] if time else "",
        line.src,
        line.dst,
        layout.kind,
        layout.api,
        layout.version,
        plain.correlation_id,
        text_of(client) if client else "",
        text_of(topics) if topics else "",
        seen.size,
        "" if latency is None else f"{latency * 1000:.3f}ms",
        text_of(errors) if errors else "",
    )


def _plain_cell(name: str) -> Callable[[Captured], Any]:
    column = COLUMNS[ALIASES.get(name, name)]
    shown = _SHOWN.get(name, text_of)
    if name == "api":
        return lambda line: column(line) or _no_api(line)
    if name in _NEVER_ODD:
        return column
    return lambda line: "" if (value := column(line)) is None else shown(value)


def _no_api(line: Captured) -> str:
    return line.seen.protocol or line.code or text_of(line.api_key)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.3f}ms"


_SHOWN: dict[str, Callable[[Any], str]] = {"time": lambda time: time[11:26], "latency": _milliseconds, "throttle": _milliseconds}
_NEVER_ODD = frozenset({"frame", "src", "dst", "kind", "size", "stream", "packet"})
"""Columns whose values are never null, and text as it is."""


def _cell(line: LineRow, name: str) -> str:
    value = line.value(name)
    if name == "api" and value is None:
        return _no_api(line.line)
    return text_of(value) if value is None or name not in _SHOWN else _SHOWN[name](value)


def text_of(value: Any) -> str:
    """A value in one cell: several are joined by commas, nothing is empty, nothing moves the cursor."""
    if value is None:
        return ""
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, list):
        return ",".join([text_of(item) for item in value])
    if isinstance(value, bool):
        return "true" if value else "false"
    return escaped(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) if isinstance(value, dict) else str(value)
