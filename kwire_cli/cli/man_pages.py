"""Manual pages, made from the commands themselves: `python -m kwire_cli.cli.man_pages FOLDER` writes kwire.1 and one
page for each command.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwire_cli.cli.command import SHOW_ALL, Command, Group
from kwire_cli.cli.main import cli
from kwire_cli.spec.kafka import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

EXIT_CODES = (
    ("0", "Done."),
    (
        "1",
        "Something was found that the command looks for: a fault, an anomaly with --strict, a difference that breaks.",
    ),
    ("2", "The arguments are wrong, or the input cannot be read."),
    ("130", "Interrupted."),
)
ENVIRONMENT = (
    ("NO_COLOR, FORCE_COLOR", "Never colours, or always, where --color does not say."),
    (
        "_KWIRE_COMPLETE",
        "Set to bash_source, zsh_source or fish_source, kwire prints what makes that shell complete its commands.",
    ),
)


def pages() -> dict[str, str]:
    """The text of each page by its file's name."""
    return {
        f"{name}.1": page for name, page in _pages(cli, click.Context(cli, info_name="kwire", **cli.context_settings))
    }


def _pages(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """The page of a command, and those of its subcommands."""
    below = []
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child and not child.hidden:
                below.append((child, click.Context(child, info_name=name, parent=context)))
    title = context.command_path.replace(" ", "-")
    yield title, "\n".join([*_page(command, context, below)]) + "\n"
    for child, inner in below:
        yield from _pages(child, inner)


def _page(
    command: click.Command, context: click.Context, below: list[tuple[click.Command, click.Context]]
) -> Iterator[str]:
    title = context.command_path.replace(" ", "-")
    summary, *rest = _paragraphs(command.help or "")
    yield '.\\" Made from the command itself; -*- coding: utf-8 -*-'
    yield f'.TH "{_text(title.upper())}" "1" "" "kwire {VERSION}" "kwire"'
    yield from _section("NAME", [f"{_text(title)} \\- {_text(summary.rstrip('.'))}"])
    yield ".SH SYNOPSIS"
    yield f".B {_text(context.command_path)}"
    yield _text(" ".join(command.collect_usage_pieces(context)))
    yield from _section("DESCRIPTION", [line for text in [summary, *rest] for line in (".PP", _text(text))][1:])
    context.meta[SHOW_ALL] = True
    options = [
        record
        for parameter in command.get_params(context)
        if (record := parameter.get_help_record(context)) and record[1]
    ]
    if isinstance(command, Command | Group):
        yield from _terms("EXAMPLES", [(example.line, f"{example.meaning}.") for example in command.examples])
    yield from _terms("OPTIONS", options)
    yield from _terms(
        "COMMANDS",
        [(inner.command_path.replace(" ", "-") + "(1)", child.get_short_help_str(200)) for child, inner in below],
    )
    yield from _terms("EXIT STATUS", EXIT_CODES)
    yield from _terms("ENVIRONMENT", ENVIRONMENT)
    if context.parent:
        yield from _section("SEE ALSO", [f"{_text(context.parent.command_path.replace(' ', '-'))}(1)"])


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f".SH {title}"
    yield from lines


def _terms(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A section of names and what they mean; nothing without any."""
    rows = [*rows]
    if rows:
        yield f".SH {title}"
    for name, meaning in rows:
        yield ".TP"
        yield f"\\fB{_text(name)}\\fR"
        yield _text(meaning)


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of a help text, each on one line."""
    return [" ".join(part.replace("\b", "").split()) for part in re.split(r"\n\s*\n", text.strip())]


def _text(text: str) -> str:
    """`text` so that roff takes no character of it for a command; hyphens stay what they are, to be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def write(folder: Path) -> None:
    """Write all pages into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
