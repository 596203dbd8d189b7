"""Lines of captures as rows of a table.

Without --fields, the table has to fit a terminal, so some of its columns combine several columns of frames, such as the
api with its version, or shorten a value. With --fields, the table has exactly the columns and fields of the option.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kwire_cli.facts.columns import BY_NAME
from kwire_cli.source.kafka.captured import time_text
from kwire_cli.source.kafka.line_records import anomaly_codes
from kwire_cli.view.tables import text_of
from kwire_cli.view.widths import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.filter.rows import FrameRow
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.view.anomaly_counts import AnomalyCounts

COLUMNS = (
    Column("frame", width=6, right=True, style="dim"),
    Column("time", width=15, least=12, cut="short", style="dim", gap=1),
    Column("direction", " ", width=1, gap=1),
    Column("call", "api", width=24, least=12, cut="call", style="name"),
    Column("client_id", "client", keep=1, width=16, least=8, style="text"),
    Column("topics", keep=3, width=24, least=12, cut="list", style="text"),
    Column("src", keep=4, width=21, least=12),
    Column("dst", keep=4, width=21, least=12),
    Column("correlation_id", "corr", keep=6, width=6, right=True),
    Column("stream", keep=7, width=6, right=True),
    Column("size", "size B", keep=2, width=7, right=True, style="number"),
    Column("latency", "latency ms", width=10, right=True, style="number"),
    Column("faults", "error", width=8, least=12, cut="list", style="warning", intact=True),
)
"""The columns of the table without --fields. `direction` is an arrow: → for a request and ← for a response. `call` is
the api with its version, `latency` is in milliseconds, and `faults` contains the names of errors and the codes of
anomalies."""
_API_WIDTH = 20
_STYLES = {"api": "name", "error": "warning"}
_SHOWN = {column.name: column for column in COLUMNS}


def columns_of(fields: Sequence[str]) -> tuple[Column, ...]:
    """Return the columns of the table, or the columns of --fields, which stay on a narrow terminal."""
    return tuple(_requested(name) for name in fields) if fields else COLUMNS


def _requested(name: str) -> Column:
    known = BY_NAME.get(name)
    if known is None:
        return Column(name, least=8)
    if column := _SHOWN.get(known.name):
        return replace(column, title=known.name, keep=0, gap=2)
    style = "number" if known.unit else _STYLES.get(known.form, "")
    return Column(
        known.name,
        least=8,
        width=_API_WIDTH if known.name == "api" else 8,
        right=known.is_number,
        cut="list" if known.is_list else "middle",
        style=style,
    )


_ARROWS = {"request": "→", "response": "←"}


def cells(row: FrameRow, columns: Sequence[Column], counts: AnomalyCounts, remark: str = "") -> list[str]:
    """Return the cells of a line as text, and count its anomalies. A remark replaces the errors."""
    return [
        remark if remark and column.name in {"errors", "faults"} else _cell(row, column.name, counts)
        for column in columns
    ]


def _cell(row: FrameRow, name: str, counts: AnomalyCounts) -> str:
    if name == "faults":
        return _faults(row.line, counts)
    if name in _SHORT_CELLS:
        return _SHORT_CELLS[name](row.line)
    value = row.shown(name)
    return text_of_names(value) if name in BY_NAME and BY_NAME[name].type == "texts" else text_of(value)


def _call(line: Captured) -> str:
    """Return the api and version of a frame, or the name of bytes that are not a frame."""
    if line.kind == "sasl-token":
        return "SASL token"
    if line.kind == "not-kafka":
        return f"{text_of(line.seen.protocol) or 'unknown'} (not Kafka)"
    name = line.api or _other(line)
    return name if line.api_version is None else f"{name} v{line.api_version}"


def _faults(line: Captured, counts: AnomalyCounts) -> str:
    """Return the errors and the anomalies of a line, and count the anomalies."""
    errors = line.errors
    codes = anomaly_codes(line, deep=True)
    if not codes:
        return ", ".join(map(text_of, errors)) if errors else ""
    return ", ".join([*map(text_of, errors), counts.add(codes)])


def _other(line: Captured) -> str:
    return text_of(line.seen.protocol or line.code or line.api_key)


def text_of_names(values: Sequence[str]) -> str:
    """Return names in one cell."""
    return ", ".join(map(text_of, values))


_time_of = BY_NAME["time"].of_line
_latency_us_of = BY_NAME["latency_us"].of_line


def _time(line: Captured) -> str:
    microseconds = _time_of(line)
    return "" if microseconds is None else (time_text(microseconds * 1000) or "")[11:26]


def _latency(line: Captured) -> str:
    microseconds = _latency_us_of(line)
    return "" if microseconds is None else f"{microseconds / 1000:.3f}"


_SHORT_CELLS: dict[str, Callable[[Captured], str]] = {
    "direction": lambda line: _ARROWS.get(line.kind, ""),
    "call": _call,
    "latency": _latency,
    "time": _time,
    "api": lambda line: text_of(line.api) or _other(line),
}
"""Functions for cells that differ from the value of a column of frames."""
