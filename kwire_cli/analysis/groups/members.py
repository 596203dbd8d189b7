"""Members of groups: their clients, the times of their requests, and their assignments.

A first pass over the calls determines the times of requests and the responses of the coordinator. Then the replay adds
the time at which the member joined, its assignment, and its end.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from kwire_cli.analysis.groups.moves import Assignment
from kwire_cli.analysis.rows import FLAG, PARTITIONS, SECONDS, TEXT, TIME, Row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.analysis.groups.moves import Move

_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""The suffix of a member id. The coordinator appends it to the client id or to the group.instance.id."""


@dataclass(slots=True)
class OfGroup(Row):
    """A row about a group."""

    group_id: Annotated[str, TEXT, "the group"] = field(default="", kw_only=True)


@dataclass(slots=True)
class Member(OfGroup):
    """A member of a group.

    Requests to leave count only until a member makes other calls, because an admin client may send them.
    """

    member: Annotated[str, TEXT, "member id"]
    name: Annotated[str, TEXT, "a name for display: the client id, with the member id if several have it"] = ""
    client: Annotated[str, TEXT, "client id"] = ""
    host: Annotated[str, TEXT, "address of the client"] = ""
    instance_id: Annotated[str | None, TEXT, "group.instance.id"] = None
    joined: Annotated[float | None, TIME, "when it joined"] = None
    ended: Annotated[float | None, TIME, "when it left or was removed"] = None
    ending: Annotated[str, TEXT, "how it ended; null if it did not"] = ""
    partitions: Annotated[Assignment | None, PARTITIONS, "its last assignment; null if unknown"] = None
    has_held: Annotated[bool, FLAG, "whether it had partitions at any time"] = False
    without_s: Annotated[float, SECONDS, "seconds in the group without partitions"] = 0.0
    rebalance_timeout_s: Annotated[float | None, SECONDS, "rebalance timeout; of Java max.poll.interval.ms"] = None
    session_timeout_s: Annotated[float | None, SECONDS, "session timeout"] = None
    first_time: Annotated[float | None, TIME, "its first call"] = None
    last_time: Annotated[float | None, TIME, "its last call"] = None
    empty_since: float | None = None
    """The time at which the member lost its partitions, or joined. None while it has partitions."""
    interval: float = 0.0
    """The heartbeat interval that the broker requires, in seconds. 0 if unknown."""
    has_called: bool = False
    """Whether the member made calls other than requests to leave."""
    reached: tuple[Hashable, int | None] | None = None
    """The last known connection and generation. Heartbeats with the same values are not news."""
    is_refused: bool = False
    """Whether all responses to its calls were errors, other than the errors that request another JoinGroup."""
    gaps: list[tuple[float, float]] = field(default_factory=list)
    """Intervals without a call of the member. Each ends with a call that is news."""

    def observe(self, move: Move) -> float | None:
        """Update the times of the member by a move. Return the seconds since its previous move, or None if unknown."""
        is_call = move.kind != "leave"
        is_own = move.client == self.client
        if self.has_called and not is_call and not is_own:
            return None
        if self.first_time is None or self.last_time is None or (is_call and not self.has_called and not is_own):
            self.has_called = is_call
            self.client = move.client
            self.host = move.host
            self.first_time = self.last_time = move.time
            return None
        silence = max(move.time - self.last_time, 0.0)
        self.see(move.time)
        self.has_called |= is_call
        return silence if move.time >= 0 else None

    def describe(self, move: Move) -> None:
        """Update the member with the fields of a record."""
        self.client = move.client
        self.host = move.host
        self.learn(move)

    def see(self, time: float) -> None:
        """Extend the first and last time of the member to include `time`, at which it was in the group."""
        self.first_time = time if self.first_time is None else min(self.first_time, time)
        self.last_time = time if self.last_time is None else max(self.last_time, time)

    def learn(self, move: Move) -> None:
        """Update the settings of the member from a move. The largest of different values counts."""
        self.instance_id = max(self.instance_id or "", move.instance or "") or None
        self.interval = max(self.interval, move.interval)
        self.rebalance_timeout_s = max(self.rebalance_timeout_s or 0.0, move.rebalance_timeout or 0.0) or None
        self.session_timeout_s = max(self.session_timeout_s or 0.0, move.session_timeout or 0.0) or None

    def lose(self, time: float) -> None:
        """Record that the member has no partitions from `time` on."""
        self.empty_since = time if self.empty_since is None else self.empty_since

    def regain(self, time: float | None) -> float | None:
        """Record that the member has partitions again, or has ended.

        Return the seconds without partitions, or None if it had partitions before.
        """
        since = self.empty_since
        self.empty_since = None
        if since is None or time is None:
            return None
        away = max(time - since, 0.0)
        self.without_s += away
        return away

    @property
    def is_let_in(self) -> Annotated[bool, FLAG, "whether it is in the group by anything but refused calls"]:
        """Whether the coordinator let the client join. False if there are only calls that were refused."""
        return not self.is_refused or self.joined is not None or self.partitions is not None

    @property
    def label(self) -> str:
        """The client id. If the calls are not in the input, the member id without the UUID at its end."""
        return self.client or _UUID.sub("", self.member)

    def last_call_before(self, time: float) -> float | None:
        """Return the time of the last call before a time, or None if unknown."""
        if self.last_time is None or self.last_time <= time:
            return self.last_time
        for start, end in self.gaps:
            if start <= time <= end:
                return start
        return None


def short(member: str, client: str = "") -> str:
    """Return a short, distinct part of a member id. The client id at its start is removed."""
    rest = member.removeprefix(f"{client}-") if client else member
    return rest[:8] if len(rest) > 8 else rest


def name_members(members: Iterable[Member]) -> dict[str, str]:
    """Set and return the names of members: the client id, with the member id if several have it at the same time."""
    members = [*members]
    shared = _shared_labels(members)
    for member in members:
        label = member.label
        if label == member.member:
            member.name = short(label)
        else:
            member.name = f"{label} ({short(member.member, label)})" if label in shared else label
    return {member.member: member.name for member in members}


def _shared_labels(members: Iterable[Member]) -> set[str]:
    spans = []
    for member in members:
        start = member.first_time if member.joined is None else member.joined
        end = member.last_time if member.ended is None else member.ended
        if start is not None and end is not None and start < end:
            spans.append((start, end, member.label))
    shared: set[str] = set()
    ends: dict[str, float] = {}
    for start, end, label in sorted(spans):
        before = ends.get(label, start)
        ends[label] = max(end, before)
        if start < before:
            shared.add(label)
    return shared
