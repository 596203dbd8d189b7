"""The values that the stages of reading a capture pass on: packets, TCP segments, chunks of bytes, stream events.

A capture is read in stages: file formats yield packets, packets yield TCP segments, segments yield the events of
streams. The stages only share these types, so each stage can be tested, replaced by a columnar one, or moved to another
process.

Events of a stream come in the order in which the bytes of each direction were sent. In all events, `connection` is the
number of the stream, from 0 in the order of first packets. `direction` is 0 for bytes of the peer that opened the
connection, or, if that is unknown, of the peer whose packet was seen first. It is 1 for bytes of the other peer. `time`
(nanoseconds, or None) and `packet` identify the packet of the event.

An `Origin` maps packet numbers of a capture point to its files.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kwire_cli.engine.fixed import part
from kwire_cli.structs.network import ACK, SYN, TCP

if TYPE_CHECKING:
    from collections.abc import Sequence


MASK = 0xFFFFFFFF
"""Sequence numbers are modulo 2^32."""


NO_TIME = -(1 << 63)
"""A missing time, or a time out of range, in arrays and other places where times are integers."""


_PORTS = part(TCP, "source_port", "destination_port")


class Packet(NamedTuple):
    """One captured packet.

    Attributes:
        number: Counts packets from 1.
        time: Nanoseconds since 1970, or None.
        link: The link type of the file.
        data: The captured bytes.
        wire_length: The length on the wire. It is larger than `data` if the capture truncated the packet.

    """

    number: int
    time: int | None
    link: int
    data: bytes
    wire_length: int


class Notice(NamedTuple):
    """Something that the reader of a file should know. `position` is a byte of the uncompressed file, `packet` the last
    packet before it.
    """

    text: str
    position: int
    packet: int


class Endpoint(NamedTuple):
    """One endpoint of a connection: 4 or 16 bytes of address, and the port. As a string `127.0.0.1:9092`."""

    address: bytes
    port: int

    def __str__(self) -> str:
        return endpoint_text(self)


class Segment(NamedTuple):
    """One TCP segment.

    Attributes:
        ends: Both addresses, then both ports, as in the headers.
        flags: The flags of the header, with ZERO_WINDOW added if the sender accepts no more bytes.
        missing: The number of payload bytes that the capture truncated.

    """

    packet: int
    time: int | None
    ends: bytes
    sequence: int
    acknowledgment: int
    flags: int
    payload: bytes
    missing: int = 0


def endpoints(ends: bytes) -> tuple[Endpoint, Endpoint]:
    """Return source and destination of a segment's `ends`."""
    addresses = len(ends) - _PORTS.size
    size = (len(ends) - _PORTS.size) // 2
    source, destination = _PORTS.unpack(ends, addresses)
    return Endpoint(ends[:size], source), Endpoint(ends[size:addresses], destination)


def turned(ends: bytes) -> bytes:
    """Return `ends` for segments of the other direction."""
    addresses = len(ends) - _PORTS.size
    size = (len(ends) - _PORTS.size) // 2
    port = _PORTS.size // 2
    return ends[size:addresses] + ends[:size] + ends[addresses + port :] + ends[addresses : addresses + port]


def connection_key(segment: Segment) -> int:
    """Return a signed 64-bit number that identifies a connection, computed from its first packet.

    If that is a SYN or SYN-ACK, the key is a digest of the endpoints and of the client's initial sequence number, so
    that two captures of the connection have the same key. Otherwise it is a digest of the endpoints, the time and the
    sequence number.
    """
    ends = segment.ends
    number = segment.sequence
    time = segment.time
    if segment.flags & SYN:
        time = None
        if segment.flags & ACK:
            ends = turned(ends)
            number = (segment.acknowledgment - 1) & MASK
    text = b"%b %d %d" % (ends, number, -1 if time is None else time)
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big", signed=True)


@lru_cache(maxsize=4096)
def endpoint_text(endpoint: Endpoint) -> str:
    """Return `127.0.0.1:9092` or `[::1]:9092`."""
    from socket import AF_INET, AF_INET6, inet_ntop  # noqa: PLC0415 - slow to import, and only output needs it

    if len(endpoint.address) == 4:
        return f"{inet_ntop(AF_INET, endpoint.address)}:{endpoint.port}"
    return f"[{inet_ntop(AF_INET6, endpoint.address)}]:{endpoint.port}"


OVERHEAD = 256
"""Approximate memory of a chunk in addition to its data, in bytes."""


class Chunk(NamedTuple):
    """`size` bytes at position `start`. `data` is None for bytes that were not captured. `tag` belongs to the
    caller.
    """

    start: int
    size: int
    data: bytes | None
    tag: Any


@dataclass(slots=True, eq=False, repr=False)
class Chunks:
    """Chunks in order, without overlaps: of bytes that arrive twice, the first are kept. `cost` is their approximate
    memory in bytes.
    """

    starts: list[int] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    cost: int = 0

    def __bool__(self) -> bool:
        return bool(self.chunks)

    def insert(self, start: int, size: int, data: bytes | None, tag: Any) -> int:
        """Add the bytes that are not present yet. Return the number of those that are."""
        end = start + size
        position = start
        index = max(bisect_right(self.starts, start) - 1, 0)
        if index < len(self.chunks) and self.starts[index] + self.chunks[index].size <= start:
            index += 1
        duplicate = 0
        while position < end:
            if index < len(self.chunks) and self.starts[index] <= position:
                there = self.chunks[index]
                upto = min(end, there.start + there.size)
                duplicate += upto - position
            else:
                upto = min(end, self.starts[index]) if index < len(self.chunks) else end
                piece = data[position - start : upto - start] if data is not None else None
                self.starts.insert(index, position)
                self.chunks.insert(index, Chunk(position, upto - position, piece, tag))
                self.cost += OVERHEAD + len(piece or b"")
            index += 1
            position = upto
        return duplicate

    def pop(self) -> Chunk:
        """Remove and return the first chunk."""
        self.starts.pop(0)
        chunk = self.chunks.pop(0)
        self.cost -= OVERHEAD + len(chunk.data or b"")
        return chunk


EndReason = Literal["fin", "rst", "reused", "evicted", "end"]


class Start(NamedTuple):
    """A connection's first packet.

    Attributes:
        source: The endpoint that sends direction 0.
        opened: Whether a SYN or SYN-ACK was seen before any other event.
        key: The `connection_key` of the connection.

    """

    connection: int
    source: Endpoint
    destination: Endpoint
    opened: bool
    time: int | None
    packet: int
    key: int = 0


class Data(NamedTuple):
    """The next bytes of a direction. Time and packet are the values of the packet with these bytes, which can precede
    the packet of the bytes before them.
    """

    connection: int
    direction: int
    data: bytes
    time: int | None
    packet: int


class Gap(NamedTuple):
    """`size` bytes of a direction that the capture lacks, according to the sequence numbers around them.

    Time and packet belong to the first packet after the gap, which shows it.
    """

    connection: int
    direction: int
    size: int
    time: int | None
    packet: int


class Foreign(NamedTuple):
    """`size` bytes of a direction that belong to an enclosing protocol, such as TLS, and were removed from the stream.

    `content` names the parts that could be read, and `reason` states why the rest could not. Time and packet are those
    of the last byte.
    """

    connection: int
    direction: int
    size: int
    protocol: str
    content: tuple[str, ...]
    reason: str | None
    time: int | None
    packet: int


class Counts(NamedTuple):
    """The history of one direction of a TCP connection. Most directions share one while they are open.

    Attributes:
        repeated: Segments with payload that was present before.
        again: Payload bytes that were present before.
        lost: Bytes that are not in the capture.
        cut: Bytes that the capture truncated from packets.
        shut: Nanoseconds for which this side's receive window was zero.
        shut_since: The time since which the window has been zero, or None.
        heard: Whether the side sent packets other than a RST.
        size: Payload bytes modulo 2^32; None if the start of the direction was not seen.

    """

    repeated: int = 0
    again: int = 0
    lost: int = 0
    cut: int = 0
    shut: int = 0
    shut_since: int | None = None
    heard: bool = False
    size: int | None = None

    def opens(self, time: int | None) -> Counts:
        """Return the history when the receive window is no longer zero, or at the end of the connection."""
        if self.shut_since is None:
            return self
        closed = 0 if time is None else max(time - self.shut_since, 0)
        return self._replace(shut=self.shut + closed, shut_since=None)


class Life(NamedTuple):
    """The history of a TCP connection, as its packets show it.

    Attributes:
        syns: The number of SYNs of the opener, which repeats its SYN if there is no answer.
        first: The time of the first packet in nanoseconds.
        packet: The number of the first packet.
        closed_by: The direction that sent the first FIN or RST.
        closed: The time of that packet.
        reset: Whether that packet was a RST.
        sides: The history of both directions.

    """

    syns: int
    first: int | None
    packet: int
    closed_by: int | None
    closed: int | None
    reset: bool
    sides: tuple[Counts, Counts]

    def turned(self) -> Life:
        """Return the history with both directions swapped."""
        return self._replace(closed_by=None if self.closed_by is None else 1 - self.closed_by, sides=self.sides[::-1])


class End(NamedTuple):
    """A connection's last event.

    Reasons: `fin` and `rst`; `reused`, a new connection has the same endpoints; `evicted`, too many connections were
    open; `end`, the capture ended.
    """

    connection: int
    reason: EndReason
    time: int | None
    packet: int
    life: Life | None = None


Event = Start | Data | Gap | Foreign | End


class Place(NamedTuple):
    """A file, None if it is unknown, and the number of a packet in that file."""

    file: str | None
    packet: int | None


@dataclass(eq=False, repr=False)
class Origin:
    """The capture point of lines, and the files of their packets. Packets are numbered over all files of a point.

    Attributes:
        files: The files, which follow each other in time.
        befores: The number of packets before each file.
        packets: The number of packets of all files, if that is known.
        point: The name of the capture point.
        capture: The same name if there are several points, else None.
        several: Whether the lines come from more than one file.
        earlier: Places of packets in files that were read earlier, by number. They precede the numbers of other files.

    """

    files: Sequence[str | None] = (None,)
    befores: Sequence[int] = (0,)
    packets: int = 0
    point: str | None = None
    capture: str | None = None
    several: bool = False
    earlier: dict[int, Place] = field(default_factory=dict)

    def place(self, packet: int) -> Place:
        """Return the file of a packet and its number there."""
        if place := self.earlier.get(packet):
            return place
        at = max(bisect_left(self.befores, packet) - 1, 0)
        return Place(self.files[at], packet - int(self.befores[at]))

    def labels(self, file: str | None) -> dict[str, str | None]:
        """Return the keys that describe the origin of a line in this file. Empty if there is only one file."""
        out: dict[str, str | None] = {} if self.capture is None else {"capture": self.capture}
        return out | {"file": file} if self.several or out else out


ALONE = Origin()
"""The origin of lines whose path does not matter."""
