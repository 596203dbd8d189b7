"""Lines of captures as rows of a table."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.source.kafka.columns import ALIASES, COLUMNS
from kwire_cli.source.kafka.line_records import anomaly_codes
from kwire_cli.view.lines import escaped
from kwire_cli.view.tables import text_of
from kwire_cli.view.widths import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.message.known_layout import Layout as MessageLayout, Plain
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.columns import LineRow
    from kwire_cli.view.anomaly_counts import AnomalyCounts
    from kwire_cli.view.widths import Layout

_COLUMNS = (
    Column("frame", width=6, right=True, style="dim"),
    Column("time", width=15, least=12, cut="short", style="dim", gap=1),
    Column("direction", " ", width=1, gap=1),
    Column("call", "api", width=24, least=12, cut="call", style="name"),
    Column("clientId", "client", keep=1, width=16, least=8, style="text"),
    Column("topics", keep=3, width=24, least=12, cut="list", style="text"),
    Column("src", keep=4, width=21, least=12),
    Column("dst", keep=4, width=21, least=12),
    Column("correlationId", "corr", keep=6, width=6, right=True),
    Column("stream", keep=7, width=6, right=True),
    Column("size", "size B", keep=2, width=7, right=True, style="number"),
    Column("latency", "latency ms", width=10, right=True, style="number"),
    Column("faults", "error", width=8, least=12, cut="list", style="warning", late=True, intact=True),
)
COLUMNS_SHOWN: dict[str, Column] = {column.name: column for column in _COLUMNS}
"""The columns of the table. `direction` is an arrow, → for a request and ← for a response, `call` is the api with its
version, and `faults` are the names of errors and the codes of anomalies."""
_OTHERS = {
    column.name: column
    for column in (
        Column("api", width=20, least=8, style="name"),
        Column("error", width=8, least=12, cut="end", style="warning"),
        Column("apiVersion", "ver", width=3, right=True),
        Column("apiKey", right=True),
        Column("packet", right=True),
        Column("throttle", "throttle ms", right=True, style="number"),
        Column("inFlight", right=True),
        Column("broker", right=True),
        Column("requestFrame", right=True),
    )
}
"""Columns that only --fields shows, but for those whose values are texts."""


def columns_of(fields: Sequence[str]) -> tuple[Column, ...]:
    """Return the columns of the table, or those of --fields, none of which goes for the sake of others."""
    return tuple(_asked(name) for name in fields) if fields else _COLUMNS


def _asked(name: str) -> Column:
    column = (COLUMNS_SHOWN | _OTHERS).get(ALIASES.get(name, name)) or Column(name, least=8)
    title = column.title if ALIASES.get(name, name) == name else name
    return replace(column, title=title, keep=0, gap=2, late=False)


# A row is made of a line's cells.

_ARROWS = {"request": "→", "response": "←"}


def cells(line: LineRow, columns: Sequence[Column], counts: AnomalyCounts, remark: str = "") -> list[str]:
    """Return the cells of a line as text, and count its anomalies. A remark takes the place of an error."""
    return [
        remark if remark and column.name in {"error", "faults"} else _cell(line, column.name, counts)
        for column in columns
    ]


def _cell(line: LineRow, name: str, counts: AnomalyCounts) -> str:
    if name == "faults":
        return _faults(line.line, counts)
    if name == "direction":
        return _ARROWS.get(line.value("kind"), "")
    if name == "call":
        return _call(line.value("kind"), line.value("api"), line.value("apiVersion"), line.line)
    value = line.value(name)
    if name == "api" and value is None:
        return _other(line.line)
    formatter = _FORMATS.get(ALIASES.get(name, name))
    return formatter(value) if formatter and value is not None else text_of(value)


def _call(kind: str, api: str | None, version: int | None, line: Captured) -> str:
    """Return what a line says: its api and version, or what it is if it is no frame."""
    if kind == "sasl-token":
        return "SASL token"
    if kind == "not-kafka":
        return f"{text_of(line.seen.protocol) or 'unknown'} (not Kafka)"
    name = api or _other(line)
    return name if version is None else f"{name} v{version}"


def _faults(line: Captured, counts: AnomalyCounts) -> str:
    """Return the errors and the anomalies of a line, and count the anomalies."""
    errors, anomalies = line.errors, counts.add(anomaly_codes(line, deep=True))
    return ", ".join(filter(None, (_names(errors) if errors else "", anomalies)))


def _other(line: Captured) -> str:
    return text_of(line.seen.protocol or line.code or line.api_key)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.3f}"


def _names(values: Any) -> str:
    return ", ".join([text_of(value) for value in values]) if isinstance(values, list) else text_of(values)


_FORMATS: dict[str, Callable[[Any], str]] = {
    "time": lambda time: time[11:26],
    "latency": _milliseconds,
    "throttle": _milliseconds,
    "topics": _names,
    "error": _names,
}


def plain_rows(table: Layout, counts: AnomalyCounts) -> Callable[[Captured], str] | None:
    """Return a function that makes a row of a table without a limit from a line of the capture, without colours.

    The function counts the anomalies of the lines.

    Return None if a column is the path of a field.
    """
    columns = table.columns
    if not all(ALIASES.get(column.name, column.name) in {*COLUMNS, *_MADE} for column in columns):
        return None
    makers, form = [_maker(column.name, counts) for column in columns], "".join(table.forms)

    def row_of(line: Captured) -> str:
        return (form % tuple([cell(line) for cell in makers])).rstrip()

    @cache
    def form_of(message: MessageLayout) -> str:
        """Return the form of rows of a message, whose arrow, api and version are in place."""
        in_place = {"direction": _ARROWS[message.kind], "call": f"{message.api} v{message.version}"}
        cells = zip(columns, table.forms, strict=True)
        return "".join(
            (cell % in_place[column.name]).replace("%", "%%") if column.name in in_place else cell
            for column, cell in cells
        )

    def usual(line: Captured) -> str:
        plain = line.seen.plain
        if plain is None:
            return row_of(line)
        return (form_of(plain.layout) % _usual_cells(line, plain, counts)).rstrip()

    return usual if columns == _COLUMNS else row_of


def _usual_cells(line: Captured, plain: Plain, counts: AnomalyCounts) -> tuple[Any, ...]:
    """Return the cells of a well-formed frame beside `direction` and `call`: the same as `_maker` gives one by one."""
    time, latency = line.time, line.latency
    client, topics = line.client_id, line.topics
    return (
        line.number,
        time[11:26] if time else "",
        escaped(client) if client else "",
        (_names(topics) if len(topics) > 1 else escaped(topics[0])) if topics else "",
        line.src,
        line.dst,
        plain.correlation_id,
        line.stream,
        line.seen.size,
        "" if latency is None else f"{latency * 1000:.3f}",
        _faults(line, counts),
    )


def _maker(name: str, counts: AnomalyCounts) -> Callable[[Captured], Any]:
    """Return the function that makes a cell of a line."""
    if name == "faults":
        return lambda line: _faults(line, counts)
    if name == "direction":
        return lambda line: _ARROWS.get(line.kind, "")
    if name == "call":
        return lambda line: _call(line.kind, line.api, line.api_version, line)
    column = COLUMNS[ALIASES.get(name, name)]
    formatter = _FORMATS.get(ALIASES.get(name, name), text_of)
    if name == "api":
        return lambda line: column(line) or _other(line)
    if name in _PLAIN:
        return column
    return lambda line: "" if (value := column(line)) is None else formatter(value)


_MADE = ("direction", "call", "faults")
"""Columns of the table alone."""
_PLAIN = frozenset({"frame", "src", "dst", "kind", "size", "stream", "packet"})
"""Columns whose values are never null, and text as it is."""
