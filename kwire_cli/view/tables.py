"""Values in the cells of tables: as text, as csv, as bars, and as JSON.

This is the only module that writes csv (RFC 4180), so that the protection against spreadsheet formulas applies to all
commands. Values come from captures or from queries and can have any type. `text_of` is for display, `json_value` for
programs.
"""

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


_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
RUNS = rf"^(?=[=+\-@\t\r])(?!{_NUMBER}(?:;{_NUMBER})*(?![\s\S]))"
"""A regular expression for the start of a cell that a spreadsheet runs as a formula. Numbers do not match, nor do
several numbers with semicolons between them."""
HARMLESS = "'"
"""The prefix of a cell that spreadsheets treat as text."""

_END = "\r\n"  # Python's writer quotes line ends in cells only if its line terminator contains both characters
_RUNS = re.compile(RUNS)
_FIRST = frozenset("=+-@\t\r")
"""The first characters of formulas, for a quick check."""


def csv_row(values: Sequence[Any]) -> str:
    """Return one line of csv without a line end.

    None is an empty cell, a list is its items with semicolons between them, and a structure is JSON. A cell that a
    spreadsheet would run as a formula starts with an apostrophe.
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
    """Return a value for one cell. A list is joined with commas, None is empty, hidden characters are escaped."""
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


BAR = 24
"""Characters of the longest bar."""
_PARTS = " ▏▎▍▌▋▊▉█"


def bar(value: float, most: float) -> str:
    """Return a bar whose length is the share of `value` in `most`, in eighths of a character.

    The bar of a positive value is never empty.
    """
    if value <= 0 or most <= 0:
        return ""
    eighths = max(1, round(min(value / most, 1) * BAR * 8))
    return "█" * (eighths // 8) + _PARTS[eighths % 8].strip()


SPARK = 24
"""Maximum number of characters of a sparkline. Further numbers share a character, which shows the largest of them."""
_COLUMNS = "▁▂▃▄▅▆▇█"


def spark(values: Sequence[float | None]) -> str:
    """Return a sparkline: a column for each number. The column of the largest number has the height of a line.

    The lowest column is 0. Positive numbers have a higher column. None is a space.
    """
    points = fewer(values, SPARK)
    most = max((value for value in points if value is not None), default=0)
    return "".join(" " if value is None else _column(value, most) for value in points)


def fewer(values: Sequence[float | None], most: int) -> list[float | None]:
    """Reduce a list to at most `most` numbers: the largest number of each of `most` parts of the list."""
    count = len(values)
    if count <= most:
        return list(values)
    bounds = [number * count // most for number in range(most + 1)]
    maxima = []
    for start, stop in pairwise(bounds):
        part = [value for value in values[start:stop] if value is not None]
        maxima.append(max(part, default=None))
    return maxima


def _column(value: float, most: float) -> str:
    if value <= 0 or most <= 0:
        return _COLUMNS[0]
    return _COLUMNS[max(1, round(value / most * (len(_COLUMNS) - 1)))]


def json_value(value: Any) -> Any:
    """Convert a value, such as a cell of a query, to JSON.

    Bytes become base64, times ISO 8601 in UTC, NaN and infinities text.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return _non_finite_text(value)
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
    from decimal import Decimal  # noqa: PLC0415 - start-up counts, and few values reach this line

    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)


def _non_finite_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def time_text(time: datetime) -> str:
    """Return a time in the format of capture lines: microseconds, UTC."""
    moment = time.astimezone(UTC) if time.tzinfo else time
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"
