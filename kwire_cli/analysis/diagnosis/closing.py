"""Brokers that close a connection in place of an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.analysis.call import between
from kwire_cli.analysis.calls import CapturedCall
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.places import Places, client_of
from kwire_cli.analysis.diagnosis.tallies import Book, Recent, merge_all
from kwire_cli.errors import counted
from kwire_cli.message.frames import MAX_SIZE
from kwire_cli.questions.sentence import duration, size_text
from kwire_cli.spec.accepted import accepted_by, known_releases

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from kwire_cli.analysis.call import Call, Evidence
    from kwire_cli.analysis.diagnosis.tracks import Track
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.traffic import TcpConnection

NO_LOGIN = FindingKind(
    "NO_LOGIN",
    "error",
    "A client sends requests without a login to a listener that seems to require one.",
    "The broker answers ApiVersions, as it does for anybody, and closes the connection at the next request. The "
    "listener's security protocol is SASL_PLAINTEXT or SASL_SSL; the client's is not.",
    "Set security.protocol and sasl.mechanism of the client, or use the port of a listener without SASL.",
    ("KIP-152",),
    rank=12,
)
CLOSED = FindingKind(
    "CLOSED_IN_PLACE_OF_ANSWER",
    "error",
    "A broker closes the connection instead of answering a request.",
    "The broker could not read the request or did not accept it: the request is larger than socket.request.max.bytes, "
    "its version is unknown to the broker, or the broker was shutting down. If it was the first request of its "
    "connection, a limit on connections may be the cause too (max.connections.per.ip, max.connections).",
    "Search the broker's log at this time for the client's address. Compare the size of the request with "
    "socket.request.max.bytes, and its version with kwire clients --to RELEASE.",
    ("max.connections.per.ip", "socket.request.max.bytes"),
    rank=20,
)
STALE = FindingKind(
    "STALE_CONNECTION",
    "warning",
    "A client uses an idle connection that no longer exists.",
    "A RST answers the request: a firewall, load balancer or NAT in between has forgotten the idle connection, or the "
    "broker was restarted. The client loses the request and connects again.",
    "Set connections.max.idle.ms of the clients below the idle timeout of what is in between (350 s for an AWS "
    "network load balancer, 4 minutes for Azure's).",
    ("connections.max.idle.ms",),
    rank=24,
)
BEFORE_LOGIN = frozenset({"ApiVersions", "SaslHandshake", "SaslAuthenticate"})
LEAST = 2
"""Connections that end so before it counts as a missing login: one may be a broker that stops."""
LEAST_IDLE = 60.0
"""Seconds without a call after which a RST says that the connection was forgotten. What forgets connections takes
minutes; a broker that closes at a request answers within seconds of the one before."""
MOST_APIS = 1 << 8
LARGE = 1_000_000
"""Bytes from which the size of a request may be the cause: nobody sets socket.request.max.bytes lower."""


@dataclass(slots=True)
class _Connection:
    versions: bool = False  # ApiVersions was answered
    answered: bool = False  # a request that needs a login was
    at: float | None = None  # when the request was complete that has no answer
    idle: float = 0.0
    asked: Evidence | None = None
    who: str = ""
    api: tuple[str, int, int] = "", -1, -1
    before_login: bool = False
    size: int = 0


@dataclass
class _Closed:
    apis: set[tuple[str, int, int]] = field(default_factory=set)
    idle: float = 0.0
    size: int = 0
    evidence: Places = field(default_factory=Places)

    def merge(self, its: _Closed) -> None:
        self.idle = max(self.idle, its.idle)
        self.size = max(self.size, its.size)
        self.apis |= its.apis
        self.evidence.merge(its.evidence)


class ClosedAtRequest(Rule):
    """Connections that the broker closed while a request of the client had no answer."""

    KINDS = (NO_LOGIN, CLOSED, STALE)
    unusual_only = True

    def __init__(self) -> None:
        self._open: Recent[Hashable, _Connection] = Recent()
        self._closed: Book[tuple[str, str, str], _Closed] = Book(_Closed)
        self._foreign: Recent[Hashable, bool] = Recent()

    def call(self, call: Call) -> None:
        """Take a call: what counts is whether it was answered."""
        connection = self._open.get(call.connection) or self._open.keep(call.connection, _Connection())
        if call.has_response:
            connection.versions |= call.api == "ApiVersions"
            connection.answered |= call.api not in BEFORE_LOGIN
            connection.asked = None
        elif connection.asked is None and call.field("acks") != 0:
            connection.asked = call.evidence(of_request=True)
            connection.who, connection.api = client_of(call), (call.api, call.api_key, call.version)
            connection.before_login = call.api in BEFORE_LOGIN
            connection.size = call.sizes[0] + (call.line.seen.missing if isinstance(call, CapturedCall) else 0)
            connection.at = call.asked

    def track(self, track: Track) -> None:
        """Take when a connection had its last answer: it was idle from then on."""
        connection = self._open.get(track.connection)
        if connection is not None:
            connection.idle = between(track.answered, connection.at)

    def line(self, line: Captured) -> None:
        """Take another protocol's bytes: that the broker answers with these has rules of its own."""
        if line.seen.kind == "not-kafka":
            self._foreign.keep((line.origin.capture, line.stream), entry=True)

    def connection(self, connection: TcpConnection) -> None:
        """Take a connection that ended; its calls came before."""
        key = connection.capture, connection.stream
        seen, foreign = self._open.pop(key, None), self._foreign.pop(key, False)
        if foreign or seen is None or seen.asked is None or connection.closed_by != "broker":
            return
        if connection.reset and seen.idle >= LEAST_IDLE:
            kind = STALE
        elif connection.opened and seen.versions and not seen.answered and not seen.before_login:
            kind = NO_LOGIN
        else:
            kind = CLOSED
        closed = self._closed[kind.code, seen.who, connection.broker]
        closed.idle = max(closed.idle, seen.idle)
        closed.size = max(closed.size, seen.size)
        if len(closed.apis) < MOST_APIS:
            closed.apis.add(seen.api)
        closed.evidence.add(seen.asked)

    def merge(self, other: ClosedAtRequest) -> None:
        self._open.merge(other._open)
        self._foreign.merge(other._foreign)
        merge_all(self._closed, other._closed)

    def findings(self) -> Iterator[Finding]:
        kinds = {kind.code: kind for kind in self.KINDS}
        judged: dict[tuple[str, str, str], _Closed] = {}
        for (code, who, broker), closed in self._closed.items():
            # Other connections of the client to this broker were closed elsewhere: it is no missing login.
            alone = (CLOSED.code, who, broker) not in self._closed and closed.evidence.count >= LEAST
            judged_as = CLOSED.code if code == NO_LOGIN.code and not alone else code
            judged.setdefault((judged_as, who, broker), _Closed()).merge(closed)
        for (code, who, broker), closed in judged.items():
            at = ", ".join(f"{api} {version}" for api, _, version in sorted(closed.apis)[:3])
            count = closed.evidence.count
            times = "a connection" if count == 1 else counted(count, "connection")
            text = f"{broker} closed {times} at {at}, without an answer"
            if code == STALE.code:
                text = f"{broker} reset {times} at {at}, up to {duration(closed.idle)} after the call before"
            elif code == CLOSED.code:
                text += f"; the largest request has {size_text(closed.size)}" if closed.size >= LARGE else ""
                text += ", more than a broker takes by default" if closed.size > MAX_SIZE else ""
                text += "".join(sorted(_refusals(closed)))
            yield Finding(kinds[code], f"client {who}", text, closed.evidence.earliest, count)


def _refusals(closed: _Closed) -> set[str]:
    """Return words for the versions that the newest release of Kafka refuses, as other releases may."""
    release = accepted_by(known_releases()[-1])
    texts = set()
    for api, key, version in closed.apis:
        versions = release.versions.get(key)
        if versions and version not in versions:
            texts.add(f"; Kafka {release.release} accepts {api} {versions}")
    return texts
