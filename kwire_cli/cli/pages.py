"""What commands do with `--format html`: one page of frames or batches, written as they come, that says how to get what it has no room for."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.view.html.page import Page

LONGEST = 60
MOST = 500
"""Frames or batches of a page without --limit."""


def refuse_terminal(environment: Environment) -> None:
    """UsageError where a page would go to a terminal."""
    if environment.to_terminal:
        raise click.UsageError("a page in HTML is for a browser: send it to a file, as in … --format html > report.html")


def title_of(command: str, sources: Sequence[str]) -> str:
    """What a page is called: the command, and the files that it was given; their end where they are long."""
    names = files_among(sources)
    shown = [name if len(name) <= LONGEST else f"…{name[-LONGEST:]}" for name in names[:3]]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return " ".join(["kwire", command, *shown]) + more


def files_among(sources: Sequence[str]) -> list[str]:
    """The arguments that are files or standard input, as text. Bytes that are an argument themselves are not told: there may be secrets in them."""
    from kwire_cli.cli.inputs import is_file
    from kwire_cli.cli.segments import path_text

    return [path_text(source) for source in sources if source == "-" or is_file(source)]


def new_page(environment: Environment, kind: str, command: str, sources: Sequence[str], limit: int | None) -> Page:
    """A page of frames or batches on standard output; UsageError on a terminal, and for a limit of none."""
    from kwire_cli.view.html.page import Page

    refuse_terminal(environment)
    if limit == 0:
        raise click.UsageError("--limit 0 leaves nothing to put on a page")

    def write(text: str) -> None:
        environment.write_bytes(text.encode("utf-8", "backslashreplace"))

    line = shlex.join(["kwire", command, *files_among(sources), "--format", "html"])
    return Page(write, kind, title_of(command, sources), line, most=limit or MOST)
