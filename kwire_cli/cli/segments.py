"""Where `kwire dump` gets record batches from: segments and snapshots, folders of them, standard input; and the files that hold no batches."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.logs.names import BATCH_KINDS, FileName, Kind, file_name
from kwire_cli.source.logs.segments import files_in, nothing_in, partition_of, topic_of
from kwire_cli.stores import path_of
from kwire_cli.stores.folders import tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.stores import Place

_IN_MEMORY = 64 << 20


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A file that was asked for; `path` is None for standard input. `topic` is what its folder says, None where that says nothing."""

    path: Place | None
    name: FileName
    topic: str | None

    @property
    def partition(self) -> int | None:
        """The number of the partition that its folder says."""
        folder = None if self.path is None else partition_of(self.path)
        return folder.partition if folder else None

    @property
    def label(self) -> str:
        """What to call it."""
        return "standard input" if self.path is None else path_text(self.path)

    @property
    def has_batches(self) -> bool:
        """Whether its content is record batches: so by its name, or it is not one of Kafka's names and may be."""
        return self.name.kind in BATCH_KINDS or self.name.kind is Kind.OTHER


def path_text(path: str | Place) -> str:
    """A path as text that can be written, whatever its bytes."""
    return os.fsencode(path).decode("utf-8", "replace")


def files_of(environment: Environment, arguments: tuple[str, ...], *, every: bool = False) -> Iterator[SegmentFile]:
    """The files that the arguments name; of a folder, those with batches, partition by partition. InputError for what is not there.

    With `every` a folder gives all files that can be read: those of the log directory itself first.
    """
    if not arguments and not environment.stdin.isatty():
        arguments = ("-",)
    if not arguments:
        raise InputError("no input: give segments, snapshots, folders of a log directory, or - for standard input")
    for argument in arguments:
        path = path_of(argument)
        if argument == "-":
            yield SegmentFile(None, FileName(Kind.OTHER), None)
        elif not argument:  # as a path it is the folder that one is in
            raise InputError("an argument is empty: it names no file")
        elif path.is_dir():
            files = list(_in_folder(path, every=every))
            if not files:
                raise nothing_in(path, *(("file of a log directory",) if every else ("segment and no snapshot", "--all takes the other files too")))
            yield from files
        elif path.exists():
            yield _file(path, file_name(path.name))
        else:
            raise InputError("there is no such file", file=argument)


def note_links(environment: Environment, paths: Iterable[str]) -> None:
    """Name the links to folders below these paths on standard error, and say which led to a folder that was read already."""
    for path in map(path_of, paths):
        for link in tree(path).links if path.is_dir() else ():
            how = "followed" if link.entered else "not followed, as that folder is read under another path"
            environment.note(f"kwire: {path_text(link.path)}: a link to {path_text(link.target)}: {how}")


def _in_folder(path: Place, *, every: bool) -> Iterator[SegmentFile]:
    wanted = BATCH_KINDS
    if every:
        from kwire_cli.source.logs.reading import READABLE

        wanted |= READABLE
    for file in files_in(path, wanted):
        yield _file(file.path, file.name)


def _file(path: Place, name: FileName) -> SegmentFile:
    return SegmentFile(path, name, topic_of(name.kind, partition_of(path)))


def bytes_of(environment: Environment, file: SegmentFile) -> memoryview:
    """The bytes of a file, mapped; of a pipe what comes out of it, on disk where it is much."""
    from kwire_cli.stores import mapped

    if file.path is None:
        return _piped(environment.stdin)
    if file.path.is_file():
        return mapped(file.path)
    with file.path.open("rb") as pipe:
        return _piped(pipe)


def _piped(pipe: IO[bytes]) -> memoryview:
    start = pipe.read(_IN_MEMORY)
    if len(start) < _IN_MEMORY:
        return memoryview(start)
    import mmap
    import shutil
    import tempfile

    with tempfile.TemporaryFile() as spool:
        spool.write(start)
        shutil.copyfileobj(pipe, spool)
        spool.flush()
        return memoryview(mmap.mmap(spool.fileno(), 0, access=mmap.ACCESS_READ))
