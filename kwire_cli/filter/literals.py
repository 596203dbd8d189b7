"""What a bare word means: a number, a number with a unit, a time, true, false, null, or itself."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from kwire_cli.filter.nodes import Literal

SECOND = 1_000_000_000
DAY = 86400 * SECOND

DURATIONS = {"us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND}
"""Nanoseconds by unit."""

SIZES = {"b": 1, "kb": 1000, "mb": 1000**2, "gb": 1000**3, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
"""Bytes by unit."""

CONSTANTS = {"true": True, "false": False, "null": None}

# Numbers have an end, as Python takes quadratic time for long ones, and refuses the longest; a longer one is a word.
_NUMBER = re.compile(r"(?P<sign>[+-]?)(?:0[xX](?P<hex>[0-9A-Fa-f]{1,40})|(?P<decimal>[0-9]{1,40}(?:\.[0-9]{1,40})?)(?P<unit>[A-Za-zµ]*))")
_CLOCK = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,9}))?)?"
_TIME_OF_DAY = re.compile(_CLOCK)
_ZONE = r"[Zz]|(?P<zone>[+-])(?P<zone_hour>[01][0-9]|2[0-3]):?(?P<zone_minute>[0-5][0-9])"
_INSTANT = re.compile(rf"(?P<date>[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})(?:[Tt ]{_CLOCK}(?:{_ZONE})?)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def word(text: str, column: int) -> Literal:
    """The literal that a bare word is."""
    folded = text.casefold()
    if folded in CONSTANTS:
        value = CONSTANTS[folded]
        return Literal("null" if value is None else "boolean", text, value, column)
    return _number(text, column) or time(text, column) or Literal("word", text, text, column)


def time(text: str, column: int) -> Literal | None:
    """The instant (ISO 8601, UTC where no zone is given) or the time of day that a text is; None where it is neither."""
    if found := _TIME_OF_DAY.fullmatch(text):
        clock = _nanoseconds(found)
        return None if clock is None else Literal("clock", text, clock, column)
    if not (found := _INSTANT.fullmatch(text)):
        return None
    try:
        day = datetime.fromisoformat(found["date"]).replace(tzinfo=UTC)
    except ValueError:
        return None
    clock = _nanoseconds(found) if found["hour"] else 0
    offset = int(f"{found['zone']}1") * (int(found["zone_hour"]) * 3600 + int(found["zone_minute"]) * 60) if found["zone"] else 0
    if clock is None:
        return None
    return Literal("instant", text, (day - _EPOCH) // timedelta(seconds=1) * SECOND + clock - offset * SECOND, column)


def plain(number: Fraction) -> int | float:
    """A number as an int where it is whole, and otherwise the nearest float."""
    return number.numerator if number.denominator == 1 else float(number)


def _number(text: str, column: int) -> Literal | None:
    if not (found := _NUMBER.fullmatch(text)):
        return None
    number = Fraction(int(found["hex"], 16)) if found["hex"] else Fraction(found["decimal"])
    if found["sign"] == "-":
        number = -number
    unit = (found["unit"] or "").casefold().replace("\u03bc", "µ")  # casefold turns the micro sign into the Greek letter
    if not unit:
        return Literal("number", text, plain(number), column)
    if unit in DURATIONS:
        return Literal("duration", text, number * DURATIONS[unit] / SECOND, column)
    if unit in SIZES:
        return Literal("size", text, plain(number * SIZES[unit]), column)
    return None


def _nanoseconds(found: re.Match[str]) -> int | None:
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        return None
    return (hour * 3600 + minute * 60 + second) * SECOND + int((found["fraction"] or "").ljust(9, "0"))
