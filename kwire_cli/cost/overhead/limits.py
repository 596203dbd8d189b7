"""The limits of brokers, producers and consumers: what each of them really counts, its default, and the largest thing of that kind that was seen.

Sources: org.apache.kafka.storage.internals.log.UnifiedLog (message.max.bytes, segment.bytes), org.apache.kafka.clients.producer.KafkaProducer and
internals.RecordAccumulator (max.request.size), org.apache.kafka.common.network.NetworkReceive (socket.request.max.bytes), kafka.server.ReplicaManager
and org.apache.kafka.clients.consumer.ConsumerConfig (fetch limits). Defaults are those of Kafka 4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit. `hard` says that what is over it is refused; a soft one lets the first batch through whatever its size.

    `names` are its configurations: the broker's and the topic's, or the client's. `short` is what it counts, in a few words.
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
        "a record batch as it is stored: after compression, with its header of 61 bytes; of formats v0 and v1 a message, with those that it wraps",
    ),
    Limit(
        "record",
        "a record, not compressed",
        ("max.request.size",),
        1048576,
        "a record before compression, as the producer takes it: key, value, headers and their lengths, 21 bytes for other fields, 61 for a batch",
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
        f"the records of all partitions in a Fetch response to a consumer (the broker has a fetch.max.bytes too, 57671680); {_FIRST}",
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


@dataclass(frozen=True, slots=True)
class Seen:
    """The largest thing that a limit counts: bytes, where it is, and the limit that its own request asked for, if it did.

    `at` is its packet, counted over all inputs: of things of the same size the first one counts.
    """

    size: int
    where: dict[str, Any]
    asked: int | None = None
    at: int = 0


@dataclass(slots=True)
class Largest:
    """The largest thing of each kind so far; `place` is where what comes next is from, beyond what it says itself, and `before` counts the inputs."""

    sizes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(BY_KEY, 0))
    seen: dict[str, Seen] = field(default_factory=dict)
    place: dict[str, Any] = field(default_factory=dict)
    before: int = 0

    def turn_to(self, place: dict[str, Any]) -> None:
        """What comes next is from another input, which is behind all of this one."""
        self.place = place
        self.before += 1 << PLACES

    def see(self, key: str, size: int, at: int, where: Callable[[], dict[str, Any]], asked: Callable[[], int | None] | None = None) -> None:
        """Keep this one, if it is larger, or as large and before the other; `at` is its packet in its input."""
        at += self.before
        if size > self.sizes[key] or (size and size == self.sizes[key] and at < self.seen[key].at):
            self.sizes[key] = size
            said = asked() if asked else None
            self.seen[key] = Seen(size, self.place | where(), said if said and said > 0 else None, at)

    def merge(self, other: Largest) -> None:
        """Keep what is larger of another; of the same size its own, unless the other's is before it."""
        for key, found in other.seen.items():
            mine = self.seen.get(key)
            if mine is None or (found.size, -found.at) > (mine.size, -mine.at):
                self.sizes[key], self.seen[key] = found.size, found


@dataclass(frozen=True, slots=True)
class Distance:
    """How far the largest thing is from its limit. `source` says where that is from: given, asked (by the client), or default."""

    limit: Limit
    seen: Seen
    bytes: int
    source: str

    @property
    def share(self) -> float:
        """Of the limit."""
        return self.seen.size / self.bytes if self.bytes else float("inf")

    @property
    def over(self) -> bool:
        """Whether it is larger than the limit allows."""
        return self.seen.size > self.bytes

    def to_json(self) -> dict[str, Any]:
        """Everything."""
        out: dict[str, Any] = {"limit": list(self.limit.names), "bytes": self.bytes, "source": self.source, "counts": self.limit.counts}
        out |= {"largest": self.seen.size, "share": round(self.share, 6) if self.bytes else None, "over": self.over}
        return out | {"hard": self.limit.hard, "where": self.seen.where}


def distances(largest: Largest, given: Mapping[str, int]) -> list[Distance]:
    """How far everything that was seen is from its limit; `given` are limits by the names of their configurations."""
    out = []
    for limit in LIMITS:
        seen = largest.seen.get(limit.key)
        if seen is None:
            continue
        said = next((given[name] for name in limit.names if name in given), None)
        size, source = (said, "given") if said is not None else (seen.asked, "asked") if seen.asked is not None else (limit.default, "default")
        out.append(Distance(limit, seen, size, source))
    return out
