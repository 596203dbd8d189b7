"""Segments and whole log directories. Every batch stays where it is, so that indexes and producer snapshots, which are numbers, stay right."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.records.opening import source_of
from kwire_cli.sanitize.harmless import stays
from kwire_cli.sanitize.records import RecordSets
from kwire_cli.source.logs.model import COMMENT, GAP
from kwire_cli.source.logs.names import BATCH_KINDS, Kind, file_name, other_file_name, other_folder_name
from kwire_cli.source.logs.reading import read_log_file
from kwire_cli.source.logs.segments import partition_of, topic_of
from kwire_cli.stores.folders import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.sanitize.fields import Fields

NUMBERS_ALONE = frozenset({Kind.INDEX, Kind.TIME_INDEX, Kind.TRANSACTION_INDEX, Kind.PRODUCER_SNAPSHOT, Kind.LEADER_EPOCHS})
"""Kinds of files that are copied, where they are what their names say."""


class Task(NamedTuple):
    """A file of a folder, and its path below the new one; `topic` is that of its folder. `left_out` says that nothing is made of it."""

    file: Path
    path: str
    kind: Kind
    topic: str | None
    left_out: bool


def tasks(folder: Path, fields: Fields) -> Iterator[Task]:
    """What there is to do for a folder: a partition's, a log directory, or one of them. All folders are named anew.

    Raises:
        InputError: A file cannot be read.

    """

    def other(name: str) -> str:
        data = os.fsencode(name)
        return name if not name or stays("", "", data) else fields.replacement.letters(data).decode()

    for file in tree(folder).files():
        if not isinstance(file, Path) or not file.is_file():
            continue
        kind = file_name(file.name).kind
        parents = file.relative_to(folder).parts[:-1]
        own = partition_of(file)
        path = "/".join((*(other_folder_name(name, other) for name in parents), other_file_name(file.name, other)))
        yield Task(file, path, kind, topic_of(kind, own), not (kind in BATCH_KINDS or (kind in NUMBERS_ALONE and _only_numbers(file))))


def _only_numbers(file: Path) -> bool:
    """Whether a file is what its name says, to the last byte: else anything can be in it."""
    found = read_log_file(file)
    return not found.anomalies and not any(piece.kind in {GAP, COMMENT} for piece in found.pieces)


def rewritten(file: Path, topic: str | None, fields: Fields) -> Iterator[bytes]:
    """The bytes of a segment or snapshot, piece by piece. InputError where it cannot be read."""
    return RecordSets(fields).items(source_of(file, topic=topic, catalog=fields.catalog))
