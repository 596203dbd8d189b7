"""Fetch sessions that brokers forget or have no room for (KIP-227)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.analysis.diagnosis.model import Finding, FindingKind
from kwire_cli.analysis.diagnosis.tallies import Book, Tally, merge_all, whole
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.diagnosis.fetches import Client, FetchCall

CHURN = FindingKind(
    "FETCH_SESSION_CHURN",
    "warning",
    "A client has to begin its fetch sessions again and again.",
    "In a fetch session, a Fetch names only the partitions that changed. The broker has no room for a session (its "
    "answer has session id 0), or drops it in favour of another client's (FETCH_SESSION_ID_NOT_FOUND), so each Fetch "
    "names all partitions.",
    "Raise max.incremental.fetch.session.cache.slots of the brokers, or find out who opens so many sessions. A "
    "consumer has one session with each broker that it fetches from.",
    ("KIP-227",),
    rank=45,
)
NOT_FOUND, WRONG_EPOCH = 70, 71
LEAST_ANEW = 5
"""Sessions made anew on connections that had one: a few are brokers that start, and partitions that move."""
LEAST_SHARE = 0.1
"""The least share of sessions made anew in the fetches of a client at a broker: fewer cost next to nothing."""
_NAMES = {NOT_FOUND: "FETCH_SESSION_ID_NOT_FOUND", WRONG_EPOCH: "INVALID_FETCH_SESSION_EPOCH"}


@dataclass
class _Sessions(Tally):
    """Fetch sessions of a client at a broker. The tally counts those that were made anew."""

    fetches: int = 0
    refused: int = 0
    partitions: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    def merge(self, other: Tally) -> None:
        Tally.merge(self, other)
        if isinstance(other, _Sessions):
            self.fetches += other.fetches
            self.refused += other.refused
            self.partitions = max(self.partitions, other.partitions)
            self.errors += other.errors


class FetchSessions:
    """Fetch sessions by client and broker."""

    KINDS = (CHURN,)

    def __init__(self) -> None:
        self._sessions: Book[tuple[Client, str], _Sessions] = Book(_Sessions)

    def fetch(self, fetch: FetchCall) -> None:
        """Take a Fetch."""
        epoch, response = fetch.request.get("sessionEpoch"), fetch.response
        if epoch is None or response is None:
            return
        sessions = self._sessions[fetch.client, fetch.call.broker]
        sessions.fetches += 1
        if code := whole(response.get("errorCode")):
            if code in _NAMES:
                sessions.errors[_NAMES[code]] += 1
                sessions.add(fetch.call)
        elif epoch == 0 and not fetch.is_first:
            sessions.refused += response.get("sessionId") == 0
            sessions.partitions = max(sessions.partitions, len(fetch.parts))
            sessions.add(fetch.call)

    def merge(self, other: FetchSessions) -> None:
        merge_all(self._sessions, other._sessions)

    def findings(self) -> Iterator[Finding]:
        for ((who, _), broker), sessions in self._sessions.items():
            errors = sessions.errors.total()
            anew = sessions.count - errors
            if sessions.count < LEAST_ANEW or sessions.count < LEAST_SHARE * sessions.fetches:
                continue
            text = f"{anew} of {counted(sessions.fetches, 'fetch', 'fetches')} to {broker} in {duration(sessions.span)}"
            text += f" began a new session, with up to {counted(sessions.partitions, 'partition')} each"
            if sessions.refused:
                text += f"; {sessions.refused} got no session: the broker's cache is full"
            if errors:
                text += "; " + ", ".join(f"{count} {name}" for name, count in sorted(sessions.errors.items()))
            yield Finding(CHURN, f"client {who}", text, sessions.places, sessions.count)
