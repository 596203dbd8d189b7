"""Segments and whole log directories. Every batch stays where it is, so that indexes and producer snapshots, which are numbers, stay right."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.records.opening import source_of
from kwire_cli.sanitize.harmless import stays
from kwire_cli.sanitize.records import RecordSets
from kwire_cli.source.logs.names import BATCH_KINDS, Kind, file_name, folder_name
from kwire_cli.source.logs.segments import topic_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kwire_cli.sanitize.fields import Fields

NUMBERS_ALONE = frozenset({Kind.INDEX, Kind.TIME_INDEX, Kind.TRANSACTION_INDEX, Kind.PRODUCER_SNAPSHOT, Kind.LEADER_EPOCHS})
"""Kinds of files that are copied."""


class Task(NamedTuple):
    """A file of a folder, and its path below the new one; `topic` is that of its folder. A kind that says more than numbers is left out."""

    file: Path
    path: str
    kind: Kind
    topic: str | None

    @property
    def left_out(self) -> bool:
        """Whether nothing is made of it."""
        return self.kind not in BATCH_KINDS | NUMBERS_ALONE


def tasks(folder: Path, fields: Fields) -> Iterator[Task]:
    """What there is to do for a folder: a partition's, a log directory, or one of them. The folders of partitions are named anew."""
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        kind = file_name(file.name).kind
        parents = file.relative_to(folder).parts[:-1]
        own = folder_name((file.parent if parents else folder.resolve()).name)
        path = "/".join((*(_renamed(name, fields) for name in parents), file.name))
        yield Task(file, path, kind, topic_of(kind, own))


def rewritten(file: Path, topic: str | None, fields: Fields) -> Iterator[bytes]:
    """The bytes of a segment or snapshot, piece by piece. InputError where it can't be read."""
    return RecordSets(fields).items(source_of(file, topic=topic, catalog=fields.catalog))


def topic_of_file(file: Path) -> str | None:
    """The topic that the folder of a segment says."""
    return topic_of(file_name(file.name).kind, folder_name(file.resolve().parent.name))


def _renamed(name: str, fields: Fields) -> str:
    found = folder_name(name)
    if found is None:
        return name
    topic = found.topic.encode()
    new = topic if stays("", "", topic) else fields.replacement.text(topic)
    return new.decode() + name[len(found.topic) :]
