"""Members of groups: who they are, when they were heard of, and what they have.

Calls tell first when a member was heard of and what the coordinator answered. Then the replay adds when it joined, what
it got and how it ended.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.analysis.groups.moves import UNTIMED, Assignment

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from kwire_cli.analysis.groups.moves import Move

_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""What a coordinator adds to the client id, or to the group.instance.id, for a member id."""


@dataclass
class Member:
    """A member of a group. `first` and `last` are the times of its calls; `without` the seconds without partitions.

    Requests to leave count only until a member makes other calls, because an admin client may send them.
    """

    member: str
    client: str = ""
    host: str = ""
    instance: str | None = None
    joined: float | None = None
    ended: float | None = None
    end: str = ""
    partitions: Assignment | None = None
    held: bool = False
    """Whether it had partitions at any time."""
    without: float = 0.0
    rebalance_timeout: float | None = None
    session_timeout: float | None = None
    interval: float | None = None
    """Seconds between heartbeats, as the broker wants them."""
    first: float | None = None
    last: float | None = None
    has_called: bool = False
    """Whether the member made calls other than requests to leave."""
    reached: tuple[Hashable, int | None] | None = None
    """The connection and the generation that were noted last, so that heartbeats in it are no news."""
    accepted: bool = True
    """Whether the coordinator took it for a member at any time."""
    refused: bool = False
    """Whether all of its calls were answered with errors, apart from those that tell a member to join again."""
    gaps: list[tuple[float, float]] = field(default_factory=list)
    """Times without a call of it, each up to a call with news."""

    def hear(self, move: Move) -> float | None:
        """Note a move of the member; return the seconds since its move before, None if that is not known."""
        is_call = move.kind != "leave"
        is_own = move.client == self.client
        if self.has_called and not is_call and not is_own:
            return None
        if self.first is None or self.last is None or (is_call and not self.has_called and not is_own):
            self.has_called = is_call
            self.client, self.host = move.client, move.host
            self.first = self.last = move.time
            return None
        silence = max(move.time - self.last, 0.0)
        self.first, self.last = min(self.first, move.time), max(self.last, move.time)
        self.has_called |= is_call
        return silence if move.time >= UNTIMED else None

    def learn(self, move: Move, interval: float | None) -> None:
        """Note what a move says of the member: of different values the largest."""
        self.instance = max(self.instance or "", move.instance or "") or None
        self.interval = max(self.interval or 0.0, interval or 0.0) or None
        self.rebalance_timeout = max(self.rebalance_timeout or 0.0, move.rebalance_timeout or 0.0) or None
        self.session_timeout = max(self.session_timeout or 0.0, move.session_timeout or 0.0) or None

    @property
    def is_let_in(self) -> bool:
        """Whether anything names it as a member: not only calls that were refused."""
        return not self.refused or self.joined is not None or self.partitions is not None

    @property
    def label(self) -> str:
        """The client id; of a member whose calls are not in the input its member id, without the UUID at its end."""
        return self.client or _UUID.sub("", self.member)

    def heard(self, before: float) -> float | None:
        """Return when it was last heard of before a time, None if that is not known."""
        if self.last is None or self.last <= before:
            return self.last
        return next((start for start, end in self.gaps if start <= before <= end), None)


def short(member: str, client: str = "") -> str:
    """Return the beginning of a member id that tells it from others: client ids and names are cut from its front."""
    rest = member.removeprefix(f"{client}-") if client else member
    return rest[:8] if len(rest) > 8 else rest


def most_at_once(members: Iterable[Member]) -> dict[str, int]:
    """Return how many members of each client id there are at the same time, at most."""
    points: dict[str, list[tuple[float, int]]] = {}
    for member in members:
        start = member.joined if member.joined is not None else member.first
        end = member.ended if member.ended is not None else member.last
        if start is not None and end is not None:
            points.setdefault(member.label, []).extend(((start, 1), (max(end, start), -1)))
    most: dict[str, int] = {}
    for client, steps in points.items():
        now = 0
        for _, step in sorted(steps):
            now += step
            most[client] = max(most.get(client, 0), now)
    return most
