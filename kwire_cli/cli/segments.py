"""Record batches among the inputs of commands: the files that hold them, and links to folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.kinds import Kind, why_batches
from kwire_cli.source.log_inputs import LogFile
from kwire_cli.source.logs.files import files_in, nothing_in, topic_at
from kwire_cli.source.logs.model import BATCH_KINDS, FileName, Kind as LogKind, file_name
from kwire_cli.stores import exists, mapped, path_of, path_text
from kwire_cli.stores.opening import tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.source.kinds import Recognised


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


def segment_files(content: Recognised) -> Iterator[LogFile]:
    """Yield the files of a log that an input is or, as a folder, holds. InputError for an input that is no log."""
    if content.kind is Kind.FOLDER and content.path is not None:
        files = [LogFile(file.path, file.name, topic_at(file.path)) for file in files_in(content.path, BATCH_KINDS)]
        if not files:
            raise nothing_in(content.path, "segment and no snapshot", "--all takes the other files too")
        yield from files
    elif content.kind not in {Kind.BATCHES, Kind.LOG_FILE}:
        raise InputError(f"this is {content.kind.what}; {content.kind.try_instead}", file=content.label)
    elif content.path is not None:
        yield LogFile(content.path, file_name(content.path.name), topic_at(content.path))
    else:
        for view in content.views:
            yield LogFile(None, FileName(LogKind.OTHER), None, view, path_text(content.label))


def note_links(environment: Environment, arguments: Iterable[str]) -> None:
    """Name the links to folders below these paths on standard error, and say which led to a folder that was read
    already.
    """
    for path in (path_of(argument) for argument in arguments if argument != "-" and exists(argument)):
        for link in tree(path).links if path.is_dir() else ():
            how = "followed" if link.entered else "not followed, as that folder is read under another path"
            environment.note(f"kwire: {path_text(link.path)}: a link to {path_text(link.target)}: {how}")
