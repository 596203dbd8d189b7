"""State of one of Kafka's own topics at an offset."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from kwire_cli.analysis.state import coordinators, image, image_records
from kwire_cli.analysis.state.events import Passed, events
from kwire_cli.errors import InputError
from kwire_cli.spec.kafka import CLUSTER_METADATA, CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.analysis.state.events import Event
    from kwire_cli.records.batch import Batch, Hide
    from kwire_cli.records.gaps import Gap
    from kwire_cli.spec.catalog import Catalog


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
    logs = sorted(
        (segment for segment in all_segments if not segment.snapshot),
        key=lambda segment: (segment.base_offset is None, segment.base_offset or 0),
    )
    for number, segment in enumerate(logs):
        following = logs[number + 1].base_offset if number + 1 < len(logs) else None
        if (first is not None and following is not None and following <= first) or (
            at is not None and (segment.base_offset or 0) > at
        ):
            continue
        for event in events(segment.read(), out.passed, first=first, last=at):
            apply(topic, out.state, event)
    _note_missing(out, newest)
    return out


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
