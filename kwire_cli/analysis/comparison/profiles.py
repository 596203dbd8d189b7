"""Profiles of clients: apis, versions, fields, configuration, rhythm and group behaviour in their traffic."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.call import between, parts
from kwire_cli.analysis.comparison.set_fields import fields_of, set_fields
from kwire_cli.analysis.folded_calls import CallFold, CapturedCall, LoggedCall
from kwire_cli.analysis.stats import Histogram
from kwire_cli.source.kafka.line_records import batches_of
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from kwire_cli.analysis.folded_calls import Call

MOST_VALUES = 8
"""Values of a setting or a field that are told apart. A setting has one or two, and a field such as an offset any."""
MOST_PATHS = 500
"""Fields of the requests of an api that are told apart. Kafka's own have under 100."""
MOST_PROFILES = 1_000
"""Clients that are told apart. Ids from outside can have any number of values: the others count without their names."""
MOST_TIMES = 4_096
"""Partitions, members and groups whose last request is remembered, to measure the time to the next one."""
MOST_CONNECTIONS = 4_096
"""Connections of brokers that are remembered, and connections whose first requests wait."""
MOST_OPENING = 8
"""First requests of a connection that wait."""
MOST_GENERATIONS = 4_096
"""Generations of groups that are told apart."""
MOST_ASSIGNORS = 16
"""Assignors of a member that are named."""
LONGEST_TEXT = 80
"""Characters of the text of a setting."""


class Client(NamedTuple):
    """A client: the name and version of its software, and its id, where it says them."""

    software: str | None
    client_id: str | None


@dataclass
class Values:
    """Values with the number of requests that have each; no single value if there are too many of them."""

    counts: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    many: bool = False

    def add(self, value: str) -> None:
        """Count a value."""
        self.requests += 1
        if not self.many:
            self.counts[value] += 1
            self._bound()

    def merge(self, other: Values) -> None:
        """Count what another one has."""
        self.requests += other.requests
        self.many |= other.many
        self.counts.update(other.counts)
        self._bound()

    def _bound(self) -> None:
        if self.many or len(self.counts) > MOST_VALUES:
            self.many = True
            self.counts.clear()

    @property
    def texts(self) -> list[str]:
        """The values, the most frequent first; `(many)` if there are too many."""
        if self.many:
            return ["(many)"]
        return sorted(self.counts, key=lambda value: (-self.counts[value], value))


@dataclass
class Use:
    """Use of an api by a client."""

    requests: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    sized: int = 0
    unread: int = 0
    """Requests whose body could not be read, or not all of it."""
    latency: Histogram = field(default_factory=Histogram)
    errors: Counter[str | int] = field(default_factory=Counter)
    versions: Counter[int] = field(default_factory=Counter)
    fields: dict[str, Values] = field(default_factory=dict)

    def merge(self, other: Use) -> None:
        """Count what another one has."""
        self.requests += other.requests
        self.request_bytes += other.request_bytes
        self.response_bytes += other.response_bytes
        self.sized += other.sized
        self.unread += other.unread
        self.latency.merge(other.latency)
        self.errors.update(other.errors)
        self.versions.update(other.versions)
        _merge_values(self.fields, other.fields)


def _merge_values(values: dict[str, Values], more: dict[str, Values]) -> None:
    """Count more values by name. Names beyond the bound are left out, those that sort last first."""
    for name, other in more.items():
        values.setdefault(name, Values()).merge(other)
    for name in sorted(values)[MOST_PATHS:]:
        del values[name]


@dataclass
class Profile:
    """The traffic of a client.

    `uses` are by api key, `settings` by api and field, `rhythms` (seconds between requests) by name. `counts` are
    events of groups and batches by name. `first` and `last` are seconds since 1970.
    """

    names: dict[int, str] = field(default_factory=dict)
    uses: dict[int, Use] = field(default_factory=dict)
    settings: dict[str, Values] = field(default_factory=dict)
    rhythms: dict[str, Histogram] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    generations: set[tuple[str, int]] = field(default_factory=set)
    first: float | None = None
    last: float | None = None

    @property
    def requests(self) -> int:
        """The number of requests."""
        return sum(use.requests for use in self.uses.values())

    def span(self, *times: float | None) -> None:
        """Extend the time of the traffic."""
        present = [time for time in (self.first, self.last, *times) if time is not None]
        if present:
            self.first, self.last = min(present), max(present)

    def merge(self, other: Profile) -> None:
        """Count what another one has."""
        self.names |= other.names
        for key, use in other.uses.items():
            self.uses.setdefault(key, Use()).merge(use)
        _merge_values(self.settings, other.settings)
        for name, histogram in other.rhythms.items():
            self.rhythms.setdefault(name, Histogram()).merge(histogram)
        self.counts.update(other.counts)
        self.generations |= other.generations
        self.span(other.first, other.last)


class Profiles(CallFold):
    """The profiles of all clients of one side: a fold.

    Requests that a broker forwarded belong to no client here. Those of connections of brokers and controllers are
    counted in `broker_requests` alone. What opens a connection waits for the request that says whose it is.
    """

    def __init__(self) -> None:
        super().__init__()
        self.clients: dict[Client, Profile] = {}
        self.broker_requests = 0
        self._of_brokers: set[Hashable] = set()
        self._nodes: set[Client] = set()
        self._opening: dict[Hashable, list[Call]] = {}
        self._times: dict[Hashable, float] = {}

    def call(self, call: Call) -> None:
        """Take a request with its response."""
        if isinstance(call, LoggedCall) and call.exchange.forwarded:
            return
        connection = call.connection
        calls = [*self._opening.pop(connection, ()), call]
        if connection in self._of_brokers or is_of_broker(call):
            self.broker_requests += len(calls)
            if len(self._of_brokers) < MOST_CONNECTIONS:
                self._of_brokers.add(connection)
                self._nodes.add(Client(call.software, call.client_id))
        elif call.api in OPENING and len(calls) <= MOST_OPENING and len(self._opening) < MOST_CONNECTIONS:
            self._opening[connection] = calls
        else:
            for each in calls:
                self._count(each)

    def finish(self) -> None:
        """Take the calls that were not answered, and those that wait."""
        super().finish()
        for calls in self._opening.values():
            for call in calls:
                self._count(call)
        self._opening.clear()
        for client in self._nodes & self.clients.keys():
            if (client.client_id or "").isdecimal():  # a broker's to a controller, which may carry any request
                self.broker_requests += self.clients.pop(client).requests

    def _count(self, call: Call) -> None:
        profile = self._profile(Client(call.software, call.client_id))
        profile.span(call.asked, call.answered)
        profile.names[call.api_key] = call.api
        use = profile.uses.setdefault(call.api_key, Use())
        use.requests += 1
        use.unread += not call.is_read
        use.versions[call.version] += 1
        use.errors.update(call.errors)
        if (latency := call.latency) is not None:
            use.latency.add(latency)
        request_bytes, response_bytes = call.sizes
        if request_bytes:
            use.sized += 1
            use.request_bytes += request_bytes
            use.response_bytes += response_bytes
        _take_group(profile, call)
        if not call.is_read:
            return
        self._take_fields(use, call)
        for name, value in settings_of(call):
            profile.settings.setdefault(name, Values()).add(value[:LONGEST_TEXT])
        self._take_rhythm(profile, call)
        _take_batches(profile, call)

    def _profile(self, client: Client) -> Profile:
        if client not in self.clients and len(self.clients) >= MOST_PROFILES:
            client = Client(None, None)
        return self.clients.setdefault(client, Profile())

    def _take_fields(self, use: Use, call: Call) -> None:
        paths: dict[str, str] = {}
        for path, value in set_fields(fields_of(call.api_key), call.request):
            # Texts and bytes may be secret, and say little about a client.
            paths.setdefault(path, _plain(value) if isinstance(value, bool | int | float) or value is None else "")
        for path, text in paths.items():
            if path in use.fields or len(use.fields) < MOST_PATHS:
                use.fields.setdefault(path, Values()).add(text)

    def _take_rhythm(self, profile: Profile, call: Call) -> None:
        if call.asked is None:
            return
        for name, key in rhythms_of(call):
            full = (call.connection, name, key)
            before = self._times.pop(full, None)
            self._times[full] = call.asked
            if len(self._times) > MOST_TIMES:
                del self._times[next(iter(self._times))]
            if before is not None and call.asked >= before:
                profile.rhythms.setdefault(name, Histogram()).add(between(before, call.asked))


# Connections of brokers and controllers.

OPENING = frozenset({"ApiVersions", "SaslHandshake", "SaslAuthenticate"})
"""Requests that open a connection, whoever sends them."""
_OF_BROKERS = frozenset({"ControlledShutdown", "LeaderAndIsr", "StopReplica", "UpdateMetadata", "WriteTxnMarkers"})
_BROKER_IDS = re.compile(
    r"broker-\d+-(fetcher-\d+|txn-marker-sender)|raft-client-.+|(AddPartitionsManager|NetworkPartitionMetadataClient|Persister)-client-\d+"
)


def is_of_broker(call: Call) -> bool:
    """Return whether only a broker or a controller sends such a request."""
    if call.api in _OF_BROKERS or _BROKER_IDS.fullmatch(call.client_id or ""):
        return True
    if call.api == "Fetch":
        state = call.request.get("replicaState")
        replica = call.request.get("replicaId", state.get("replicaId") if isinstance(state, dict) else None)
        return type(replica) is int and replica >= 0
    return _is_for_controllers(call.api_key)


@lru_cache(maxsize=256)
def _is_for_controllers(api_key: int) -> bool:
    """Return whether controllers alone take requests of an api: applications send none of them."""
    api = catalog().api_by_key(api_key)
    return api is not None and api.request is not None and catalog().message(api.request).listeners == ("controller",)


# Configuration that shows on the wire.


class Setting(NamedTuple):
    """A field of a request that follows from configuration.

    `config` is the name of the configuration. With `presence` it only matters whether the field has a value.
    `unless` is a value that says nothing, such as -1 for unchanged.
    """

    path: str
    config: str
    presence: bool = False
    unless: Any = None


SETTINGS: dict[str, tuple[Setting, ...]] = {
    "Produce": (
        Setting("acks", "acks"),
        Setting("timeoutMs", "request.timeout.ms"),
        Setting("transactionalId", "transactional.id", presence=True),
    ),
    "Fetch": (
        Setting("maxWaitMs", "fetch.max.wait.ms"),
        Setting("minBytes", "fetch.min.bytes"),
        Setting("maxBytes", "fetch.max.bytes"),
        Setting("isolationLevel", "isolation.level"),
        Setting("topics[].partitions[].partitionMaxBytes", "max.partition.fetch.bytes"),
        Setting("rackId", "client.rack", presence=True),
    ),
    "ShareFetch": (
        Setting("maxWaitMs", "fetch.max.wait.ms"),
        Setting("minBytes", "fetch.min.bytes"),
        Setting("maxBytes", "fetch.max.bytes"),
        Setting("maxRecords", "max.poll.records"),
    ),
    "JoinGroup": (
        Setting("sessionTimeoutMs", "session.timeout.ms"),
        Setting("rebalanceTimeoutMs", "max.poll.interval.ms"),
        Setting("groupInstanceId", "group.instance.id", presence=True),
        Setting("protocolType", ""),
    ),
    "ConsumerGroupHeartbeat": (
        Setting("rebalanceTimeoutMs", "max.poll.interval.ms", unless=-1),
        Setting("instanceId", "group.instance.id", presence=True),
        Setting("serverAssignor", "group.remote.assignor"),
        Setting("rackId", "client.rack", presence=True),
    ),
    "Metadata": (Setting("allowAutoTopicCreation", "allow.auto.create.topics"),),
    "ListOffsets": (Setting("isolationLevel", "isolation.level"),),
    "OffsetCommit": (Setting("retentionTimeMs", ""),),
    "OffsetFetch": (Setting("requireStable", "isolation.level"),),
    "InitProducerId": (
        Setting("transactionTimeoutMs", "transaction.timeout.ms"),
        Setting("transactionalId", "transactional.id", presence=True),
    ),
    "CreateTopics": (Setting("timeoutMs", "default.api.timeout.ms"),),
}
"""Settings by api, with the names of the Java client's configuration. Other clients have other names for some."""
CLOSING = -1
"""The epoch of the request that ends a fetch session (KIP-227)."""
PROTOCOLS = "protocols[].name"
COMPRESSION = "compression"
IDEMPOTENCE = "idempotence"
OF_BATCHES = frozenset({f"Produce.{COMPRESSION}", f"Produce.{IDEMPOTENCE}"})
"""Settings that show in batches, which request logs do not have."""
CONFIGS = {
    **{f"{api}.{setting.path}": setting.config for api, settings in SETTINGS.items() for setting in settings},
    f"JoinGroup.{PROTOCOLS}": "partition.assignment.strategy",
    f"Produce.{COMPRESSION}": "compression.type",
    f"Produce.{IDEMPOTENCE}": "enable.idempotence",
}
"""The configuration by setting."""


def settings_of(call: Call) -> Iterator[tuple[str, str]]:
    """Yield the settings that a request shows, each with its value as text."""
    api, body = call.api, call.request
    if api == "Fetch" and body.get("sessionId") and body.get("sessionEpoch") == CLOSING:
        return  # it ends a session, and asks for nothing
    for setting in SETTINGS.get(api, ()):
        *arrays, name = setting.path.replace("[]", "").split(".")
        owners = [owner[-1] for owner in parts(body, *arrays)] if arrays else [body]
        values = [owner[name] for owner in owners if name in owner]
        if setting.presence:
            texts = {"yes" if value else "no" for value in values}
        else:
            texts = {_plain(value) for value in values if value != setting.unless and value is not None}
        for text in sorted(texts):
            yield f"{api}.{setting.path}", text
    if api == "JoinGroup":
        names = [protocol.get("name") for (protocol,) in parts(body, "protocols")][:MOST_ASSIGNORS]
        if names:
            yield f"JoinGroup.{PROTOCOLS}", ", ".join(name for name in names if isinstance(name, str))


def _plain(value: Any) -> str:
    """Return a number, a flag or a text as JSON has it; the kind of anything else."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | str):
        return str(value)
    return type(value).__name__


# Rhythm: the time between requests that a client sends again and again.

RHYTHMS = {
    "Heartbeat": ("Heartbeat of a member", "heartbeat.interval.ms"),
    "ConsumerGroupHeartbeat": ("ConsumerGroupHeartbeat of a member", "group.consumer.heartbeat.interval.ms"),
    "ShareGroupHeartbeat": ("ShareGroupHeartbeat of a member", "group.share.heartbeat.interval.ms"),
    "StreamsGroupHeartbeat": ("StreamsGroupHeartbeat of a member", "group.streams.heartbeat.interval.ms"),
    "OffsetCommit": ("OffsetCommit of a member", "auto.commit.interval.ms"),
    "Produce": ("Produce of a partition", "linger.ms"),
}
"""By api, the name of a time between requests, and the configuration that has a part in it. Those of the newer
heartbeats are the group's, on the broker.
"""
HEARTBEATS = frozenset(api for api in RHYTHMS if api.endswith("Heartbeat"))
MOST_PARTITIONS = 64
"""Partitions of a Produce request whose time is measured."""


def rhythms_of(call: Call) -> Iterator[tuple[str, Hashable]]:
    """Yield the rhythms that a request belongs to, each with what repeats: a member, or a partition."""
    name, _ = RHYTHMS.get(call.api, ("", ""))
    if not name:
        return
    body = call.request
    if call.api != "Produce":
        yield name, (_text(body, "groupId"), _text(body, "memberId"))
        return
    for number, (topic, partition) in enumerate(parts(body, "topicData", "partitionData")):
        if number >= MOST_PARTITIONS:
            return
        index = partition.get("index")
        yield name, (_text(topic, "name") or _text(topic, "topicId"), index if isinstance(index, int) else None)


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""


# Behaviour of groups.

JOINS, LEAVES = "joins", "leaves"
REBALANCES = "responses that told of a rebalance"
COMMITS = "commits"
GENERATIONS = "generations"
OF_GROUPS = (JOINS, LEAVES, REBALANCES, COMMITS, GENERATIONS)
"""Events of groups. The generations of classic groups and the epochs of others are told apart by group."""
_REBALANCING = frozenset({"REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH"})


def _take_group(profile: Profile, call: Call) -> None:
    api, body, counts = call.api, call.request, profile.counts
    epoch = body.get("memberEpoch") if api in HEARTBEATS else None
    joins = api == "JoinGroup" or epoch == 0
    leaves = api == "LeaveGroup" or (isinstance(epoch, int) and epoch < 0)
    if joins or leaves or api in HEARTBEATS or api in {"SyncGroup", "OffsetCommit", "TxnOffsetCommit"}:
        counts[JOINS] += joins
        counts[LEAVES] += leaves
        counts[COMMITS] += api in {"OffsetCommit", "TxnOffsetCommit"}
        counts[REBALANCES] += any(error in _REBALANCING for error in call.errors)
        answer = call.response or {}
        number = answer.get("generationId") if api == "JoinGroup" else answer.get("memberEpoch")
        if isinstance(number, int) and number > 0 and len(profile.generations) < MOST_GENERATIONS:
            profile.generations.add((_text(body, "groupId"), number))


# Batches, which only captures show.

BATCHES, RECORDS, BATCH_BYTES = "batches", "records", "batchBytes"
_MAGIC = 2


def _take_batches(profile: Profile, call: Call) -> None:
    """Count the batches of a Produce request by their headers. Records stay compressed."""
    if call.api != "Produce" or not isinstance(call, CapturedCall):
        return
    counts, values = profile.counts, profile.settings
    for batch in batches_of(call.line):
        values.setdefault(f"Produce.{COMPRESSION}", Values()).add(batch.compression)
        if batch.magic == _MAGIC:
            head = batch.head
            counts[BATCHES] += 1
            counts[RECORDS] += max(head.records_count or 0, 0)
            counts[BATCH_BYTES] += batch.size
            has_id = "yes" if head.producer_id >= 0 else "no"
            values.setdefault(f"Produce.{IDEMPOTENCE}", Values()).add(has_id)
