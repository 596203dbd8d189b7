"""A walk over a log directory: its partitions in order, and their files in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.logs.names import SEGMENT_KINDS, FileName, FolderName, Kind, file_name, folder_name
from kwire_cli.stores import in_parallel, path_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from kwire_cli.stores import Place

_RANK = {kind: rank for rank, kind in enumerate(SEGMENT_KINDS)}
_OF_A_PARTITION = frozenset({Kind.LEADER_EPOCHS, Kind.PARTITION_METADATA})


@dataclass(frozen=True, slots=True)
class File:
    """A file and what its name says."""

    path: Place
    name: FileName

    @property
    def kind(self) -> Kind:
        """What it is."""
        return self.name.kind


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition's folder. `name` is None where the folder's name is not one that Kafka gives; `files` are by offset, those without one last."""

    path: Place
    name: FolderName | None
    files: tuple[File, ...]

    def of(self, kind: Kind) -> list[File]:
        """Its files in use of this kind (without a suffix such as `.deleted`), by offset."""
        return [file for file in self.files if file.kind is kind and not file.name.suffix]

    def at(self, kind: Kind, base_offset: int) -> File | None:
        """The file in use of this kind and offset; None where there is none."""
        return next((file for file in self.of(kind) if file.name.base_offset == base_offset), None)


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """What a path holds: the log directory's own files, and its partitions by topic and number. A partition's folder alone is one partition."""

    path: Place
    files: tuple[File, ...]
    partitions: tuple[Partition, ...]

    def __iter__(self) -> Iterator[File]:
        yield from self.files
        for partition in self.partitions:
            yield from partition.files


def walk(path: str | os.PathLike[str]) -> LogDirectory:
    """The partitions and files of a folder: a whole log directory, or the folder of one partition.

    Raises:
        InputError: It is no folder, or can't be read.

    """
    folder = path_of(path)
    files, folders = _listed(folder)
    inside = in_parallel(lambda sub: Partition(sub, folder_name(sub.name), _listed(sub)[0]), (sub for sub in folders if folder_name(sub.name)))
    # A log directory may be named like a partition (data-1), and a copy of a partition's folder by any name.
    if not inside and any(file.kind in _OF_A_PARTITION or file.name.base_offset is not None for file in files):
        return LogDirectory(folder, (), (Partition(folder, folder_name(folder.resolve().name), files),))
    return LogDirectory(folder, files, tuple(sorted(inside, key=_partition_order)))


def partition(path: str | os.PathLike[str]) -> Partition:
    """The folder of one partition, whatever its name.

    Raises:
        InputError: It is no folder, or can't be read.

    """
    folder = path_of(path)
    return Partition(folder, folder_name(folder.resolve().name), _listed(folder)[0])


def _partition_order(found: Partition) -> tuple[str, int, str, str]:
    name = found.name or FolderName("", -1)
    return name.topic, name.partition, name.state, name.id


def _file_order(file: File) -> tuple[int, int, int, str]:
    base = file.name.base_offset
    return base is None, base or 0, _RANK.get(file.kind, len(_RANK)), file.path.name


def _listed(folder: Place) -> tuple[tuple[File, ...], list[Place]]:
    files: list[File] = []
    folders: list[Place] = []
    try:
        for entry in folder.iterdir():
            if entry.is_dir():
                folders.append(entry)
            elif entry.is_file() or entry.is_symlink():  # a link that leads nowhere can't be read, which whoever reads it says
                files.append(File(entry, file_name(entry.name)))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(folder)) from None
    return tuple(sorted(files, key=_file_order)), folders
