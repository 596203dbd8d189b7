"""Pages that commands write with `--format html`: one page of frames or batches.

The page says how to get what it has no room for.
"""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import click

from kwire_cli.errors import without_credentials
from kwire_cli.stores import location

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.view.page.entries import Page

LONGEST = 60
"""Characters of a name in a title."""
MOST = 5000
"""Frames or batches of a page without --top."""


def refuse_terminal(environment: Environment) -> None:
    """UsageError where a page would go to a terminal."""
    if environment.to_terminal:
        raise click.UsageError("HTML is for a browser: write it to a file, as in … --format html > report.html")


def title_of(names: Sequence[str]) -> str:
    """Return the title of a page: its inputs without their folders. Only the end of a long name is shown."""
    names = [PurePath(without_credentials(name)).name for name in names]
    labels = [name if len(name) <= LONGEST else f"…{name[-LONGEST:]}" for name in names[:3]]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(labels) + more


def files_among(sources: Sequence[str]) -> list[str]:
    """The arguments that are files, folders or standard input, as text. What is bytes itself is not told, as secrets
    may be in it.
    """
    return [
        location(source) for source in sources if source == "-" or _exists(source) or _exists(source.rpartition("@")[0])
    ]


def _exists(name: str) -> bool:
    try:
        return bool(name) and Path(name).exists()
    except (OSError, ValueError):
        return False


def new_page(environment: Environment, kind: str, command: str, sources: Sequence[str], limit: int | None) -> Page:
    """A page of frames or batches on standard output; UsageError on a terminal, and for a limit of none."""
    from kwire_cli.cli.questions import typed
    from kwire_cli.view.page.entries import Page

    refuse_terminal(environment)
    if limit == 0:
        raise click.UsageError("--top 0 leaves nothing to put on a page")

    def write(text: str) -> None:
        environment.write_bytes(text.encode("utf-8", "backslashreplace"))

    names = files_among(sources)
    arguments = typed(names) if names else ""
    return Page(write, kind, title_of(names) or command, command=command, arguments=arguments, most=limit or MOST)
