"""Rows of any table, such as a query gives: as JSON, as csv, and as cells for eyes."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from kwire_cli.view.csv import csv_row
from kwire_cli.view.json import dumps
from kwire_cli.view.table import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WIDEST = 60
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
        return {str(name): json_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(each) for each in value]
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


def cells(values: Sequence[Any]) -> list[Any]:
    """A row for eyes: bytes as text where they are some, else in hex; numbers as they are; long ones are cut."""
    return [_cell(value) for value in values]


def _cell(value: Any) -> Any:
    if isinstance(value, bytes):
        return _cut(_bytes_text(value))
    plain = json_value(value)
    if isinstance(plain, bool):
        return text_of(plain)
    if plain is None or isinstance(plain, int | float):
        return plain
    return _cut(text_of(plain) if isinstance(plain, str) else dumps(plain, indent=False))


def _bytes_text(value: bytes) -> str:
    if len(value) > WIDEST:
        value = value[: WIDEST + 4]  # and the text may end within a character
    for end in range(len(value), max(len(value) - 4, -1), -1):
        try:
            text = value[:end].decode("utf-8")
        except UnicodeDecodeError:
            continue
        if text.isprintable():
            return text
    return f"0x{value.hex()}" if value else ""


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


ROW_TEXTS: dict[str, Callable[[Sequence[str], Sequence[Any]], str]] = {
    "json": lambda names, values: json_row(names, values, indent=True),
    "jsonl": lambda names, values: json_row(names, values, indent=False),
    "csv": lambda _, values: _csv_line(values),
    "raw-csv": lambda _, values: _csv_line(values, raw=True),
    "table": lambda _, values: dumps(cells(values), indent=False),
}
"""The text of a row in each format; of a table its cells, which are laid out when all of them are there."""


def cells_of(text: str) -> list[Any]:
    """The cells in a text of the format `table`."""
    found: list[Any] = json.loads(text)
    return found
