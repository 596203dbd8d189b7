"""States of Kafka's internal topics at an offset, folded from the files of their logs.

`logs_of` finds the logs of each topic among files. The fold of a KRaft log starts with the newest snapshot whose end is
not after the offset.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain, zip_longest
from sys import maxsize
from typing import TYPE_CHECKING, Any, TypeVar

from kwire_cli.analysis.coordinators import Passed, events
from kwire_cli.analysis.state.groups import Groups
from kwire_cli.analysis.state.image import Image
from kwire_cli.analysis.state.model import Transactions
from kwire_cli.errors import InputError, counted
from kwire_cli.records.batch import Batch
from kwire_cli.records.reading import items, source_of
from kwire_cli.source.logs.files import partition_of
from kwire_cli.source.logs.model import Kind
from kwire_cli.spec.kafka import CLUSTER_METADATA, CONSUMER_OFFSETS, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.analysis.coordinators import Event
    from kwire_cli.analysis.state.model import State
    from kwire_cli.records.codecs import Limits
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.log_inputs import LogFile
    from kwire_cli.spec.catalog import Catalog

    Place = tuple[str, int | None]
    """The folder of a partition and its number."""

STATES: dict[str, type[State]] = {
    CONSUMER_OFFSETS: Groups,
    TRANSACTION_STATE: Transactions,
    CLUSTER_METADATA: Image,
}
"""Topics that have a state, and the class of the state."""
T = TypeVar("T")


@dataclass(frozen=True)
class Log:
    """A partition of a topic, by its files in use."""

    catalog: Catalog
    topic: str
    partition: int | None
    files: Sequence[LogFile]
    limits: Limits | None = None

    @property
    def segments(self) -> list[LogFile]:
        """The files in use by offset, without snapshots."""
        return sorted((file for file in self.files if not _is_snapshot(file)), key=_base)

    @property
    def snapshots(self) -> list[LogFile]:
        """The snapshots in use by offset. The base offset of a snapshot is the offset after its last record."""
        return sorted(filter(_is_snapshot, self.files), key=_base)

    @property
    def begin(self) -> int:
        """The first offset of the segments, or 0 without segments."""
        return min(map(_base, self.segments), default=0)

    @property
    def is_bootstrap(self) -> bool:
        """Whether all files are snapshots without an offset."""
        return all(_is_snapshot(file) and file.name.base_offset is None for file in self.files)

    @property
    def has_any_batch(self) -> bool:
        """Whether there is a batch in any file."""
        every_item = chain.from_iterable(map(self.items, self.files))
        return any(isinstance(item, Batch) for item in every_item)

    def items(self, file: LogFile) -> Iterator[Batch | Gap]:
        """Yield the batches of a file, and the gaps between them."""
        return items(source_of(file.content, topic=self.topic, catalog=self.catalog, limits=self.limits))

    def events(self, passed: Passed, *, first: int = 0, last: int = maxsize) -> Iterator[Event]:
        """Yield the records of segments with offsets from `first` to `last`."""
        segments = self.segments
        for file, following in zip_longest(segments, segments[1:]):
            is_before = following and _base(file) < _base(following) <= first
            if not is_before and _base(file) <= last:
                yield from events(self.items(file), passed, first=first, last=last)

    def empty(self) -> State:
        """Return the state before the first record."""
        return STATES[self.topic](self.catalog, self.topic, self.partition)

    def folded(self, at: int | None = None) -> State:
        """Return the state up to and including the offset `at`, or at the end of the log if `at` is None.

        Raises:
            InputError: The files in use do not reach back to the offset.

        """
        if at is not None and 0 <= at < self.reachable:
            kind = "snapshot" if self.snapshots else "segment"
            text = f"offset {at} is before the first {kind} in use"
            label = self.files[0].label
            raise InputError(
                f"{text}; the first offset that can be answered is {self.reachable}",
                file=label.rpartition("/")[0] or label,
            )
        out = self.empty()
        passed = out.passed
        first = 0
        for newest in [file for file in self.snapshots if at is None or _base(file) <= at + 1][-1:]:
            inside = Passed()
            for event in events(self.items(newest), inside):
                out.apply(event)
            first = _base(newest)
            out.snapshot = _name(newest)
            passed.last = first - 1 if first else None
            if inside.gap_bytes or inside.corrupt:
                passed.notes.append(f"{out.snapshot}: the snapshot is damaged")
        for event in self.events(passed, first=first, last=maxsize if at is None else at):
            out.apply(event)
        if self.topic == CLUSTER_METADATA and (passed.first or 0) > first:
            passed.notes.append(
                f"the log begins at offset {passed.first}; what was said between {first} and there is not known"
            )
        if passed.corrupt:
            passed.notes.append(f"{passed.corrupt} batches with a wrong checksum were passed over")
        if passed.gap_bytes:
            passed.notes.append(f"{passed.gap_bytes} bytes are no batch")
        if at is not None and passed.last is not None and passed.last < at:
            passed.notes.append(f"the last offset is {passed.last}")
        return out

    @property
    def reachable(self) -> int:
        """The first offset whose state follows from the files.

        For the metadata log, this is the end of its first snapshot, unless the log starts at offset 0. Without
        snapshots, and for other topics, this is the start of the log.
        """
        ends = [max(_base(file) - 1, 0) for file in self.snapshots]
        starts = [_base(file) for file in self.segments]
        if self.topic == CLUSTER_METADATA and ends:
            starts = [base for base in starts if not base]
        return min((*starts, *ends), default=0)


def _name(file: LogFile) -> str:
    return file.label.rpartition("/")[2]


def _base(file: LogFile) -> int:
    return file.name.base_offset or 0


def _is_snapshot(file: LogFile) -> bool:
    return file.name.kind is Kind.CHECKPOINT


def logs_of(
    catalog: Catalog,
    files: Iterable[LogFile],
    *,
    as_topic: str | None = None,
    wanted: tuple[str, ...] = (),
    limits: Limits | None = None,
) -> Iterator[Log]:
    """Yield the logs of the partitions among the files whose topics have a state, by topic.

    Files without the name of a topic count as files of `as_topic`. `wanted` are the topics to read, empty for all.
    Raises InputError if no file belongs to a topic that has a state.
    """
    partitions: defaultdict[str, defaultdict[Place, list[LogFile]]] = defaultdict(lambda: defaultdict(list))
    topic_names = set()
    for file in files:
        topic = as_topic or file.topic
        topic_names.add(topic)
        if topic in STATES and file.has_batches and (not wanted or topic in wanted):
            folder = partition_of(file.path) if file.path else None
            if not (folder and folder.state):
                partitions[topic][str(file.path.parent) if file.path else "-", folder and folder.partition].append(file)
    if not partitions:
        named = ", ".join(sorted(str(topic) for topic in topic_names if topic))
        here = named or "files whose folder names no topic (--as-topic says it)"
        raise InputError(f"--state needs one of {', '.join(STATES)}; here are {here}")
    for topic in STATES:
        logs = []
        for (_, number), of_one in sorted(partitions[topic].items(), key=_order):
            # Files with a suffix such as .deleted are read if only such files were named.
            in_use = [file for file in of_one if not file.name.suffix] or of_one
            logs.append(Log(catalog, topic, number, in_use, limits))
        # The metadata log starts with the records of bootstrap.checkpoint.
        yield from [log for log in logs if not log.is_bootstrap] or logs


def _order(partition: tuple[Place, Any]) -> tuple[int, str]:
    (folder, number), _ = partition
    return number or 0, folder


def read_logs(logs: Iterable[Log], read: Callable[[Log], T]) -> list[T]:
    """Return the results of `read` for the logs.

    Raises:
        InputError: A log cannot be read, or no log contains a batch.

    """
    found = list(logs)
    parts = [read(log) for log in found]
    if not any(log.has_any_batch for log in found):
        looked = counted(sum(len(log.files) for log in found), "file")
        raise InputError(f"0 batches in {looked}: there is no state to show")
    return parts
