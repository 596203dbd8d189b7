"""Sentences of findings: templates with the columns of a row.

`{n:# answer}` counts (`1 answer`, `3 answers`), and `{n:# retry|retries}` specifies the plural. `{span_s:s}` is a
duration in seconds, `{took_us:us}` a duration in microseconds, `{size:bytes}` a size, `{share:%}` a share. A list is
shown as its first three values and the number of further values. `{began:time}` is a time with milliseconds,
`{per_s:rate}` a number per second, and `{group_id:shell}` a quoted word of a command. `[...]` is left out if a column
in it is null or an empty list. `{is_known:?}` is replaced by nothing, and serves as such a condition.
"""

from __future__ import annotations

import re
import string
from shlex import quote
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SHOWN = 3
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")


def duration(seconds: float) -> str:
    """Return seconds in a readable unit: `350 µs`, `12 ms`, `1.9 s`, `5 min 3 s`, `2 h 5 min`, `400 days`."""
    if seconds >= 120:
        return long_duration(seconds)
    if seconds >= 0.9995:
        return f"{seconds:.1f} s"
    return f"{1000 * seconds:.0f} ms" if seconds >= 0.0005 or not seconds else f"{1e6 * seconds:.3g} µs"


def long_duration(seconds: float) -> str:
    """Return a duration of at least a minute in readable units: `4 min 12 s`, `2 h 5 min`, `400 days`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} days"
    words = (f"{hours} h" * bool(hours), f"{minutes} min" * bool(minutes), f"{rest} s" * bool(rest and not hours))
    return " ".join(filter(None, words))


def size_text(size: int) -> str:
    """Return a size in a readable unit: `512 bytes`, `3.4 kB`, `120 MB`."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return counted(size, "byte")


_FORMATS: dict[str, Callable[[Any], str]] = {
    "s": duration,
    "us": lambda value: duration(value / 1e6),
    "bytes": size_text,
    "%": lambda value: f"{100 * value:.0f} %",
    "?": lambda _: "",
    "time": lambda value: f"{value:%Y-%m-%d %H:%M:%S.%f}"[:-3],
    "rate": lambda value: f"{value:.0f}" if abs(value) >= 9.95 else f"{value:.1f}",
    "shell": lambda value: quote(str(value)),
}


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None:
            return "?"
        if format_spec.startswith("#"):
            return counted(value, *format_spec[1:].strip().split("|"))
        if format_spec in _FORMATS:
            return _FORMATS[format_spec](value)
        if isinstance(value, list):
            more = f" and {len(value) - SHOWN} more" if len(value) > SHOWN else ""
            return ", ".join(map(str, value[:SHOWN])) + more
        return f"{value:,}" if type(value) is int and not format_spec else str(super().format_field(value, format_spec))


_FORMATTER = _Formatter()


def sentence(template: str, row: Mapping[str, Any]) -> str:
    """Return a template with the values of a row inserted. Raise KeyError if the row lacks a column."""

    def shown(match: re.Match[str]) -> str:
        names = [name for _, name, _, _ in _FORMATTER.parse(match[1]) if name]
        return "" if any(row[name] is None or row[name] == [] for name in names) else match[1]

    return _FORMATTER.vformat(_OPTIONAL.sub(shown, template), (), row)
