"""Options as typed values: the options of a command are a frozen dataclass, which click fills.

A field of such a class is declared by `option`, `flag` or `argument`. `cli.options` has the groups of options that
several commands share. They are neither compared nor printed, most are made only as parts of commands' options, and
start-up counts: hence `eq=False, repr=False`, and `init=False` for groups that no command makes by themselves.

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
from dataclasses import Field, dataclass, field, fields
from functools import wraps
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import click

from kwire_cli.cli.command import Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kwire_cli.cli.environment import Environment


_DECLARED = "kwire"


class _Declared(NamedTuple):
    names: tuple[str, ...]
    settings: dict[str, Any]
    is_argument: bool = False


def option(*names: str, **settings: Any) -> Any:
    """Declare a field that options of these names fill.

    The settings are those of `click.option`, with `section`, `rare` and `shared` of a `Setting`. By default,
    the section is the `SECTION` of the class that declares the field.
    """
    default = settings.setdefault("default", () if settings.get("multiple") else None)
    return field(default=default, metadata={_DECLARED: (_Declared(names, settings),)})


def flag(*names: str, **settings: Any) -> Any:
    """Declare a field that is True if one of these flags is given."""
    return option(*names, is_flag=True, default=False, **settings)


def argument(**settings: Any) -> Any:
    """Declare a field that arguments fill; the settings are those of `click.argument`."""
    default: Any = () if settings.get("nargs") == -1 else None
    return field(default=default, metadata={_DECLARED: (_Declared((), settings, is_argument=True),)})


def either(*options: Field[Any]) -> Any:
    """Declare a field that any of several options fills, such as --request and --response."""
    declared = tuple(entry for one in options for entry in one.metadata[_DECLARED])
    return field(default=options[0].default, metadata={_DECLARED: declared})


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, init=False)
class Printing:
    """Options for printing results. All options of commands are Printing."""

    SECTION: ClassVar[str]
    """The heading in help of the options that a class declares."""
    SHARED: ClassVar[bool]
    """Whether many commands have the options that a class declares, so that `kwire help` explains them."""

    @property
    def is_live(self) -> bool:
        """Return whether results come as things happen, so that no pager and no other file stands between."""
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
            given = options(**values)
            given.apply(environment)
            result = function(environment, given)
            environment.finish()
            return result

        command: Callable[..., Any] = run
        for name, declared in reversed([*_declared(options)]):
            if declared.is_argument:
                command = click.argument(*declared.names, name, **declared.settings)(command)
            else:
                command = click.option(*declared.names, name, cls=Setting, **declared.settings)(command)
        return command

    return decorate


def _declared(options: type[Printing]) -> Iterator[tuple[str, _Declared]]:
    """Yield what click is told of each field: first those of the command itself, then those of each base in order."""
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
        for declared in by_name[name].metadata[_DECLARED]:
            shown: dict[str, Any] = {}
            if not declared.is_argument:
                shown = sections.get(name, {}) | {"shared": vars(group).get("SHARED", False)}
            yield name, declared._replace(settings=shown | declared.settings)


def flag_of(options: Printing, name: str) -> str:
    """Return what a person typed to fill a field: `--tls-keylog` for `tls_keylog`."""
    value = getattr(options, name)
    [entry] = [entry for entry in fields(options) if entry.name == name]
    declared = entry.metadata[_DECLARED]
    said = next(
        (one for one in declared if "flag_value" in one.settings and one.settings["flag_value"] == value), declared[0]
    )
    spellings = [part for text in said.names for part in text.split("/")]
    long: list[str] = [text for text in spellings if text.startswith("--")]
    return long[-1] if value is False and len(long) > 1 else long[0]


def given(options: Printing, *names: str) -> list[str]:
    """Return the flags among some fields that have a value other than their default."""
    defaults = {entry.name: entry.default for entry in fields(options)}
    return [flag_of(options, name) for name in names if name in defaults and getattr(options, name) != defaults[name]]


def refuse(options: Printing, names: tuple[str, ...], why: str) -> None:
    """Raise UsageError for the first of these fields that was given."""
    for text in given(options, *names):
        raise click.UsageError(f"{text} {why}")


# Sizes and numbers in options: `512MiB`, `1,10,100`, `1..1000`, `PATH=N`.

_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}
_SIZE = re.compile(r"(\d{1,18})\s*([kmg]?)(?:i?b)?", re.IGNORECASE)


def size_of(text: str, option: str) -> int:
    """The bytes that `text` says; UsageError that names the option otherwise. Units are powers of 1024."""
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
"""Combinations, and numbers in one range."""


EVERY = 12
"""A range of more numbers than this is walked in the steps 1, 2, 5, 10, 20, 50 and so on."""


def numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """The callback of an option that takes numbers."""
    return None if value is None else _numbers(value, ctx, param)


def counts(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, tuple[int, ...]] | None:
    """The callback of an option that takes PATH=NUMBERS and is repeatable."""
    if not value:
        return None
    numbers_by_path = {}
    for text in value:
        path, mark, rest = text.partition("=")
        if not mark or not path.strip():
            raise click.BadParameter(f"{text!r} is not PATH=N, such as topics[].partitions=100", ctx, param)
        numbers_by_path[path.strip().removesuffix("[]")] = _numbers(rest, ctx, param)
    return numbers_by_path


def combinations(ranges: Mapping[str, tuple[int, ...]]) -> list[dict[str, int]]:
    """Every combination of one number each, the last name's changing fastest. UsageError where there are too many."""
    total = 1
    for choices in ranges.values():
        total *= len(choices)
    if total > MOST:
        raise click.UsageError(f"the ranges make {total} combinations; {MOST} are the most allowed")
    return [dict(zip(ranges, chosen, strict=True)) for chosen in product(*ranges.values())]


def _numbers(text: str, ctx: click.Context, param: click.Parameter) -> tuple[int, ...]:
    """`100`, `1,10,100`, `1..1000` (its ends, and 1, 2, 5, 10, 20, 50 … between them), `1..20:5` (every fifth): in this
    order, none twice.
    """
    try:
        values = tuple(dict.fromkeys(number for part in text.split(",") for number in _range(part.strip())))
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a number, list (1,10,100) or range (1..1000, 1..20:5)", ctx, param
        ) from None
    if len(values) > MOST or min(values) < 0:
        raise click.BadParameter(f"{text!r}: at most {MOST} numbers, none of them negative", ctx, param)
    return values


def _range(text: str) -> Iterator[int]:
    low_text, dots, rest = text.partition("..")
    if not dots:
        yield int(text)
        return
    high_text, colon, step_text = rest.partition(":")
    low, high, step = int(low_text), int(high_text), int(step_text) if colon else 1
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
