"""The limits of brokers, producers and consumers, and the largest thing that each of them counts.

Sources are org.apache.kafka.storage.internals.log.UnifiedLog (message.max.bytes, segment.bytes),
org.apache.kafka.clients.producer.KafkaProducer and internals.RecordAccumulator (max.request.size),
org.apache.kafka.common.network.NetworkReceive (socket.request.max.bytes), kafka.server.ReplicaManager and
org.apache.kafka.clients.consumer.ConsumerConfig (fetch limits). Defaults are those of Kafka 4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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
NAMES = tuple(dict.fromkeys(name for limit in LIMITS for name in limit.names))
PLACES = ("file", "packet", "frame", "topic", "partition", "position")
"""The parts of a place."""


class Seen(NamedTuple):
    """The largest thing that a limit counts: bytes, where it is, and the limit that the request asked for, if it did.

    `at` is its input and its packet there: of things of the same size the first one counts.
    """

    size: int
    where: dict[str, Any]
    asked: int | None
    at: tuple[int, int]


@dataclass(slots=True)
class Largest:
    """The largest thing of each kind so far; `place` is where what comes next is from, beyond what it says itself, and
    `input` counts the inputs.
    """

    sizes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(BY_KEY, 0))
    seen: dict[str, Seen] = field(default_factory=dict)
    place: dict[str, Any] = field(default_factory=dict)
    input: int = 0

    def turn_to(self, place: dict[str, Any]) -> None:
        """Set the input that the following things come from. Its places come after all places of this input."""
        self.place = place
        self.input += 1

    def see(
        self,
        key: str,
        size: int,
        packet: int,
        where: Callable[[], dict[str, Any]],
        asked: Callable[[], int | None] | None = None,
    ) -> None:
        """Keep this one, if it is larger, or as large and before the other; `packet` is where in its input."""
        at = self.input, packet
        if size > self.sizes[key] or (size and size == self.sizes[key] and at < self.seen[key].at):
            self.sizes[key] = size
            said = asked() if asked else None
            self.seen[key] = Seen(size, self.place | where(), said if said and said > 0 else None, at)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the table `largest`."""
        for key, seen in self.seen.items():
            yield key, seen.size, seen.asked, *(seen.where.get(name) for name in PLACES)
