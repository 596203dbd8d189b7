"""Addresses from Metadata that clients cannot reach."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from kwire_cli.analysis.calls import Evidence, between, instant, parts, seconds
from kwire_cli.analysis.diagnosis.model import Bounded, Finding, FindingKind, Rule
from kwire_cli.source.kafka.captured import address_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.calls import Call
    from kwire_cli.source.kafka.traffic import TcpConnection

UNREACHABLE = FindingKind(
    "UNREACHABLE_LISTENER",
    "error",
    "A broker advertises an address that a client cannot reach.",
    "Clients take the addresses of brokers from Metadata, whatever address they began with. This address does not "
    "resolve for the client, or nothing answers there.",
    "Set advertised.listeners of the broker to an address that resolves and answers where the client runs; with "
    "several networks, give each a listener of its own.",
    ("KIP-103",),
    rank=1,
)
REFUSED = FindingKind(
    "CONNECTION_REFUSED",
    "warning",
    "Connections to an address are refused, or get no answer.",
    "No process listens at the address (a RST answers), or a firewall or a route swallows the packets (silence).",
    "See whether the broker runs and listens there; see the addresses in bootstrap.servers and advertised.listeners.",
    rank=8,
)
LEAST_METADATA = 3
"""Metadata responses after which a client that opened no connection to what they name counts as stuck."""
LEAST_SECONDS = 2.0
BOOTSTRAP = frozenset({"ApiVersions", "Metadata", "DescribeCluster", "InitProducerId", "FindCoordinator"})
"""Apis that a client asks of the broker that it found first."""
SASL = frozenset({"SaslHandshake", "SaslAuthenticate"})


@dataclass
class _Client:
    """What a client (id and host) was told, and what it did."""

    told: dict[str, int | None] = field(default_factory=dict)
    evidence: Bounded = field(default_factory=Bounded)
    first: float | None = None
    last: float | None = None
    connections: set[str] = field(default_factory=set)
    working: bool = False


@dataclass
class _Attempts:
    refused: int = 0
    silent: int = 0
    accepted: int = 0
    evidence: Bounded = field(default_factory=Bounded)


class Listeners(Rule):
    """Clients that stay with the broker that they found first, and connections that are not accepted."""

    KINDS = (UNREACHABLE, REFUSED)
    apis: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        self._clients: dict[tuple[str, str], _Client] = {}
        self._attempts: dict[tuple[str, str], _Attempts] = {}
        self._whole: set[str] = set()
        self._nodes: dict[str, int | None] = {}

    def call(self, call: Call) -> None:
        """Take a call: Metadata names addresses, and other apis show that a client works with what it was told."""
        client = self._clients.setdefault((call.who, _host(call.client)), _Client())
        client.connections.add(call.client)
        if call.api not in BOOTSTRAP:
            client.working |= call.api not in SASL
            return
        if call.api != "Metadata" or client.working:
            return
        for (broker,) in parts(call.response, "brokers"):
            host, port, node = broker.get("host"), broker.get("port"), broker.get("nodeId")
            if isinstance(host, str) and isinstance(port, int):
                client.told[address_of(host, port)] = node if isinstance(node, int) else None
        if client.told and call.has_response:
            client.evidence.append(call.evidence())
            client.first = call.answered if client.first is None else client.first
            client.last = call.answered

    def connection(self, connection: TcpConnection) -> None:
        """Take a connection: whether the address accepted it."""
        if not connection.opened:
            return
        self._whole.add(connection.client)
        outcome = connection.outcome
        attempts = self._attempts.setdefault((_host(connection.client), connection.broker), _Attempts())
        setattr(attempts, outcome, getattr(attempts, outcome) + 1)
        if outcome != "accepted":
            attempts.evidence.append(
                Evidence(
                    f"SYN, {outcome}",
                    instant(seconds(connection.first)),
                    stream=connection.stream,
                    capture=connection.capture,
                    file=connection.file,
                )
            )
        self._nodes.setdefault(connection.broker, connection.node)

    def merge(self, other: Listeners) -> None:
        for who, its in other._clients.items():
            own = self._clients.setdefault(who, _Client())
            own.told |= its.told
            own.evidence.merge(its.evidence)
            own.first = min((time for time in (own.first, its.first) if time is not None), default=None)
            own.last = max((time for time in (own.last, its.last) if time is not None), default=None)
            own.connections |= its.connections
            own.working |= its.working
        for ends, tried in other._attempts.items():
            attempts = self._attempts.setdefault(ends, _Attempts())
            attempts.refused += tried.refused
            attempts.silent += tried.silent
            attempts.accepted += tried.accepted
            attempts.evidence.merge(tried.evidence)
        self._whole |= other._whole
        self._nodes |= other._nodes

    def findings(self) -> Iterator[Finding]:
        told = {address: node for client in self._clients.values() for address, node in client.told.items()}
        for (who, _), client in self._clients.items():
            if (
                client.working
                or len(client.evidence) < LEAST_METADATA
                or between(client.first, client.last) < LEAST_SECONDS
                or not client.connections & self._whole
            ):
                continue
            names = ", ".join(sorted(client.told)[:3])
            count = len(client.evidence) + client.evidence.dropped
            text = (
                f"{count} Metadata responses in {between(client.first, client.last):.0f} s name {names}; "
                "the client never used a connection to it"
            )
            yield Finding(UNREACHABLE, f"client {who}", text, client.evidence, count)
        for (host, address), attempts in self._attempts.items():
            if failed := attempts.refused + attempts.silent:
                advertised = address in told and not attempts.accepted
                how = " and ".join(
                    f"{number} {what}"
                    for number, what in ((attempts.refused, "refused"), (attempts.silent, "without an answer"))
                    if number
                )
                tried = "connection" if failed == 1 else "connections"
                text = f"{failed} {tried} to {address}: {how}" + (
                    f"; {attempts.accepted} accepted" if attempts.accepted else ""
                )
                yield Finding(UNREACHABLE if advertised else REFUSED, f"client {host}", text, attempts.evidence, failed)


def _host(address: str) -> str:
    return address.rpartition(":")[0]
