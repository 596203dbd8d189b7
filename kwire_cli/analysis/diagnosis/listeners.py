"""Addresses from Metadata that clients cannot reach."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from kwire_cli.analysis.call import between, earlier, later, parts
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.places import Places, client_of, host_of, place_of
from kwire_cli.analysis.diagnosis.tallies import Book
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration
from kwire_cli.source.kafka.captured import address_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.source.kafka.traffic import TcpConnection

UNREACHABLE = FindingKind(
    "UNREACHABLE_LISTENER",
    "error",
    "A broker advertises an address that a client cannot reach.",
    "Clients take the addresses of brokers from Metadata, whatever address is in bootstrap.servers. The advertised "
    "address does not resolve on the client's machine, or nothing answers there.",
    "Set advertised.listeners of the broker to an address that resolves and answers where the client runs. If clients "
    "come from several networks, give each network its own listener.",
    ("KIP-103",),
    rank=1,
)
REFUSED = FindingKind(
    "CONNECTION_REFUSED",
    "warning",
    "Connections to an address are refused, or get no answer.",
    "If a RST answers, no process listens at the address. If nothing answers, a firewall or a route drops the packets.",
    "See whether the broker runs and listens there. Check the addresses in bootstrap.servers and advertised.listeners.",
    rank=8,
)
LEAST_METADATA = 3
"""Metadata responses after which a client that opened no connection to what they name counts as stuck."""
LEAST_SECONDS = 2.0
MOST_PAUSE = 5.0
"""Seconds between the Metadata responses of a client that is stuck, on average. Such a client asks again after
reconnect.backoff.max.ms; one that only watches asks every ten seconds or less often."""
LEAST_SYNS = 2
"""SYNs without an answer before it counts as silence: the answer to one may come behind the end of the capture."""
MOST_NAMES = 3
MOST_CONNECTIONS = 1 << 16
MOST_ADDRESSES = 1 << 10
"""Addresses that are kept of a client."""
BOOTSTRAP = frozenset({"ApiVersions", "Metadata", "DescribeCluster", "InitProducerId", "FindCoordinator"})
"""Apis that a client asks of the broker that it found first."""
SASL = frozenset({"SaslHandshake", "SaslAuthenticate"})


@dataclass
class _Client:
    """The addresses that a client (its id and host) was told, and the connections that it made."""

    told: dict[str, int | None] = field(default_factory=dict)
    evidence: Places = field(default_factory=Places)
    first: float | None = None
    last: float | None = None
    connections: set[str] = field(default_factory=set)
    brokers: set[str] = field(default_factory=set)
    working: bool = False


@dataclass
class _Attempts:
    refused: int = 0
    silent: int = 0
    accepted: int = 0
    evidence: Places = field(default_factory=Places)


class Listeners(Rule):
    """Clients that stay with the broker that they found first, and connections that are not accepted."""

    KINDS = (UNREACHABLE, REFUSED)
    apis: ClassVar[frozenset[str]] = frozenset({"Metadata"})
    unusual_only = True

    def __init__(self) -> None:
        self._clients: Book[tuple[str, str], _Client] = Book(_Client)
        self._attempts: Book[tuple[str, str], _Attempts] = Book(_Attempts)
        self._whole: set[str] = set()
        self._one_sided: set[str] = set()

    def call(self, call: Call) -> None:
        """Take a call: Metadata names addresses, and other apis show that a client works with what it was told."""
        client = self._clients[client_of(call), host_of(call.client)]
        if client.working:
            return
        if len(client.connections) < MOST_ADDRESSES:
            client.connections.add(call.client)
            client.brokers.add(call.broker)
        if call.api not in BOOTSTRAP:
            client.working = call.api not in SASL
            return
        if call.api != "Metadata":
            return
        for (broker,) in parts(call.response, "brokers"):
            host, port, node = broker.get("host"), broker.get("port"), broker.get("nodeId")
            if isinstance(host, str) and isinstance(port, int) and len(client.told) < MOST_ADDRESSES:
                client.told[address_of(host, port)] = node if isinstance(node, int) else None
        if client.told and call.has_response:
            client.evidence.add(call.evidence())
            client.first = call.answered if client.first is None else client.first
            client.last = call.answered

    def connection(self, connection: TcpConnection) -> None:
        """Take a connection: whether the address accepted it."""
        if not connection.opened:
            return
        if len(self._whole) < MOST_CONNECTIONS:
            self._whole.add(connection.client)
        outcome = connection.outcome
        if connection.sizes[0] and not connection.heard[1] and len(self._one_sided) < MOST_CONNECTIONS:
            self._one_sided.add(connection.broker)
        if outcome == "silent" and connection.syns < LEAST_SYNS:
            return
        attempts = self._attempts[host_of(connection.client), connection.broker]
        setattr(attempts, outcome, getattr(attempts, outcome) + 1)
        if outcome != "accepted":
            attempts.evidence.add(place_of(connection, f"SYN, {outcome}"))

    def merge(self, other: Listeners) -> None:
        for who, its in other._clients.items():
            own = self._clients[who]
            own.told |= its.told
            own.evidence.merge(its.evidence)
            own.first = earlier(own.first, its.first)
            own.last = later(own.last, its.last)
            own.connections |= its.connections
            own.brokers |= its.brokers
            own.working |= its.working
        for ends, tried in other._attempts.items():
            attempts = self._attempts[ends]
            attempts.refused += tried.refused
            attempts.silent += tried.silent
            attempts.accepted += tried.accepted
            attempts.evidence.merge(tried.evidence)
        self._whole |= other._whole
        self._one_sided |= other._one_sided

    def findings(self) -> Iterator[Finding]:
        told: dict[str, dict[str, list[str]]] = {}
        for (who, host), client in self._clients.items():
            for address in client.told:
                told.setdefault(address, {}).setdefault(host, []).append(who)
        for (who, host), client in self._clients.items():
            count = client.evidence.count
            tried = any(self._failed(host, address) for address in client.told)  # that is a finding below
            if tried or not self._is_stuck(client, count):
                continue
            names = ", ".join(sorted(client.told)[:3])
            text = (
                f"{count} Metadata responses in {duration(between(client.first, client.last))} name {names}; "
                "the client never used a connection to it"
            )
            yield Finding(UNREACHABLE, f"client {who}", text, client.evidence.earliest, count)
        for (host, address), attempts in self._attempts.items():
            silent = 0 if address in self._one_sided else attempts.silent
            if failed := self._failed(host, address):
                advertised = address in told and not attempts.accepted
                text = f"{counted(failed, 'connection')} to {address} "
                if attempts.refused and silent:
                    text += f"failed: {attempts.refused} refused, {silent} without an answer"
                else:
                    text += "refused" if attempts.refused else "without an answer"
                text += f"; {attempts.accepted} others accepted" if attempts.accepted else ""
                if advertised:
                    text += "; Metadata names this address"
                kind = UNREACHABLE if advertised else REFUSED
                clients = sorted(told.get(address, {}).get(host, [])) if advertised else []
                who = ", ".join(clients[:MOST_NAMES]) or host
                yield Finding(kind, f"client {who}", text, attempts.evidence.earliest, failed)

    def _failed(self, host: str, address: str) -> int:
        """Return how many connections of a host to an address failed."""
        attempts = self._attempts.get((host, address))
        if attempts is None:
            return 0
        return attempts.refused + (0 if address in self._one_sided else attempts.silent)

    def _is_stuck(self, client: _Client, count: int) -> bool:
        """Return whether a client asks for Metadata again and again, and never goes where that leads."""
        lasting = between(client.first, client.last)
        return (
            not client.working
            and count >= LEAST_METADATA
            and LEAST_SECONDS <= lasting <= MOST_PAUSE * (count - 1)
            and not client.told.keys() & client.brokers
            and bool(client.connections & self._whole)
        )
