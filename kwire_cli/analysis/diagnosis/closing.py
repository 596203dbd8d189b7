"""Brokers that close a connection in place of an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.analysis.diagnosis.model import Bounded, Finding, FindingKind, Rule

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from kwire_cli.analysis.calls import Call, Evidence
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.traffic import TcpConnection

NO_LOGIN = FindingKind(
    "NO_LOGIN",
    "error",
    "A client speaks without a login on a listener that seems to want one.",
    "The broker answers ApiVersions, which it does for anybody, and closes the connection at the first other request. "
    "The listener's security protocol is SASL_PLAINTEXT or SASL_SSL, the client's is not.",
    "Set security.protocol and sasl.mechanism of the client, or give it the port of a listener without SASL.",
    ("KIP-152",),
    rank=12,
)
CLOSED = FindingKind(
    "CLOSED_IN_PLACE_OF_ANSWER",
    "error",
    "A broker closes the connection at a request, in place of an answer.",
    "The broker could not read the request, or did not want it: it is larger than socket.request.max.bytes, of a "
    "version that the broker does not know, or the broker was shutting down.",
    "Look in the broker's log at this time for the address of the client; compare the size with "
    "socket.request.max.bytes, and the version with kwire clients --to RELEASE.",
    rank=20,
)
BEFORE_LOGIN = frozenset({"ApiVersions", "SaslHandshake", "SaslAuthenticate"})
LEAST = 2
"""Connections that end so before it counts as a missing login: one may be a broker that stops."""


@dataclass(slots=True)
class _Connection:
    answered: bool = False  # a request that needs a login was
    asked: Evidence | None = None
    what: str = ""


@dataclass
class _Closed:
    count: int = 0
    before_login: int = 0
    apis: set[str] = field(default_factory=set)
    evidence: Bounded = field(default_factory=Bounded)


class ClosedAtRequest(Rule):
    """Connections that the broker closed while a request of the client had no answer."""

    KINDS = (NO_LOGIN, CLOSED)

    def __init__(self) -> None:
        self._open: dict[Hashable, _Connection] = {}
        self._closed: dict[tuple[str, str], _Closed] = {}
        self._foreign: set[Hashable] = set()

    def call(self, call: Call) -> None:
        """Take a call: what counts is whether it was answered."""
        connection = self._open.setdefault(call.connection, _Connection())
        if call.has_response:
            connection.answered |= call.api not in BEFORE_LOGIN
            connection.asked = None
        elif connection.asked is None:
            connection.asked = call.evidence(of_request=True)
            connection.what = f"{call.who}\0{call.api} {call.version}"

    def line(self, line: Captured) -> None:
        """Take another protocol's bytes: that the broker answers with these has rules of its own."""
        if line.seen.kind == "not-kafka":
            self._foreign.add((line.origin.capture, line.stream))

    def connection(self, connection: TcpConnection) -> None:
        """Take a connection that ended; its calls came before."""
        key = connection.capture, connection.stream
        seen, foreign = self._open.pop(key, None), key in self._foreign
        self._foreign.discard(key)
        if foreign or seen is None or seen.asked is None or connection.closed_by != "broker":
            return
        who, _, api = seen.what.partition("\0")
        closed = self._closed.setdefault((who, connection.broker), _Closed())
        closed.count += 1
        closed.before_login += not seen.answered and connection.opened
        closed.apis.add(api)
        closed.evidence.append(seen.asked)

    def merge(self, other: ClosedAtRequest) -> None:
        self._open |= other._open
        self._foreign |= other._foreign
        for key, its in other._closed.items():
            own = self._closed.setdefault(key, _Closed())
            own.count += its.count
            own.before_login += its.before_login
            own.apis |= its.apis
            own.evidence.merge(its.evidence)

    def findings(self) -> Iterator[Finding]:
        for (who, broker), closed in self._closed.items():
            no_login = closed.before_login == closed.count >= LEAST
            times = "a connection" if closed.count == 1 else f"{closed.count} connections"
            at = ", ".join(sorted(closed.apis)[:3])
            text = f"{broker} closed {times} at {at}, without an answer"
            yield Finding(NO_LOGIN if no_login else CLOSED, f"client {who}", text, closed.evidence, closed.count)
