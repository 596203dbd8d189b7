"""The limits of brokers, producers and consumers, and the largest size that each limit applies to.

Sources are org.apache.kafka.storage.internals.log.UnifiedLog (message.max.bytes, segment.bytes),
org.apache.kafka.clients.producer.KafkaProducer and internals.RecordAccumulator (max.request.size),
org.apache.kafka.common.network.NetworkReceive (socket.request.max.bytes), kafka.server.ReplicaManager and
org.apache.kafka.clients.consumer.ConsumerConfig (fetch limits). Defaults are from Kafka 4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Limit(NamedTuple):
    """A limit. Sizes above a `hard` limit are refused; a soft limit accepts a first batch of any size.

    `names` are its configurations: of the broker and the topic, or of the client. `short` describes in a few words
    which size is limited.
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
        "all batches of a Produce request as they are sent; a single batch may be larger",
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
"""docs/costs.md is made from this table."""
BY_KEY = {limit.key: limit for limit in LIMITS}
NAMES = tuple(dict.fromkeys(chain.from_iterable(limit.names for limit in LIMITS)))
PLACES = ("file", "packet", "frame", "topic", "partition", "position")
"""The fields of a place."""


class Seen(NamedTuple):
    """The largest size for a limit: the size, its place, and the limit in the request, if any.

    `at` is the number of the input and of the packet: of equal sizes, the first one counts.
    """

    size: int
    where: dict[str, Any]
    asked: int | None
    at: tuple[int, int]


@dataclass(slots=True)
class Largest:
    """The largest size for each limit so far.

    `place` is the place of the input, and `input` the number of the input.
    """

    sizes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(BY_KEY, 0))
    seen: dict[str, Seen] = field(default_factory=dict)
    place: dict[str, Any] = field(default_factory=dict)
    input: int = 0

    def turn_to(self, place: dict[str, Any]) -> None:
        """Set the input of the following sizes. Its places come after all places of the previous input."""
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
        """Record a size if it is larger, or equal and earlier. `packet` is its position in the input."""
        at = self.input, packet
        if size > self.sizes[key] or (size and size == self.sizes[key] and at < self.seen[key].at):
            self.sizes[key] = size
            limit = asked() if asked else None
            self.seen[key] = Seen(size, self.place | where(), limit if limit and limit > 0 else None, at)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the table `largest`."""
        for key, seen in self.seen.items():
            yield key, seen.size, seen.asked, *(seen.where.get(name) for name in PLACES)
