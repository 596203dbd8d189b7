"""Clients, folded from exchanges: of captures and of request logs, whole or in parts that are merged afterwards, in any order.

Memory grows with clients and the versions that they use, not with exchanges.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.spec.kafka import API_VERSIONS, PRODUCE, SASL_AUTHENTICATE, SASL_HANDSHAKE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.request_log.exchange import Exchange

OPENING = frozenset({SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE})
"""What a client may say before it has told its software."""
BATCHES_SINCE = 3
"""The first version of Produce that holds nothing but record batches (KIP-98); before, there are message sets, magic 0 and 1."""


class Client(NamedTuple):
    """A client: the id in its headers, the name and version of its software where it told them, the address without port where that was seen.

    `capture` is the capture point, if there are several: the same address may be another machine there.
    """

    client_id: str | None
    software: str | None
    address: str | None
    capture: str | None = None


class Spoken(NamedTuple):
    """A version of an api, spoken to the broker at an address."""

    broker: str
    api_key: int
    version: int
    capture: str | None = None


@dataclass(slots=True)
class Use:
    """How often, when (ISO 8601, as the source says it) and with which errors.

    `formats` are the magic bytes of message sets in Produce requests, which only captures show; `principals` are whom the broker took the client for,
    which only request logs say.
    """

    requests: int = 0
    first: str | None = None
    last: str | None = None
    errors: Counter[str | int] = field(default_factory=Counter)
    formats: Counter[int] = field(default_factory=Counter)
    principals: set[str] = field(default_factory=set)

    def seen(self, first: str | None, last: str | None) -> None:
        """Take a span of time in."""
        self.first = min((time for time in (self.first, first) if time), default=None)
        self.last = max((time for time in (self.last, last) if time), default=None)

    def beside(self, other: Use) -> None:
        """Take what another source saw of the same uses: the larger numbers count, not their sums."""
        self.requests = max(self.requests, other.requests)
        self.seen(other.first, other.last)
        self.errors |= other.errors
        self.formats |= other.formats
        self.principals |= other.principals

    def merge(self, other: Use) -> None:
        """Count what another one has."""
        self.requests += other.requests
        self.seen(other.first, other.last)
        self.errors.update(other.errors)
        self.formats.update(other.formats)
        self.principals |= other.principals


@dataclass
class Clients:
    """What each client spoke to each broker.

    `offered` are the highest versions that the brokers said they speak, by broker, with its capture point, and api: more
    than one where a broker was upgraded on the way.
    `whole` are the clients of whom a connection was seen from its first byte on. `forwarded` counts the requests that other brokers passed on, which
    are no client's here.
    """

    uses: dict[Client, dict[Spoken, Use]] = field(default_factory=dict)
    offered: dict[tuple[tuple[str | None, str], int], set[int]] = field(default_factory=dict)
    whole: set[Client] = field(default_factory=set)
    forwarded: int = 0

    def add_line(self, line: Captured) -> None:
        """Count a line of a capture: requests, and the errors in responses."""
        asked = line.request if line.kind == "response" else line
        if asked is None or not asked.is_frame or asked.guess or asked.api_key is None or asked.api_version is None:
            return
        capture = line.origin.capture
        client = Client(asked.client_id, asked.software, _host(asked.src), capture)
        spoken = Spoken(asked.dst, asked.api_key, asked.api_version, capture)
        use = self._use(client, spoken)
        if line.kind == "response":
            use.errors.update(line.errors)
            if asked.api_key == API_VERSIONS:
                self._learn((capture, asked.dst), _body(line))
            return
        use.requests += 1
        use.seen(line.time, line.time)
        if line.connection.from_start:
            self.whole.add(client)
        if spoken.api_key == PRODUCE and spoken.version < BATCHES_SINCE:
            use.formats.update(_formats(line))

    def add_exchange(self, exchange: Exchange) -> None:
        """Count an exchange of a request log."""
        if exchange.forwarded:
            self.forwarded += 1
            return
        broker = exchange.broker or exchange.connection
        client = Client(exchange.client_id, exchange.software, exchange.client and _host(exchange.client))
        use = self._use(client, Spoken(broker, exchange.api_key, exchange.api_version))
        use.requests += 1
        use.seen(exchange.time, exchange.time)
        use.errors.update(exchange.errors)
        if exchange.principal:
            use.principals.add(exchange.principal)
        if exchange.api_key == API_VERSIONS:
            self._learn((None, broker), exchange.response)

    def merge(self, other: Clients) -> None:
        """Count what another one has."""
        self._join(other, Use.merge)
        self.forwarded += other.forwarded

    def beside(self, other: Clients) -> None:
        """Take what another source saw: a capture and a broker's log show the same exchanges, which count once.

        So of a client, broker, api and version that both saw the larger numbers count.
        """
        self._join(other, Use.beside)
        self.forwarded = max(self.forwarded, other.forwarded)

    def _join(self, other: Clients, join: Callable[[Use, Use], None]) -> None:
        for client, uses in other.uses.items():
            for spoken, use in uses.items():
                join(self._use(client, spoken), use)
        for place, versions in other.offered.items():
            self.offered.setdefault(place, set()).update(versions)
        self.whole |= other.whole

    def rows(self) -> Iterator[tuple[Client, dict[Spoken, Use]]]:
        """Each client with what it spoke, by id, software and address.

        A connection begins without software: an old ApiVersions request does not tell it, and it may be refused, as a login may. If clients of an id
        and address told just one software, what else of them there is of such beginnings is counted there.
        """
        told: dict[tuple[str | None, ...], list[Client]] = {}
        for client in self.uses:
            if client.software:
                told.setdefault((client.client_id, client.address, client.capture), []).append(client)
        joined: dict[Client, list[dict[Spoken, Use]]] = {}
        for client, uses in self.uses.items():
            others = told.get((client.client_id, client.address, client.capture), [])
            if not client.software and len(others) == 1 and all(spoken.api_key in OPENING for spoken in uses):
                client = others[0]  # noqa: PLW2901 - the same client
            joined.setdefault(client, []).append(uses)
        for client in sorted(joined, key=lambda found: [(part is None, part or "") for part in found]):
            yield client, _together(joined[client])

    def _use(self, client: Client, spoken: Spoken) -> Use:
        uses = self.uses.setdefault(client, {})
        if spoken not in uses:
            uses[spoken] = Use()
        return uses[spoken]

    def _learn(self, broker: tuple[str | None, str], answer: object) -> None:
        """Keep the highest versions in an ApiVersions response; one that refuses the version asked with names ApiVersions alone."""
        rows = answer.get("apiKeys") if isinstance(answer, dict) else None
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and type(key := row.get("apiKey")) is int and type(high := row.get("maxVersion")) is int:
                self.offered.setdefault((broker, key), set()).add(high)


def _together(parts: Iterable[dict[Spoken, Use]]) -> dict[Spoken, Use]:
    merged: dict[Spoken, Use] = {}
    for part in parts:
        for spoken, use in part.items():
            merged.setdefault(spoken, Use()).merge(use)
    return dict(sorted(merged.items(), key=lambda item: (item[0].api_key, item[0].version, item[0].broker)))


def _host(address: str) -> str:
    return address.rpartition(":")[0].strip("[]")


def _body(line: Captured) -> object:
    frame = line.frame
    return frame.body.to_json(records="size") if frame and frame.body else None


def _formats(line: Captured) -> Counter[int]:
    """The magic bytes of the messages in a Produce request."""
    from kwire_cli.records.batch import Batch  # noqa: PLC0415 - only requests of old clients hold such

    found: Counter[int] = Counter()
    if line.read:
        raw = line.read[1]
        for at, node in enumerate(raw.node):
            if raw.program.leaves[node].kind == "records" and raw.end[at] > raw.value[at]:
                found.update(item.magic for item in line.reading().items(raw.data[raw.value[at] : raw.end[at]], None) if isinstance(item, Batch))
    return found
