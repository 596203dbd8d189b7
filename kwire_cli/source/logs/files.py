"""Partitions and segments of Kafka log directories.

`walk` lists a folder once and decides from its contents which folders are log directories and which are partitions.
Names do not suffice: a log directory can be named like a partition (kafka-0), and a copied partition can have
any name. Partitions are in order of topic and number, their files in order of base offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.logs.model import BATCH_KINDS, SEGMENT_KINDS, FileName, FolderName, Kind, file_name, folder_name
from kwire_cli.spec.kafka import CLUSTER_METADATA
from kwire_cli.stores.opening import in_order_of_paths, tree
from kwire_cli.stores.paths import path_of

if TYPE_CHECKING:
    import os
    from collections.abc import Container, Iterable, Iterator

    from kwire_cli.stores.opening import Tree
    from kwire_cli.stores.paths import Place


_RANK = {kind: rank for rank, kind in enumerate(SEGMENT_KINDS)}


_PARTITION_KINDS = frozenset({Kind.LEADER_EPOCHS, Kind.PARTITION_METADATA})


@dataclass(frozen=True, slots=True)
class File:
    """A file with the parts of its name."""

    path: Place
    name: FileName

    @property
    def kind(self) -> Kind:
        """The kind of the file, from its name."""
        return self.name.kind


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition's folder. `name` is None if the folder has no name of a partition. `files` are in order of offset;
    files without one are last.
    """

    path: Place
    name: FolderName | None
    files: tuple[File, ...]

    def of(self, kind: Kind) -> list[File]:
        """Return the files of this kind that are in use (without a suffix such as `.deleted`), by offset."""
        return [file for file in self.files if file.kind is kind and not file.name.suffix]

    @property
    def unused(self) -> list[File]:
        """Files with batches that are not in use: deleted segments and incomplete segments."""
        return [file for file in self.files if file.kind in BATCH_KINDS and file.name.suffix]

    def at(self, kind: Kind, base_offset: int) -> File | None:
        """Return the file of this kind and offset that is in use, or None if no such file exists."""
        for file in self.of(kind):
            if file.name.base_offset == base_offset:
                return file
        return None


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """A log directory with its files, and its partitions by topic and number. A single partition folder is represented
    as a log directory with that partition.
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
    """The log directories at and below a path, ordered by path."""

    path: Place
    directories: tuple[LogDirectory, ...]

    def __iter__(self) -> Iterator[File]:
        for directory in self.directories:
            yield from directory

    @property
    def files(self) -> tuple[File, ...]:
        """The files of the log directories outside partitions."""
        return tuple(chain.from_iterable(directory.files for directory in self.directories))

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """The partitions of all log directories."""
        return tuple(chain.from_iterable(directory.partitions for directory in self.directories))


def walk(path: str | os.PathLike[str]) -> Logs:
    """Return the log directories in the folder of a partition, a log directory, or one or more brokers, at any depth.

    The contents of a folder decide its type. A folder that contains meta.properties or folders of partitions is a log
    directory, even if it is named like a partition (kafka-0, data-1). Otherwise it is a partition if it contains files
    of a partition, or is named like one. Files of a partition directly in a log directory form a partition too, with
    the path of the log directory.

    Raises:
        InputError: The path is not a folder, or a folder below it cannot be read.

    """
    return logs_in(tree(path_of(path)))


def logs_in(listing: Tree) -> Logs:
    """Return the log directories of a folder that was already listed; see `walk`."""
    own = {id(folder): _files(folder.files) for folder in listing.folders}
    holding: set[int] = set()  # folders that are partitions, or contain one
    single: set[int] = set()  # folders that are partitions and contain none
    for folder in reversed(listing.folders):  # subfolders first
        files = own[id(folder)]
        outer = any(id(sub) in holding for sub in folder.folders) or any(
            file.kind is Kind.META_PROPERTIES for file in files
        )
        if outer or _has_partition_files(files) or named_partition(folder.path):
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
        elif _has_partition_files(files):
            inside.append(Partition(folder.path, None, tuple(file for file in files if _is_partition_file(file))))
            files = tuple(file for file in files if not _is_partition_file(file))
        if files or inside:
            directories.append(LogDirectory(folder.path, files, tuple(sorted(inside, key=_partition_order))))
    return Logs(listing.root.path, tuple(directories))


def _is_partition_file(file: File) -> bool:
    return file.kind in _PARTITION_KINDS or file.name.base_offset is not None


def _has_partition_files(files: tuple[File, ...]) -> bool:
    return any(_is_partition_file(file) for file in files)


def _files(paths: Iterable[Place]) -> tuple[File, ...]:
    return tuple(sorted((File(path, file_name(path.name)) for path in paths), key=_file_order))


def named_partition(folder: Place) -> FolderName | None:
    """Return the partition in a folder's name, or in the name of the folder that a link points to. None if neither is
    the name of a partition.
    """
    return folder_name(folder.name) or folder_name(folder.resolve().name)


def partition(path: str | os.PathLike[str]) -> Partition:
    """Return the partition with the files of one folder. The folder can have any name.

    Raises:
        InputError: The path is not a folder, or cannot be read.

    """
    folder = path_of(path)
    files = _listed(folder)
    if any(file.kind is Kind.META_PROPERTIES for file in files):
        return Partition(folder, None, tuple(file for file in files if _is_partition_file(file)))
    return Partition(folder, named_partition(folder), files)


def _partition_order(each: Partition) -> tuple[str, int, str, str]:
    name = each.name or FolderName("", -1)
    return name.topic, name.partition, name.state, name.id


def _file_order(file: File) -> tuple[int, int, int, str]:
    base = file.name.base_offset
    return base is None, base or 0, _RANK.get(file.kind, len(_RANK)), file.path.name


def _listed(folder: Place) -> tuple[File, ...]:
    try:
        # Broken links are included: the error for an unreadable file comes from its reader.
        return _files(
            [entry for entry in folder.iterdir() if entry.is_file() or (entry.is_symlink() and not entry.is_dir())]
        )
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(folder)) from None


_MAX_EXAMPLES = 3
"""Number of file names that an error lists as examples."""
_TEXT_START = 64
"""Number of bytes that decide whether a `.log` is text."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of record batches. `topic` and `partition` come from the name of its folder; None if it has neither."""

    path: str
    topic: str | None
    partition: int | None


def files_in(path: Place, kinds: Container[Kind]) -> Iterator[File]:
    """Yield the files of these kinds in a folder, in order. It can be a partition, a log directory, or a folder with
    log directories at any depth. Text logs such as server.log are skipped.
    """
    return (file for file in walk(path) if file.kind in kinds and not _is_text_log(file))


def _is_text_log(file: File) -> bool:
    """Return whether a `.log` without an offset in its name begins with text. Batches begin with zeros."""
    if file.kind is not Kind.LOG or file.name.base_offset is not None:
        return False
    try:
        with file.path.open("rb") as log:
            start = log.read(_TEXT_START)
    except OSError:  # the reader of the file reports the error
        return False
    return bool(start) and not any(byte < ord(" ") and byte not in b"\t\r\n\x1b" for byte in start)


def nothing_in(path: Place, what: str, advice: str = "") -> InputError:
    """Return the error for a folder without `what`: the searched names, the files found, and the advice."""
    listing = tree(path)
    files = [file.name for file in listing.files()]
    there = (
        f"{len(files)} file{'s'[: len(files) != 1]} in {len(listing.folders)} folder{'s'[: len(listing.folders) != 1]}"
    )
    some = f", such as {', '.join(sorted(set(files))[:_MAX_EXAMPLES])}" if files else ""
    looked = f"looked for folders named TOPIC-PARTITION and files such as {0:020}.log at every depth"
    return InputError(
        f"there is no {what} in this folder: {looked}, and found {there}{some}{advice and f'; {advice}'}",
        file=str(path),
    )


def partition_of(file: Place) -> FolderName | None:
    """Return the partition in the name of a file's folder, or None if its name does not contain a partition."""
    return named_partition(file.absolute().parent)


def topic_of(kind: Kind, folder: FolderName | None) -> str | None:
    """Return the topic of a file of this kind from the name of its folder. Return None if the name contains no topic.

    A snapshot always belongs to the metadata topic, because only KRaft has snapshots.
    """
    if kind is Kind.CHECKPOINT:
        return CLUSTER_METADATA
    return folder.topic if folder else None


def topic_at(path: Place) -> str | None:
    """Return the topic of a file from its name or the name of its folder. Return None if neither contains a topic."""
    return topic_of(file_name(path.name).kind, partition_of(path))


def segment_at(path: Place) -> Segment:
    """Return a segment, or a file next to a segment, with its partition."""
    folder = partition_of(path)
    kind = file_name(path.name).kind
    partition_number = folder.partition if folder else None
    if kind is Kind.CHECKPOINT:
        partition_number = 0
    return Segment(str(path), topic_of(kind, folder), partition_number)
