"""Clients, the versions they use, and what a release of Kafka would refuse."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.client_verdicts import ACCEPTED, REFUSED, VERDICTS, Spoken, Verdict, judge
from kwire_cli.analysis.stats import UNSAID, by_count, by_name
from kwire_cli.answer import Answer, Column, Fact, Facts, Note, Table
from kwire_cli.facts.frame_values import host_of
from kwire_cli.source.kafka.line_records import batches_of
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.source.request_log.reading import LineFault
from kwire_cli.spec.accepted import accepted_by
from kwire_cli.spec.kafka import API_VERSIONS, PRODUCE, SASL_AUTHENTICATE, SASL_HANDSHAKE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.analysis.fold import Traffic
    from kwire_cli.answer import Block, Row as AnswerRow
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.accepted import Accepted


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


class Speaker(NamedTuple):
    """The client and what it speaks in a request, and whether its connection was seen from its first byte on."""

    client: Client
    spoken: Spoken
    from_start: bool


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
    to no client here. `names` are the names of apis by key.

    `upgrade_to` is the release whose brokers the clients are to speak to, `upgrade_from` the brokers' release where no
    ApiVersions response of theirs was seen.
    """

    upgrade_to: str | None = None
    upgrade_from: str | None = None
    uses: dict[Client, dict[Spoken, Use]] = field(default_factory=dict)
    offered: dict[tuple[tuple[str | None, str], int], set[int]] = field(default_factory=dict)
    whole: set[Client] = field(default_factory=set)
    forwarded: int = 0
    names: dict[int, str] = field(default_factory=dict)

    def add(self, subject: Traffic) -> None:
        """Count a line of a capture, or an exchange of a request log."""
        if isinstance(subject, Exchange):
            self._add_exchange(subject)
        elif not isinstance(subject, LineFault):
            self._add_line(subject)

    def _add_line(self, line: Captured) -> None:
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
        client, spoken, _ = its = speaker(request_line)
        use = self._use(client, spoken, request_line.api)
        if line.kind == "response":
            use.errors.update(line.errors)
            if request_line.api_key == API_VERSIONS:
                self._learn((client.capture, request_line.dst), _body(line))
            return
        self.add_requests(its, request_line.api, 1, line.time, line.time)
        if spoken.api_key == PRODUCE and spoken.version < BATCHES_SINCE:
            use.formats.update(batch.magic for batch in batches_of(line))

    def add_requests(self, its: Speaker, api: str | None, count: int, first: str | None, last: str | None) -> None:
        """Count requests of a client, of one version, with the times of the first and the last one."""
        use = self._use(its.client, its.spoken, api)
        use.requests += count
        use.seen(first, last)
        if its.from_start:
            self.whole.add(its.client)

    def _add_exchange(self, exchange: Exchange) -> None:
        """Count an exchange of a request log."""
        if exchange.forwarded:
            self.forwarded += 1
            return
        broker = exchange.broker or exchange.connection
        client = Client(exchange.client_id, exchange.software, exchange.client and host_of(exchange.client))
        use = self._use(client, Spoken(broker, exchange.api_key, exchange.api_version), exchange.api)
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
                join(self._use(client, spoken, other.names.get(spoken.api_key)), use)
        for place, versions in other.offered.items():
            self.offered.setdefault(place, set()).update(versions)
        self.whole |= other.whole

    def answer(self) -> Answer:
        """Return the clients, and the versions that each speaks; for an upgrade with those first whom it hurts."""
        accepted = accepted_by(self.upgrade_to) if self.upgrade_to else None
        rows = report(self, accepted, accepted_by(self.upgrade_from) if self.upgrade_from else None)
        return _answer(self, rows, accepted)

    def spoken(self) -> Iterator[tuple[Client, dict[Spoken, Use]]]:
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
        for client in sorted(joined, key=lambda client: [by_name(part) for part in client]):
            yield client, _together(joined[client])

    def _use(self, client: Client, spoken: Spoken, api: str | None) -> Use:
        if api:
            self.names[spoken.api_key] = api
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


def speaker(request: Captured) -> Speaker:
    """Return who speaks in a request of a capture whose api and version are known."""
    capture, key, version = request.origin.capture, request.api_key, request.api_version
    client = Client(request.client_id, request.software, host_of(request.src), capture)
    spoken = Spoken(request.dst, -1 if key is None else key, -1 if version is None else version, capture)
    return Speaker(client, spoken, request.connection.from_start)


def _together(parts: Iterable[dict[Spoken, Use]]) -> dict[Spoken, Use]:
    merged: dict[Spoken, Use] = {}
    for part in parts:
        for spoken, use in part.items():
            merged.setdefault(spoken, Use()).merge(use)
    return dict(sorted(merged.items(), key=lambda item: (item[0].api_key, item[0].version, item[0].broker)))


def _body(line: Captured) -> object:
    frame = line.frame
    return frame.body.to_json(records="size") if frame and frame.body else None


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


def report(clients: Clients, accepted: Accepted | None = None, now: Accepted | None = None) -> list[Row]:
    """All clients, by id, software and address; with what a release accepts, those first whom it refuses. `now` as in
    `judge`.
    """
    rows = []
    for client, uses in clients.spoken():
        verdicts = judge(uses, clients.offered, accepted, now, whole=client in clients.whole) if accepted else {}
        together: dict[tuple[int, int], tuple[Use, list[str]]] = {}
        for spoken, use in uses.items():
            of_all, brokers = together.setdefault((spoken.api_key, spoken.version), (Use(), []))
            of_all.merge(use)
            brokers.append(spoken.broker)
        versions = []
        for (key, number), (use, brokers) in together.items():
            verdict = verdicts.get((key, number))
            if verdict and verdict.reason and key == PRODUCE and number < BATCHES_SINCE:
                verdict = verdict._replace(reason=f"{verdict.reason}; it writes {_message_sets(use)}")
            versions.append(Version(key, clients.names.get(key), number, use, tuple(sorted(brokers)), verdict))
        rows.append(Row(client, tuple(versions)))
    if accepted:
        rows.sort(key=lambda row: min((version.verdict.rank for version in row.versions if version.verdict), default=0))
    return rows


def _message_sets(use: Use) -> str:
    """Return words for the old message formats that were seen. A request log does not show the formats."""
    formats = " and ".join(f"{count} in v{magic}" for magic, count in sorted(use.formats.items()))
    return f"old messages ({formats})" if formats else "old messages (v0 or v1)"


# The answer: a table of the clients, and one of the versions that they speak.

_WHO = (
    Column("clientId", title="client", absent=UNSAID),
    Column("software", keep=2),
    Column("address", keep=3),
    Column("capture", keep=4),
    Column("principals", "list", wide=True),
)
_WHEN = (Column("requests", "count", keep=1), Column("first", "instant", "first seen", keep=6))
_LAST = Column("last", "instant", "last seen", keep=5)
_ERRORS = Column("errors", "map", level="error", keep=4)
_VERDICT = Column("verdict", level="warning")
CLIENTS = (*_WHO, *_WHEN, _LAST, _ERRORS, Column("apis", "list"))
JUDGED_CLIENTS = (*_WHO, _VERDICT, *_WHEN, _LAST, _ERRORS, Column("apis", "list", wide=True))
VERSIONS = (
    *_WHO,
    Column("apiKey", "id", wide=True),
    Column("api"),
    Column("apiVersion", "id", title="version"),
    Column("requests", "count", keep=1),
    Column("first", "instant", wide=True),
    Column("last", "instant", wide=True),
    Column("errors", "map", wide=True),
    Column("brokers", "list", wide=True),
    Column("messageFormats", "map", wide=True),
)
JUDGED_VERSIONS = (*VERSIONS, _VERDICT, Column("reason"))


def _answer(clients: Clients, rows: list[Row], accepted: Accepted | None) -> Answer:
    blocks: list[Block] = []
    affected = [row for row in rows if row.verdict not in {None, ACCEPTED}]
    versions = [(row, version) for row in rows for version in row.versions]
    if accepted:
        counts = Counter(row.verdict or ACCEPTED for row in rows)
        verdicts = {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}
        versions.sort(key=lambda pair: pair[1].verdict.rank if pair[1].verdict else 0)
        facts = [
            Fact("upgradeTo", accepted.release),
            Fact("clients", len(rows), "count"),
            Fact("verdicts", verdicts, "map"),
        ]
        blocks.append(Facts(facts))
    hurt = sum(version.verdict is not None and version.verdict.verdict != ACCEPTED for _, version in versions)
    blocks += [
        Table(
            "clients",
            JUDGED_CLIENTS if accepted else CLIENTS,
            [_client_row(row) for row in rows],
            shown=len(affected) if accepted else None,
        ),
        Table(
            "versions",
            JUDGED_VERSIONS if accepted else VERSIONS,
            [_version_row(row.client, version, judged=accepted is not None) for row, version in versions],
            shown=hurt,
        ),
    ]
    if clients.forwarded:
        requests = "1 request was" if clients.forwarded == 1 else f"{clients.forwarded} requests were"
        blocks.append(Note(f"{requests} forwarded by other brokers, whose own logs say from whom", "info"))
    return Answer("clients", blocks, found=any(row.verdict == REFUSED for row in rows))


def _who(client: Client, use: Use) -> AnswerRow:
    return (client.client_id, client.software, client.address, client.capture, sorted(use.principals))


def _errors(use: Use) -> dict[str, int]:
    """Return the errors with how often each came, the most frequent first."""
    return {str(name): count for name, count in by_count(use.errors)}


def _client_row(row: Row) -> AnswerRow:
    total = row.total
    by_api: dict[str, list[str]] = {}
    for version in row.versions:
        by_api.setdefault(version.api or f"api {version.api_key}", []).append(str(version.version))
    apis = [f"{api} {'+'.join(versions)}" for api, versions in by_api.items()]
    verdict = (row.verdict,) if row.verdict else ()
    return (*_who(row.client, total), *verdict, total.requests, total.first, total.last, _errors(total), apis)


def _version_row(client: Client, version: Version, *, judged: bool) -> AnswerRow:
    use, verdict = version.use, version.verdict
    formats = {str(magic): count for magic, count in sorted(use.formats.items())}
    times = use.requests, use.first, use.last
    row = (version.api_key, version.api, version.version, *times, _errors(use), [*version.brokers], formats)
    return (*_who(client, use), *row, *((verdict or Verdict(ACCEPTED)) if judged else ()))
