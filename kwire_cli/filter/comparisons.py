"""Comparisons of a filter: a column or a field on the left, literals on the right.

Each comparison becomes a closure that tests one value. The type of the column decides how literals are read.
"""

from __future__ import annotations

import operator
import re
import warnings
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from kwire_cli.errors import close_to, did_you_mean
from kwire_cli.filter.model import DAY, PER_SECOND, FilterError, plain, time, type_of
from kwire_cli.filter.places import column_of, places_of, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from kwire_cli.facts.columns import Column
    from kwire_cli.filter.model import Compare, Literal, Name, Type
    from kwire_cli.filter.places import Places, Rows
    from kwire_cli.spec.field_names import FieldNames


# The meaning of a name in a filter, and of a literal that is compared with it.

EXPECTED: dict[Type, str] = {
    "number": "a number",
    "flag": "true or false",
    "size": "a size, such as 10KB, or a number of bytes",
    "time": "a time, such as 2026-11-21T10:00:00Z or 10:00:00",
}


class Numbers:
    """A mapping from names, in any case, to numbers."""

    def __init__(self, by_name: Mapping[str, int]) -> None:
        self._by_name = by_name
        self._folded = {name.casefold(): number for name, number in by_name.items()}

    def find(self, name: str) -> int | None:
        """Return the number of a name, or None if nothing has this name."""
        return self._folded.get(name.casefold())

    def close_to(self, name: str) -> list[str]:
        """Return similar names."""
        return close_to(name, self._by_name)


@dataclass(frozen=True, slots=True)
class Context:
    """The text of the filter, for errors, and the meanings of names."""

    text: str
    error_codes: Numbers
    api_keys: Numbers
    anomalies: Collection[str]
    fields: FieldNames
    rows: Rows

    def wrong(self, message: str, column: int) -> FilterError:
        """Return an error at a column of the text."""
        return FilterError(message, text=self.text, column=column)

    def places(self, name: Name) -> Places:
        """Return the places of the values of a name."""
        return places_of(name, self.fields, of_batches=self.rows != "frames")

    def column(self, name: Name) -> Column | None:
        """Return the column of a name."""
        return column_of(name, self.fields, self.rows)

    def values(self, name: Name) -> Collection[str]:
        """Return all values that a name can have; empty if it may have any value."""
        column = self.column(name)
        if column and column.name.endswith("anomalies"):
            return self.anomalies
        return values_of(column, self.places(name), self.rows)


@dataclass(frozen=True, slots=True)
class Operand:
    """A column, or the path of a field."""

    column: Column | None
    path: tuple[str, ...] = field(default=())
    unit: str = ""
    """The unit of numbers without a unit: the unit in the name of a column of durations, or seconds for other names."""

    @property
    def milliseconds(self) -> bool:
        """Return whether a field contains milliseconds, by Kafka's naming."""
        return bool(self.path) and self.path[-1].endswith(("Ms", "imestamp"))

    @property
    def names(self) -> Type | None:
        """Return the type of a field whose numbers have names."""
        last = self.path[-1] if self.path else ""
        if last.endswith(("errorCode", "ErrorCode")):
            return "error"
        return "api" if last.endswith(("apiKey", "ApiKey")) else None


def operand_of(name: Name, context: Context) -> Operand:
    """Return the column of a name, or a field if there is no such column or the name begins with a dot."""
    if name.header is not None:
        return Operand(None, ("value",))
    column = context.column(name)
    if column is None:
        return Operand(None, tuple(name.text.removeprefix(".").split(".")))
    return Operand(column, unit=column.unit if name.text == column.name else "s")


def _number_of(literal: Literal, kind: Type, context: Context) -> int | float:
    """Return the number of a literal that is compared with a column of numbers or sizes."""
    if literal.kind == "number" or (literal.kind == "size" and kind == "size"):
        return _number(literal)
    raise context.wrong(f"expected {EXPECTED[kind]}, found {literal.text!r}", literal.column)


def _duration_of(literal: Literal, column: Column, unit: str, context: Context) -> int | float:
    """Return the number of a literal that is compared with a column of durations. The default unit is `unit`."""
    if literal.kind == "duration" and isinstance(literal.value, Fraction):
        return plain(literal.value * PER_SECOND[column.unit])
    if literal.kind == "number":
        number = _number(literal)
        return number if unit == column.unit else plain(Fraction(str(number)) * PER_SECOND[column.unit])
    raise context.wrong(
        f"expected a duration, such as 100ms, or a number of {_UNITS[unit]}, found {literal.text!r}", literal.column
    )


_UNITS = {"us": "microseconds", "ms": "milliseconds", "s": "seconds"}


def time_of(literal: Literal, context: Context) -> Literal:
    """Return the instant or time of day of a literal, with or without quotes.

    Raises:
        FilterError: The literal is not a time.

    """
    moment = time(literal.text, literal.column)
    if not moment:
        raise context.wrong(f"expected {EXPECTED['time']}, found {literal.text!r}", literal.column)
    return moment


def code_of(literal: Literal, kind: Type, context: Context) -> int | float:
    """Return the number of an error code or api, given by name or number.

    Raises:
        FilterError: The name is unknown.

    """
    if literal.kind == "number":
        return _number(literal)
    numbers, what = (context.error_codes, "error code") if kind == "error" else (context.api_keys, "api")
    code = numbers.find(literal.text)
    if code is None:
        hint = did_you_mean(numbers.close_to(literal.text))
        raise context.wrong(f"no {what} has the name {literal.text!r}{hint}", literal.column)
    return code


def field_number(literal: Literal, operand: Operand) -> int | float | None:
    """Return the number of a literal that is compared with a field, or None if it is not a number.

    Durations and instants are numbers for fields with milliseconds.
    """
    value: Any = literal.value
    if literal.kind in {"number", "size"}:
        return _number(literal)
    if operand.milliseconds and literal.kind == "duration":
        return plain(value * 1000)
    if operand.milliseconds and literal.kind == "instant":
        return plain(Fraction(value, 1000))
    return None


def _number(literal: Literal) -> int | float:
    value: Any = literal.value
    number: int | float = value
    return number


# Tests of one value, as closures: the meaning of `==`, `<` and `~` for each type of column, and for fields.

Test: TypeAlias = "Callable[[Any], bool]"


ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_HEX = re.compile(r"0[xX](?:[0-9A-Fa-f]{2})+")
"""Bytes in hexadecimal, for comparisons with keys and values of records."""
NO_CASE = frozenset({"name", "api", "error"})
NAMES_IN: dict[Type | None, str] = {"api": "api", "error": "errors"}
"""The columns with the names, for types whose numbers have names."""
NO_ORDER = frozenset({"name", "error", "end", "flag"})
"""Types of columns whose values have no order."""
NO_TEXT = frozenset({"number", "duration", "size", "time", "flag"})
"""Types of columns that a regular expression cannot be applied to."""


def test_of(node: Compare, operand: Operand, context: Context) -> Test:
    """Return the test of one value.

    `!=`, `!~` and `not in` hold for a value exactly if `==`, `~` and `in` do not.

    Raises:
        FilterError: The literal cannot be compared with the operand.

    """
    _refuse_literals(node, operand, context)
    if node.operator in ORDER:
        return _order(node, operand, context)
    test = _search(node, operand, context) if node.operator in {"~", "!~"} else _equal(node.literals, operand, context)
    return _complement(test) if node.operator in {"!=", "!~", "not in"} else test


MOST_VALUES = 10
"""Maximum number of values that an error lists."""


def _refuse_literals(node: Compare, operand: Operand, context: Context) -> None:
    """Raise FilterError for a literal that no value can equal: a number of records, or a value outside a fixed set.

    Names of columns are compared without case.
    """
    name = node.name.text
    for literal in node.literals:
        if operand.path[-1:] == ("records",) and literal.kind in {"number", "size", "duration"}:
            raise context.wrong(f"{name} is a list; the number of records in a batch is count", node.name.column)
    names = [*context.values(node.name)] if node.operator in {"==", "!=", "in", "not in"} else []
    values = {value.casefold() for value in names} if operand.column else {*names}
    for literal in node.literals:
        text = literal.text.casefold() if operand.column else literal.text
        if names and literal.kind != "null" and text not in values:
            more = f" and {len(names) - MOST_VALUES} more" if len(names) > MOST_VALUES else ""
            hint = did_you_mean(close_to(literal.text, names)) or f"; values are {', '.join(names[:MOST_VALUES])}{more}"
            raise context.wrong(f"{name} has no value {literal.text!r}{hint}", literal.column)


def _key(literal: Literal, column: Column, unit: str, context: Context) -> Any:
    """Return the value of a column that equals a literal. Names are folded to lower case."""
    match kind := type_of(column):
        case "number" | "size":
            return _number_of(literal, kind, context)
        case "duration":
            return _duration_of(literal, column, unit, context)
        case "flag" if literal.kind != "boolean":
            raise context.wrong(f"expected {EXPECTED[kind]}, found {literal.text!r}", literal.column)
        case "flag":
            return literal.value
        case "api":
            return code_of(literal, "api", context)
        case "name":
            return literal.text.casefold()
        case _:
            return literal.text


def _equal(literals: tuple[Literal, ...], operand: Operand, context: Context) -> Test:
    column = operand.column
    if column is None:
        return _field_equal(literals, operand, context)
    null = next((literal for literal in literals if literal.kind == "null"), None)
    if null and column.is_list:
        raise context.wrong(f"{column.name} is never null; 'not {column.name}' holds where there are none", null.column)
    match kind := type_of(column):
        case "error":
            return _error_equal(literals, context)
        case "time":
            tests = [_at(literal, operator.eq, context) if literal.kind != "null" else _is_null for literal in literals]
            return tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)
    keys = frozenset(None if each.kind == "null" else _key(each, column, operand.unit, context) for each in literals)
    if kind == "end":
        # The brackets of an IPv6 address are only needed before a port.
        keys |= {key[1:-1] for key in keys if key and key.startswith("[") and key.endswith("]")}
        return lambda value: value in keys or (value is not None and value.rpartition(":")[0].strip("[]") in keys)
    if kind == "name":
        return lambda value: value in keys or (value is not None and value.casefold() in keys)
    if len(keys) == 1:
        (key,) = keys
        return lambda value: bool(value == key)
    return lambda value: value in keys


def _field_equal(literals: tuple[Literal, ...], operand: Operand, context: Context) -> Test:
    named = operand.names
    # A bare word also equals the string of the same text. Only null equals null.
    words = {literal.text for literal in literals if literal.kind != "null" and not named}
    codes = {code_of(literal, named, context) for literal in literals if literal.kind != "null" and named}
    numbers = codes | {number for literal in literals if (number := field_number(literal, operand)) is not None}
    booleans = {literal.value for literal in literals if literal.kind == "boolean"}
    null = any(literal.kind == "null" for literal in literals)
    raw = {text.encode("utf-8", "backslashreplace") for text in words} | {
        bytes.fromhex(text[2:]) for text in words if _HEX.fullmatch(text)
    }

    def test(value: Any) -> bool:
        if value is None:
            return null
        if isinstance(value, bytes):
            return value in raw
        if isinstance(value, str):
            return value in words
        if isinstance(value, bool):  # in Python, True equals 1
            return value in booleans
        return isinstance(value, (int, float)) and value in numbers

    return test


def _error_equal(literals: tuple[Literal, ...], context: Context) -> Test:
    codes = {code_of(literal, "error", context) for literal in literals}
    texts = {str(code) for code in codes}  # an error without a name is displayed as its number
    find = context.error_codes.find
    return lambda value: value in codes if isinstance(value, int) else find(value) in codes or value in texts


def _order(node: Compare, operand: Operand, context: Context) -> Test:
    (literal,) = node.literals
    compare = ORDER[node.operator]
    column = operand.column
    if literal.kind in {"null", "boolean"}:
        raise context.wrong(f"{literal.text} has no order; compare with == or !=", literal.column)
    if column is None:
        return _field_order(literal, compare, operand, context)
    if type_of(column) in NO_ORDER:
        raise context.wrong(f"{column.name} has no order; compare with == != ~ !~ or in", node.column)
    match type_of(column):
        case "api" if literal.kind != "number":
            raise context.wrong(
                f"expected a number, as names of apis have no order, found {literal.text!r}", literal.column
            )
        case "time":
            return _at(literal, compare, context)
    key = _key(literal, column, operand.unit, context)
    return lambda value: value is not None and compare(value, key)


def _field_order(literal: Literal, compare: Callable[[Any, Any], bool], operand: Operand, context: Context) -> Test:
    number = field_number(literal, operand)
    text = literal.text
    if number is not None:
        return lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and compare(value, number)
    if literal.kind in {"duration", "instant", "clock"}:
        what = (
            "a duration or date is compared with"
            if literal.kind != "clock"
            else "a time of day is compared with the column time; a date with"
        )
        raise context.wrong(f"{what} fields whose name ends in Ms or Timestamp; put a text in quotes", literal.column)
    return lambda value: (value_text := _text(value)) is not None and compare(value_text, text)


def _text(value: Any) -> str | None:
    """Return a string, or bytes in UTF-8 as a string; None for other values."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    return value if isinstance(value, str) else None


def _at(literal: Literal, compare: Callable[[Any, Any], bool], context: Context) -> Test:
    moment = time_of(literal, context)
    if moment.kind == "clock":
        return lambda value: value is not None and compare(value % DAY, moment.value)
    return lambda value: value is not None and compare(value, moment.value)


def _search(node: Compare, operand: Operand, context: Context) -> Test:
    (literal,) = node.literals
    column = operand.column
    kind = type_of(column) if column else None
    if column and kind in NO_TEXT:
        raise context.wrong(f"{column.name} is not text; compare with == != < <= > >= or in", node.column)
    if column and kind in NAMES_IN and not column.type.startswith(("text", "word")):
        raise context.wrong(f"{column.name} has numbers; the column {NAMES_IN[kind]} has names", node.column)
    pattern = _compiled(literal, context, re.IGNORECASE if kind in NO_CASE else re.NOFLAG)
    return lambda value: (text := _text(value)) is not None and pattern.search(text) is not None


def _compiled(literal: Literal, context: Context, flags: re.RegexFlag) -> re.Pattern[str]:
    start = literal.column + (literal.kind == "string")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about the meaning of a pattern in a later Python
            return re.compile(literal.text, flags)
    except re.error as error:
        # The error quotes the pattern, which can contain invalid Unicode from a command-line argument.
        reason = error.msg.encode("utf-8", "replace").decode()
        raise context.wrong(f"expected a regular expression: {reason}", start + (error.pos or 0)) from None
    except (OverflowError, RecursionError, ValueError) as error:
        raise context.wrong(f"expected a regular expression: {error}", start) from None


def _is_null(value: Any) -> bool:
    return value is None


def _complement(test: Test) -> Test:
    return lambda value: not test(value)
