"""Logs beside those of Kafka's own topics: the partitions in the same log directories, and their ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.analysis.state.ends import Ends, ends_of
from kwire_cli.errors import InputError
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.files import partition
from kwire_cli.source.logs.model import Kind, folder_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire_cli.source.log_inputs import LogFile
    from kwire_cli.stores import Place

    Named = tuple[str, int]
    """A topic and the number of its partition."""


@dataclass
class Beside:
    """Partitions in some log directories: their folders, of each replica one.

    `starts` and `high_watermarks` are the checkpoints of each log directory.
    """

    folders: dict[Named, list[Place]] = field(default_factory=dict)
    starts: dict[Place, Mapping[Named, int]] = field(default_factory=dict)
    high_watermarks: dict[Place, Mapping[Named, int]] = field(default_factory=dict)
    unreadable: dict[Named, str] = field(default_factory=dict)
    _ends: dict[Named, Ends | None] = field(default_factory=dict)

    def ends(self, topic: str, number: int) -> Ends | None:
        """Return the ends of a partition's log; None if the log is not here or cannot be read.

        Of several replicas, the log that goes furthest counts.
        """
        named = topic, number
        if named not in self._ends:
            replicas = [ends for folder in self.folders.get(named, ()) if (ends := self._read(named, folder))]
            self._ends[named] = longest = max(replicas, key=lambda ends: ends.end, default=None)
            if longest:
                known = [ends.high_watermark for ends in replicas if ends.high_watermark is not None]
                longest.high_watermark = max(known, default=None)
        return self._ends[named]

    def _read(self, named: Named, folder: Place) -> Ends | None:
        try:
            return ends_of(
                partition(folder),
                start=self.starts.get(folder.parent, {}).get(named),
                high_watermark=self.high_watermarks.get(folder.parent, {}).get(named),
            )
        except InputError as error:
            self.unreadable[named] = error.reason
            return None

    def all_ends(self) -> Iterator[Ends]:
        """Yield the ends of all partitions, by topic and number."""
        yield from filter(None, (self.ends(*named) for named in sorted(self.folders)))


def partitions_beside(files: Iterable[LogFile]) -> Beside:
    """Return the partitions in the log directories that files lie in. Folders that cannot be listed count as empty."""
    beside = Beside()
    directories: dict[Place, None] = {}
    for file in files:
        if file.path is None:
            continue
        folder = file.path.parent
        if folder_name(folder.name) is None:
            folder = folder.resolve()  # "." has the name of the folder, too
        if folder_name(folder.name):
            directories[folder.parent] = None
    for directory in directories:
        try:
            children = [*directory.iterdir()]
        except (OSError, InputError):
            continue
        for child in sorted(children, key=lambda place: place.name):
            name = folder_name(child.name)
            if name and not name.state and child.is_dir():
                beside.folders.setdefault((name.topic, name.partition), []).append(child)
        beside.starts[directory] = _checkpoint(directory / Kind.LOG_START_OFFSETS)
        beside.high_watermarks[directory] = _checkpoint(directory / Kind.REPLICATION_OFFSETS)
    return beside


def _checkpoint(file: Place) -> Mapping[Named, int]:
    try:
        if not file.is_file():
            return {}
        return {(entry.topic, entry.partition): entry.offset for entry in read_log_file(file).entries}
    except (OSError, InputError):
        return {}
