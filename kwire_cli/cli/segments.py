"""Record batches for `kwire dump`: where they are read from, and the files that hold no batches.

The sources are segments and snapshots, folders of them, and standard input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.cli.inputs import inputs
from kwire_cli.errors import InputError
from kwire_cli.source.files import spooled
from kwire_cli.source.kinds import Kind, why_batches
from kwire_cli.source.logs.files import files_in, nothing_in, partition_of, topic_at
from kwire_cli.source.logs.model import BATCH_KINDS, FileName, Kind as LogKind, file_name
from kwire_cli.stores import exists, mapped, path_of, path_text
from kwire_cli.stores.opening import tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.source.kinds import Recognised
    from kwire_cli.stores import Place


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A file that was asked for, or `given` bytes without a `path`, which are `called` something. `topic` is what the
    folder says, if anything.
    """

    path: Place | None
    name: FileName
    topic: str | None
    given: memoryview | None = None
    called: str = ""

    @property
    def partition(self) -> int | None:
        """The number of the partition that its folder says."""
        folder = None if self.path is None else partition_of(self.path)
        return folder.partition if folder else None

    @property
    def label(self) -> str:
        """The name to show for the file."""
        return self.called if self.path is None else path_text(self.path)

    @property
    def has_batches(self) -> bool:
        """Tell whether the file holds, or may hold, record batches.

        It does if its name says so, and may if its name is none of Kafka's.
        """
        return self.name.kind in BATCH_KINDS or self.name.kind is LogKind.OTHER

    @property
    def view(self) -> memoryview:
        """Its bytes, mapped; of a pipe what comes out of it, on disk where it is much."""
        if self.given is not None or self.path is None:
            return self.given or memoryview(b"")
        if self.path.is_file():
            return mapped(self.path)
        with self.path.open("rb") as pipe:
            return spooled(pipe)


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


def files_of(environment: Environment, arguments: tuple[str, ...], *, every: bool = False) -> Iterator[SegmentFile]:
    """The files that the arguments name, or the record batches that they are; of a folder, those with batches,
    partition by partition.

    With `every` a folder gives all files that can be read: those of the log directory itself first. InputError for what
    is not there or is no log.
    """
    for content in inputs(environment, arguments, "auto", catalog=None, says=Kind.BATCHES):
        yield from segment_files(content, every=every)


def segment_files(found: Recognised, *, every: bool = False) -> Iterator[SegmentFile]:
    """The files of a log that an input is or, as a folder, holds; InputError where that is none."""
    if found.kind is Kind.FOLDER and found.path is not None:
        files = list(_in_folder(found.path, every=every))
        if not files:
            what = (
                ("file of a log directory",)
                if every
                else ("segment and no snapshot", "--all takes the other files too")
            )
            raise nothing_in(found.path, *what)
        yield from files
    elif found.kind not in {Kind.BATCHES, Kind.LOG_FILE}:
        raise InputError(f"this is {found.kind.what}; {found.kind.try_instead}", file=found.label)
    elif found.path is not None:
        yield _file(found.path, file_name(found.path.name))
    else:
        for view in found.views:
            yield SegmentFile(None, FileName(LogKind.OTHER), None, view, path_text(found.label))


def note_links(environment: Environment, arguments: Iterable[str]) -> None:
    """Name the links to folders below these paths on standard error, and say which led to a folder that was read
    already.
    """
    for path in (path_of(argument) for argument in arguments if argument != "-" and exists(argument)):
        for link in tree(path).links if path.is_dir() else ():
            how = "followed" if link.entered else "not followed, as that folder is read under another path"
            environment.note(f"kwire: {path_text(link.path)}: a link to {path_text(link.target)}: {how}")


def _in_folder(path: Place, *, every: bool) -> Iterator[SegmentFile]:
    wanted = BATCH_KINDS
    if every:
        from kwire_cli.source.logs.contents import READABLE

        wanted |= READABLE
    for file in files_in(path, wanted):
        yield _file(file.path, file.name)


def _file(path: Place, name: FileName) -> SegmentFile:
    return SegmentFile(path, name, topic_at(path))
