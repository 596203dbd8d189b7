"""TLS spoken to a listener without TLS, the reverse, TLS that fails, and TLS that cannot be read for want of keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.analysis.calls import evidence_of
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.places import Places, host_of, place_of
from kwire_cli.analysis.diagnosis.tallies import Book, Recent
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import size_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Evidence
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.traffic import TcpConnection

TO_PLAIN = FindingKind(
    "TLS_TO_PLAIN_PORT",
    "error",
    "A client speaks TLS to a listener without TLS.",
    "The broker takes the first bytes of the ClientHello for the size of a request, about 370 MB, and closes the "
    "connection. The broker logs InvalidReceiveException.",
    "Use the port of the listener with TLS, or set security.protocol of the client to PLAINTEXT or SASL_PLAINTEXT.",
    rank=5,
)
TO_TLS = FindingKind(
    "PLAIN_TO_TLS_PORT",
    "error",
    "A client without TLS speaks to a listener with TLS.",
    "The broker answers with a TLS alert. The client takes the first bytes of the alert for a size of 352 MB: Java "
    "clients report OutOfMemoryError, or that the broker disconnected.",
    "Set security.protocol of the client to SSL or SASL_SSL, or use the port of a listener without TLS.",
    rank=5,
)
REFUSED = FindingKind(
    "TLS_HANDSHAKE_FAILED",
    "error",
    "A TLS handshake between a client and a broker fails.",
    "One side ends the handshake with an alert that says why: the certificate of the other side is not trusted "
    "(unknown_ca), has expired (certificate_expired) or is missing (certificate_required, bad_certificate), or the "
    "two have no TLS version or cipher in common (protocol_version, handshake_failure). Without a key log, an "
    "encrypted alert is recognised by its size, and its reason is not known.",
    "Look at the alert, and at who sends it. The truststore of that side must contain the issuer of the other side's "
    "certificate. The name in the broker's certificate must be the name that the client connects to.",
    ("ssl.truststore.location", "ssl.endpoint.identification.algorithm"),
    rank=6,
)
UNDECRYPTED = FindingKind(
    "UNDECRYPTED_TLS",
    "info",
    "Connections are encrypted with TLS, and their keys are missing.",
    "The diagnosis does not cover what clients and brokers say on these connections.",
    "Give the key log of the clients or brokers with --tls-keylog, or capture on a listener without TLS.",
    rank=92,
)
MOST_REASONS = 20
MOST_ALERT = 42
"""Bytes of an alert, encrypted or not, with what stands around it. Whoever goes on says more: tickets of sessions or
the answer to ApiVersions."""
_HARMLESS = frozenset({"alert close_notify", "alert user_canceled", "alert no_renegotiation"})


class Turns:
    """The turns of two sides that speak TLS: their bytes, and those after the first turn of each."""

    __slots__ = ("_last", "_turns", "later", "sizes")

    def __init__(self) -> None:
        self.sizes = [0, 0]
        self.later = [0, 0]
        self._turns = [0, 0]
        self._last: int | None = None

    def add(self, side: int, size: int) -> None:
        """Take bytes of a side, 0 for the client and 1 for the broker."""
        self._turns[side] += side != self._last
        self._last = side
        self.sizes[side] += size
        if self._turns[side] > 1:
            self.later[side] += size

    @property
    def one_sided(self) -> bool:
        """Return whether the broker alone speaks TLS."""
        return not self._turns[0] and bool(self._turns[1])

    @property
    def failed(self) -> bool:
        """Return whether a connection that has ended can have had no more than a handshake and an alert."""
        return all(self._turns) and self.later[1] <= MOST_ALERT


@dataclass(slots=True)
class _Sides:
    """TLS of one connection, and the first alert that is no goodbye."""

    turns: Turns = field(default_factory=Turns)
    reason: str | None = None
    alert: str = ""
    first: Evidence | None = None
    answer: Evidence | None = None


@dataclass
class _Refused:
    places: Places = field(default_factory=Places)
    alerts: dict[str, int] = field(default_factory=dict)


@dataclass
class _Dark:
    size: int = 0
    reasons: set[str] = field(default_factory=set)
    places: Places = field(default_factory=Places)


class TlsMismatch(Rule):
    """Connections that begin in TLS on one side alone, whose handshake fails, or that cannot be decrypted."""

    KINDS = (TO_PLAIN, TO_TLS, REFUSED, UNDECRYPTED)

    def __init__(self) -> None:
        self._open: Recent[tuple[str | None, int], _Sides] = Recent()
        self._refused: Book[tuple[str, str, str], _Refused] = Book(_Refused)
        self._dark: Book[str, _Dark] = Book(_Dark)

    def line(self, line: Captured) -> None:
        """Take a line that is no frame: what matters is TLS."""
        piece = line.seen
        if piece.kind != "not-kafka" or piece.protocol != "tls":
            return
        key = line.origin.capture, line.stream
        sides = self._open.get(key) or self._open.keep(key, _Sides())
        client = line.connection.client
        of_client = piece.side == (0 if client is None else client)  # side 0 opened it, as far as is known
        sides.turns.add(0 if of_client else 1, piece.size)
        sides.reason = sides.reason or piece.reason
        if sides.first is None:
            sides.first = evidence_of(line, "ClientHello" if of_client else "TLS")
        if not of_client and sides.answer is None:
            sides.answer = evidence_of(line, "TLS alert")
        for content in piece.content:
            if not sides.alert and content.startswith("alert ") and content not in _HARMLESS:
                sides.alert = f"{content.removeprefix('alert ')} from the {'client' if of_client else 'broker'}"

    def connection(self, connection: TcpConnection) -> None:
        """Take a connection: TLS that the broker answered with nothing but an end was not understood."""
        sides = self._open.pop((connection.capture, connection.stream), None)
        if sides is None:
            return
        host, broker = host_of(connection.client), connection.broker
        turns = sides.turns
        if turns.sizes[0] and not turns.sizes[1] and connection.sizes[1] == 0 and connection.closed_by == "broker":
            self._add(TO_PLAIN, host, broker, sides.first)
        elif turns.one_sided and connection.sizes[0]:
            self._add(TO_TLS, host, broker, sides.answer)
        elif sides.alert or (sides.reason and connection.opened and connection.closed_by and turns.failed):
            self._add(REFUSED, host, broker, sides.first)
            alerts = self._refused[REFUSED.code, host, broker].alerts
            by = "client" if turns.later[0] <= MOST_ALERT else "broker"
            alert = sides.alert or f"an encrypted alert from the {by}"
            alerts[alert] = alerts.get(alert, 0) + 1
        elif sides.reason:
            dark = self._dark[broker]
            dark.size += sum(turns.sizes)
            if len(dark.reasons) < MOST_REASONS:
                dark.reasons.add(sides.reason.partition(" for client random")[0])
            dark.places.add(place_of(connection))

    def _add(self, kind: FindingKind, host: str, broker: str, place: Evidence | None) -> None:
        self._refused[kind.code, host, broker].places.add(place)

    def merge(self, other: TlsMismatch) -> None:
        self._open.merge(other._open)
        for key, its in other._refused.items():
            own = self._refused[key]
            own.places.merge(its.places)
            for alert, count in its.alerts.items():
                own.alerts[alert] = own.alerts.get(alert, 0) + count
        for broker, theirs in other._dark.items():
            dark = self._dark[broker]
            dark.size += theirs.size
            dark.reasons |= theirs.reasons
            dark.places.merge(theirs.places)

    def findings(self) -> Iterator[Finding]:
        kinds = {kind.code: kind for kind in self.KINDS}
        for (code, host, broker), refused in self._refused.items():
            kind, places = kinds[code], refused.places.earliest
            count = refused.places.count
            tried = counted(count, "connection")
            if kind is TO_PLAIN:
                text = f"{tried} to {broker} began with TLS, and the broker closed {'it' if count == 1 else 'them'}"
            elif kind is TO_TLS:
                answer = "its answer" if count == 1 else "their answer"
                text = f"{tried} to {broker} got a TLS alert as {answer}"
            else:
                alerts = ", ".join(f"{number} with {alert}" for alert, number in sorted(refused.alerts.items()))
                text = f"{tried} to {broker} ended in the handshake: {alerts}"
            yield Finding(kind, f"client {host}", text, places, count)
        for broker, dark in self._dark.items():
            count = dark.places.count
            text = f"{counted(count, 'connection')} with {size_text(dark.size)}: {'; '.join(sorted(dark.reasons))}"
            yield Finding(UNDECRYPTED, f"broker {broker}", text, dark.places.earliest, count)
