"""A group put together from its records: its type, its state by the rules of each kind of group, its members and offsets.

Sources: ClassicGroup, ConsumerGroup, ShareGroup and StreamsGroup (maybeUpdateGroupState), the member states of each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Part(NamedTuple):
    """What a record type is of a group: the type of group, and which part. `member` parts have a member id in their key."""

    group: str
    part: str
    member: bool = False


PARTS = {
    2: Part("classic", "metadata"),
    3: Part("consumer", "metadata"),
    4: Part("consumer", "partitionMetadata"),
    5: Part("consumer", "metadata", member=True),
    6: Part("consumer", "targetAssignment"),
    7: Part("consumer", "targetAssignment", member=True),
    8: Part("consumer", "currentAssignment", member=True),
    16: Part("consumer", "regularExpressions"),
    9: Part("share", "partitionMetadata"),
    10: Part("share", "metadata", member=True),
    11: Part("share", "metadata"),
    12: Part("share", "targetAssignment"),
    13: Part("share", "targetAssignment", member=True),
    14: Part("share", "currentAssignment", member=True),
    15: Part("share", "statePartitions"),
    17: Part("streams", "metadata"),
    19: Part("streams", "metadata", member=True),
    20: Part("streams", "targetAssignment"),
    21: Part("streams", "targetAssignment", member=True),
    22: Part("streams", "currentAssignment", member=True),
    23: Part("streams", "topology"),
}
MEMBER_STATES = {
    "consumer": {0: "STABLE", 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS"},
    "share": {0: "STABLE", 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS"},
    "streams": {1: "STABLE", 2: "UNREVOKED_TASKS", 3: "UNRELEASED_TASKS"},
}
"""MemberState of modern groups, and of streams groups."""


@dataclass
class GroupRow:
    """The parts of a group, as far as they are there. A group with offsets and nothing else is a classic one, which Kafka makes for it."""

    name: str
    type: str = "classic"
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    members: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    expressions: list[dict[str, Any]] = field(default_factory=list)
    offsets: list[dict[str, Any]] = field(default_factory=list)
    pending: list[dict[str, Any]] = field(default_factory=list)

    def add(self, number: int, key: dict[str, Any], value: dict[str, Any]) -> None:
        """A record of this type, its key and value in Kafka's JSON form."""
        known = PARTS.get(number)
        if not known:
            return
        self.type = known.group
        if known.member:
            self.members.setdefault(key["memberId"], {})[known.part] = value
        elif known.part == "regularExpressions":
            self.expressions.append({"regularExpression": key["regularExpression"], **value})
        else:
            self.parts[known.part] = value

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
        settled = all(each.get("state") == "STABLE" and each.get("memberEpoch") == assigned for each in current)
        return "Stable" if settled else "Reconciling"


def committed(key: dict[str, Any], value: dict[str, Any], *, offset: int) -> dict[str, Any]:
    """A committed offset, beside the offset of the record that says so."""
    return {"topic": key["topic"], "partition": key["partition"], **value, "recordOffset": offset}


def _by_partition(row: dict[str, Any]) -> tuple[str, int]:
    return str(row["topic"]), row["partition"]
