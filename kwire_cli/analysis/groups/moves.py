"""Moves of group members: calls and records of coordinators in one small form, which can be replayed."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.call import parts

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from kwire_cli.analysis.call import Evidence

MOST_PARTITIONS = 1 << 14
"""Partitions of an assignment that are kept."""
UNTIMED = 1e6
"""Seconds below which a time is none: calls without a time are put in order by frame or line, a microsecond each."""
CONNECT = "connect"
"""The protocol type of workers of Kafka Connect."""
UNSAID = ("group is already rebalancing", "need to re-join with the given member-id")
"""Beginnings of reasons in JoinGroup requests that say nothing about the cause of a rebalance."""
Partition = tuple[str, int]
"""A topic and a partition; a connector and a task of Connect, a subtopology and a task of Streams."""
Assignment = frozenset[Partition]
NOTHING: Assignment = frozenset()


class Move(NamedTuple):
    """A step of a member of a group, or a record about it.

    `kind` is join, sync, heartbeat, leave, commit or share of calls, and generation, member, gone, epoch or assigned of
    records. `time` is when it was asked or written, `until` when it was answered, in seconds. `generation` is the
    member's own, `reached` the one in the answer: generations of classic groups, member epochs of others.

    `assignment` are the partitions that the member was given, `owned` those in its request, `revoked` those that it has
    to give up; all None if the message has no such field. With `revoked`, `assignment` is added to `owned`.
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
    """The time between heartbeats that the answer sets."""
    topics: tuple[str, ...] | None = None
    assignment: Assignment | None = None
    owned: Assignment | None = None
    revoked: Assignment | None = None
    everybody: tuple[tuple[str, Assignment | None], ...] | None = None
    """The members with the partitions that they have, in the answer to the leader; None for other members."""
    has_id: bool = False
    """Whether a JoinGroup has a member id: the member was in the group before, or was given the id."""
    leader_assignments: tuple[tuple[str, Assignment, Assignment | None], ...] = ()
    """What the leader of a classic group sends: each member with its `assignment` and `revoked`."""
    listed: tuple[Move, ...] | None = None
    """The members of a generation, in its record."""
    times: int = 0
    """The delivery count of a `share` move, or the number of records that it gives back."""
    silence: float | None = None
    """Seconds since the member's call before."""

    @property
    def at(self) -> float:
        """When its effect is there: with the answer."""
        return self.time if self.until is None else self.until

    @property
    def is_call(self) -> bool:
        """Whether it is a call, and not a record."""
        return self.connection is not None

    @property
    def is_news(self) -> bool:
        """Whether it is more than a heartbeat by which a member stays in its generation."""
        has_parts = self.assignment is not None or self.owned is not None or self.topics is not None
        return self.kind != "heartbeat" or bool(self.error or self.detail) or has_parts

    @property
    def real_reason(self) -> str:
        """The reason of a JoinGroup, empty if it does not tell the cause of a rebalance."""
        return "" if self.reason.startswith(UNSAID) else self.reason

    def shared(self, reason: str, topic: str, partition: Any, row: Mapping[str, Any], times: int) -> Move:
        """Return a move about records of a share group that are delivered again or given back."""
        first, last = row.get("firstOffset"), row.get("lastOffset")
        detail = f"offset {first}" if first == last else f"offsets {first} to {last}"
        owned = frozenset({(topic, partition)}) if type(partition) is int else NOTHING
        return self._replace(reason=reason, detail=detail, owned=owned, times=times)


def lapse(first: float, last: float) -> float | None:
    """Return the seconds between two moments; None if one of them has an order and no time."""
    return None if min(first, last) < UNTIMED else last - first


def text(value: Any) -> str:
    """Return a text of a body; empty if it is none."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int | None:
    """Return a number of a body; None if it is none."""
    return value if type(value) is int else None


def span_of(milliseconds: Any) -> float | None:
    """Return a timeout of a body in seconds; None if it says none."""
    return milliseconds / 1000 if type(milliseconds) is int and milliseconds > 0 else None


def topics_in(names: Any) -> tuple[str, ...] | None:
    """Return the topics of a subscription; None if it has no list of them."""
    return tuple(sorted(map(text, names))) if isinstance(names, list) else None


def name_in(row: Mapping[str, Any]) -> str:
    """Return the topic, connector or subtopology of a row of an assignment."""
    return text(row.get("topic") or row.get("connector") or row.get("topicId") or row.get("subtopologyId"))


def partitions_in(
    message: dict[str, Any] | None, *fields: str, name: Callable[[dict[str, Any]], str] = name_in
) -> Assignment | None:
    """Return the partitions or tasks in some fields of a message; None if it has none of the fields."""
    if not message or all(message.get(field) is None for field in fields):
        return None
    rows = (row for field in fields for (row,) in parts(message, field))
    lists = ((name(row), row.get("partitions", row.get("tasks"))) for row in rows)
    pairs = ((topic, each) for topic, numbers in lists if isinstance(numbers, list) for each in numbers)
    return frozenset(islice((pair for pair in pairs if type(pair[1]) is int), MOST_PARTITIONS))
