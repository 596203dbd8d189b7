"""State of Kafka's own topics at an offset, folded from batches, and from the files that hold these."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from kwire_cli.analysis.coordinators import Passed, events
from kwire_cli.analysis.state import coordinators, image, image_records
from kwire_cli.errors import InputError, counted, few
from kwire_cli.records.reading import items, source_of
from kwire_cli.source.logs.files import partition_of
from kwire_cli.source.logs.model import Kind
from kwire_cli.spec.kafka import CLUSTER_METADATA, CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.analysis.coordinators import Event
    from kwire_cli.records.batch import Batch, Hide
    from kwire_cli.records.codecs import Limits
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.log_inputs import LogFile
    from kwire_cli.spec.catalog import Catalog

    Place = tuple[str, int | None]
    """The folder of a partition and its number."""


# Folding the batches of a topic's partitions: which fold a topic has, and how its segments and snapshots are
# gone through.


class State(Protocol):
    """The state of a topic, folded from its records."""

    unknown: Counter[str]
    """Record types that are not known, by number or name, and how often they were seen."""

    def rows(self, *, hide: Hide | None) -> Iterator[dict[str, Any]]:
        """Yield the lines of the state, each with a `kind`.

        `hide` finds what to redact in a payload; None shows everything.
        """


_FOLDS: dict[str, tuple[Callable[[Catalog], State], Callable[[Any, Event], None]]] = {
    CONSUMER_OFFSETS: (coordinators.Offsets, coordinators.apply_offset),
    TRANSACTION_STATE: (coordinators.Transactions, coordinators.apply_transaction),
    SHARE_GROUP_STATE: (coordinators.ShareState, coordinators.apply_share),
    CLUSTER_METADATA: (image.Image, image_records.apply),
}
TOPICS = tuple(_FOLDS)
"""Topics that have a state."""
_NAMED = 8
"""Files that an error names at most."""


@dataclass(frozen=True)
class Segment:
    """A file of batches: `read` opens it. `base_offset` is where it begins; of a snapshot it is the offset after the
    last that it covers.
    """

    label: str
    read: Callable[[], Iterable[Batch | Gap]]
    base_offset: int | None = None
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


def new_state(catalog: Catalog, topic: str) -> State:
    """The state of a topic before its first record. InputError for a topic that has none."""
    if topic not in _FOLDS:
        raise InputError(f"{topic} has no state that kwire knows; {', '.join(TOPICS)} have")
    return _FOLDS[topic][0](catalog)


def apply(topic: str, state: State, event: Event) -> None:
    """Take in a record of this topic. Never raises, whatever its bytes."""
    _FOLDS[topic][1](state, event)


def fold(
    catalog: Catalog, topic: str, segments: Iterable[Segment], *, partition: int | None = None, at: int | None = None
) -> Folded:
    """Return the state of one partition, folded from its segments up to and including the offset `at`.

    None for `at` folds all segments. A KRaft log begins with its newest snapshot that covers no more than that,
    whatever the log holds before the snapshot.
    """
    out = Folded(topic, partition, new_state(catalog, topic))
    all_segments = list(segments)
    snapshots = [
        segment for segment in all_segments if segment.snapshot and (at is None or (segment.base_offset or 0) <= at + 1)
    ]
    newest = max(snapshots, key=lambda segment: segment.base_offset or 0, default=None)
    first = None
    if newest:
        inside = Passed()
        for event in events(newest.read(), inside):
            apply(topic, out.state, event)
        first, out.snapshot = newest.base_offset, newest.label
        out.passed.last = first - 1 if first else None
        out.passed.batches = inside.batches
        if inside.gaps or inside.corrupt:
            out.passed.notes.append(f"{newest.label}: the snapshot is damaged")
    for event in events_between(all_segments, out.passed, first=first, last=at):
        apply(topic, out.state, event)
    _note_missing(out, newest)
    return out


def events_between(
    segments: Iterable[Segment], passed: Passed, *, first: int | None, last: int | None
) -> Iterator[Event]:
    """Yield the records of a partition's log with offsets from `first` to `last`, None for no bound, without those of
    snapshots.
    """
    logs = in_order(segments)
    for number, segment in enumerate(logs):
        following = logs[number + 1].base_offset if number + 1 < len(logs) else None
        if (first is not None and following is not None and following <= first) or (
            last is not None and (segment.base_offset or 0) > last
        ):
            continue
        yield from events(segment.read(), passed, first=first, last=last)


def in_order(segments: Iterable[Segment]) -> list[Segment]:
    """Return the segments of a log by offset, without snapshots."""
    return sorted(
        (segment for segment in segments if not segment.snapshot),
        key=lambda segment: (segment.base_offset is None, segment.base_offset or 0),
    )


def first_reachable(topic: str, segments: Iterable[Segment]) -> int:
    """Return the first offset at which these segments of a partition say what the topic says.

    Of the metadata log that is where its first snapshot ends, unless the log is there from offset 0 on. Without
    snapshots, and for other topics, it is where the log begins.
    """
    all_segments = list(segments)
    logs = [segment.base_offset or 0 for segment in all_segments if not segment.snapshot]
    ends = [max((segment.base_offset or 0) - 1, 0) for segment in all_segments if segment.snapshot]
    if topic == CLUSTER_METADATA and ends:
        logs = [base for base in logs if not base]
    return min((*logs, *ends), default=0)


def _note_missing(out: Folded, snapshot: Segment | None) -> None:
    """Say where something that is not there may have said more."""
    passed = out.passed
    after = snapshot.base_offset or 0 if snapshot else 0
    if out.topic == CLUSTER_METADATA and passed.first is not None and passed.first > after:
        passed.notes.append(
            f"the log begins at offset {passed.first}; what was said between {after} and there is not known"
        )
    if passed.corrupt:
        passed.notes.append(f"{passed.corrupt} batches with a wrong checksum were passed over")
    if passed.gaps:
        passed.notes.append(f"{passed.gap_bytes} bytes are no batch")


# Which of the files of an input a state is folded from.


@dataclass(frozen=True)
class Log:
    """The files of one partition of a topic: those in use, those with a suffix, and the segments to fold."""

    topic: str
    partition: int | None
    files: list[LogFile]
    unused: list[LogFile]
    segments: list[Segment]

    def check_reach(self, at: int) -> None:
        """Raise InputError if the files in use do not reach back to an offset."""
        first = first_reachable(self.topic, self.segments)
        if at < first:
            raise _unreachable(self.topic, self.files, self.unused, at, first)


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
        for (_, number), partition_files in sorted(
            partitions.get(topic, {}).items(), key=lambda item: (item[0][1] or 0, item[0][0])
        ):
            in_use = _in_use(partition_files)
            segments = [_segment(catalog, topic, file, limits) for file in in_use]
            logs.append(Log(topic, number, in_use, [file for file in partition_files if file not in in_use], segments))
        if logs:
            yield topic, logs


def no_batches(logs: Iterable[Log]) -> InputError:
    """Return the error for logs of a topic without a single batch."""
    all_logs = list(logs)
    looked = counted(sum(len(log.files) + len(log.unused) for log in all_logs), "file")
    return InputError(f"0 batches in {looked} of {all_logs[0].topic}: there is no state to show")


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
    unreachable = []
    for topic, logs in logs_of(catalog, files, as_topic=as_topic, wanted=wanted, limits=limits):
        folded = []
        for log in logs:
            try:
                if at is not None:
                    log.check_reach(at)
            except InputError as error:
                unreachable.append(error)
                continue
            folded.append(fold(catalog, topic, log.segments, partition=log.partition, at=at))
        if folded:
            if not any(part.passed.batches for part in folded):
                raise no_batches(logs)
            yield topic, folded
    if unreachable:
        raise unreachable[0]


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
        named = (
            ", ".join(sorted(str(topic) for topic in topic_names if topic))
            or "files whose folder names no topic (--as-topic says it)"
        )
        raise InputError(f"--state needs one of {', '.join(TOPICS)}; here are {named}")
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


def _unreachable(topic: str, in_use: list[LogFile], others: list[LogFile], at: int, first: int) -> InputError:
    """Return the error for an offset before the first one that the files in use reach, and the files that reach it."""
    older = [file for file in others if first_reachable(topic, [_begin(file)]) < first]
    here = "no file beside them reaches further"
    if older:
        names = [file.label.rpartition("/")[2] for file in older]
        reach = first_reachable(topic, map(_begin, older))
        here = f"files beside them reach from offset {reach} on, and are read when they are named: {few(names, _NAMED)}"
    kinds = "snapshot" if any(_begin(file).snapshot for file in in_use) else "segment"
    text = f"offset {at} is before the first {kinds} in use; the first offset that can be answered is {first}; {here}"
    return InputError(text, file=in_use[0].label.rpartition("/")[0] or in_use[0].label)


def _in_use(files: list[LogFile]) -> list[LogFile]:
    """Return the files without a suffix such as .deleted, or all files if each has one: then these were asked for."""
    return [file for file in files if not file.name.suffix] or files


def _segment(catalog: Catalog, topic: str, file: LogFile, limits: Limits | None) -> Segment:
    return replace(_begin(file), read=partial(_items, catalog, topic, file, limits))


def _begin(file: LogFile) -> Segment:
    """Return a Segment with the facts in a file's name, without its content."""
    return Segment(file.label.rpartition("/")[2], tuple, file.name.base_offset, file.name.kind is Kind.CHECKPOINT)


def _items(catalog: Catalog, topic: str, file: LogFile, limits: Limits | None) -> Iterator[Batch | Gap]:
    return items(source_of(file.content, topic=topic, catalog=catalog, limits=limits))
