"""Options as typed values: the options of a command are a frozen dataclass, which click fills.

A field of such a class is declared by `option`, `flag` or `argument`. `cli.options` has the groups of options that
several commands share. They are neither compared nor printed, most are made only as parts of commands' options, and
start-up counts: hence `eq=False, repr=False`, and `init=False` for groups that no command makes by themselves.

    @dataclass(frozen=True, kw_only=True)
    class Options(Captures, Report):
        limit: int | None = option("--limit", type=click.IntRange(min=0), metavar="N", help="Read at most this many.")

    @click.command(name="clients")
    @takes(Options)
    def command(environment: Environment, options: Options) -> int: ...
"""

from __future__ import annotations

import inspect
from dataclasses import Field, dataclass, field, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import click

from kwire_cli.cli.command import Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.cli.environment import Environment

_DECLARED = "kwire"


class _Declared(NamedTuple):
    names: tuple[str, ...]
    settings: dict[str, Any]
    is_argument: bool = False


def option(*names: str, **settings: Any) -> Any:
    """Declare a field that options of these names fill.

    The settings are those of `click.option`, with `section`, `rare` and `former` of a `Setting`. By default the
    section is the `SECTION` of the class that declares the field.
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

    SECTION: ClassVar[str] = "Output"

    colour: str = option(
        "--color",
        rare=True,
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        help="Set when to use colour; NO_COLOR and FORCE_COLOR set it too.",
    )
    no_pager: bool = flag("--no-pager", rare=True, help="Show results that are longer than the screen without a pager.")

    @property
    def is_live(self) -> bool:
        """Return whether results come as things happen, so that no pager and no other file stands between."""
        return False

    def apply(self, environment: Environment) -> None:
        """Set how an environment prints."""
        environment.colour = self.colour
        environment.use_terminal(paged=not (self.is_live or self.no_pager))

    @classmethod
    def settings_for(cls, group: type[Printing], settings: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG003 - overrides go by the group
        """Return the settings, in this command, of an option that a group declares with `settings`."""
        return settings


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
        for group, name, declared in reversed([*_declared(options)]):
            settings = options.settings_for(group, declared.settings)
            if declared.is_argument:
                command = click.argument(*declared.names, name, **settings)(command)
            else:
                command = click.option(*declared.names, name, cls=Setting, **settings)(command)
        return command

    return decorate


def _declared(options: type[Printing]) -> Iterator[tuple[type[Printing], str, _Declared]]:
    """Yield what click is told of each field, and the class that declares it: first those of the command itself, then
    those of each base in order.
    """
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
            section = {} if declared.is_argument else sections.get(name, {})
            yield group, name, declared._replace(settings=section | declared.settings)


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
