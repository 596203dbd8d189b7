"""Partitions and segments in folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.logs.model import BATCH_KINDS, SEGMENT_KINDS, FileName, FolderName, Kind, file_name, folder_name
from kwire_cli.spec.kafka import CLUSTER_METADATA
from kwire_cli.stores import path_of
from kwire_cli.stores.opening import in_order_of_paths, tree

if TYPE_CHECKING:
    import os
    from collections.abc import Container, Iterable, Iterator

    from kwire_cli.stores import Place
    from kwire_cli.stores.opening import Tree


# A walk over log directories: which folder is a partition, the partitions in order, and their files in order.

_RANK = {kind: rank for rank, kind in enumerate(SEGMENT_KINDS)}


_OF_A_PARTITION = frozenset({Kind.LEADER_EPOCHS, Kind.PARTITION_METADATA})


@dataclass(frozen=True, slots=True)
class File:
    """A file and what its name says."""

    path: Place
    name: FileName

    @property
    def kind(self) -> Kind:
        """The kind of the file, by its name."""
        return self.name.kind


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition's folder. `name` is None where the folder's name is not one that Kafka gives; `files` are by offset,
    those without one last.
    """

    path: Place
    name: FolderName | None
    files: tuple[File, ...]

    def of(self, kind: Kind) -> list[File]:
        """Its files in use of this kind (without a suffix such as `.deleted`), by offset."""
        return [file for file in self.files if file.kind is kind and not file.name.suffix]

    @property
    def unused(self) -> list[File]:
        """Its files with batches that are not in use: deleted segments, and segments in the making."""
        return [file for file in self.files if file.kind in BATCH_KINDS and file.name.suffix]

    def at(self, kind: Kind, base_offset: int) -> File | None:
        """The file in use of this kind and offset; None where there is none."""
        return next((file for file in self.of(kind) if file.name.base_offset == base_offset), None)


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """A log directory: its own files, and its partitions by topic and number. The folder of a partition alone is one
    with that partition.
    """

    path: Place
    files: tuple[File, ...]
    partitions: tuple[Partition, ...]

    def __iter__(self) -> Iterator[File]:
        yield from self.files
        for partition in self.partitions:
            yield from partition.files


@dataclass(frozen=True, slots=True)
class Logs:
    """The log directories at and below a path in the order of their paths."""

    path: Place
    directories: tuple[LogDirectory, ...]

    def __iter__(self) -> Iterator[File]:
        for directory in self.directories:
            yield from directory

    @property
    def files(self) -> tuple[File, ...]:
        """The log directories' own files."""
        return tuple(file for directory in self.directories for file in directory.files)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """The partitions of all log directories."""
        return tuple(partition for directory in self.directories for partition in directory.partitions)


def walk(path: str | os.PathLike[str]) -> Logs:
    """Return the log directories of a folder: of a partition, a log directory, a broker or several of them, however
    deep.

    What is in a folder decides. With meta.properties, or with folders in it that hold partitions, a folder is a log
    directory, whatever its name (kafka-0, data-1). Without these it is a partition if it holds files of one, or is
    named like one. Files of a partition that lie in a log directory itself are a partition too, under that folder's
    path.

    Raises:
        InputError: It is no folder, or a folder below it cannot be read.

    """
    return logs_in(tree(path_of(path)))


def logs_in(listing: Tree) -> Logs:
    """Return what `walk` does, of a folder that is listed already."""
    own = {id(folder): _files(folder.files) for folder in listing.folders}
    holding: set[int] = set()  # folders that are partitions, or have one below them
    single: set[int] = set()  # folders that are partitions and nothing else
    for folder in reversed(listing.folders):  # those in a folder before it
        files = own[id(folder)]
        outer = any(id(sub) in holding for sub in folder.folders) or any(
            file.kind is Kind.META_PROPERTIES for file in files
        )
        if outer or _of_a_partition(files) or named_partition(folder.path):
            holding.add(id(folder))
        if not outer and id(folder) in holding:
            single.add(id(folder))
    directories = []
    for folder in in_order_of_paths(listing.folders):
        if id(folder) in single and folder is not listing.root:
            continue
        files = own[id(folder)]
        inside = [
            Partition(sub.path, named_partition(sub.path), own[id(sub)]) for sub in folder.folders if id(sub) in single
        ]
        if id(folder) in single:
            inside.append(Partition(folder.path, named_partition(folder.path), files))
            files = ()
        elif _of_a_partition(files):
            inside.append(Partition(folder.path, None, tuple(file for file in files if _in_a_partition(file))))
            files = tuple(file for file in files if not _in_a_partition(file))
        if files or inside:
            directories.append(LogDirectory(folder.path, files, tuple(sorted(inside, key=_partition_order))))
    return Logs(listing.root.path, tuple(directories))


def _in_a_partition(file: File) -> bool:
    return file.kind in _OF_A_PARTITION or file.name.base_offset is not None


def _of_a_partition(files: tuple[File, ...]) -> bool:
    return any(_in_a_partition(file) for file in files)


def _files(paths: Iterable[Place]) -> tuple[File, ...]:
    return tuple(sorted((File(path, file_name(path.name)) for path in paths), key=_file_order))


def named_partition(folder: Place) -> FolderName | None:
    """Return the partition that a folder's name says, in the path or behind a link; None where neither says one."""
    return folder_name(folder.name) or folder_name(folder.resolve().name)


def partition(path: str | os.PathLike[str]) -> Partition:
    """The files of one partition in a folder, whatever its name.

    Raises:
        InputError: It is no folder, or cannot be read.

    """
    folder = path_of(path)
    files = _listed(folder)
    if any(file.kind is Kind.META_PROPERTIES for file in files):
        return Partition(folder, None, tuple(file for file in files if _in_a_partition(file)))
    return Partition(folder, named_partition(folder), files)


def _partition_order(found: Partition) -> tuple[str, int, str, str]:
    name = found.name or FolderName("", -1)
    return name.topic, name.partition, name.state, name.id


def _file_order(file: File) -> tuple[int, int, int, str]:
    base = file.name.base_offset
    return base is None, base or 0, _RANK.get(file.kind, len(_RANK)), file.path.name


def _listed(folder: Place) -> tuple[File, ...]:
    try:
        # A link that leads nowhere cannot be read, as whoever reads it says.
        return _files(
            [entry for entry in folder.iterdir() if entry.is_file() or (entry.is_symlink() and not entry.is_dir())]
        )
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(folder)) from None


# Segments and snapshots in files, folders and globs, with the partitions that their folders say.

_NAMED = 3
"""Names of files that an error gives as examples."""
_TEXT_START = 64
"""Bytes that decide whether a `.log` is text."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of record batches; `topic` and `partition` are what its folder says, None where that says nothing."""

    path: str
    topic: str | None
    partition: int | None


def files_in(path: Place, kinds: Container[Kind]) -> Iterator[File]:
    """Yield the files of these kinds in a folder, in order: that of a partition, a log directory, or one of log
    directories, however deep. Texts such as server.log are not segments.
    """
    return (file for file in walk(path) if file.kind in kinds and not _is_text_log(file))


def _is_text_log(file: File) -> bool:
    """Return whether a `.log` without an offset in its name begins with text. Batches begin with zeros."""
    if file.kind is not Kind.LOG or file.name.base_offset is not None:
        return False
    try:
        with file.path.open("rb") as log:
            start = log.read(_TEXT_START)
    except OSError:  # reading it says why
        return False
    return bool(start) and not any(byte < ord(" ") and byte not in b"\t\r\n\x1b" for byte in start)


def nothing_in(path: Place, what: str, advice: str = "") -> InputError:
    """Return the error for a folder without `what`: it says what was looked for, what is there, and the advice."""
    listing = tree(path)
    files = [file.name for file in listing.files()]
    there = (
        f"{len(files)} file{'s'[: len(files) != 1]} in {len(listing.folders)} folder{'s'[: len(listing.folders) != 1]}"
    )
    some = f", such as {', '.join(sorted(set(files))[:_NAMED])}" if files else ""
    looked = f"looked for folders named TOPIC-PARTITION and files such as {0:020}.log at every depth"
    return InputError(
        f"there is no {what} in this folder: {looked}, and found {there}{some}{advice and f'; {advice}'}",
        file=str(path),
    )


def partition_of(file: Place) -> FolderName | None:
    """Return the partition that the folder of a file says; None where that says nothing."""
    return named_partition(file.absolute().parent)


def topic_of(kind: Kind, folder: FolderName | None) -> str | None:
    """The topic of a file of this kind by what its folder's name says; None where that says nothing. Only KRaft has
    snapshots.
    """
    return CLUSTER_METADATA if kind is Kind.CHECKPOINT else folder.topic if folder else None


def topic_at(path: Place) -> str | None:
    """The topic of a file by its path: what its name or the name of its folder says; None where these say nothing."""
    return topic_of(file_name(path.name).kind, partition_of(path))


def segment_at(path: Place) -> Segment:
    """A file with batches, or one that lies beside it, with the partition that it is of."""
    folder, kind = partition_of(path), file_name(path.name).kind
    return Segment(
        str(path), topic_of(kind, folder), 0 if kind is Kind.CHECKPOINT else folder.partition if folder else None
    )
