"""Measures of overhead: sizes of batches, dimensions, and limits of what is counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.subjects import client_of, is_frame, kind_of, topics_of
from kwire_cli.message.decoded import Decoded
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.packets.model import ALONE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire_cli.analysis.costs.subjects import Message


# Statistics of the batches of an account: how large they are, what a record costs in them, what compression
# does, what keys and headers take.


@dataclass(slots=True)
class Batches:
    """Batches of one size or codec. `overhead` is all but keys, values and headers of records, with compressed ones
    counted as they decompress.

    `packed` and `unpacked` are the bytes of records as they are on the wire and decompressed, of those that could be
    read.
    """

    batches: int = 0
    records: int = 0
    bytes: int = 0
    overhead: int = 0
    packed: int = 0
    unpacked: int = 0

    def merge(self, other: Batches) -> None:
        """Count other ones too."""
        self.batches += other.batches
        self.records += other.records
        self.bytes += other.bytes
        self.overhead += other.overhead
        self.packed += other.packed
        self.unpacked += other.unpacked


@dataclass(slots=True)
class BatchSizes:
    """Batches by records and by bytes (buckets of powers of two), and by codec; `unread` could not be decompressed,
    `gaps` are no batches.

    `largest` are the largest key and value, and the most bytes that the headers of one record take, their lengths and
    count included.
    """

    by_records: dict[int, Batches] = field(default_factory=dict)
    by_bytes: dict[int, Batches] = field(default_factory=dict)
    by_codec: dict[str, Batches] = field(default_factory=dict)
    largest: tuple[int, int, int] = (0, 0, 0)
    unread: int = 0
    gaps: int = 0

    def add(self, codec: str, records: int, size: int, overhead: int, packed: int, unpacked: int) -> None:
        """Count one batch; sizes in bytes."""
        one = Batches(1, records, size, overhead, packed, unpacked)
        places: tuple[tuple[dict[Any, Batches], Any], ...] = (
            (self.by_records, records.bit_length()),
            (self.by_bytes, size.bit_length()),
            (self.by_codec, codec),
        )
        for batches, key in places:
            bucket = batches.get(key)
            if bucket is None:
                bucket = batches[key] = Batches()
            bucket.merge(one)

    @property
    def total(self) -> Batches:
        """All batches."""
        out = Batches()
        for bucket in self.by_records.values():
            out.merge(bucket)
        return out

    @property
    def codecs(self) -> list[tuple[str, Batches]]:
        """The codecs, the one with the most bytes first."""
        return sorted(self.by_codec.items(), key=lambda item: (-item[1].bytes, item[0]))

    def merge(self, other: BatchSizes) -> None:
        """Count what was counted elsewhere too."""
        pairs: tuple[tuple[dict[Any, Batches], dict[Any, Batches]], ...] = (
            (self.by_records, other.by_records),
            (self.by_bytes, other.by_bytes),
            (self.by_codec, other.by_codec),
        )
        for mine, theirs in pairs:
            for key, bucket in theirs.items():
                mine.setdefault(key, Batches()).merge(bucket)
        (a, b, c), (x, y, z) = self.largest, other.largest
        self.largest = max(a, x), max(b, y), max(c, z)
        self.unread += other.unread
        self.gaps += other.gaps


def bucket_text(bucket: int) -> str:
    """The numbers in a bucket: 0, 1, 2-3, 4-7, ..."""
    if bucket <= 1:
        return str(bucket)
    return f"{1 << (bucket - 1)}-{(1 << bucket) - 1}"


# What bytes can be grouped by: whom a message belongs to, and within messages fields and kinds.
#
# A message is a line of a capture, a frame, or a body alone (`subjects.Message`).


def _api(subject: Message) -> str | None:
    if isinstance(subject, Decoded) or not is_frame(subject):
        return None
    return subject.api or (None if subject.api_key is None else f"api key {subject.api_key}")


def _message(subject: Message) -> str | None:
    api = _api(subject)
    return api and f"{api}{kind_of(subject).title()}"


def _version(subject: Message) -> str | None:
    api = _api(subject)
    return None if api is None or isinstance(subject, Decoded) else f"{api} {subject.api_version}"


def _broker(subject: Message) -> str | None:
    if not isinstance(subject, Captured) or not subject.is_frame:
        return None
    return subject.dst if subject.kind == "request" else subject.src


def _topic(subject: Message) -> str | None:
    topics = topics_of(subject)
    return (topics[0] if len(topics) == 1 else SHARED) if topics else None


def _stream(subject: Message) -> Any:
    """Return the number of a connection, with its capture point if there are several."""
    if not isinstance(subject, Captured):
        return None
    capture = subject.origin.capture
    return subject.stream if capture is None else f"{capture} {subject.stream}"


SHARED = "(shared)"
"""In place of a topic: the bytes of a message about several topics that belong to none of them."""
OF_MESSAGE: dict[str, Callable[[Message], Any]] = {
    "api": _api,
    "message": _message,
    "version": _version,
    "client": lambda subject: client_of(subject) if is_frame(subject) else None,
    "topic": _topic,
    "partition": lambda _: None,
    "broker": _broker,
    "capture": lambda subject: subject.origin.point if isinstance(subject, Captured) else ALONE.point,
    "stream": _stream,
    "file": lambda _: None,
}
"""How to find each for a message; topics and partitions of messages about several, and the file, are known to who
counts them."""
WITHIN = ("field", "kind")
"""The parts of every message."""
DIMENSIONS = (*OF_MESSAGE, *WITHIN)


OF_LAYOUT = frozenset({"api", "message", "version"})
"""Dimensions that are the same for all frames of a layout."""


def key_of(names: Sequence[str]) -> Callable[[Message], tuple[Any, ...]]:
    """Return a function that gives a message's values of these dimensions, which are in OF_MESSAGE."""
    if not names:
        return lambda _: ()
    getters = [OF_MESSAGE[name] for name in names]
    if len(getters) == 1:
        get = getters[0]
        return lambda subject: (get(subject),)
    return lambda subject: tuple([get(subject) for get in getters])


# The limits of brokers, producers and consumers: what each of them really counts, its default, and the
# largest thing of that kind that was seen.
#
# Sources are org.apache.kafka.storage.internals.log.UnifiedLog (message.max.bytes, segment.bytes),
# org.apache.kafka.clients.producer.KafkaProducer and internals.RecordAccumulator (max.request.size),  # noqa: ERA001
# org.apache.kafka.common.network.NetworkReceive (socket.request.max.bytes), kafka.server.ReplicaManager and
# org.apache.kafka.clients.consumer.ConsumerConfig (fetch limits). Defaults are those of Kafka 4.


class Limit(NamedTuple):
    """A limit. `hard` says that what is over it is refused; a soft one lets the first batch through whatever its size.

    `names` are its configurations: the broker's and the topic's, or the client's. `short` is what it counts, in a few
    words.
    """

    key: str
    short: str
    names: tuple[str, ...]
    default: int
    counts: str
    hard: bool = True


_FIRST = "the first batch of a response may be larger"
LIMITS = (
    Limit(
        "batch",
        "a batch as stored",
        ("message.max.bytes", "max.message.bytes"),
        1048588,
        "a record batch as it is stored: after compression, with its header of 61 bytes; of formats v0 and "
        "v1 a message, with those that it wraps",
    ),
    Limit(
        "record",
        "a record, not compressed",
        ("max.request.size",),
        1048576,
        "a record before compression, as the producer takes it: key, value, headers and their lengths, 21 "
        "bytes for other fields, 61 for a batch",
    ),
    Limit(
        "request-batches",
        "batches of a Produce request",
        ("max.request.size",),
        1048576,
        "all batches of a Produce request as they are sent; one batch alone may be larger",
        hard=False,
    ),
    Limit(
        "append",
        "records of a partition",
        ("log.segment.bytes", "segment.bytes"),
        1073741824,
        "what a Produce request appends to one partition; and a segment",
    ),
    Limit("request", "a request", ("socket.request.max.bytes",), 104857600, "a request without its size prefix"),
    Limit(
        "fetched-partition",
        "fetched of a partition",
        ("max.partition.fetch.bytes",),
        1048576,
        f"the records of one partition in a Fetch response to a consumer; {_FIRST}",
        hard=False,
    ),
    Limit(
        "fetched",
        "fetched at once",
        ("fetch.max.bytes",),
        52428800,
        f"the records of all partitions in a Fetch response to a consumer (the broker has a "
        f"fetch.max.bytes too, 57671680); {_FIRST}",
        hard=False,
    ),
    Limit(
        "replicated-partition",
        "replicated of a partition",
        ("replica.fetch.max.bytes",),
        1048576,
        f"the records of one partition in a Fetch response to a follower; {_FIRST}",
        hard=False,
    ),
    Limit(
        "replicated",
        "replicated at once",
        ("replica.fetch.response.max.bytes",),
        10485760,
        f"the records of all partitions in a Fetch response to a follower; {_FIRST}",
        hard=False,
    ),
)
"""docs/overhead.md is made from this table."""
BY_KEY = {limit.key: limit for limit in LIMITS}
PLACES = 64
"""Bits of a packet's number."""
NAMES = tuple(dict.fromkeys(name for limit in LIMITS for name in limit.names))


class Seen(NamedTuple):
    """The largest thing that a limit counts: bytes, where it is, and the limit that its own request asked for, if it
    did.

    `at` is its packet, counted over all inputs: of things of the same size the first one counts.
    """

    size: int
    where: dict[str, Any]
    asked: int | None = None
    at: int = 0


@dataclass(slots=True)
class Largest:
    """The largest thing of each kind so far; `place` is where what comes next is from, beyond what it says itself, and
    `before` counts the inputs.
    """

    sizes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(BY_KEY, 0))
    seen: dict[str, Seen] = field(default_factory=dict)
    place: dict[str, Any] = field(default_factory=dict)
    before: int = 0

    def turn_to(self, place: dict[str, Any]) -> None:
        """Set the input that the following things come from. Its places come after all places of this input."""
        self.place = place
        self.before += 1 << PLACES

    def see(
        self,
        key: str,
        size: int,
        at: int,
        where: Callable[[], dict[str, Any]],
        asked: Callable[[], int | None] | None = None,
    ) -> None:
        """Keep this one, if it is larger, or as large and before the other; `at` is its packet in its input."""
        at += self.before
        if size > self.sizes[key] or (size and size == self.sizes[key] and at < self.seen[key].at):
            self.sizes[key] = size
            said = asked() if asked else None
            self.seen[key] = Seen(size, self.place | where(), said if said and said > 0 else None, at)

    def merge(self, other: Largest) -> None:
        """Keep what is larger of another; of the same size its own, unless the other's is before it."""
        for key, theirs in other.seen.items():
            mine = self.seen.get(key)
            if mine is None or (theirs.size, -theirs.at) > (mine.size, -mine.at):
                self.sizes[key], self.seen[key] = theirs.size, theirs


class Distance(NamedTuple):
    """Distance of the largest thing seen from its limit.

    `source` says where the limit is from: given, asked (by the client), or default.
    """

    limit: Limit
    seen: Seen
    bytes: int
    source: str

    @property
    def share(self) -> float:
        """The share of the limit that is used, infinite for a limit of 0."""
        return self.seen.size / self.bytes if self.bytes else float("inf")

    @property
    def over(self) -> bool:
        """Tell whether the largest thing is larger than the limit allows."""
        return self.seen.size > self.bytes


def distances(largest: Largest, given: Mapping[str, int]) -> list[Distance]:
    """Return the distance of everything that was seen from its limit.

    `given` maps names of configurations to limits.
    """
    out = []
    for limit in LIMITS:
        observed = largest.seen.get(limit.key)
        if observed is None:
            continue
        said = next((given[name] for name in limit.names if name in given), None)
        size, source = (
            (said, "given")
            if said is not None
            else (observed.asked, "asked")
            if observed.asked is not None
            else (limit.default, "default")
        )
        out.append(Distance(limit, observed, size, source))
    return out
