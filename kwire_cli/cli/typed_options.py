"""Options as typed values: the options of a command are a frozen dataclass, which click fills.

A field of such a class is declared by `option`, `flag` or `argument`. `cli.options` has the groups of options that
several commands share. Generated methods slow down start-up. The classes therefore omit unused methods: `eq=False,
repr=False`, and `init=False` for groups that are only base classes.

    @dataclass(frozen=True, kw_only=True)
    class Options(Captures, Report):
        top: int | None = option("--top", type=click.IntRange(min=0), metavar="N", help="Read at most this many.")

    @click.command(name="clients")
    @takes(Options)
    def command(environment: Environment, options: Options) -> int: ...
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field, fields
from functools import wraps
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import click

from kwire_cli.cli.command import Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kwire_cli.cli.environment import Environment


_METADATA_KEY = "kwire"


class _Declaration(NamedTuple):
    names: tuple[str, ...]
    settings: dict[str, Any]
    is_argument: bool = False


def option(*names: str, **settings: Any) -> Any:
    """Declare a field that options with these names fill.

    The settings are passed to `click.option`, which accepts `section`, `rare` and `shared` of a `Setting` too. The
    default section is the `SECTION` of the class that declares the field.
    """
    default = settings.setdefault("default", () if settings.get("multiple") else None)
    return field(default=default, metadata={_METADATA_KEY: _Declaration(names, settings)})


def flag(*names: str, **settings: Any) -> Any:
    """Declare a field that is True if one of these flags is given."""
    return option(*names, is_flag=True, default=False, **settings)


def argument(**settings: Any) -> Any:
    """Declare a field that arguments fill. The settings are passed to `click.argument`."""
    default: Any = () if settings.get("nargs") == -1 else None
    return field(default=default, metadata={_METADATA_KEY: _Declaration((), settings, is_argument=True)})


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, init=False)
class Printing:
    """Options for printing results. This is the base class of the options of all commands."""

    SECTION: ClassVar[str]
    """The heading in help of the options that a class declares."""
    SHARED: ClassVar[bool]
    """True if many commands have the options that a class declares, so that `kwire help` explains them."""

    @property
    def is_live(self) -> bool:
        """Return whether results are written as events happen, directly, without a pager or a temporary file."""
        return False

    def apply(self, environment: Environment) -> None:
        """Set how an environment prints."""
        environment.use_terminal(paged=not self.is_live)


Options = TypeVar("Options", bound=Printing)


def takes(options: type[Options]) -> Callable[[Callable[[Environment, Options], Any]], Callable[..., Any]]:
    """Return a decorator for the function of a command. The function gets the environment and its options."""

    def decorate(function: Callable[[Environment, Options], Any]) -> Callable[..., Any]:
        @click.pass_obj
        @wraps(function)
        def run(environment: Environment, /, **values: Any) -> Any:
            command_options = options(**values)
            command_options.apply(environment)
            result = function(environment, command_options)
            environment.finish()
            return result

        command: Callable[..., Any] = run
        for name, declaration in reversed(list(_declarations(options))):
            if declaration.is_argument:
                command = click.argument(*declaration.names, name, **declaration.settings)(command)
            else:
                command = click.option(*declaration.names, name, cls=Setting, **declaration.settings)(command)
        return command

    return decorate


def _declarations(options: type[Printing]) -> Iterator[tuple[str, _Declaration]]:
    """Yield the declarations of all fields for click: first the fields of the command, then of each base in order."""
    by_name = {entry.name: entry for entry in fields(options)}
    groups: dict[str, type[Printing]] = {}
    sections: dict[str, dict[str, str]] = {}
    for base in options.__mro__:
        for name in inspect.get_annotations(base):
            if name in by_name:
                groups.setdefault(name, base)
                if "SECTION" in vars(base):
                    sections.setdefault(name, {"section": vars(base)["SECTION"]})
    for name, group in groups.items():
        declaration = by_name[name].metadata[_METADATA_KEY]
        defaults: dict[str, Any] = {}
        if not declaration.is_argument:
            defaults = sections.get(name, {}) | {"shared": vars(group).get("SHARED", False)}
        yield name, declaration._replace(settings=defaults | declaration.settings)


def flag_of(options: Printing, name: str) -> str:
    """Return the option that a user typed to fill a field, such as `--tls-keylog` for `tls_keylog`."""
    value = getattr(options, name)
    [entry] = [entry for entry in fields(options) if entry.name == name]
    long: list[str] = []
    for names in entry.metadata[_METADATA_KEY].names:
        long += [text for text in names.split("/") if text.startswith("--")]
    return long[-1] if value is False and len(long) > 1 else long[0]


def given(options: Printing, *names: str) -> list[str]:
    """Return the options for the fields in `names` whose value is not the default."""
    defaults = {entry.name: entry.default for entry in fields(options)}
    return [flag_of(options, name) for name in names if name in defaults and getattr(options, name) != defaults[name]]


def refuse(options: Printing, names: tuple[str, ...], why: str) -> None:
    """Raise UsageError for the first of these fields that was given."""
    for text in given(options, *names):
        raise click.UsageError(f"{text} {why}")


_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}
_SIZE = re.compile(r"(\d{1,18})\s*([kmg]?)(?:i?b)?", re.IGNORECASE)


def size_of(text: str, option: str) -> int:
    """Parse a size such as `512MiB` into bytes. Units are powers of 1024. Raise UsageError for other text."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise click.UsageError(f"{option} takes bytes, or a size such as 512MiB, not {text!r}")
    return int(match[1]) << _UNITS[match[2].lower()]


MILLISECONDS = {"ms": 1, "": 1_000, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000}
"""Units of durations. A number without a unit is seconds."""
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)\s*(ms|s|m|min|h|)", re.IGNORECASE)


def milliseconds_of(every: str) -> int:
    """Return the milliseconds of a duration for `--every`, such as `500ms`, `10s`, `5m` or `1h`, at least 1.

    Raise UsageError for any other text.
    """
    match = _DURATION.fullmatch(every.strip())
    milliseconds = round(float(match[1]) * MILLISECONDS[match[2].lower()]) if match else 0
    if milliseconds < 1:
        raise click.UsageError(f"--every takes a duration of at least 1ms, such as 500ms, 10s, 5m or 1h, not {every!r}")
    return milliseconds


MOST = 1000
"""Maximum count of combinations, and of numbers in one range."""


EVERY = 12
"""Ranges with more numbers than this are sampled at 1, 2, 5, 10, 20, 50 and so on."""


def combinations(ranges: Mapping[str, tuple[int, ...]]) -> list[dict[str, int]]:
    """Return all combinations with one number of each range. The last range varies fastest.

    Raise UsageError if there are more than MOST combinations.
    """
    total = 1
    for choices in ranges.values():
        total *= len(choices)
    if total > MOST:
        raise click.UsageError(f"the ranges make {total} combinations; {MOST} are the most allowed")
    return [dict(zip(ranges, chosen, strict=True)) for chosen in product(*ranges.values())]


def numbers_of(text: str, option: str) -> tuple[int, ...]:
    """Parse a number, a list such as `1,10,100`, or a range such as `1..1000` or `1..20:5`, without duplicates.

    A range with a step contains every number of that step. A long range without one contains its ends and the numbers
    1, 2, 5, 10, 20, 50 and so on between them. Raise UsageError for other text.
    """
    values: list[int] = []
    try:
        for part in text.split(","):
            values += _expand_range(part.strip())
    except ValueError:
        raise click.UsageError(
            f"{option}: {text!r} is not a number, list (1,10,100) or range (1..1000, 1..20:5)"
        ) from None
    distinct = tuple(dict.fromkeys(values))
    if len(distinct) > MOST or min(distinct) < 0:
        raise click.UsageError(f"{option}: {text!r}: at most {MOST} numbers, none of them negative")
    return distinct


def _expand_range(text: str) -> Iterator[int]:
    low_text, dots, rest = text.partition("..")
    if not dots:
        yield int(text)
        return
    high_text, colon, step_text = rest.partition(":")
    low = int(low_text)
    high = int(high_text)
    step = int(step_text) if colon else 1
    if low > high or step < 1:
        raise ValueError
    if colon or high - low < EVERY:
        if (high - low) // step > MOST:
            raise ValueError
        yield from range(low, high + 1, step)
        return
    yield low
    unit = 1
    while unit <= high:
        yield from (number for number in (unit, 2 * unit, 5 * unit) if low < number < high)
        unit *= 10
    yield high
