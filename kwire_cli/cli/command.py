"""Commands and their help: examples, options in sections, rare and shared options.

--help lists the options of the command itself. It names the options that many commands share, which `kwire help input`
and `kwire help output` explain. --help-all lists all of them.

A command is declared with `cls=Command`, and its options with `option` and `flag` of `cli.typed_options`, which make
each of them a `Setting`:

    @click.command(name="clients", cls=Command, examples=EXAMPLES)
    @takes(Options)
    def command(environment: Environment, options: Options) -> int: ...
"""

from __future__ import annotations

from functools import cache
from itertools import chain
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.exceptions import NoSuchOption

from kwire_cli.errors import close_to, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire_cli.source.kinds import Kind

SECTIONS = ("Choose", "Input", "Output", "Upkeep", "Advanced")
"""Headings of the options in help, in order."""
MAX_CHOICES = 24
"""Maximum length of the choices next to the name of an option in help. Longer choices appear only under --help-all."""
MAX_WIDTH = 34
"""Maximum width of the column with the names of options in help."""
SHOW_ALL = "kwire.help-all"
"""Key in the `meta` of a context that is set if help includes rare options."""
MEANT = {
    "--topic": 'topic == "{}"',
    "--topics": 'topic == "{}"',
    "--client": 'client_id == "{}"',
    "--client-id": 'client_id == "{}"',
    "--group": 'group == "{}"',
    "--group-id": 'group == "{}"',
    "--broker": "broker == {}",
    "--error": "error",
    "--errors": "error",
    "--slow": "latency > 100ms",
    "--latency": "latency > {}",
    "--host": 'host == "{}"',
    "--api": "api == {}",
    "--correlation-id": "correlation_id == {}",
    "--partition": "partition == {}",
    "--frames": "frame >= A and frame <= B",
}
"""Options that users try instead of --filter, with the equivalent filter."""


class Example(NamedTuple):
    """A command line that shows a use of a command, with a short description."""

    line: str
    meaning: str


class Fit(NamedTuple):
    """The kinds of inputs that an option supports, and their description in errors."""

    kinds: frozenset[Kind]
    what: str


class Setting(click.Option):
    """An option of a command.

    `section` is its heading in help. A `rare` option is listed only under --help-all. A `shared` option belongs to many
    commands and is explained in a topic of `kwire help`. `fits` is the kinds of inputs that it is for.
    """

    def __init__(
        self,
        *arguments: Any,
        section: str = SECTIONS[0],
        rare: bool = False,
        shared: bool = False,
        fits: Fit | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, **settings)
        self.section = section
        self.rare = rare
        self.shared = shared
        self.fits = fits

    @property
    def topic(self) -> str:
        """The topic of `kwire help` that explains the option."""
        return "output" if self.section == "Output" else "input"

    @property
    def _has_many_choices(self) -> bool:
        return (
            self.metavar is None
            and isinstance(self.type, click.Choice)
            and len("|".join(map(str, self.type.choices))) > MAX_CHOICES
        )

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """Convert a typed value. The error for an invalid value suggests similar choices."""
        try:
            return super().type_cast_value(ctx, value)
        except click.BadParameter as error:
            text = str(value[-1] if self.multiple else value)
            if isinstance(self.type, click.Choice):
                near = did_you_mean(close_to(text, map(str, self.type.choices)))
                raise click.BadParameter(f"{error.message.removesuffix('.')}{near}", ctx, self) from None
            if isinstance(self.type, click.IntRange) and not text.lstrip("+-").isdecimal():
                raise click.BadParameter(f"{text!r} is not a whole number", ctx, self) from None
            raise

    def make_metavar(self, ctx: click.Context) -> str:
        """Return the placeholder of the value: the choices, or the name of the option if there are many choices."""
        return _long_name(self.opts).lstrip("-").upper() if self._has_many_choices else super().make_metavar(ctx)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the names and the text of the option. Under --help-all, many choices follow the text."""
        record = super().get_help_record(ctx)
        if record and self._has_many_choices and isinstance(self.type, click.Choice) and ctx.meta.get(SHOW_ALL):
            return record[0], f"{record[1]}  Values: {', '.join(map(str, self.type.choices))}."
        return record

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return the part in brackets after the text, without the range of numbers, which does not help users."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class Command(click.Command):
    """A command with examples, and with its options in sections."""

    def __init__(self, *arguments: Any, examples: Sequence[tuple[str, str]] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.examples = tuple(Example(*example) for example in examples)

    @property
    def settings(self) -> list[Setting]:
        """The options of the command, without --help."""
        return [parameter for parameter in self.params if isinstance(parameter, Setting)]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters of the command, with --help-all if help omits some of them."""
        parameters = super().get_params(ctx)
        if any((one.rare or one.shared) and not one.hidden for one in self.settings):
            return [*parameters[:-1], _help_all_option(), parameters[-1]]
        return parameters

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, then the options by section, then the names of shared options by topic."""
        write_examples(self.examples, formatter)
        settings = [one for one in self.settings if not one.hidden]
        if not ctx.meta.get(SHOW_ALL):
            settings = [one for one in settings if not one.rare and not one.shared]
        others = [one for one in self.get_params(ctx) if isinstance(one, click.Option) and not isinstance(one, Setting)]
        rows = option_rows(ctx, settings)
        rows[""] = [row for one in others if (row := one.get_help_record(ctx))]
        write_rows(formatter, rows)
        if not ctx.meta.get(SHOW_ALL):
            self._write_shared(formatter)

    def _write_shared(self, formatter: click.HelpFormatter) -> None:
        """Write the names of shared options by the topic of `kwire help` that explains them."""
        for topic in ("input", "output"):
            settings = [one for one in self.settings if one.shared and one.topic == topic and not one.hidden]
            names = [_long_name(one.opts) for one in settings]
            if names:
                with formatter.section(f"Also, explained by kwire help {topic}"):
                    indent = " " * formatter.current_indent
                    text = fill(
                        " ".join(names),
                        formatter.width,
                        initial_indent=indent,
                        subsequent_indent=indent,
                        break_on_hyphens=False,
                    )
                    formatter.write(f"{text}\n")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments. The error for an unknown option suggests an equivalent filter."""
        try:
            return super().parse_args(ctx, list(args))  # click empties the list
        except NoSuchOption as error:
            if hint := self._suggest_filter(error, args):
                raise click.UsageError(hint, ctx) from None
            raise

    def _suggest_filter(self, error: NoSuchOption, args: list[str]) -> str:
        """Return a hint with the filter for an unknown option, or an empty string if there is no such filter."""
        name = error.option_name
        form = MEANT.get(name)
        has_filter = any("--filter" in one.opts for one in self.settings)
        if form is None or not has_filter:
            return ""
        at = _find_option(name, args)
        _, equals, value = args[at].partition("=")
        if not equals:
            value = args[at + 1] if at + 1 < len(args) and not args[at + 1].startswith("-") else "x"
        return f"there is no {name}; write --filter '{form.format(value)}'"


class Group(click.Group):
    """A group of commands, with examples. Its commands have the class `Command`."""

    command_class = Command

    def __init__(self, *arguments: Any, examples: Sequence[tuple[str, str]] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.examples = tuple(Example(*example) for example in examples)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, then the commands and the options."""
        write_examples(self.examples, formatter)
        self.format_commands(ctx, formatter)
        with formatter.section("Options"):
            records = [parameter.get_help_record(ctx) for parameter in self.get_params(ctx)]
            formatter.write_dl([record for record in records if record])


def option_rows(ctx: click.Context, settings: Sequence[Setting]) -> dict[str, list[tuple[str, str]]]:
    """Return the names and the text of options by section."""
    rows: dict[str, list[tuple[str, str]]] = {section: [] for section in SECTIONS}
    for setting in settings:
        if row := setting.get_help_record(ctx):
            rows[setting.section].append(row)
    return rows


def write_rows(formatter: click.HelpFormatter, rows: Mapping[str, list[tuple[str, str]]]) -> None:
    """Write names and descriptions by section. The first column has the same width in all sections."""
    longest = max(len(name) for name, _ in chain.from_iterable(rows.values()))
    for section, entries in rows.items():
        if entries:
            with formatter.section(section) if section else formatter.indentation():
                formatter.write_dl([(f"{name:<{min(longest, MAX_WIDTH)}}", text) for name, text in entries], MAX_WIDTH)


def _long_name(names: Sequence[str]) -> str:
    for name in names:
        if name.startswith("--"):
            return name
    return names[0]


def _find_option(name: str, args: list[str]) -> int:
    for at, text in enumerate(args):
        if text == name or text.startswith(f"{name}="):
            return at
    return 0


def write_examples(examples: Sequence[Example], formatter: click.HelpFormatter, title: str = "Examples") -> None:
    """Write examples with their meanings, on the same line if all fit, otherwise below."""
    if not examples:
        return
    with formatter.section(title):
        longest = max(len(example.line) for example in examples)
        for line, meaning in examples:
            indent = " " * formatter.current_indent
            room = formatter.width - formatter.current_indent - longest - 2
            if all(len(example.meaning) <= room for example in examples):
                formatter.write(f"{indent}{line:<{longest}}  {meaning}\n")
            else:
                formatter.write(f"{indent}{line}\n{indent}    {meaning}\n")


@cache
def _help_all_option() -> click.Option:
    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_all,
        help="Show all options, and all values they take.",
    )


def _show_all(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click calls it
    if value and not ctx.resilient_parsing:
        ctx.meta[SHOW_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
