"""Causes of rebalances: why members leave or join, changes of subscriptions, and errors that fence members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from kwire_cli.analysis.groups.moves import lapse
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.analysis.groups.members import Member
    from kwire_cli.analysis.groups.moves import Move

Cause = Literal[
    "join",
    "restart",
    "leave",
    "closed",
    "poll",
    "session",
    "resubscribed",
    "fenced",
    "subscription",
    "metadata",
    "unknown",
]
"""Causes of rebalances.

restart: a client came back after it had left normally; poll: max.poll.interval.ms exceeded; session: the broker
received no request of the member within its session timeout; resubscribed: the member left and came back at once;
fenced: the member was removed and came back; metadata: a member joins again without an external cause; unknown: the
input does not show the cause.
"""
GRAVE: frozenset[Cause] = frozenset({"poll", "session", "fenced"})
"""Causes that a healthy group does not have even once."""
FENCED = frozenset({"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_MEMBER_EPOCH", "STALE_MEMBER_EPOCH"})
"""Errors of requests by a client that is not a member, or not of this generation."""
STATIC = frozenset({"FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID"})
"""Errors of two members with one group.instance.id."""
INCONSISTENT = "INCONSISTENT_GROUP_PROTOCOL"
"""The error of a member without an assignor that all others have."""
REBALANCING = "REBALANCE_IN_PROGRESS"
POLL = "max.poll.interval.ms exceeded"
LATE = 0.9
"""The share of a timeout after which it counts as expired. Clients and brokers measure it at different times."""
LEFT_IN_LOG = "left, or its session timed out"
"""The reason why a member is missing in a later record."""


class JoinCause(NamedTuple):
    """The way in which a member joins a group: the cause of the rebalance, its text, and the detail of the event."""

    cause: Cause = "join"
    text: str = "joins"
    detail: str = ""


def why_left(move: Move, back: float | None, since: float | None, member: Member) -> tuple[Cause, str]:
    """Return the cause for which a member left, and its description.

    `back` is the time at which the member came back, and `since` the number of seconds since it received its
    assignment. If the request comes from another client than the member's calls, an admin client removed the member.
    """
    reason = move.reason
    timeout = member.rebalance_timeout_s
    if "poll timeout" in reason or "max.poll.interval" in reason:
        return "poll", f"{POLL} (the client says: {reason})"
    if reason:
        came_back: Cause = "leave" if back is None else "resubscribed"
        return ("closed" if "clos" in reason else came_back), reason
    if back is None:
        by_admin = member.client not in {"", move.client}
        return ("leave", "taken out by an admin client") if by_admin else ("closed", "leaves")
    away = lapse(move.time, back)
    if away is None:
        return "unknown", "left and came back, without a restart"
    if timeout is not None and since is not None and since >= LATE * timeout:
        return "poll", f"{POLL}, probably ({duration(since)} of {duration(timeout)})"
    return "resubscribed", f"left and came back after {duration(away)}, without a restart"


def subscribes(topics: Sequence[str], before: Sequence[str]) -> str:
    """Return a change of topics as text."""
    return f"subscribes to {', '.join(topics[:3]) or 'nothing'}, before to {', '.join(before[:3]) or 'nothing'}"


def refusal(move: Move) -> tuple[str, str, str]:
    """Return an answer with an error as the kind of an event, its reason and its detail."""
    detail = f"at {move.place.what.partition(' ')[0]}"
    if move.silence is not None and move.error in FENCED:
        detail += f", {duration(move.silence)} after its previous call"
    if move.error == INCONSISTENT and move.detail:
        detail += f" with {move.detail}"
    return ("fenced" if move.error in FENCED or move.error in STATIC else "error"), move.error, detail
