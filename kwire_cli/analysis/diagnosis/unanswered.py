"""Brokers that accept connections and requests, and do not answer, or only when the client may have given up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.call import later, seconds
from kwire_cli.analysis.diagnosis.limits import PATIENCE
from kwire_cli.analysis.diagnosis.model import Bounded, Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.places import client_of, in_time
from kwire_cli.analysis.diagnosis.tallies import MOST_OPEN, Book, Recent, merge_all
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration
from kwire_cli.spec.kafka import WAITING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from kwire_cli.analysis.call import Call, Evidence
    from kwire_cli.analysis.diagnosis.tracks import Track
    from kwire_cli.source.kafka.traffic import TcpConnection

SILENT = FindingKind(
    "NO_ANSWER",
    "error",
    "A broker accepts a request and does not answer it.",
    "The connection is open, so the machine of the broker, or a device in between, is there. The broker's process "
    "does not answer: it hangs, is in a long garbage collection, waits for its disks, or has no free network thread. "
    "If not even TCP acknowledgments come back, the other end may be gone without having closed the connection "
    "(half-open).",
    "See whether the broker's process lives: its log, its processor and disk at this time, a thread dump (jstack). If "
    "the connection is half-open, look at firewalls and load balancers in between.",
    ("request.timeout.ms", "KIP-19"),
    rank=22,
)
HELD_BACK = frozenset(WAITING) | {"Produce", "CreateTopics", "DeleteTopics", "CreatePartitions", "ElectLeaders"}
"""Apis whose requests name a time that the broker may take."""


class _Waiting(NamedTuple):
    """A request, and until when it had no answer: that of its connection's end, None if that was not seen."""

    asked: float
    until: float | None
    patience: float
    api: str
    place: Evidence


@dataclass(slots=True)
class _Open:
    who: str
    first: _Waiting


class Unanswered(Rule):
    """Requests that were still waiting after a long time, by client and broker."""

    KINDS = (SILENT,)
    unusual_only = True

    def __init__(self) -> None:
        self._open: Recent[Hashable, _Open] = Recent()
        self._brokers: Book[tuple[str, str], Bounded] = Book(Bounded)
        self._heard: set[str] = set()
        self._end: float | None = None

    def track(self, track: Track) -> None:
        """Take the time of a connection's last call, its first request that waits, and whether its broker answers."""
        self._end = later(self._end, track.last)
        call = track.unanswered
        if call is not None and call.asked is not None:
            self._open.keep(track.connection, _Open(client_of(call), _waiting(call, call.asked, None)))
        if track.answers and len(self._heard) < MOST_OPEN:
            self._heard.add(track.broker)

    def call(self, call: Call) -> None:
        """Take a call: an answer may be late."""
        asked, answered = call.asked, call.answered
        if asked is not None and answered is not None and answered - asked >= PATIENCE:
            self._brokers[client_of(call), call.broker].append(_waiting(call, asked, answered))

    def connection(self, connection: TcpConnection) -> None:
        """Take a connection that ended; its calls came before."""
        waiting = self._open.pop((connection.capture, connection.stream), None)
        if waiting is None or connection.closed_by == "broker" or not connection.heard[1]:
            return
        late = waiting.first._replace(until=seconds(connection.closed))
        self._brokers[waiting.who, connection.broker].append(late)

    def merge(self, other: Unanswered) -> None:
        self._open.merge(other._open)
        self._heard |= other._heard
        self._end = later(self._end, other._end)
        merge_all(self._brokers, other._brokers)

    def findings(self) -> Iterator[Finding]:
        for (who, address), broker in self._brokers.items():
            over = []
            for one in broker:
                until = one.until if one.until is not None else self._end
                if until is not None and until - one.asked >= one.patience:
                    over.append((until - one.asked, one))
            if not over:
                continue
            apis = ", ".join(sorted({one.api for _, one in over})[:3])
            longest = max(waited for waited, _ in over)
            never = "" if address in self._heard else "; it answered nothing in this capture"
            text = f"{address} did not answer {counted(len(over), 'request')} ({apis}) for up to {duration(longest)}"
            text += never
            yield Finding(SILENT, f"client {who}", text, in_time(one.place for _, one in over), len(over))


def _waiting(call: Call, asked: float, until: float | None) -> _Waiting:
    """Return a call as one that waited from when it was asked."""
    place = call.evidence(of_request=True)
    return _Waiting(asked, until, _patience(call), f"{call.api} {call.version}", place)


def _patience(call: Call) -> float:
    """Return for how many seconds a request may be without an answer: what it says, and some more."""
    allowed = 0.0
    if call.api in HELD_BACK:
        for name in ("maxWaitMs", "timeoutMs", "rebalanceTimeoutMs", "sessionTimeoutMs"):
            value = call.request.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                allowed = max(allowed, value / 1000)
    return allowed + PATIENCE
