"""Moves of group members: the common form of calls and of coordinator records, for the replays.

Bodies come from tables and from decoded records, so a field of a body is missing, null, or has the type of its
definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.call import parts

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from kwire_cli.analysis.call import Evidence

UNTIMED = -1e6
"""The time of the start of the input for calls without a time.

Such calls get the number of their frame or line in microseconds after it, which preserves their order. All times below
0 are only positions.
"""
CONNECT = "connect"
"""The protocol type of workers of Kafka Connect."""
UNSAID = ("group is already rebalancing", "need to re-join with the given member-id")
"""Prefixes of reasons in JoinGroup requests that do not explain the cause of a rebalance."""
Partition = tuple[str, int]
"""A topic and a partition, a connector and a task (Connect), or a subtopology and a task (Streams)."""
Assignment = frozenset[Partition]
NOTHING: Assignment = frozenset()


class Move(NamedTuple):
    """A step of a member of a group, or a record about it.

    `kind` is join, sync, heartbeat, leave, commit or share for calls, and generation, member, gone, epoch or assigned
    for records. `time` is the time of the request or record, and `until` the time of the response, in seconds.
    `generation` is the number in the request, and `reached` the number in the response. Both are generations in classic
    groups, and member epochs in other groups.

    `assignment` contains the partitions that the member received, `owned` the partitions in its request, and `revoked`
    the partitions that it has to give up. Each is None if the message does not have the field. With `revoked`,
    `assignment` contains only the partitions to add to `owned`.
    """

    kind: str
    time: float
    until: float | None
    place: Evidence
    group: str
    protocol: str
    member: str = ""
    client: str = ""
    host: str = ""
    connection: Hashable = None
    instance: str | None = None
    generation: int | None = None
    reached: int | None = None
    error: str = ""
    reason: str = ""
    detail: str = ""
    assignor: str = ""
    rebalance_timeout: float | None = None
    session_timeout: float | None = None
    interval: float = 0.0
    """The heartbeat interval in the response, in seconds."""
    topics: tuple[str, ...] | None = None
    assignment: Assignment | None = None
    owned: Assignment | None = None
    revoked: Assignment | None = None
    everybody: tuple[tuple[str, Assignment | None], ...] | None = None
    """The members and the partitions that they own, from the response to the leader. None for other members."""
    has_id: bool = False
    """Whether a JoinGroup has a member id: the member was in the group before, or was given the id."""
    leader_assignments: tuple[tuple[str, Assignment, Assignment | None], ...] = ()
    """The assignments that the leader of a classic group sends: each member with its `assignment` and `revoked`."""
    listed: tuple[Move, ...] | None = None
    """The members of a generation, in its record."""
    times: int = 0
    """The delivery count of a `share` move, or the number of records that it releases or rejects."""
    silence: float | None = None
    """Seconds since the previous call of the member."""

    @property
    def at(self) -> float:
        """The time at which the move takes effect: the time of the response, if there is one."""
        return self.time if self.until is None else self.until

    @property
    def is_call(self) -> bool:
        """Whether the move is a call, and not a record."""
        return self.connection is not None

    @property
    def is_news(self) -> bool:
        """Whether the move changes anything. A heartbeat that only keeps a member in its generation does not."""
        has_parts = self.assignment is not None or self.owned is not None or self.topics is not None
        return self.kind != "heartbeat" or bool(self.error or self.detail) or has_parts

    @property
    def real_reason(self) -> str:
        """The reason of a JoinGroup. Empty if the reason does not explain the cause of a rebalance."""
        return "" if self.reason.startswith(UNSAID) else self.reason

    def shared(self, reason: str, partition: Partition, row: Mapping[str, Any], times: int) -> Move:
        """Return a move about records of a share group that are delivered again, released or rejected."""
        first = row.get("firstOffset")
        last = row.get("lastOffset")
        detail = f"offset {first}" if first == last else f"offsets {first} to {last}"
        return self._replace(reason=reason, detail=detail, owned=frozenset({partition}), times=times)


def lapse(first: float, last: float) -> float | None:
    """Return the seconds between two times. Return None if one of them is only a position (see UNTIMED)."""
    return None if min(first, last) < 0 else last - first


def span_of(milliseconds: int | None) -> float | None:
    """Return a timeout of a body in seconds. Return None if it is missing or not positive."""
    return milliseconds / 1000 if milliseconds is not None and milliseconds > 0 else None


def topics_in(names: list[str] | None) -> tuple[str, ...] | None:
    """Return the sorted topics of a subscription, or None without a subscription."""
    return None if names is None else tuple(sorted(names))


def name_in(row: Mapping[str, Any]) -> str:
    """Return the topic, connector or subtopology of a row of an assignment."""
    return row.get("topic") or row.get("connector") or row.get("topicId") or row.get("subtopologyId") or ""


def partitions_in(
    message: dict[str, Any] | None, *fields: str, name: Callable[[dict[str, Any]], str] = name_in
) -> Assignment | None:
    """Return the partitions or tasks in some fields of a message. Return None if the message has none of the fields."""
    if not message or all(message.get(field) is None for field in fields):
        return None
    return frozenset(
        (name(row), number)
        for field in fields
        for (row,) in parts(message, field)
        for number in row.get("partitions", row.get("tasks")) or ()
    )
