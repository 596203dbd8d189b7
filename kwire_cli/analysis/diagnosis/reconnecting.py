"""Clients that connect again and again."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.call import later, seconds
from kwire_cli.analysis.diagnosis.model import Bounded, Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.places import client_of, host_of, in_time, place_of
from kwire_cli.analysis.diagnosis.tallies import Book, Recent
from kwire_cli.analysis.diagnosis.tls import Turns
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from kwire_cli.analysis.call import Call, Evidence
    from kwire_cli.analysis.diagnosis.tracks import Track
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.traffic import TcpConnection

STORM = FindingKind(
    "RECONNECT_STORM",
    "warning",
    "A client opens one short connection after another to a broker.",
    "Each connection costs the broker a handshake; with TLS and SASL, several milliseconds of processor time. A "
    "client that creates a producer, consumer or admin client for each piece of work does this, and so does one that "
    "times out before the broker answers. Connections that the broker refused or closed are not counted here: they "
    "have findings of their own.",
    "Keep one producer or consumer for the life of the process. If the client gives up too early, raise "
    "request.timeout.ms and socket.connection.setup.timeout.ms. Raise reconnect.backoff.max.ms.",
    ("reconnect.backoff.max.ms", "KIP-144"),
    rank=26,
)
LEAST_CONNECTIONS = 20
"""Short connections within WINDOW. A client that starts opens one connection for the bootstrap, one or two to each
broker, and a few more after a leader has moved; a storm at the default backoff of 50 ms to 1 s passes this in 20 s."""
WINDOW = 60.0
SHORT = 10.0
"""Seconds that a short connection lasts at most."""
IDLE = 5.0
"""A connection without a call for so many seconds before its end was closed because it was idle."""
MOST_TIMES = 1 << 12
"""Short connections of a client and broker that are kept; more are counted."""


@dataclass(slots=True)
class _Connection:
    who: str = ""
    calls: int = 0
    last: float | None = None
    failed: bool = False
    unanswered: bool = False
    tls: Turns | None = None


class _Short(NamedTuple):
    first: float
    calls: int
    place: Evidence


@dataclass
class _Client:
    connections: int = 0
    short: Bounded = field(default_factory=Bounded)


class Reconnecting(Rule):
    """Short connections by client and broker.

    A connection that the rules on logins, TLS and closed connections look at is not counted: the storm is a symptom.
    Nor is one on which the client said nothing (a health check), or that was closed because it was idle.
    """

    KINDS = (STORM,)
    unusual_only = True

    def __init__(self) -> None:
        self._open: Recent[Hashable, _Connection] = Recent()
        self._clients: Book[tuple[str, str], _Client] = Book(_Client)

    def track(self, track: Track) -> None:
        """Take how many answers a connection had, and when the last call was: one with answers works."""
        connection = self._connection(track.connection)
        connection.calls += track.answers
        connection.last = later(connection.last, track.last)

    def call(self, call: Call) -> None:
        """Take a call: whose it is, and whether it failed."""
        connection = self._connection(call.connection)
        connection.who = client_of(call)
        connection.unanswered |= not call.has_response
        if call.has_response and call.api in {"SaslHandshake", "SaslAuthenticate"} and call.errors:
            connection.failed = True

    def line(self, line: Captured) -> None:
        """Take a line that is no frame: other protocols, and TLS of one side, have rules of their own."""
        if line.seen.kind == "not-kafka":
            connection = self._connection((line.origin.capture, line.stream))
            if line.seen.protocol == "tls":
                connection.tls = connection.tls or Turns()
                connection.tls.add(0 if line.seen.side == (line.connection.client or 0) else 1, line.seen.size)
            else:
                connection.failed = True

    def _connection(self, key: Hashable) -> _Connection:
        return self._open.get(key) or self._open.keep(key, _Connection())

    def connection(self, connection: TcpConnection) -> None:
        """Take a connection that ended: whether it was a short one."""
        seen = self._open.pop((connection.capture, connection.stream), None) or _Connection()
        if not connection.opened or connection.outcome != "accepted" or not connection.sizes[0]:
            return
        client = self._clients[seen.who or host_of(connection.client), connection.broker]
        client.connections += 1
        first, closed = seconds(connection.first), seconds(connection.closed)
        refused = connection.closed_by == "broker" and (seen.unanswered or not seen.calls)
        no_tls = seen.tls is not None and not seen.calls and (seen.tls.one_sided or seen.tls.failed)
        explained = seen.failed or no_tls or refused
        if first is None or closed is None or explained:
            return
        idle = closed - max(first, seen.last or first)
        if closed - first <= SHORT and idle < IDLE and len(client.short) < MOST_TIMES:
            client.short.append(_Short(first, seen.calls, place_of(connection)))

    def merge(self, other: Reconnecting) -> None:
        self._open.merge(other._open)
        for key, its in other._clients.items():
            own = self._clients[key]
            own.connections += its.connections
            own.short.merge(its.short)

    def findings(self) -> Iterator[Finding]:
        for (who, broker), client in self._clients.items():
            short = sorted(client.short)
            times = [one.first for one in short]
            most, at = 0, 0
            for start, time in enumerate(times):
                count = bisect_left(times, time + WINDOW) - start
                most, at = max((most, at), (count, start), key=lambda pair: pair[0])
            if most < LEAST_CONNECTIONS:
                continue
            storm = short[at : at + most]
            answered = sum(one.calls for one in storm) / most
            lasting = storm[-1].first - storm[0].first
            text = f"{most} connections to {broker} in {duration(lasting)}, each for less than {SHORT:.0f} s"
            text += f", with {answered:.1f} answers on average" if answered else ""
            yield Finding(STORM, f"client {who}", text, in_time(one.place for one in storm), most)
