"""Record batches among the inputs of commands: the files that hold them, and links to folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.source.kinds import why_batches
from kwire_cli.source.logs.model import BATCH_KINDS, file_name
from kwire_cli.stores import exists, mapped, path_of, path_text
from kwire_cli.stores.opening import tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.cli.environment import Environment


def holds_batches(argument: str) -> bool:
    """Return whether an argument holds record batches.

    It does if it is a folder, a file with the name of a segment or snapshot, or a file that begins with a record
    batch.
    """
    if not exists(argument):
        return False
    path = path_of(argument)
    return (
        path.is_dir()
        or file_name(path.name).kind in BATCH_KINDS
        or (path.is_file() and bool(why_batches(mapped(path))))
    )


def note_links(environment: Environment, arguments: Iterable[str]) -> None:
    """Name the links to folders below these paths on standard error, and say which led to a folder that was read
    already.
    """
    for path in (path_of(argument) for argument in arguments if argument != "-" and exists(argument)):
        for link in tree(path).links if path.is_dir() else ():
            how = "followed" if link.entered else "not followed, as that folder is read under another path"
            environment.note(f"kwire: {path_text(link.path)}: a link to {path_text(link.target)}: {how}")
