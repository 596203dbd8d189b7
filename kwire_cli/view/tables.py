"""Rows of csv, values in one cell, bars of text, and rows of any table."""

from __future__ import annotations

import io
import json
import math
import re
from base64 import b64encode
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kwire_cli.view.lines import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    Cell = int | float | str | None


# Rows of csv (RFC 4180), for programs and for spreadsheets. Nothing else in kwire writes csv.

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


RUNS = rf"^(?=[=+\-@\t\r])(?!{_NUMBER}(?:;{_NUMBER})*(?![\s\S]))"
"""A regular expression that is found where a cell begins as a formula does, and is no number or
numbers."""
HARMLESS = "'"
"""The character before a cell that makes spreadsheets take it for text."""

_END = "\r\n"  # Python quotes cells with ends of lines only where the writer has both characters in its own
_RUNS, _FIRST = re.compile(RUNS), frozenset("=+-@\t\r")


def csv_row(values: Sequence[Any]) -> str:
    """Return one line of csv without its end.

    None is an empty cell, a list its items with semicolons between; structures are JSON.
    A cell that a spreadsheet would run has an apostrophe before it.
    """
    import csv  # noqa: PLC0415 - start-up counts

    out = io.StringIO()
    csv.writer(out, lineterminator=_END).writerow([_harmless(_field(value)) for value in values])
    return out.getvalue().removesuffix(_END)


def _field(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value)):
        value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return ";".join([str(_field(item)) for item in value]) if isinstance(value, list) else value


def _harmless(value: Any) -> Any:
    runs = isinstance(value, str) and value[:1] in _FIRST and _RUNS.match(value)
    return f"{HARMLESS}{value}" if runs else value


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


SPARK = 24
"""Characters of a line of columns. More numbers than that share a character, which shows the largest of them."""
_COLUMNS = "▁▂▃▄▅▆▇█"


def spark(values: Sequence[float | None]) -> str:
    """Return a line of columns as high as the numbers, the largest one as high as a line of text.

    The lowest column is 0, and any other number is higher than that. None is a space.
    """
    points = fewer(values, SPARK)
    most = max((value for value in points if value is not None), default=0)
    return "".join(" " if value is None else _column(value, most) for value in points)


def fewer(values: Sequence[float | None], most: int) -> list[float | None]:
    """Return at most so many numbers for a list of numbers: the largest one of each part of the list."""
    count = len(values)
    if count <= most:
        return [*values]
    bounds = [number * count // most for number in range(most + 1)]
    parts = (values[start:stop] for start, stop in pairwise(bounds))
    return [max((value for value in part if value is not None), default=None) for part in parts]


def _column(value: float, most: float) -> str:
    if value <= 0 or most <= 0:
        return _COLUMNS[0]
    return _COLUMNS[max(1, round(value / most * (len(_COLUMNS) - 1)))]


# Values of rows, such as a query gives, as JSON.


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
    if isinstance(value, dict):
        return {str(name): json_value(element) for name, element in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        elements = value if isinstance(value, list | tuple) else sorted(value, key=str)
        return [json_value(element) for element in elements]
    from decimal import Decimal  # noqa: PLC0415 - start-up counts, and hardly any value gets here

    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)


def time_text(time: datetime) -> str:
    """A time as in the lines of captures: microseconds, UTC."""
    moment = time.astimezone(UTC) if time.tzinfo else time
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"
