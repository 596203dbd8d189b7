"""Clients that cannot log in: a refused password or token, a mechanism that is not enabled, a login out of place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from kwire_cli.analysis.calls import evidence_of
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.places import Places, client_of, host_of
from kwire_cli.analysis.diagnosis.tallies import Book, Recent
from kwire_cli.errors import counted

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from kwire_cli.analysis.call import Call, Evidence
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.traffic import TcpConnection

FAILED = FindingKind(
    "AUTHENTICATION_FAILED",
    "error",
    "A broker refuses a client's credentials.",
    "The user does not exist, or the client's password, token or certificate is not the one that the broker expects. "
    "The protocol has no error for a raw token (SaslHandshake 0, or no handshake): the broker closes the connection.",
    "Compare the client's sasl.jaas.config with the broker's users. The broker's log names the user.",
    ("KIP-152",),
    rank=10,
)
MECHANISM = FindingKind(
    "SASL_MECHANISM_REFUSED",
    "error",
    "A client asks for a SASL mechanism that the listener does not offer.",
    "The broker's answer lists the mechanisms of the listener, and the client's sasl.mechanism is not in the list.",
    "Set sasl.mechanism of the client to one of the listener's mechanisms, or add the client's mechanism to "
    "sasl.enabled.mechanisms of the broker.",
    ("KIP-43",),
    rank=10,
)
NOT_EXPECTED = FindingKind(
    "SASL_NOT_EXPECTED",
    "error",
    "A client tries to log in on a listener without SASL.",
    "The listener's security protocol is PLAINTEXT or SSL, so the broker refuses any login with ILLEGAL_SASL_STATE. "
    "The password is not the cause.",
    "Set security.protocol of the client to that of the listener, or use the port of a listener with SASL.",
    ("KIP-43",),
    rank=10,
)
AGAIN = FindingKind(
    "REAUTHENTICATION_FAILED",
    "error",
    "A broker refuses the second login of a client that is logged in.",
    "The first login of the connection succeeded, so its password is not the cause. The listener does not permit "
    "re-authentication, or the second login has another user or mechanism than the first, or the credentials have "
    "changed since.",
    "If clients are to log in again, set connections.max.reauth.ms of the listener. Make sure that the client keeps "
    "its user and mechanism, and that the new token or password is valid.",
    ("KIP-368", "connections.max.reauth.ms"),
    rank=11,
)
MOST_REASONS = 20
ILLEGAL_STATE = "ILLEGAL_SASL_STATE"


@dataclass
class _Failure:
    reasons: set[str] = field(default_factory=set)
    evidence: Places = field(default_factory=Places)


@dataclass(slots=True)
class _Login:
    """The course of a connection's login."""

    handshakes: int = 0
    who: str = ""
    mechanism: str = ""
    token: Evidence | None = None
    """The last raw token of the client, if the broker has not answered it."""


class Authentication(Rule):
    """Failed logins by client, broker and reason."""

    KINDS = (FAILED, MECHANISM, NOT_EXPECTED, AGAIN)
    apis: ClassVar[frozenset[str]] = frozenset({"SaslHandshake", "SaslAuthenticate"})

    def __init__(self) -> None:
        self._open: Recent[Hashable, _Login] = Recent()
        self._failures: Book[tuple[str, str, str], _Failure] = Book(_Failure)

    def call(self, call: Call) -> None:
        """Take a call of SaslHandshake or SaslAuthenticate."""
        response = call.response
        if response is None:
            return
        login = self._login(call.connection)
        login.who = client_of(call)
        if not call.errors:
            if call.api == "SaslHandshake":
                login.handshakes += 1
                login.mechanism = str(call.request.get("mechanism"))
            return
        message = str(response.get("errorMessage") or "").removeprefix("Authentication failed: ")
        if call.errors[0] == ILLEGAL_STATE and not login.handshakes:
            kind, reason = NOT_EXPECTED, f"{call.api} is answered with {ILLEGAL_STATE}"
        elif call.api == "SaslHandshake" and call.errors[0] != ILLEGAL_STATE:
            enabled = response.get("mechanisms")
            names = ", ".join(map(str, enabled)) if isinstance(enabled, list) and enabled else "none"
            kind, reason = MECHANISM, f"it asked for {call.request.get('mechanism')}; the listener has {names}"
        elif login.handshakes > 1 or call.errors[0] == ILLEGAL_STATE:
            kind, reason = AGAIN, message or str(call.errors[0])
        else:
            kind, reason = FAILED, message or str(call.errors[0])
        self._add(kind, login.who, call.broker, reason, call.evidence())

    def line(self, line: Captured) -> None:
        """Take a line that is no frame: what matters are raw tokens."""
        if line.seen.kind != "sasl-token":
            return
        login = self._login((line.origin.capture, line.stream))
        of_client = line.connection.client == line.seen.side
        login.token = evidence_of(line, "SASL token") if of_client else None

    def connection(self, connection: TcpConnection) -> None:
        """Take a connection that ended: a broker that closes it at a raw token refuses that."""
        login = self._open.pop((connection.capture, connection.stream), None)
        if login is None or login.token is None or connection.closed_by != "broker":
            return
        reason = (
            f"it closed the connection at the raw token of {login.mechanism}"
            if login.handshakes
            else "it closed the connection at a raw token without a SaslHandshake"
        )
        self._add(FAILED, login.who or host_of(connection.client), connection.broker, reason, login.token)

    def _login(self, connection: Hashable) -> _Login:
        return self._open.get(connection) or self._open.keep(connection, _Login())

    def _add(self, kind: FindingKind, who: str, broker: str, reason: str, place: Evidence) -> None:
        failure = self._failures[kind.code, who, broker]
        if len(failure.reasons) < MOST_REASONS:
            failure.reasons.add(reason)
        failure.evidence.add(place)

    def merge(self, other: Authentication) -> None:
        self._open.merge(other._open)
        for key, its in other._failures.items():
            own = self._failures[key]
            own.reasons |= its.reasons
            own.evidence.merge(its.evidence)

    def findings(self) -> Iterator[Finding]:
        kinds = {kind.code: kind for kind in self.KINDS}
        for (code, who, broker), failure in self._failures.items():
            times = counted(failure.evidence.count, "login")
            reasons = "; ".join(sorted(failure.reasons)[:3])
            text = f"{times} at {broker} failed: {reasons}"
            yield Finding(kinds[code], f"client {who}", text, failure.evidence.earliest, failure.evidence.count)
