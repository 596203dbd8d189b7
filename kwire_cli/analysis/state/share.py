"""`__share_group_state`: the state of each partition of a share group (ShareCoordinatorShard).

A snapshot replaces the state. An update is merged into it (PersisterStateBatchCombiner). Batches are only combined when
rows are requested, because combining them at each update would take quadratic time.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.coordinators import TYPE_SIZE
from kwire_cli.analysis.state.model import CoordinatorState, Latest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.analysis.coordinators import Event
    from kwire_cli.analysis.state.model import Named
    from kwire_cli.records.batch import Hide

    Row = dict[str, Any]

SNAPSHOT = 0
UPDATE = 1
_WITHOUT_SNAPSHOT = {
    "snapshotEpoch": 0,
    "stateEpoch": 0,
    "leaderEpoch": 0,
    "startOffset": -1,
    "deliveryCompleteCount": -1,
}
"""Fields of an update without a known snapshot. Kafka uses it like a snapshot (ShareGroupOffset.fromRecord)."""


class StateBatch(NamedTuple):
    """Records with offsets from `first` to `last`, which have the same delivery state and delivery count."""

    first: int
    last: int
    state: int
    deliveries: int


@dataclass(eq=False)
class ShareGroups(CoordinatorState):
    """The fields of each share partition, and the batches of its newest snapshot and of the updates after it.

    Partitions are found by the record key without its type.
    """

    partitions: dict[bytes, tuple[Row, list[StateBatch]]] = field(default_factory=dict)

    def add_record(self, number: int, key: bytes, event: Event) -> None:
        """Apply a snapshot or an update (ShareCoordinatorShard.merge). A tombstone removes its partition.

        A start offset or leader epoch of -1 in an update keeps the known value.
        """
        place = key[TYPE_SIZE:]
        if event.value is None:
            if number == SNAPSHOT:
                self.partitions.pop(place, None)
            return
        record = self.decode(Latest(key, event.value, event.offset), None)
        if not record:
            return
        value = {**record.value}
        batches = [
            StateBatch(each["firstOffset"], each["lastOffset"], each["deliveryState"], each["deliveryCount"])
            for each in value.pop("stateBatches")
        ]
        known = self.partitions.get(place)
        if number == UPDATE and known:
            row, older = known
            row |= {name: value[name] for name in ("startOffset", "leaderEpoch") if value[name] != -1}
            row["deliveryCompleteCount"] = value.get("deliveryCompleteCount", -1)
            row["offset"] = event.offset
            older += batches
        else:
            row = {**record.key, **_WITHOUT_SNAPSHOT, **value, "offset": event.offset}
            self.partitions[place] = row, batches

    def rows(self, *, hide: Hide | None) -> Iterator[Named]:  # noqa: ARG002 - as the other states; nothing here is secret
        """Yield the rows of share partitions and of their batches."""
        for row, all_batches in self.partitions.values():
            batches = combined(all_batches, row["startOffset"])
            yield "sharePartitions", row | {"batches": len(batches)}
            place = {name: row[name] for name in ("groupId", "topicId", "partition")}
            for batch in batches:
                state = self.catalog.named_value("ShareSnapshotValue", "stateBatches.deliveryState", batch.state)
                shown = {
                    "firstOffset": batch.first,
                    "lastOffset": batch.last,
                    "deliveryState": batch.state,
                    "state": (state or "unknown").capitalize(),
                    "deliveryCount": batch.deliveries,
                }
                yield "shareBatches", place | shown


def combined(batches: Iterable[StateBatch], start: int) -> list[StateBatch]:
    """Return batches without overlaps and without offsets below `start`.

    If several batches cover an offset, the one with the higher delivery count wins, then the one with the higher state.
    Equal neighbours are merged.
    """
    kept = sorted(
        batch._replace(first=max(batch.first, start)) for batch in batches if batch.last >= max(batch.first, start)
    )
    edges = sorted({batch.first for batch in kept} | {batch.last + 1 for batch in kept})
    covering: list[tuple[int, int, int]] = []  # a heap, highest count and state first, with the end offset
    out: list[StateBatch] = []
    following = 0
    for at, end in pairwise(edges):
        while following < len(kept) and kept[following].first <= at:
            batch = kept[following]
            heapq.heappush(covering, (-batch.deliveries, -batch.state, batch.last + 1))
            following += 1
        while covering and covering[0][2] <= at:
            heapq.heappop(covering)
        if not covering:
            continue
        piece = StateBatch(at, end - 1, -covering[0][1], -covering[0][0])
        if out and out[-1].last + 1 == at and out[-1][2:] == piece[2:]:
            out[-1] = out[-1]._replace(last=piece.last)
        else:
            out.append(piece)
    return out
