"""`__consumer_offsets`: the groups of all kinds and their committed offsets, as GroupMetadataManager and
OffsetMetadataManager load them.

The newest value under a key counts, with one exception: offsets committed in a transaction count from its COMMIT marker
on, unless a later record for the same partition came before that; an ABORT marker drops them. The state of a group
follows from its records by the rules of its type: maybeUpdateGroupState of ClassicGroup, ConsumerGroup, ShareGroup and
StreamsGroup.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.coordinators import OFFSET_COMMITS, TYPE_SIZE
from kwire_cli.analysis.state.model import CoordinatorState, Latest
from kwire_cli.engine.values import instant
from kwire_cli.records.kafka_topics import decode_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.analysis.coordinators import CoordinatorRecord, Event
    from kwire_cli.analysis.state.model import Named
    from kwire_cli.records.batch import Hide
    from kwire_cli.spec.catalog import Catalog

    Row = dict[str, Any]


@dataclass
class Group:
    """The known parts of a group. Kafka creates a classic group for offsets without a group."""

    name: str
    catalog: Catalog
    type: str = "classic"
    parts: dict[str, Row] = field(default_factory=dict)
    members: defaultdict[str, dict[str, Row]] = field(default_factory=lambda: defaultdict(dict))
    expressions: list[Row] = field(default_factory=list)
    offsets: int = 0
    pending: int = 0

    def add(self, record: CoordinatorRecord) -> None:
        """Apply a record about a part of the group."""
        self.type = record.group_type
        if "memberId" in record.key:
            self.members[record.key["memberId"]][record.part] = record.value
        elif record.part == "RegularExpression":
            self.expressions.append({"regularExpression": record.key["regularExpression"], **record.value})
        else:
            self.parts[record.part] = record.value

    def rows(self) -> Iterator[Named]:
        """Yield the rows of the group and its members, with the fields of Kafka's records."""
        further = {**self.parts}
        metadata = {**further.pop("Metadata", {})}
        classic_members: list[Row] = metadata.pop("members", [])
        members = classic_members if self.type == "classic" else [*self._members()]
        row: Row = {"group": self.name, "type": self.type, "state": self._state(members)}
        row |= metadata | further.pop("TargetAssignmentMetadata", {})
        row |= {part[:1].lower() + part[1:]: value for part, value in further.items()}
        if self.expressions:
            row["regularExpressions"] = sorted(self.expressions, key=lambda each: str(each["regularExpression"]))
        row |= {"members": len(members), "offsets": self.offsets, "pendingOffsets": self.pending or None}
        yield "groups", row
        for member in members:
            state = member.get("currentAssignment", {}).get("state")
            yield "members", {"group": self.name, "state": state, **member}

    def _members(self) -> Iterator[Row]:
        record = f"{self.type.title()}GroupCurrentMemberAssignmentValue"
        for member, parts in self.members.items():
            row: Row = {"memberId": member, **parts.get("MemberMetadata", {})}
            if current := parts.get("CurrentMemberAssignment"):
                state = self.catalog.named_value(record, "state", current["state"]) or "UNKNOWN"
                row["currentAssignment"] = current | {"state": state}
            if target := parts.get("TargetAssignmentMember"):
                row["targetAssignment"] = target
            yield row

    def _state(self, members: list[Row]) -> str:
        if not members:
            return "Empty"
        if self.type in {"classic", "share"}:
            return "Stable"
        metadata = self.parts.get("Metadata", {})
        if self.type == "streams":
            topology = self.parts.get("Topology")
            if topology is None or topology["epoch"] != metadata.get("validatedTopologyEpoch", -1):
                return "NotReady"
        assigned = self.parts.get("TargetAssignmentMetadata", {}).get("assignmentEpoch", 0)
        if metadata.get("epoch", 0) > assigned:
            return "Assigning"
        current = [member.get("currentAssignment", {}) for member in members]
        settled = all(each.get("state") == "STABLE" and each.get("memberEpoch") == assigned for each in current)
        return "Stable" if settled else "Reconciling"


@dataclass(eq=False)
class Groups(CoordinatorState):
    """The newest records about groups, and their committed offsets.

    The key of `commits` is the record key without its type, because two types mean the same partition. `pending`
    contains the commits of open transactions by producer id. A pending commit is invalid if it is older than the last
    tombstone of its partition, whose offset is in `removed`.
    """

    commits: dict[bytes, Latest] = field(default_factory=dict)
    pending: defaultdict[int, dict[bytes, Latest]] = field(default_factory=lambda: defaultdict(dict))
    removed: dict[bytes, int] = field(default_factory=dict)

    def add_record(self, number: int, key: bytes, event: Event) -> None:
        """Apply a record of a known type. A tombstone drops pending offsets of its partition too."""
        place = key[TYPE_SIZE:]
        if number not in OFFSET_COMMITS:
            super().add_record(number, key, event)
        elif event.value is None:
            self.commits.pop(place, None)
            self.removed[place] = event.offset
        else:
            commits = self.commits if event.producer_id < 0 else self.pending[event.producer_id]
            commits[place] = Latest(key, event.value, event.offset)

    def end_transaction(self, event: Event, /) -> None:
        """Apply a transaction marker."""
        result = decode_control(self.catalog, event.key, event.value).type
        if result not in {"COMMIT", "ABORT"}:
            return
        for place, kept in self._open(self.pending.pop(event.producer_id, {})):
            commit = self.commits.get(place, kept)
            if result == "COMMIT" and commit.offset <= kept.offset:
                self.commits[place] = kept

    def _open(self, pending: dict[bytes, Latest]) -> list[tuple[bytes, Latest]]:
        return [(place, kept) for place, kept in pending.items() if kept.offset > self.removed.get(place, -1)]

    def rows(self, *, hide: Hide | None) -> Iterator[Named]:
        """Yield the rows of offsets, groups and members."""
        self.undecoded = 0
        groups: dict[str, Group] = {}

        def decoded(kept: Iterable[Latest]) -> Iterator[tuple[Group, CoordinatorRecord, Latest]]:
            for each in kept:
                if record := self.decode(each, hide):
                    yield groups.setdefault(record.name, Group(record.name, self.catalog)), record, each

        for group, record, _ in decoded(self.live.values()):
            group.add(record)
        for group, record, kept in decoded(self.commits.values()):
            group.offsets += 1
            yield "offsets", _offset_row(record, kept)
        for producer, commits in self.pending.items():
            for group, record, kept in decoded(kept for _, kept in self._open(commits)):
                group.pending += 1
                yield "pendingOffsets", {"producerId": producer, **_offset_row(record, kept)}
        for group in groups.values():
            yield from group.rows()


def _offset_row(record: CoordinatorRecord, kept: Latest) -> Row:
    return {
        "group": record.name,
        "topic": record.key["topic"],
        "partition": record.key["partition"],
        "committed": instant(record.value["commitTimestamp"]),
        **record.value,
        "recordOffset": kept.offset,
    }
