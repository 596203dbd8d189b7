"""Expressions of the filter language: nodes, literals, types of columns, and paths of fields.

The parser builds the nodes, and `compile` turns them into functions. A bare word becomes a literal by its form: `5ms`
is a duration, `10KB` a size, `true` a boolean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, Literal as Choice, TypeAlias, cast

from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kwire_cli.facts.columns import Column


# Errors.


class FilterError(InputError):
    """An error in a filter. `column` is the position of the first wrong character of `text`, from 1. `reason` describes
    the error.
    """

    def __init__(self, message: str, *, text: str, column: int) -> None:
        super().__init__(message, column=column)
        self.text = text
        self.args = (f"filter, column {column}: {message}",)


# The parts of a filter.

LiteralKind: TypeAlias = Choice["string", "word", "number", "duration", "size", "instant", "clock", "boolean", "null"]


@dataclass(frozen=True, slots=True)
class Literal:
    """A value in a filter. `text` is the text without quotes and escapes.

    `value` depends on the kind. string, word: the text. number, size (bytes): an int or float. duration: the exact
    number of seconds. instant: microseconds since 1970. clock: microseconds since midnight.
    """

    kind: LiteralKind
    text: str
    value: str | int | float | Fraction | bool | None
    column: int


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a filter, and its column (from 1). `header` is the key, for a name of record headers."""

    text: str
    column: int
    header: str | None = None


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison with one literal, or with several for `in` and `not in`. `column` is the operator's position."""

    name: Name
    operator: str
    literals: tuple[Literal, ...]
    column: int


# The meanings of a bare word: a number, a number with a unit, a time, true, false, null, or a string.

DAY = 86400 * 1_000_000
"""Microseconds."""

DURATIONS = {
    "us": Fraction(1, 1_000_000), "µs": Fraction(1, 1_000_000), "ms": Fraction(1, 1000), "s": Fraction(1),
    "min": Fraction(60), "h": Fraction(3600),
}  # fmt: skip
"""Seconds by unit."""

SIZES = {"b": 1, "kb": 1000, "mb": 1000**2, "gb": 1000**3, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
"""Bytes by unit."""

CONSTANTS = {"true": True, "false": False, "null": None}

# Python needs quadratic time for long numbers and refuses the longest, so a number with more digits is a word.
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?:0[xX](?P<hex>[0-9A-Fa-f]{1,40})|(?P<decimal>[0-9]{1,40}(?:\.[0-9]{1,40})?)(?P<unit>[A-Za-zµ]*))"
)
_CLOCK = r"\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?"
_TIME_OF_DAY = re.compile(_CLOCK, re.ASCII)
_INSTANT = re.compile(rf"\d{{4}}-\d\d-\d\d(?:[Tt ]{_CLOCK}(?:[Zz]|[+-]\d\d:?\d\d)?)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def word(text: str, column: int) -> Literal:
    """Return the literal of a bare word."""
    folded = text.casefold()
    if folded in CONSTANTS:
        value = CONSTANTS[folded]
        return Literal("null" if value is None else "boolean", text, value, column)
    return _number(text, column) or time(text, column) or Literal("word", text, text, column)


def time(text: str, column: int) -> Literal | None:
    """Return the instant (ISO 8601, by default in UTC) or the time of day in a string, or None for other strings."""
    is_clock = _TIME_OF_DAY.fullmatch(text)
    if not is_clock and not _INSTANT.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(f"1970-01-01T{text}" if is_clock else text.upper())
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return Literal("clock" if is_clock else "instant", text, (moment - _EPOCH) // _MICROSECOND, column)


def plain(number: Fraction) -> int | float:
    """Return an int if the number is an integer, else the nearest float."""
    return number.numerator if number.denominator == 1 else float(number)


def _number(text: str, column: int) -> Literal | None:
    if not (match := _NUMBER.fullmatch(text)):
        return None
    number = Fraction(int(match["hex"], 16)) if match["hex"] else Fraction(match["decimal"])
    if match["sign"] == "-":
        number = -number
    # casefold converts the micro sign to the Greek letter.
    unit = (match["unit"] or "").casefold().replace("\u03bc", "µ")
    if not unit:
        return Literal("number", text, plain(number), column)
    if unit in DURATIONS:
        return Literal("duration", text, number * DURATIONS[unit], column)
    if unit in SIZES:
        return Literal("size", text, plain(number * SIZES[unit]), column)
    return None


# Comparison of the values of columns.

Type: TypeAlias = Choice["number", "duration", "size", "time", "text", "flag", "end", "name", "api", "error"]
"""How values are compared. duration: numbers, and literals with a unit of time; size: bytes; time: microseconds since
1970; text: strings with case; end: `host:port`; name: strings without case; api: the key or name of an api; error:
names of error codes, or numbers."""

PER_SECOND = {"us": 1_000_000, "ms": 1000}
"""Units of columns of durations, with their number in a second."""


@cache
def type_of(column: Column) -> Type:
    """Return how the values of a column compare."""
    if column.form:
        return cast("Type", column.form)
    if column.unit in PER_SECOND:
        return "duration"
    if column.unit == "B":
        return "size"
    return _TYPES.get(column.type, "text")


_TYPES: dict[str, Type] = {"int32": "number", "int64": "number", "int32s": "number", "flag": "flag", "time": "time"}
OF_BATCHES = frozenset({"size", "kind", "time", "anomaly", "all_anomalies"})
"""The columns of batches and gaps. All other names for batches are fields."""
KINDS_OF_BATCHES = ("batch", "control", "gap")
"""The values of the column `kind` of batches and gaps."""


# Values of a message by field path.

ROOTS = frozenset({"header", "body"})


def values_at(fields: Mapping[str, Any], path: tuple[str, ...], *, whole: bool = False) -> Iterator[Any]:
    """Yield the values of all fields whose path, without indexes, ends with `path`. A path that begins with header or
    body must match completely.

    An array yields its elements, or itself if `whole`. A structure (dict) is one value. `fields` consists of dicts and
    lists, like JSON, and is walked without recursion.
    """
    if path[0] in ROOTS:
        yield from below([fields], path, whole=whole)
        return
    first = path[0]
    waiting: list[Any] = [*fields.values()]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if first in node:
                yield from below([node], path, whole=whole)
            waiting.extend(value for value in node.values() if isinstance(value, (dict, list)))
        elif isinstance(node, list):
            waiting.extend(value for value in node if isinstance(value, (dict, list)))


def below(values: list[Any], path: tuple[str, ...], *, whole: bool = False) -> list[Any]:
    """Return the values at a path below each of `values`. Arrays are replaced by their elements; with `whole`, arrays
    at the end of the path are not.
    """
    for name in path:
        values = [value[name] for value in elements(values) if isinstance(value, dict) and name in value]
    return values if whole else elements(values)


def elements(values: list[Any]) -> list[Any]:
    """Return the values with arrays replaced by their elements, recursively."""
    while any(isinstance(value, list) for value in values):
        flat: list[Any] = []
        for value in values:
            if isinstance(value, list):
                flat += value
            else:
                flat.append(value)
        values = flat
    return values
