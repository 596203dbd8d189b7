"""What a name in a filter stands for, and what a literal means beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kwire_cli.filter.error import FilterError
from kwire_cli.filter.literals import plain, time

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.filter.columns import Column, Type
    from kwire_cli.filter.nodes import Literal, Name
    from kwire_cli.filter.places import Places

MILLISECOND = 1_000_000

EXPECTED: dict[Type, str] = {
    "number": "a number",
    "duration": "a duration, such as 100ms, or a number of seconds",
    "size": "a size, such as 10KB, or a number of bytes",
    "time": "a time, such as 2026-11-21T10:00:00Z or 10:00:00",
}


@dataclass(frozen=True, slots=True)
class Context:
    """The filter's text, for errors, and the numbers of names."""

    text: str
    error_code: Callable[[str], int | None]
    api_key: Callable[[str], int | None]
    places: Callable[[Name], Places]
    """Where the values of a name are."""
    column: Callable[[Name], Column | None]
    """The column that a name stands for."""

    def wrong(self, message: str, column: int) -> FilterError:
        """An error at a column of the text."""
        return FilterError(message, text=self.text, column=column)

    def remembering(self) -> Context:
        """The same with error codes looked up once by name, as rows ask for them too."""
        return Context(self.text, lru_cache(maxsize=1024)(self.error_code), self.api_key, self.places, self.column)


@dataclass(frozen=True, slots=True)
class Subject:
    """A column, or else the path of a field."""

    column: Column | None
    path: tuple[str, ...] = field(default=())

    @property
    def milliseconds(self) -> bool:
        """Whether a field is one that Kafka's naming says to hold milliseconds."""
        return bool(self.path) and self.path[-1].endswith(("Ms", "imestamp"))

    @property
    def names(self) -> Type | None:
        """The type of a field whose numbers have names."""
        last = self.path[-1] if self.path else ""
        return "error" if last.endswith(("errorCode", "ErrorCode")) else "api" if last.endswith(("apiKey", "ApiKey")) else None


def subject_of(name: Name, context: Context) -> Subject:
    """A column where there is one of this name, and otherwise a field; a dot before the name makes it one."""
    if name.header is not None:
        return Subject(None, ("value",))
    column = context.column(name)
    return Subject(column) if column else Subject(None, tuple(name.text.removeprefix(".").split(".")))


def number_of(literal: Literal, kind: Type, context: Context) -> int | float:
    """What a column of numbers, durations or sizes is compared with; FilterError where the literal is none of this type."""
    if literal.kind == "number" or (literal.kind == "size" and kind == "size"):
        return _number(literal)
    if literal.kind == "duration" and kind == "duration" and isinstance(literal.value, Fraction):
        return plain(literal.value)
    raise context.wrong(f"expected {EXPECTED[kind]}, found {literal.text!r}", literal.column)


def time_of(literal: Literal, context: Context) -> Literal:
    """The instant or time of day that a literal is, in quotes or not; FilterError where it is none."""
    found = time(literal.text, literal.column)
    if not found:
        raise context.wrong(f"expected {EXPECTED['time']}, found {literal.text!r}", literal.column)
    return found


def code_of(literal: Literal, kind: Type, context: Context) -> int | float:
    """The number of an error code or api, by name or number; FilterError where nothing has this name."""
    if literal.kind == "number":
        return _number(literal)
    find, what = (context.error_code, "error code") if kind == "error" else (context.api_key, "api")
    code = find(literal.text)
    if code is None:
        raise context.wrong(f"no {what} has the name {literal.text!r}", literal.column)
    return code


def field_number(literal: Literal, subject: Subject) -> int | float | None:
    """The number that a literal is beside a field: a duration or an instant where it holds milliseconds; None where it is no number."""
    value: Any = literal.value
    if literal.kind in {"number", "size"}:
        return _number(literal)
    if subject.milliseconds and literal.kind == "duration":
        return plain(value * 1000)
    if subject.milliseconds and literal.kind == "instant":
        return plain(Fraction(value, MILLISECOND))
    return None


def _number(literal: Literal) -> int | float:
    value: Any = literal.value
    number: int | float = value
    return number
