"""Tables for a terminal, csv and rows."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from base64 import b64encode
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from kwire_cli.source.kafka.columns import ALIASES, COLUMNS
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import Line, escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.message.known_layout import Plain
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.columns import LineRow

    Cell = int | float | str | None


# Rows of csv (RFC 4180), for programs and for spreadsheets. Nothing else in kwire writes csv but Spark, which
# takes RUNS from here.

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


RUNS = rf"^(?=[=+\-@\t\r])(?!{_NUMBER}(?:;{_NUMBER})*(?![\s\S]))"
"""A regular expression of Python and of Java that is found where a cell begins as a formula does, and is no number or
numbers."""
HARMLESS = "'"
"""The character before a cell that makes spreadsheets take it for text."""

_END = "\r\n"  # Python quotes cells with ends of lines only where the writer has both characters in its own
_RUNS, _FIRST = re.compile(RUNS), frozenset("=+-@\t\r")


def csv_row(values: Sequence[Any], *, raw: bool = False) -> str:
    """Return one line of csv without its end.

    None is an empty cell, a list its items with semicolons between; structures are JSON.
    A cell that a spreadsheet would run has an apostrophe before it, unless `raw`.
    """
    out = io.StringIO()
    csv.writer(out, lineterminator=_END).writerow([_field(value, raw=raw) for value in values])
    return out.getvalue().removesuffix(_END)


def _field(value: Any, *, raw: bool) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value)):
        value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, list):
        value = ";".join([str(_field(item, raw=True)) for item in value])
    return (
        f"{HARMLESS}{value}"
        if not raw and isinstance(value, str) and value[:1] in _FIRST and _RUNS.match(value)
        else value
    )


# Tables of a capture: a line a frame as it comes, in columns of fixed width.

TABLE = (
    "frame",
    "time",
    "src",
    "dst",
    "kind",
    "api",
    "apiVersion",
    "correlationId",
    "clientId",
    "topics",
    "size",
    "latency",
    "error",
)


WIDTHS = {
    "frame": 6,
    "time": 15,
    "src": 21,
    "dst": 21,
    "kind": 8,
    "api": 20,
    "apiVersion": 3,
    "correlationId": 6,
    "clientId": 16,
    "topics": 24,
}
WIDEST, HELD = 40, 50
"""A column is no wider for the sake of a cell; and the rows by which columns that were asked for are made wide
enough."""
HEADINGS = {"apiVersion": "ver", "correlationId": "corr", "clientId": "client"}
CSV_HEADINGS = {"latency": "latencySeconds", "throttle": "throttleSeconds"}
"""Names of columns of durations in csv."""
NUMBERS = frozenset(
    {"frame", "apiVersion", "correlationId", "size", "latency", "stream", "packet", "throttle", "inFlight", "broker"}
)
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
    return [
        (
            "".join(
                text for text, _ in fitted([HEADINGS.get(name, name) for name in columns], columns, widths)
            ).rstrip(),
            "dim",
        )
    ]


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
    """Return a function that makes a line of the table from a line of the capture, without colours.

    Return None if a column is the path of a field.
    """
    if not all(ALIASES.get(name, name) in COLUMNS for name in columns):
        return None
    cell_makers = [_plain_cell(name) for name in columns]
    pairs = zip(columns, widths or widths_of(columns), strict=True)
    form = "  ".join(f"%{'' if name in NUMBERS else '-'}{width}s" for name, width in pairs)

    def line_of(line: Captured) -> str:
        return (form % tuple([cell(line) for cell in cell_makers])).rstrip()

    def usual(line: Captured) -> str:
        plain = line.seen.plain
        return line_of(line) if plain is None else (form % _usual_cells(line, plain)).rstrip()

    return usual if tuple(columns) == TABLE else line_of


def _usual_cells(line: Captured, plain: Plain) -> tuple[Any, ...]:
    """The cells of TABLE, of a frame without ado: the same as `_plain_cell` gives one by one."""
    layout, event, time, latency = plain.layout, line.seen, line.time, line.latency
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
        event.size,
        "" if latency is None else f"{latency * 1000:.3f}ms",
        text_of(errors) if errors else "",
    )


def _plain_cell(name: str) -> Callable[[Captured], Any]:
    column = COLUMNS[ALIASES.get(name, name)]
    formatter = _SHOWN.get(name, text_of)
    if name == "api":
        return lambda line: column(line) or _no_api(line)
    if name in _NEVER_ODD:
        return column
    return lambda line: "" if (value := column(line)) is None else formatter(value)


def _no_api(line: Captured) -> str:
    return line.seen.protocol or line.code or text_of(line.api_key)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.3f}ms"


_SHOWN: dict[str, Callable[[Any], str]] = {
    "time": lambda time: time[11:26],
    "latency": _milliseconds,
    "throttle": _milliseconds,
}
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
    return (
        escaped(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) if isinstance(value, dict) else str(value)
    )


# Bars of text.

BAR = 24


_PARTS = " ▏▎▍▌▋▊▉█"


def bar(value: float, most: float) -> str:
    """A bar as long as `value` is of `most`, in eighths of a character; something of it is seen unless the value is
    0.
    """
    if value <= 0 or most <= 0:
        return ""
    eighths = max(1, round(min(value / most, 1) * BAR * 8))
    return "█" * (eighths // 8) + _PARTS[eighths % 8].strip()


# Rows of any table, such as a query gives: as JSON, as csv, and as cells for eyes.

WIDEST_ROW = 60
"""Characters of a cell."""


def json_value(value: Any) -> Any:
    """A value as JSON has it: bytes as base64, times in ISO 8601 and UTC, NaN and infinities as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {str(name): json_value(element) for name, element in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(element) for element in value]
    return str(value)


def time_text(time: datetime) -> str:
    """A time as in the lines of captures: microseconds, UTC."""
    moment = time.astimezone(UTC) if time.tzinfo else time
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"


def json_row(names: Sequence[str], values: Sequence[Any], *, indent: bool) -> str:
    """A row as an object."""
    return dumps({name: json_value(value) for name, value in zip(names, values, strict=True)}, indent=indent)


def _csv_line(values: Sequence[Any], *, raw: bool = False) -> str:
    """A row as a line of csv: what is nested as JSON."""
    return csv_row([_csv_cell(json_value(value)) for value in values], raw=raw)


def _csv_cell(value: Any) -> Any:
    return dumps(value, indent=False) if isinstance(value, dict | list) else value


def row_cells(values: Sequence[Any]) -> list[Any]:
    """A row for eyes: bytes as text where they are some, else in hex; numbers as they are; long ones are cut."""
    return [_row_cell(value) for value in values]


def _row_cell(value: Any) -> Any:
    if isinstance(value, bytes):
        return _cut(_bytes_text(value))
    plain = json_value(value)
    if isinstance(plain, bool):
        return text_of(plain)
    if plain is None or isinstance(plain, int | float):
        return plain
    return _cut(text_of(plain) if isinstance(plain, str) else dumps(plain, indent=False))


def _bytes_text(value: bytes) -> str:
    if len(value) > WIDEST_ROW:
        value = value[: WIDEST_ROW + 4]  # and the text may end within a character
    for end in range(len(value), max(len(value) - 4, -1), -1):
        try:
            text = value[:end].decode("utf-8")
        except UnicodeDecodeError:
            continue
        if text.isprintable():
            return text
    return f"0x{value.hex()}" if value else ""


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST_ROW else f"{text[: WIDEST_ROW - 1]}…"


ROW_TEXTS: dict[str, Callable[[Sequence[str], Sequence[Any]], str]] = {
    "json": lambda names, values: json_row(names, values, indent=True),
    "jsonl": lambda names, values: json_row(names, values, indent=False),
    "csv": lambda _, values: _csv_line(values),
    "raw-csv": lambda _, values: _csv_line(values, raw=True),
    "table": lambda _, values: dumps(row_cells(values), indent=False),
}
"""The text of a row in each format; of a table its cells, which are laid out when all of them are there."""


def cells_of(text: str) -> list[Any]:
    """The cells in a text of the format `table`."""
    values: list[Any] = json.loads(text)
    return values
