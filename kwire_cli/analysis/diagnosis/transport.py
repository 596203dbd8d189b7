"""Trouble in TCP, below Kafka: segments that are sent again, and receivers that take no more bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.places import Places, host_of, place_of
from kwire_cli.analysis.diagnosis.tallies import Book, Recent
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration, size_text

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from kwire_cli.analysis.call import Evidence
    from kwire_cli.analysis.diagnosis.tracks import Track
    from kwire_cli.source.kafka.traffic import TcpConnection

AGAIN = FindingKind(
    "RETRANSMISSIONS",
    "warning",
    "TCP sends many segments again: packets get lost between client and broker.",
    "A lost segment is sent again when three later segments arrive without it. If there are none, as with small "
    "requests, that takes 200 ms or more, and the wait doubles each time. The request or response waits with it, and "
    "so does everything behind it. The broker's metrics and request log do not contain this time. A capture at the "
    "side that sends again shows answers before they arrive.",
    "Look at the network in between: errors and drops of interfaces (ip -s link), MTU, a full link or queue, a cloud "
    "provider's limit on bandwidth or connections.",
    rank=32,
)
SHUT = FindingKind(
    "ZERO_WINDOW",
    "warning",
    "One side does not read, so the other may not send.",
    "The receiver's buffers are full, so it announces a TCP window of 0. A client that does not read is busy, or "
    "stopped (a long garbage collection, no processor time). A broker that does not read has muted the connection, "
    "for a quota or full queues (queued.max.requests), or is overloaded itself.",
    "If the client does not read, see what it does at that time, and lower fetch.max.bytes or raise "
    "max.poll.interval.ms as needed. If the broker does not read, look at quotas, its processors and RequestQueueSize.",
    ("KIP-219",),
    rank=30,
)
LEAST_SEGMENTS = 10
"""Segments that are sent again before it counts: some are in every long capture."""
LEAST_SHARE = 0.01
"""Bytes that are sent again, of all bytes of the direction: from one in a hundred on throughput and latency suffer."""
DUPLICATED = 0.9
"""From this share on the capture has each packet twice: a network does not lose nine of ten packets and go on."""
LEAST_WAIT = 0.2
"""Seconds from which an answer may have waited for a segment that was sent again: the least timeout of Linux."""
LEAST_SHUT = 0.5
"""Seconds of a window of 0 on one connection: shorter ones come with every large response."""


@dataclass
class _Direction:
    """Segments and bytes that one side of a client and broker sent again."""

    segments: int = 0
    again: int = 0
    size: int = 0
    slowest: float = 0.0
    places: Places = field(default_factory=Places)


@dataclass
class _Shut:
    longest: int = 0
    places: Places = field(default_factory=Places)


class Transport(Rule):
    """Segments that were sent again, and windows of 0, by client, broker and direction."""

    KINDS = (AGAIN, SHUT)

    def __init__(self) -> None:
        self._slowest: Recent[Hashable, tuple[float, Evidence]] = Recent()
        self._directions: Book[tuple[str, str, int], _Direction] = Book(_Direction)
        self._shut: Book[tuple[str, str, int], _Shut] = Book(_Shut)

    def track(self, track: Track) -> None:
        """Take the slowest answer of a connection."""
        latency, place = track.slowest, track.slowest_place
        before = self._slowest.get(track.connection)
        if latency is not None and place is not None and (before is None or latency > before[0]):
            self._slowest.keep(track.connection, (latency, place))

    def connection(self, connection: TcpConnection) -> None:
        """Take a connection that ended; its calls came before."""
        slowest = self._slowest.pop((connection.capture, connection.stream), None)
        ends = host_of(connection.client), connection.broker
        for side in (0, 1):
            size = connection.sizes[side]  # known if the beginning was seen
            if size is not None:
                direction = self._directions[*ends, side]
                direction.size += size
                if connection.repeated[side]:
                    direction.segments += connection.repeated[side]
                    direction.again += connection.again[side]
                    direction.slowest = max(direction.slowest, slowest[0] if slowest else 0.0)
                    direction.places.add(place_of(connection))
                    if slowest and slowest[0] >= LEAST_WAIT:
                        direction.places.add(slowest[1])
            if connection.shut[side] >= LEAST_SHUT * 1e9:
                shut = self._shut[*ends, side]
                shut.longest = max(shut.longest, connection.shut[side])
                shut.places.add(place_of(connection))

    def merge(self, other: Transport) -> None:
        self._slowest.merge(other._slowest)
        for key, its in other._directions.items():
            own = self._directions[key]
            own.segments += its.segments
            own.again += its.again
            own.size += its.size
            own.slowest = max(own.slowest, its.slowest)
            own.places.merge(its.places)
        for key, theirs in other._shut.items():
            shut = self._shut[key]
            shut.longest = max(shut.longest, theirs.longest)
            shut.places.merge(theirs.places)

    def findings(self) -> Iterator[Finding]:
        for (host, broker, side), direction in self._directions.items():
            share = direction.again / direction.size if direction.size else 0.0
            if direction.segments < LEAST_SEGMENTS or not LEAST_SHARE <= share < DUPLICATED:
                continue
            way = f"from {host} to {broker}" if side == 0 else f"from {broker} to {host}"
            text = (
                f"{counted(direction.segments, 'segment')} {way} sent again, {size_text(direction.again)} or "
                f"{100 * share:.1f} % of all bytes"
            )
            if direction.slowest >= LEAST_WAIT:
                text += f"; the slowest answer on these connections took {duration(direction.slowest)}"
            yield Finding(AGAIN, f"client {host}", text, direction.places.earliest, direction.segments)
        for (host, broker, side), shut in self._shut.items():
            reader = f"client {host}" if side == 0 else f"broker {broker}"
            sender = broker if side == 0 else host
            text = (
                f"it took no bytes from {sender} for up to {duration(shut.longest / 1e9)}, "
                f"on {counted(shut.places.count, 'connection')}"
            )
            yield Finding(SHUT, reader, text, shut.places.earliest, shut.longest / 1e9)
