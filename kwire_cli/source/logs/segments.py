"""Segments and snapshots in files, folders and globs, with the partitions that their folders say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.logs.files import named_partition, walk
from kwire_cli.source.logs.names import BATCH_KINDS, Kind, file_name
from kwire_cli.source.naming import named
from kwire_cli.spec.kafka import CLUSTER_METADATA
from kwire_cli.stores import path_of
from kwire_cli.stores.folders import tree

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from kwire_cli.source.logs.files import File
    from kwire_cli.source.logs.names import FolderName
    from kwire_cli.stores import Place

_NAMED = 3
"""Names of files that an error gives as examples."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of record batches; `topic` and `partition` are what its folder says, None where that says nothing."""

    path: str
    topic: str | None
    partition: int | None


def segments_of(paths: Iterable[str]) -> list[Segment]:
    """The files that paths and globs name, each once; of a folder those with batches, in order of partitions and offsets.

    Raises:
        InputError: There is nothing of that name, or no segment in a folder.

    """
    found: dict[str, Segment] = {}
    for path in paths:
        some = _named(path)
        if not some:
            raise nothing_in(path_of(path), "segment and no snapshot")
        found.update((each.path, each) for each in some)
    return list(found.values())


def _named(path: str) -> list[Segment]:
    """Those of one argument. A file that is named itself is taken for what it is said to be, whatever its name."""
    some: list[Place] = []
    for name in named(path):
        file = path_of(name)
        if file.is_dir():
            some += (each.path for each in files_in(file, BATCH_KINDS))
        elif name == str(path_of(path)) or file_name(file.name).kind in BATCH_KINDS:
            some.append(file)
    return [segment_at(each) for each in some]


def files_in(path: Place, kinds: Container[Kind]) -> Iterator[File]:
    """The files of these kinds in a folder, in order: that of a partition, a log directory, or one of log directories, however deep."""
    return (file for file in walk(path) if file.kind in kinds)


def nothing_in(path: Place, what: str, advice: str = "") -> InputError:
    """Return the error for a folder without `what`: it says what was looked for, what is there, and the advice."""
    found = tree(path)
    files = [file.name for file in found.files()]
    there = f"{len(files)} file{'s'[: len(files) != 1]} in {len(found.folders)} folder{'s'[: len(found.folders) != 1]}"
    some = f", such as {', '.join(sorted(set(files))[:_NAMED])}" if files else ""
    looked = f"looked for folders named TOPIC-PARTITION and files such as {0:020}.log at every depth"
    return InputError(f"there is no {what} in this folder: {looked}, and found {there}{some}{advice and f'; {advice}'}", file=str(path))


def partition_of(file: Place) -> FolderName | None:
    """Return the partition that the folder of a file says; None where that says nothing."""
    return named_partition(file.absolute().parent)


def topic_of(kind: Kind, folder: FolderName | None) -> str | None:
    """The topic of a file of this kind by what its folder's name says; None where that says nothing. Only KRaft has snapshots."""
    return CLUSTER_METADATA if kind is Kind.CHECKPOINT else folder.topic if folder else None


def topic_at(path: Place) -> str | None:
    """The topic of a file by its path: what its name or the name of its folder says; None where these say nothing."""
    return topic_of(file_name(path.name).kind, partition_of(path))


def segment_at(path: Place) -> Segment:
    """A file with batches, or one that lies beside it, with the partition that it is of."""
    folder, kind = partition_of(path), file_name(path.name).kind
    return Segment(str(path), topic_at(path), 0 if kind is Kind.CHECKPOINT else folder.partition if folder else None)
