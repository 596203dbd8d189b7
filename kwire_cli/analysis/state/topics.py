"""States of Kafka's own topics at an offset, folded from the files of their logs.

`logs_of` finds the logs of each topic among files, and `fold` reads one of them. A KRaft log begins with its newest
snapshot that covers no more than the offset, whatever the log holds before the snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Protocol, TypeVar

from kwire_cli.analysis.coordinators import Passed, events
from kwire_cli.analysis.state.groups import Groups
from kwire_cli.analysis.state.image import Image
from kwire_cli.analysis.state.share import ShareGroups
from kwire_cli.analysis.state.tables import LISTINGS
from kwire_cli.analysis.state.transactions import Transactions
from kwire_cli.errors import InputError, counted, few
from kwire_cli.records.reading import items, source_of
from kwire_cli.source.logs.files import partition_of
from kwire_cli.source.logs.model import Kind
from kwire_cli.spec.kafka import CLUSTER_METADATA, CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.analysis.coordinators import Event
    from kwire_cli.analysis.state.model import State
    from kwire_cli.analysis.state.tables import Row
    from kwire_cli.records.batch import Batch, Hide
    from kwire_cli.records.codecs import Limits
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.log_inputs import LogFile
    from kwire_cli.spec.catalog import Catalog

    Place = tuple[str, int | None]
    """The folder of a partition and its number."""

STATES: dict[str, Callable[[Catalog], State]] = {
    CONSUMER_OFFSETS: Groups,
    TRANSACTION_STATE: Transactions,
    SHARE_GROUP_STATE: ShareGroups,
    CLUSTER_METADATA: Image,
}
"""Topics that have a state, and what makes an empty one."""
TOPICS = tuple(STATES)
_NAMED = 8
"""Files that an error names at most."""


# The fold of a log.


@dataclass(frozen=True)
class Segment:
    """A file of batches: `read` opens it. `base_offset` is its first offset, or the offset after a snapshot's last."""

    label: str
    read: Callable[[], Iterable[Batch | Gap]]
    base_offset: int = 0
    snapshot: bool = False


@dataclass
class Folded:
    """The state of a partition at an offset, and counts of what was read for it.

    `snapshot` is the label of the snapshot that the fold began with.
    """

    topic: str
    partition: int | None
    state: State
    passed: Passed = field(default_factory=Passed)
    snapshot: str | None = None

    @property
    def batches(self) -> int:
        """The number of batches that were read."""
        return self.passed.batches

    def rows(self, *, hide: Hide | None) -> dict[str, list[Row]]:
        """Return the rows of each table that the state makes.

        `hide` finds what to redact in a payload; None shows everything.
        """
        rows: dict[str, list[Row]] = {listing.name: [] for listing in LISTINGS[self.topic]}
        label = {} if self.topic == CLUSTER_METADATA or self.partition is None else {"logPartition": self.partition}
        for name, row in self.state.rows(hide=hide):
            rows[name].append(row | label)
        return rows


def new_state(catalog: Catalog, topic: str) -> State:
    """Return the state of a topic before its first record. InputError for a topic that has none."""
    if topic not in STATES:
        raise InputError(f"{topic} has no state that kwire knows; {', '.join(TOPICS)} have")
    return STATES[topic](catalog)


def fold(
    catalog: Catalog, topic: str, segments: Iterable[Segment], *, partition: int | None = None, at: int | None = None
) -> Folded:
    """Return the state of one partition, folded from its segments up to and including the offset `at`.

    None for `at` folds all segments.
    """
    out = Folded(topic, partition, new_state(catalog, topic))
    passed = out.passed
    all_segments = [*segments]
    snapshots = [each for each in all_segments if each.snapshot and (at is None or each.base_offset <= at + 1)]
    newest = max(snapshots, key=lambda each: each.base_offset, default=None)
    first = None
    if newest:
        inside = Passed()
        for event in events(newest.read(), inside):
            out.state.apply(event)
        first, out.snapshot = newest.base_offset, newest.label
        passed.last = first - 1 if first else None
        passed.batches = inside.batches
        if inside.gaps or inside.corrupt:
            passed.notes.append(f"{newest.label}: the snapshot is damaged")
    for event in events_between(all_segments, passed, first=first, last=at):
        out.state.apply(event)
    if topic == CLUSTER_METADATA and passed.first is not None and passed.first > (after := first or 0):
        passed.notes.append(
            f"the log begins at offset {passed.first}; what was said between {after} and there is not known"
        )
    if passed.corrupt:
        passed.notes.append(f"{passed.corrupt} batches with a wrong checksum were passed over")
    if passed.gaps:
        passed.notes.append(f"{passed.gap_bytes} bytes are no batch")
    return out


def events_between(
    segments: Iterable[Segment], passed: Passed, *, first: int | None, last: int | None
) -> Iterator[Event]:
    """Yield the records of a partition's log with offsets from `first` to `last`, None for no bound, without those of
    snapshots.
    """
    logs = in_order(segments)
    for segment, following in zip_longest(logs, logs[1:]):
        is_before = first is not None and following and segment.base_offset < following.base_offset <= first
        if not is_before and (last is None or segment.base_offset <= last):
            yield from events(segment.read(), passed, first=first, last=last)


def in_order(segments: Iterable[Segment]) -> list[Segment]:
    """Return the segments of a log by offset, without snapshots."""
    return sorted((each for each in segments if not each.snapshot), key=lambda each: each.base_offset)


def first_reachable(topic: str, segments: Iterable[Segment]) -> int:
    """Return the first offset at which these segments of a partition say what the topic says.

    Of the metadata log that is where its first snapshot ends, unless the log is there from offset 0 on. Without
    snapshots, and for other topics, it is where the log begins.
    """
    all_segments = [*segments]
    logs = [each.base_offset for each in all_segments if not each.snapshot]
    ends = [max(each.base_offset - 1, 0) for each in all_segments if each.snapshot]
    if topic == CLUSTER_METADATA and ends:
        logs = [base for base in logs if not base]
    return min((*logs, *ends), default=0)


# The logs among files.


@dataclass(frozen=True)
class Log:
    """The files of one partition of a topic: those in use, those with a suffix, and the segments to fold."""

    topic: str
    partition: int | None
    files: list[LogFile]
    unused: list[LogFile]
    segments: list[Segment]

    def folded(self, catalog: Catalog, at: int | None) -> Folded:
        """Return the state at an offset. Raises InputError if the files in use do not reach back to it."""
        if at is not None and at < (first := first_reachable(self.topic, self.segments)):
            raise self._unreachable(at, first)
        return fold(catalog, self.topic, self.segments, partition=self.partition, at=at)

    def _unreachable(self, at: int, first: int) -> InputError:
        """Return the error for an offset before the first one, with the names of the files that reach the offset."""
        older = [file for file in self.unused if first_reachable(self.topic, [_begin(file)]) < first]
        here = "no file beside them reaches further"
        if older:
            names = [file.label.rpartition("/")[2] for file in older]
            reach = first_reachable(self.topic, map(_begin, older))
            found = f"files beside them reach from offset {reach} on, and are read when they are named"
            here = f"{found}: {few(names, _NAMED)}"
        kind = "snapshot" if any(segment.snapshot for segment in self.segments) else "segment"
        return self.unreadable(
            f"offset {at} is before the first {kind} in use; the first offset that can be answered is {first}; {here}"
        )

    def unreadable(self, text: str) -> InputError:
        """Return an error about the log."""
        label = self.files[0].label
        return InputError(text, file=label.rpartition("/")[0] or label)


def logs_of(
    catalog: Catalog,
    files: Iterable[LogFile],
    *,
    as_topic: str | None = None,
    wanted: tuple[str, ...] = (),
    limits: Limits | None = None,
) -> Iterator[tuple[str, list[Log]]]:
    """Yield each topic among the files that has a state, with the logs of its partitions.

    Files without the name of a topic are of the topic `as_topic`. `wanted` are the topics to read, none for all.
    Raises InputError if no file is of a topic that has a state.
    """
    partitions = partitions_of(files, as_topic, wanted)
    for topic in TOPICS:
        logs = []
        places = partitions.get(topic, {})
        for folder, number in sorted(places, key=lambda place: (place[1] or 0, place[0])):
            of_one = places[folder, number]
            # Files with a suffix such as .deleted are read if only such files were named.
            in_use = [file for file in of_one if not file.name.suffix] or of_one
            segments = [replace(_begin(file), read=partial(_items, catalog, topic, file, limits)) for file in in_use]
            logs.append(Log(topic, number, in_use, [file for file in of_one if file not in in_use], segments))
        if logs:
            yield topic, logs


class _Read(Protocol):
    @property
    def batches(self) -> int: ...


T = TypeVar("T", bound=_Read)


def read_logs(topics: Iterable[tuple[str, list[Log]]], read: Callable[[Log], T]) -> Iterator[tuple[str, list[T]]]:
    """Yield each topic with what `read` returns for its logs.

    Raises InputError for a topic without a single batch, and at last the first one that `read` raised.
    """
    errors = []
    for topic, logs in topics:
        parts = []
        for log in logs:
            try:
                parts.append(read(log))
            except InputError as error:
                errors.append(error)
        if parts and not any(part.batches for part in parts):
            looked = counted(sum(len(log.files) + len(log.unused) for log in logs), "file")
            raise InputError(f"0 batches in {looked} of {topic}: there is no state to show")
        if parts:
            yield topic, parts
    if errors:
        raise errors[0]


def folded_topics(
    catalog: Catalog,
    files: Iterable[LogFile],
    *,
    at: int | None = None,
    as_topic: str | None = None,
    wanted: tuple[str, ...] = (),
    limits: Limits | None,
) -> Iterator[tuple[str, list[Folded]]]:
    """Yield each topic among the files that has a state, with its partitions folded up to the offset `at`.

    The other parameters are those of `logs_of`. Raises InputError if no file is of a topic that has a state, or if the
    files do not reach back to the offset.
    """
    topics = logs_of(catalog, files, as_topic=as_topic, wanted=wanted, limits=limits)
    return read_logs(topics, lambda log: log.folded(catalog, at))


def partitions_of(
    files: Iterable[LogFile], as_topic: str | None = None, wanted: tuple[str, ...] = ()
) -> dict[str, dict[Place, list[LogFile]]]:
    """Return the files of each partition of each topic that has a state. Raises InputError if there are none."""
    partitions: dict[str, dict[Place, list[LogFile]]] = {}
    topic_names = set()
    for file in files:
        topic = as_topic or file.topic
        topic_names.add(topic)
        if topic in TOPICS and file.has_batches and (not wanted or topic in wanted):
            folder = partition_of(file.path) if file.path else None
            if not (folder and folder.state):
                place = str(file.path.parent) if file.path else "-", folder.partition if folder else None
                partitions.setdefault(topic, {}).setdefault(place, []).append(file)
    if not partitions:
        named = ", ".join(sorted(str(topic) for topic in topic_names if topic))
        here = named or "files whose folder names no topic (--as-topic says it)"
        raise InputError(f"--state needs one of {', '.join(TOPICS)}; here are {here}")
    if CLUSTER_METADATA in partitions:
        partitions[CLUSTER_METADATA] = _without_bootstrap(partitions[CLUSTER_METADATA])
    return partitions


def _without_bootstrap(places: dict[Place, list[LogFile]]) -> dict[Place, list[LogFile]]:
    """Return the places of metadata without bootstrap.checkpoint if there are others: logs begin with what it says."""
    others = {
        place: files
        for place, files in places.items()
        if any(file.name.kind is not Kind.CHECKPOINT or file.name.base_offset is not None for file in files)
    }
    return others or places


def _begin(file: LogFile) -> Segment:
    """Return a Segment with the facts in a file's name, without its content."""
    return Segment(file.label.rpartition("/")[2], tuple, file.name.base_offset or 0, file.name.kind is Kind.CHECKPOINT)


def _items(catalog: Catalog, topic: str, file: LogFile, limits: Limits | None) -> Iterator[Batch | Gap]:
    return items(source_of(file.content, topic=topic, catalog=catalog, limits=limits))
