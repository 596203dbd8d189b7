"""Options as typed values: the options of a command are an object of its class, which click fills.

A field of such a class is declared by `option`, `flag` or `argument`. `cli.options` has the groups of options that
several commands share. They are plain classes: dataclasses generate methods, which slows down start-up.

    class Options(Captures, Report):
        top: int | None = option("--top", type=click.IntRange(min=0), metavar="N", help="Read at most this many.")

    @click.command(name="clients")
    @takes(Options)
    def command(environment: Environment, options: Options) -> int: ...
"""

from __future__ import annotations

import re
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import click

from kwire_cli.cli.command import Fit, Setting

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.cli.environment import Environment
    from kwire_cli.records.selection import Range


class Declaration(NamedTuple):
    """A field: the names and settings of its option, and its value without the option."""

    names: tuple[str, ...]
    settings: dict[str, Any]
    default: Any
    is_argument: bool = False


def option(*names: str, **settings: Any) -> Any:
    """Declare a field that options with these names fill.

    The settings are passed to `click.option`, which accepts `section`, `rare`, `shared` and `fits` of a `Setting` too.
    The defaults of section and fits are `SECTION` and `FITS` of the class that declares the field.
    """
    default = settings.setdefault("default", () if settings.get("multiple") else None)
    return Declaration(names, settings, default)


def flag(*names: str, **settings: Any) -> Any:
    """Declare a field that is True if one of these flags is given."""
    return option(*names, is_flag=True, default=False, **settings)


def argument(**settings: Any) -> Any:
    """Declare a field that arguments fill. The settings are passed to `click.argument`."""
    return Declaration((), settings, () if settings.get("nargs") == -1 else None, is_argument=True)


class Printing:
    """Options for printing results. This is the base class of the options of all commands.

    Fields get their values once, when an object is created, by click or in a test.
    """

    SECTION: ClassVar[str]
    """The heading in help of the options that a class declares."""
    SHARED: ClassVar[bool]
    """True if many commands have the options that a class declares, so that `kwire help` explains them."""
    FITS: ClassVar[Fit | None]
    """The inputs that the options of a class are for. Without it, they are for all."""

    FIELDS: ClassVar[dict[str, Declaration]] = {}
    """The fields in the order of help: the fields of the class come first, then the fields of each base."""

    def __init_subclass__(cls) -> None:
        """Collect the fields. The first class that declares a field sets its section."""
        fields: dict[str, Declaration] = {}
        for base in cls.__mro__:
            group = {"shared": vars(base).get("SHARED", False)}
            group |= {name.lower(): vars(base)[name] for name in ("SECTION", "FITS") if name in vars(base)}
            for name, declaration in vars(base).items():
                if isinstance(declaration, Declaration):
                    known = fields.setdefault(name, declaration)
                    if not known.is_argument:
                        fields[name] = known._replace(settings=group | known.settings)
        cls.FIELDS = fields

    def __init__(self, **values: Any) -> None:
        """Set the fields, by default to the defaults of their options. Raise UsageError as `check` does."""
        if unknown := values.keys() - self.FIELDS.keys():
            raise TypeError(f"{type(self).__name__} has no {', '.join(unknown)}")
        vars(self).update({name: declaration.default for name, declaration in self.FIELDS.items()} | values)
        self.check()

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse to change a field."""
        raise AttributeError(f"{name} cannot be set: options do not change")

    def check(self) -> None:
        """Raise UsageError for options that do not go together."""

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
        for name, declaration in reversed(options.FIELDS.items()):
            if declaration.is_argument:
                command = click.argument(*declaration.names, name, **declaration.settings)(command)
            else:
                command = click.option(*declaration.names, name, cls=Setting, **declaration.settings)(command)
        return command

    return decorate


def flag_of(options: Printing, name: str) -> str:
    """Return the option that a user typed to fill a field, such as `--tls-keylog` for `tls_keylog`."""
    value = getattr(options, name)
    long: list[str] = []
    for names in options.FIELDS[name].names:
        long += [text for text in names.split("/") if text.startswith("--")]
    return long[-1] if value is False and len(long) > 1 else long[0]


def given(options: Printing, *names: str) -> list[str]:
    """Return the options for the fields in `names` whose value is not the default."""
    fields = options.FIELDS
    typed = [name for name in names if name in fields and getattr(options, name) != fields[name].default]
    return [flag_of(options, name) for name in typed]


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


def range_of(text: str, option: str, least: int = 0) -> Range:
    """Parse `A-B`, `A-`, `-B` or `A` into the first and the last number; None means no bound.

    Raise UsageError for other text, and for a last number below `least`.
    """
    low, dash, high = (part.strip() for part in text.partition("-"))
    try:
        first = int(low) if low else None
        last = int(high) if high else None
    except ValueError:
        first = last = None
    if first is None and last is None:
        raise click.UsageError(f"{option} takes A-B, A-, -B or A, not {text!r}")
    if not dash:
        last = first
    if last is not None and last < least:
        raise click.UsageError(f"{option} counts from {least}")
    if first is not None and last is not None and last < first:
        raise click.UsageError(f"{option} takes the lower number first, not {text!r}")
    return first, last


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
