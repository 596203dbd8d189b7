"""Topics of `kwire help`: the options that many commands share, and examples of the most used commands.

`shared` is a command that is never run. It has all shared options, so that click formats their help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kwire_cli.cli.command import Command, Group, option_rows, write_examples, write_rows
from kwire_cli.cli.options import (
    Captures,
    Choosing,
    Decompression,
    Definitions,
    Headers,
    Messages,
    RecordSets,
    Secrets,
    Tables,
)
from kwire_cli.cli.payloads import Payloads
from kwire_cli.cli.typed_options import takes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.cli.environment import Environment

TOPICS = {
    "input": """Inputs, and the options for reading and choosing that many commands share.

INPUT is files, folders, - or a pipe for standard input, or bytes as an argument. The help of a command names the
options that the command has. An option that does not fit the kind of an input is an error.""",
    "output": """Results, and the options for writing that many commands share.

Results go to standard output, remarks and progress to standard error. The help of a command names the options that
the command has, and shows its own formats.""",
}
"""The topics that explain shared options: the first paragraph, and the rest."""


class SharedOptions(
    Choosing,
    Messages,
    RecordSets,
    Headers,
    Captures,
    Payloads,
    Definitions,
    Decompression,
    Tables,
    Secrets,
):
    """All options that many commands share."""


@click.command(cls=Command)
@takes(SharedOptions)
def shared(environment: Environment, options: SharedOptions) -> None:
    """Hold all shared options. Nothing runs this command."""


def topic_text(ctx: click.Context, topic: str) -> str:
    """Return the text of a topic, with all options that the topic explains."""
    formatter = ctx.make_formatter()
    first, rest = TOPICS[topic].split("\n\n")
    formatter.write_text(first)
    formatter.write_paragraph()
    formatter.write_text(" ".join(rest.split()))
    settings = [setting for setting in shared.settings if setting.topic == topic]
    write_rows(formatter, option_rows(ctx, settings))
    return formatter.getvalue().rstrip("\n")


def examples_text(ctx: click.Context, commands: Iterable[click.Command | None]) -> str:
    """Return the examples of commands."""
    formatter = ctx.make_formatter()
    for command in commands:
        if isinstance(command, Command | Group):
            title = "FILE" if command.hidden else command.name
            write_examples(command.examples, formatter, title=title or "")
    return formatter.getvalue().strip("\n")
