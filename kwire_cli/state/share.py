"""`__share_group_state`: what the share coordinator knows of each partition of a share group (ShareCoordinatorShard).

A snapshot replaces what was known; an update is merged into it: its batches go over those that are there, and what lies below the start offset goes.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.spec.kafka import SHARE_GROUP_STATE
from kwire_cli.state.keyed import NO_TYPE, TYPE_SIZE, decoded, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.records.model import Hide
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.state.events import Event

SNAPSHOT, UPDATE = 0, 1
DELIVERY_STATES = {0: "Available", 2: "Acknowledged", 4: "Archived"}
"""RecordState of the share partition."""


class StateBatch(NamedTuple):
    """Records with offsets from `first` to `last` that have the same delivery state, and were delivered as often."""

    first: int
    last: int
    state: int
    deliveries: int


@dataclass
class SharePartition:
    """What is known of a partition. Batches come in layers, of the snapshot and of each update, with the start offset from then on.

    They are combined once they are shown: to do that with each update would be more work than the log is long.
    """

    said: dict[str, Any]
    layers: list[tuple[int, list[StateBatch]]]

    def to_json(self) -> dict[str, Any]:
        """What is known, with the batches as they stand."""
        batches = self.layers[0][1] if len(self.layers) == 1 else flattened(self.layers)
        return self.said | {"stateBatches": [_batch_json(batch) for batch in batches]}


@dataclass
class ShareState:
    """By group, topic id and partition, the bytes of these in the key: the newest snapshot and the updates after it."""

    catalog: Catalog
    live: dict[bytes, SharePartition] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    undecoded: int = 0

    def rows(self, *, hide: Hide | None) -> Iterator[dict[str, Any]]:  # noqa: ARG002 - as the other states; nothing here is secret
        """`{"kind":"sharePartition","groupId","topicId","partition","snapshotEpoch",…,"stateBatches","offset"}`, by these three."""
        rows = ({"kind": "sharePartition", **each.to_json()} for each in self.live.values())
        yield from sorted(rows, key=lambda row: (row["groupId"], row["topicId"], row["partition"]))
        if self.undecoded:
            yield {"kind": "undecoded", "records": self.undecoded}

    def to_json(self, *, hide: Hide | None) -> dict[str, Any]:
        """`{"sharePartitions":[…]}` with what `rows` gives."""
        return {"sharePartitions": [row for row in self.rows(hide=hide) if row.pop("kind") == "sharePartition"]}


def apply(state: ShareState, event: Event) -> None:
    """Take in a record; a snapshot without a value removes its partition."""
    if event.control or event.key is None:
        return
    number = type_of(event.key)
    if number not in {SNAPSHOT, UPDATE}:
        state.unknown[NO_TYPE if number is None else str(number)] += 1
        return
    found = decoded(state.catalog, SHARE_GROUP_STATE, event.key, event.value, None)
    if not found:
        state.undecoded += 1
        return
    place, (name, value) = event.key[TYPE_SIZE:], found
    if event.value is None:
        if number == SNAPSHOT:
            state.live.pop(place, None)
        return
    batches = [StateBatch(b["firstOffset"], b["lastOffset"], b["deliveryState"], b["deliveryCount"]) for b in value["stateBatches"]]
    known = state.live.get(place)
    if number == UPDATE and known:
        known.said |= merged(known.said, value) | {"offset": event.offset}
        known.layers.append((known.said["startOffset"], batches))
        return
    # An update of which the snapshot was not seen stands for itself, as in ShareGroupOffset.fromRecord.
    first = {"snapshotEpoch": 0, "stateEpoch": 0, "leaderEpoch": 0, "startOffset": -1, "deliveryCompleteCount": -1}
    state.live[place] = SharePartition({**name, **first, **value, "offset": event.offset}, [(-1, batches)])


def merged(known: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
    """What an update changes but batches (ShareCoordinatorShard.merge): -1 as start offset or leader epoch leaves it as it was."""
    return {
        "startOffset": known["startOffset"] if update["startOffset"] == -1 else update["startOffset"],
        "leaderEpoch": known["leaderEpoch"] if update["leaderEpoch"] == -1 else update["leaderEpoch"],
        "deliveryCompleteCount": update.get("deliveryCompleteCount", -1),
    }


def flattened(layers: Sequence[tuple[int, Iterable[StateBatch]]]) -> list[StateBatch]:
    """Batches of all layers, each with the start offset that holds from it on, -1 for none: none of a layer below any start of its own or after it.

    That is what combining one layer after the other comes to (PersisterStateBatchCombiner). Where several batches cover an offset, the one that was
    delivered more often counts, then the one with the higher state; neighbours that say the same become one.
    """
    batches: list[StateBatch] = []
    start = -1
    for own, layer in reversed(layers):
        start = max(start, own)
        batches += (batch._replace(first=max(batch.first, start)) if start >= 0 else batch for batch in layer if batch.last >= start or start < 0)
    return _painted(sorted(batch for batch in batches if batch.first <= batch.last))


def _painted(batches: list[StateBatch]) -> list[StateBatch]:
    edges = sorted({edge for batch in batches for edge in (batch.first, batch.last + 1)})
    covering: list[tuple[int, int, int]] = []  # the highest count and state first, with the offset after the last
    out: list[StateBatch] = []
    following = 0
    for at, end in pairwise(edges):
        while following < len(batches) and batches[following].first <= at:
            batch = batches[following]
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


def _batch_json(batch: StateBatch) -> dict[str, Any]:
    name = DELIVERY_STATES.get(batch.state, "Unknown")
    return {"firstOffset": batch.first, "lastOffset": batch.last, "deliveryState": batch.state, "state": name, "deliveryCount": batch.deliveries}
