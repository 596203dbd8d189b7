"""Clients, the versions they use, and what a release of Kafka would refuse."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.spec.accepted import accepted_by, known_releases
from kwire_cli.spec.kafka import API_VERSIONS, PRODUCE, SASL_AUTHENTICATE, SASL_HANDSHAKE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.request_log.exchange import Exchange
    from kwire_cli.spec.accepted import Accepted
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import Versions


# Clients, folded from exchanges: of captures and of request logs, whole or in parts that are merged
# afterwards, in any order.
#
# Memory grows with clients and the versions that they use, not with exchanges.

OPENING = frozenset({SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE})
"""Apis that a client may use before it has named its software."""


BATCHES_SINCE = 3
"""The first version of Produce that holds nothing but record batches (KIP-98); before, there are message sets, magic 0
and 1."""


class Client(NamedTuple):
    """A client: the id in its headers, the name and version of its software where it told them, the address without
    port where that was seen.

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
    """Use of a version by a client: how often, when, and with which errors.

    Times are in ISO 8601, as the source gives them. `formats` are the magic bytes of message sets in Produce
    requests, which only captures show. `principals` are the principals that the broker saw in the client, which only
    request logs give.
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
    """Versions that each client spoke to each broker.

    `offered` are the highest versions that the brokers said they speak, by broker (with its capture point) and api.
    There is more than one such version if a broker was upgraded on the way. `whole` are the clients with a connection
    that was seen from its first byte on. `forwarded` counts the requests that other brokers passed on, which belong
    to no client here.
    """

    uses: dict[Client, dict[Spoken, Use]] = field(default_factory=dict)
    offered: dict[tuple[tuple[str | None, str], int], set[int]] = field(default_factory=dict)
    whole: set[Client] = field(default_factory=set)
    forwarded: int = 0

    def add_line(self, line: Captured) -> None:
        """Count a line of a capture: requests, and the errors in responses."""
        request_line = line.request if line.kind == "response" else line
        if (
            request_line is None
            or not request_line.is_frame
            or request_line.guess
            or request_line.api_key is None
            or request_line.api_version is None
        ):
            return
        capture = line.origin.capture
        client = Client(request_line.client_id, request_line.software, _host(request_line.src), capture)
        spoken = Spoken(request_line.dst, request_line.api_key, request_line.api_version, capture)
        use = self._use(client, spoken)
        if line.kind == "response":
            use.errors.update(line.errors)
            if request_line.api_key == API_VERSIONS:
                self._learn((capture, request_line.dst), _body(line))
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

        A connection begins without software: an old ApiVersions request does not tell it, and it may be refused, as a
        login may. If clients of an id and address told just one software, what else of them there is of such beginnings
        is counted there.
        """
        told: dict[tuple[str | None, ...], list[Client]] = {}
        for client in self.uses:
            if client.software:
                told.setdefault((client.client_id, client.address, client.capture), []).append(client)
        joined: dict[Client, list[dict[Spoken, Use]]] = {}
        for client, uses in self.uses.items():
            candidates = told.get((client.client_id, client.address, client.capture), [])
            if not client.software and len(candidates) == 1 and all(spoken.api_key in OPENING for spoken in uses):
                client = candidates[0]  # noqa: PLW2901 - the same client
            joined.setdefault(client, []).append(uses)
        for client in sorted(joined, key=lambda found: [(part is None, part or "") for part in found]):
            yield client, _together(joined[client])

    def _use(self, client: Client, spoken: Spoken) -> Use:
        uses = self.uses.setdefault(client, {})
        if spoken not in uses:
            uses[spoken] = Use()
        return uses[spoken]

    def _learn(self, broker: tuple[str | None, str], answer: object) -> None:
        """Keep the highest versions in an ApiVersions response; one that refuses the version asked with names
        ApiVersions alone.
        """
        rows = answer.get("apiKeys") if isinstance(answer, dict) else None
        for row in rows if isinstance(rows, list) else ():
            if (
                isinstance(row, dict)
                and type(key := row.get("apiKey")) is int
                and type(high := row.get("maxVersion")) is int
            ):
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

    magics: Counter[int] = Counter()
    if line.read:
        raw = line.read[1]
        for at, node in enumerate(raw.node):
            if raw.program.leaves[node].kind == "records" and raw.end[at] > raw.value[at]:
                magics.update(
                    item.magic
                    for item in line.reading().items(raw.data[raw.value[at] : raw.end[at]], None)
                    if isinstance(item, Batch)
                )
    return magics


# KIP-896's question, asked of real traffic: which versions that a client uses a release of Kafka refuses, and
# whether it would speak others.
#
# A low version alone says little: the broker may have offered no more. What a client could speak shows in the
# ApiVersions exchange: it uses the highest version that both sides know, so one that stays below what the
# broker offers knows no higher.

REFUSED, CAPPED, UNCLEAR, DEPRECATED, ACCEPTED = "refused", "capped", "unclear", "deprecated", "accepted"


VERDICTS = (REFUSED, CAPPED, UNCLEAR, DEPRECATED, ACCEPTED)
"""The worst first. Capped: an old broker offered no more, and what else the client speaks was not seen. Unclear:
nothing shows what it would do."""


class Verdict(NamedTuple):
    """Verdict on a version that a client uses, and the reason as a sentence without its end.

    The reason is None if the version is accepted.
    """

    verdict: str
    reason: str | None = None

    @property
    def rank(self) -> int:
        """The worse, the lower."""
        return VERDICTS.index(self.verdict)


def judge(
    clients: Clients, client: Client, uses: dict[Spoken, Use], accepted: Accepted, now: Accepted | None = None
) -> dict[tuple[int, int], Verdict]:
    """The verdict on each version of each api that a client uses, by api key and version; what was said to any broker
    counts as evidence.

    `now` is what the brokers accept, where no ApiVersions response of theirs was seen.
    """
    verdicts: dict[tuple[int, int], Verdict] = {}
    facts = _Known(uses, asks=any(spoken.api_key == API_VERSIONS for spoken in uses), whole=client in clients.whole)
    for spoken in uses:
        verdict = _verdict(spoken, _offer(clients, spoken, now), facts, accepted)
        place = spoken.api_key, spoken.version
        if place not in verdicts or verdict.rank < verdicts[place].rank:
            verdicts[place] = verdict
    return verdicts


class _Offer(NamedTuple):
    """The highest versions of an api that a broker offered, and who says so; none where that is not known."""

    highest: set[int]
    said: str


def _offer(clients: Clients, spoken: Spoken, now: Accepted | None) -> _Offer:
    highest = clients.offered.get(((spoken.capture, spoken.broker), spoken.api_key))
    if not highest and now and spoken.api_key in now.versions:
        return _Offer({now.versions[spoken.api_key].high}, f"{now.release} offers")
    return _Offer(highest or set(), "the broker offered")


class _Known(NamedTuple):
    """Known facts about a client: its versions, and whether it was seen to ask for a broker's versions.

    `whole` says whether such a request would have been seen.
    """

    uses: Iterable[Spoken]
    asks: bool
    whole: bool

    @property
    def never_asks(self) -> bool:
        return self.whole and not self.asks


def _verdict(spoken: Spoken, offer: _Offer, known: _Known, accepted: Accepted) -> Verdict:
    release, version = accepted.release, spoken.version
    versions = accepted.versions.get(spoken.api_key)
    if versions is None:
        return Verdict(REFUSED, f"{release} has no such api")
    if version in versions:
        old = accepted.deprecated.get(spoken.api_key)
        return Verdict(DEPRECATED, _refusal(spoken, release)) if old and version in old else Verdict(ACCEPTED)
    if spoken.api_key == API_VERSIONS and version > versions.high:
        return Verdict(ACCEPTED)  # a broker answers any version of this one, and says which it speaks (KIP-511)
    verdict, why = _too_new(known) if version > versions.high else _too_old(spoken, offer, known, versions)
    return Verdict(verdict, f"{release} accepts {versions}; {why}")


def _too_old(spoken: Spoken, offer: _Offer, known: _Known, versions: Versions) -> tuple[str, str]:
    if known.never_asks:
        return REFUSED, "it never asks which versions a broker speaks"
    if spoken.version in offer.highest and known.asks:
        return CAPPED, f"{offer.said} no more than {spoken.version}"
    accepted = [other.version for other in known.uses if other.api_key == spoken.api_key and other.version in versions]
    if accepted:
        return UNCLEAR, f"it speaks {max(accepted)} too"
    if not offer.highest:
        return UNCLEAR, "what the broker offered was not seen"
    if spoken.version in offer.highest:
        return UNCLEAR, f"{offer.said} no more than {spoken.version}, and whether the client asks for that was not seen"
    return REFUSED, f"{offer.said} {max(offer.highest)}, so the client knows no higher"


def _too_new(known: _Known) -> tuple[str, str]:
    if known.never_asks:
        return REFUSED, "it never asks which versions a broker speaks"
    return (
        UNCLEAR,
        "it asks which versions a broker speaks, and may know a lower one"
        if known.asks
        else "whether it knows a lower one was not seen",
    )


def _refusal(spoken: Spoken, release: str) -> str:
    """Since when a deprecated version is refused, as far as that is known."""
    releases = known_releases()
    for later in releases[releases.index(release) + 1 :]:
        versions = accepted_by(later).versions.get(spoken.api_key)
        if versions is None or spoken.version not in versions:
            return f"{later} refuses it"
    return f"{release} calls it deprecated, and no release so far refuses it"


# The clients as rows: each with the versions that it uses, and for a release of Kafka the verdicts on these.


@dataclass(frozen=True, slots=True)
class Version:
    """A version of an api that a client uses, over all brokers. `verdict` is None where none was asked for."""

    api_key: int
    api: str | None
    version: int
    use: Use
    brokers: tuple[str, ...]
    verdict: Verdict | None

    @property
    def name(self) -> str:
        """`Produce 9`; the key of an api without a name."""
        return f"{self.api or f'api {self.api_key}'} {self.version}"

    def to_json(self) -> dict[str, Any]:
        """As in the row of its client."""
        out: dict[str, Any] = (
            {"apiKey": self.api_key, "api": self.api, "apiVersion": self.version}
            | _use_json(self.use)
            | {"brokers": [*self.brokers]}
        )
        if self.use.formats:
            out["messageFormats"] = {str(magic): count for magic, count in sorted(self.use.formats.items())}
        return out | ({"verdict": self.verdict.verdict, "reason": self.verdict.reason} if self.verdict else {})


@dataclass(frozen=True, slots=True)
class Row:
    """A client and what it uses. `total` is over all of it; `verdict` the worst of all verdicts, None where none was
    asked for.
    """

    client: Client
    versions: tuple[Version, ...]

    @property
    def total(self) -> Use:
        """Requests, times and errors of all versions together."""
        total = Use()
        for version in self.versions:
            total.merge(version.use)
        return total

    @property
    def verdict(self) -> str | None:
        """The worst one."""
        judged = [version.verdict for version in self.versions if version.verdict]
        return min(judged, key=lambda verdict: verdict.rank).verdict if judged else None

    def to_json(self) -> dict[str, Any]:
        """As a JSON line."""
        client, total = self.client, self.total
        out: dict[str, Any] = {} if client.capture is None else {"capture": client.capture}
        out |= {"clientId": client.client_id, "software": client.software, "address": client.address} | _use_json(total)
        if total.principals:
            out["principals"] = sorted(total.principals)
        if self.verdict:
            out["verdict"] = self.verdict
        return out | {"apis": [version.to_json() for version in self.versions]}


def _use_json(use: Use) -> dict[str, Any]:
    return {
        "requests": use.requests,
        "first": use.first,
        "last": use.last,
        "errors": {str(name): count for name, count in errors_of(use)},
    }


def errors_of(use: Use) -> list[tuple[str | int, int]]:
    """The errors with how often each came, the most frequent first."""
    return sorted(use.errors.items(), key=lambda item: (-item[1], str(item[0])))


def report(
    catalog: Catalog, clients: Clients, accepted: Accepted | None = None, now: Accepted | None = None
) -> list[Row]:
    """All clients, by id, software and address; with what a release accepts, those first whom it refuses. `now` as in
    `judge`.
    """
    rows = []
    for client, uses in clients.rows():
        verdicts = judge(clients, client, uses, accepted, now) if accepted else {}
        together: dict[tuple[int, int], tuple[Use, list[str]]] = {}
        for spoken, use in uses.items():
            of_all, brokers = together.setdefault((spoken.api_key, spoken.version), (Use(), []))
            of_all.merge(use)
            brokers.append(spoken.broker)
        versions = []
        for (key, number), (use, brokers) in together.items():
            api, verdict = catalog.api_by_key(key), verdicts.get((key, number))
            if verdict and verdict.reason and key == PRODUCE and number < BATCHES_SINCE:
                verdict = verdict._replace(reason=f"{verdict.reason}; it writes {_message_sets(use)}")
            versions.append(Version(key, api and api.name, number, use, tuple(sorted(brokers)), verdict))
        rows.append(Row(client, tuple(versions)))
    if accepted:
        rows.sort(key=lambda row: min((version.verdict.rank for version in row.versions if version.verdict), default=0))
    return rows


def _message_sets(use: Use) -> str:
    """Return words for the old message formats that were seen. A request log does not show the formats."""
    formats = " and ".join(f"{count} in v{magic}" for magic, count in sorted(use.formats.items()))
    return f"old messages ({formats})" if formats else "old messages (v0 or v1)"


def verdict_counts(rows: list[Row]) -> Counter[str]:
    """Return how many clients have each verdict as their worst one."""
    return Counter(row.verdict or ACCEPTED for row in rows)
