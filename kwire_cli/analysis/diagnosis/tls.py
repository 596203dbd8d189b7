"""TLS spoken to a listener without TLS, and the reverse."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.calls import Evidence, evidence_of, instant, seconds
from kwire_cli.analysis.diagnosis.model import Bounded, Finding, FindingKind, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.traffic import TcpConnection

TO_PLAIN = FindingKind(
    "TLS_TO_PLAIN_PORT",
    "error",
    "A client speaks TLS to a listener without TLS.",
    "The broker takes the first bytes of the ClientHello for the size of a request, about 370 MB, and closes the "
    "connection. Its log says InvalidReceiveException.",
    "Give the client the port of the listener with TLS, or set security.protocol to PLAINTEXT or SASL_PLAINTEXT.",
    rank=5,
)
TO_TLS = FindingKind(
    "PLAIN_TO_TLS_PORT",
    "error",
    "A client without TLS speaks to a listener with TLS.",
    "The broker answers with a TLS alert, whose first bytes the client takes for a size of 352 MB: Java clients say "
    "OutOfMemoryError or that the broker disconnected.",
    "Set security.protocol of the client to SSL or SASL_SSL, or give it the port of a listener without TLS.",
    rank=5,
)


class _Hello(NamedTuple):
    time: float | None
    frame: int
    from_broker: bool
    client: str


class TlsMismatch(Rule):
    """Connections that begin in TLS on one side alone."""

    KINDS = (TO_PLAIN, TO_TLS)

    def __init__(self) -> None:
        self._hellos: dict[tuple[str | None, int], _Hello] = {}
        self._refused: dict[tuple[str, str], Bounded] = {}

    def line(self, line: Captured) -> None:
        """Take a line that is no frame: what matters is TLS."""
        if line.seen.kind != "not-kafka" or line.seen.protocol != "tls":
            return
        client = line.connection.client
        if client is not None and client != line.seen.side:
            host = line.dst.rpartition(":")[0]
            self._refused.setdefault((TO_TLS.code, f"{host} at {line.src}"), Bounded()).append(
                evidence_of(line, "TLS alert")
            )
        elif line.seen.reason:
            self._hellos[line.origin.capture, line.stream] = _Hello(
                seconds(line.seen.time), line.number, from_broker=False, client=line.src
            )

    def connection(self, connection: TcpConnection) -> None:
        """Take a connection: TLS that the broker answered with nothing but an end was not understood."""
        hello = self._hellos.pop((connection.capture, connection.stream), None)
        if hello is None or connection.sizes[1] != 0 or connection.closed_by != "broker":
            return
        place = Evidence(
            "ClientHello", instant(hello.time), hello.frame, connection.stream, connection.capture, connection.file
        )
        host = connection.client.rpartition(":")[0]
        self._refused.setdefault((TO_PLAIN.code, f"{host} at {connection.broker}"), Bounded()).append(place)

    def merge(self, other: TlsMismatch) -> None:
        self._hellos |= other._hellos
        for key, places in other._refused.items():
            self._refused.setdefault(key, Bounded()).merge(places)

    def findings(self) -> Iterator[Finding]:
        for (code, where), places in self._refused.items():
            kind = TO_PLAIN if code == TO_PLAIN.code else TO_TLS
            client, _, broker = where.partition(" at ")
            count = len(places) + places.dropped
            tried = "1 connection" if count == 1 else f"{count} connections"
            what = "began with TLS, and the broker closed" if kind is TO_PLAIN else "got a TLS alert as"
            it = (
                ("it" if count == 1 else "them")
                if kind is TO_PLAIN
                else ("its answer" if count == 1 else "their answer")
            )
            yield Finding(kind, f"client {client}", f"{tried} to {broker} {what} {it}", places, count)
