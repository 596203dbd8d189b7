"""State of coordinators: offsets and groups, transactions, share groups."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.coordinators import (
    OFFSET_COMMITS,
    TYPE_SIZE,
    decode_coordinator,
    type_of,
)
from kwire_cli.records.kafka_topics import COORDINATORS, TRANSACTION_STATUS, decode_control, record_types
from kwire_cli.spec.kafka import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.analysis.coordinators import CoordinatorRecord, Event
    from kwire_cli.records.batch import Hide
    from kwire_cli.spec.catalog import Catalog


NO_TYPE = "none"
"""The name under which keys are counted that are too short for a type."""


class Kept(NamedTuple):
    """The newest value under a key, with the offset and timestamp (milliseconds) of its record."""

    offset: int
    timestamp: int
    value: bytes


def known_types(catalog: Catalog, topic: str) -> frozenset[int]:
    """Return the record types of a topic."""
    return frozenset(record_types(catalog, COORDINATORS[topic]))


# A group put together from its records: its type, its state by the rules of each kind of group, its members
# and offsets.
#
# Sources: ClassicGroup, ConsumerGroup, ShareGroup and StreamsGroup (maybeUpdateGroupState), the member states
# of each.


MEMBER_STATES = {
    "consumer": {0: "STABLE", 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS"},
    "share": {0: "STABLE", 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS"},
    "streams": {1: "STABLE", 2: "UNREVOKED_TASKS", 3: "UNRELEASED_TASKS"},
}
"""MemberState of modern groups, and of streams groups."""


@dataclass
class GroupRow:
    """The parts of a group, as far as they are there. A group with offsets and nothing else is a classic one, which
    Kafka makes for it.
    """

    name: str
    type: str = "classic"
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    members: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    expressions: list[dict[str, Any]] = field(default_factory=list)
    offsets: list[dict[str, Any]] = field(default_factory=list)
    pending: list[dict[str, Any]] = field(default_factory=list)

    def add(self, record: CoordinatorRecord) -> None:
        """Take in a record about a part of the group."""
        if not record.part:
            return
        self.type, part, is_member = record.part
        if is_member:
            self.members.setdefault(record.key["memberId"], {})[part] = record.value
        elif part == "regularExpressions":
            self.expressions.append({"regularExpression": record.key["regularExpression"], **record.value})
        else:
            self.parts[part] = record.value

    def to_json(self) -> dict[str, Any]:
        """The group: what Kafka's records say, in their words, by parts; the state is found by Kafka's rules."""
        members = self._classic_members() if self.type == "classic" else self._members()
        out: dict[str, Any] = {"kind": "group", "group": self.name, "type": self.type, "state": self._state(members)}
        head = {name: value for name, value in self.parts.get("metadata", {}).items() if name != "members"}
        out |= head | self.parts.get("targetAssignment", {})
        for name in ("topology", "statePartitions", "partitionMetadata"):
            if name in self.parts:
                out[name] = self.parts[name]
        if self.expressions:
            out["regularExpressions"] = sorted(self.expressions, key=lambda each: str(each["regularExpression"]))
        out["members"] = members
        out["offsets"] = sorted(self.offsets, key=_by_partition)
        if self.pending:
            out["pendingOffsets"] = sorted(self.pending, key=lambda each: (each["producerId"], *_by_partition(each)))
        return out

    def _classic_members(self) -> list[dict[str, Any]]:
        members: list[dict[str, Any]] = self.parts.get("metadata", {}).get("members", [])
        return members

    def _members(self) -> list[dict[str, Any]]:
        names = MEMBER_STATES[self.type]
        out = []
        for member, parts in sorted(self.members.items()):
            row: dict[str, Any] = {"memberId": member, **parts.get("metadata", {})}
            current = parts.get("currentAssignment")
            if current is not None:
                row["currentAssignment"] = current | {"state": names.get(current["state"], "UNKNOWN")}
            if "targetAssignment" in parts:
                row["targetAssignment"] = parts["targetAssignment"]
            out.append(row)
        return out

    def _state(self, members: list[dict[str, Any]]) -> str:
        if not members:
            return "Empty"
        if self.type in {"classic", "share"}:
            return "Stable"
        metadata, target = self.parts.get("metadata", {}), self.parts.get("targetAssignment", {})
        if self.type == "streams":
            topology = self.parts.get("topology")
            if topology is None or topology["epoch"] != metadata.get("validatedTopologyEpoch", -1):
                return "NotReady"
        assigned = target.get("assignmentEpoch", 0)
        if metadata.get("epoch", 0) > assigned:
            return "Assigning"
        current = [member.get("currentAssignment", {}) for member in members]
        settled = all(
            assignment.get("state") == "STABLE" and assignment.get("memberEpoch") == assigned for assignment in current
        )
        return "Stable" if settled else "Reconciling"


def _by_partition(row: dict[str, Any]) -> tuple[str, int]:
    return str(row["topic"]), row["partition"]


# `__consumer_offsets`: the groups of all kinds and their committed offsets, as GroupMetadataManager and
# OffsetMetadataManager load them.
#
# What counts is the newest value under a key, with one exception: offsets committed in a transaction count
# from its COMMIT marker on, unless a later record for the same partition came before that; an ABORT marker
# drops them.


@dataclass
class Offsets:
    """The newest values: `commits` by the key without its type, `live` of all else by the key, `pending` commits by
    producer id.
    """

    catalog: Catalog
    commits: dict[bytes, tuple[bytes, Kept]] = field(default_factory=dict)
    live: dict[bytes, Kept] = field(default_factory=dict)
    pending: dict[int, dict[bytes, tuple[bytes, Kept]]] = field(default_factory=dict)
    waiting: dict[bytes, set[int]] = field(default_factory=dict)
    """The producer ids with pending commits of a partition."""
    unknown: Counter[str] = field(default_factory=Counter)

    def rows(self, *, hide: Hide | None) -> Iterator[dict[str, Any]]:
        """`{"kind":"group","group","type","state",…,"members","offsets","pendingOffsets"}`, by name (docs/state.md)."""
        groups: dict[str, GroupRow] = {}
        undecoded = 0
        for key, kept in self.live.items():
            record = decode_coordinator(self.catalog, CONSUMER_OFFSETS, key, kept.value, hide)
            if record:
                groups.setdefault(record.name, GroupRow(record.name)).add(record)
            else:
                undecoded += 1
        everything = [(-1, self.commits), *self.pending.items()]
        for producer, commits in everything:
            for key, kept in commits.values():
                record = decode_coordinator(self.catalog, CONSUMER_OFFSETS, key, kept.value, hide)
                if not record:
                    undecoded += 1
                    continue
                row = groups.setdefault(record.name, GroupRow(record.name))
                place = {name: record.key[name] for name in ("topic", "partition")}
                line = {**place, **record.value, "recordOffset": kept.offset}
                if producer < 0:
                    row.offsets.append(line)
                else:
                    row.pending.append({"producerId": producer, **line})
        for name in sorted(groups):
            yield groups[name].to_json()
        if undecoded:
            yield {"kind": "undecoded", "records": undecoded}


def apply_offset(state: Offsets, event: Event) -> None:
    """Take in a record; one without a value removes what is under its key."""
    if event.control:
        _end_transaction(state, event)
        return
    number = type_of(event.key)
    if event.key is None or number is None or number not in known_types(state.catalog, CONSUMER_OFFSETS):
        state.unknown[NO_TYPE if number is None else str(number)] += 1
    elif number in OFFSET_COMMITS:
        _commit(state, event, event.key)
    elif event.value is None:
        state.live.pop(event.key, None)
    else:
        state.live[event.key] = Kept(event.offset, event.timestamp, event.value)


def _commit(state: Offsets, event: Event, key: bytes) -> None:
    place = key[TYPE_SIZE:]
    if event.value is None:
        state.commits.pop(place, None)
        for producer in state.waiting.pop(place, ()):
            del state.pending[producer][place]
        return
    kept = key, Kept(event.offset, event.timestamp, event.value)
    if event.producer_id < 0:
        state.commits[place] = kept
    else:
        state.pending.setdefault(event.producer_id, {})[place] = kept
        state.waiting.setdefault(place, set()).add(event.producer_id)


def _end_transaction(state: Offsets, event: Event) -> None:
    result = decode_control(state.catalog, event.key, event.value).type
    if result not in {"COMMIT", "ABORT"}:
        return
    for place, kept in state.pending.pop(event.producer_id, {}).items():
        state.waiting[place].discard(event.producer_id)
        commit = state.commits.get(place)
        if result == "COMMIT" and (commit is None or commit[1].offset < kept[1].offset):
            state.commits[place] = kept


# `__transaction_state`: what the transaction coordinator knows of each transactional id
# (TransactionStateManager, TransactionLog).


@dataclass
class Transactions:
    """The newest value of each transactional id, by key; types that are not known are counted."""

    catalog: Catalog
    live: dict[bytes, Kept] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)

    def rows(self, *, hide: Hide | None) -> Iterator[dict[str, Any]]:
        """`{"kind":"transaction","transactionalId","state", the other fields of the value, "offset"}`, by id."""
        undecoded = 0
        rows = []
        for key, kept in self.live.items():
            record = decode_coordinator(self.catalog, TRANSACTION_STATE, key, kept.value, hide)
            if not record:
                undecoded += 1
                continue
            row = {"kind": "transaction", **record.key, "state": record.status, **record.value, "offset": kept.offset}
            del row[TRANSACTION_STATUS]
            rows.append(row)
        yield from sorted(rows, key=lambda row: str(row["transactionalId"]))
        if undecoded:
            yield {"kind": "undecoded", "records": undecoded}


def apply_transaction(state: Transactions, event: Event) -> None:
    """Take in a record; one without a value removes its transactional id."""
    if event.control or event.key is None:
        return
    number = type_of(event.key)
    if number is None or number not in known_types(state.catalog, TRANSACTION_STATE):
        state.unknown[NO_TYPE if number is None else str(number)] += 1
    elif event.value is None:
        state.live.pop(event.key, None)
    else:
        state.live[event.key] = Kept(event.offset, event.timestamp, event.value)


# `__share_group_state`: what the share coordinator knows of each partition of a share group
# (ShareCoordinatorShard).
#
# A snapshot replaces what was known; an update is merged into it: its batches go over those that are there,
# and what lies below the start offset goes.

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
    """The known state of a share partition.

    Batches come in layers, of the snapshot and of each update, with the start offset from then on. The layers are
    combined only when shown: combining them at each update would be more work than the log is long.
    """

    said: dict[str, Any]
    layers: list[tuple[int, list[StateBatch]]]

    def to_json(self) -> dict[str, Any]:
        """Return the known state, with the layers of batches combined."""
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
        """`{"kind":"sharePartition","groupId","topicId","partition","snapshotEpoch",…,"stateBatches","offset"}`, by
        these three.
        """
        rows = ({"kind": "sharePartition", **share_partition.to_json()} for share_partition in self.live.values())
        yield from sorted(rows, key=lambda row: (row["groupId"], row["topicId"], row["partition"]))
        if self.undecoded:
            yield {"kind": "undecoded", "records": self.undecoded}


def apply_share(state: ShareState, event: Event) -> None:
    """Take in a record; a snapshot without a value removes its partition."""
    if event.control or event.key is None:
        return
    number = type_of(event.key)
    if number not in {SNAPSHOT, UPDATE}:
        state.unknown[NO_TYPE if number is None else str(number)] += 1
        return
    record = decode_coordinator(state.catalog, SHARE_GROUP_STATE, event.key, event.value)
    if not record:
        state.undecoded += 1
        return
    place = event.key[TYPE_SIZE:]
    name = record.key
    value = record.value
    if event.value is None:
        if number == SNAPSHOT:
            state.live.pop(place, None)
        return
    batches = [
        StateBatch(b["firstOffset"], b["lastOffset"], b["deliveryState"], b["deliveryCount"])
        for b in value["stateBatches"]
    ]
    share_partition = state.live.get(place)
    if number == UPDATE and share_partition:
        share_partition.said |= merged(share_partition.said, value) | {"offset": event.offset}
        share_partition.layers.append((share_partition.said["startOffset"], batches))
        return
    # An update of which the snapshot was not seen stands for itself, as in ShareGroupOffset.fromRecord.
    first = {"snapshotEpoch": 0, "stateEpoch": 0, "leaderEpoch": 0, "startOffset": -1, "deliveryCompleteCount": -1}
    state.live[place] = SharePartition({**name, **first, **value, "offset": event.offset}, [(-1, batches)])


def merged(known: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
    """Return the fields other than batches as an update leaves them (ShareCoordinatorShard.merge).

    A start offset or leader epoch of -1 in the update keeps the known value.
    """
    return {
        "startOffset": known["startOffset"] if update["startOffset"] == -1 else update["startOffset"],
        "leaderEpoch": known["leaderEpoch"] if update["leaderEpoch"] == -1 else update["leaderEpoch"],
        "deliveryCompleteCount": update.get("deliveryCompleteCount", -1),
    }


def flattened(layers: Sequence[tuple[int, Iterable[StateBatch]]]) -> list[StateBatch]:
    """Batches of all layers, each with the start offset that holds from it on, -1 for none: none of a layer below any
    start of its own or after it.

    That is what combining one layer after the other comes to (PersisterStateBatchCombiner). Where several batches cover
    an offset, the one that was delivered more often counts, then the one with the higher state; neighbours that say the
    same become one.
    """
    batches: list[StateBatch] = []
    start = -1
    for own, layer in reversed(layers):
        start = max(start, own)
        batches += (
            batch._replace(first=max(batch.first, start)) if start >= 0 else batch
            for batch in layer
            if batch.last >= start or start < 0
        )
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
    return {
        "firstOffset": batch.first,
        "lastOffset": batch.last,
        "deliveryState": batch.state,
        "state": name,
        "deliveryCount": batch.deliveries,
    }
