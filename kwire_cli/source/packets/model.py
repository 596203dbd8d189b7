"""Packets, their origin, chunks of bytes, and events of TCP streams."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kwire_cli.engine.fixed import part
from kwire_cli.structs.network import ACK, SYN, TCP

if TYPE_CHECKING:
    from collections.abc import Sequence


# What passes between the steps: packets, segments, notices, ends of a connection.

NO_TIME = -(1 << 63)
"""In place of the time of a packet that has none, or one that is out of range, where times are numbers."""


_PORTS = part(TCP, "source_port", "destination_port")


class Packet(NamedTuple):
    """One captured packet: its number from 1, nanoseconds since 1970 or None, the file's link type, what was captured,
    its length on the wire.
    """

    number: int
    time: int | None
    link: int
    data: bytes
    wire_length: int


class Notice(NamedTuple):
    """Something about a file that its reader should know: what, and where: a byte of the (unpacked) file, the last
    packet before it.
    """

    text: str
    position: int
    packet: int


class Endpoint(NamedTuple):
    """One end of a connection: 4 or 16 bytes of address, and the port. As text `127.0.0.1:9092` or `[::1]:9092`."""

    address: bytes
    port: int

    def __str__(self) -> str:
        return endpoint_text(self)


class Segment(NamedTuple):
    """One TCP segment.

    `ends` is both addresses, then both ports, as they stand in the headers; `missing` counts the bytes of payload that
    the capture cut off. `flags` has ZERO_WINDOW beside the flags of the header if the sender takes no more bytes.
    """

    packet: int
    time: int | None
    ends: bytes
    sequence: int
    acknowledgment: int
    flags: int
    payload: bytes
    missing: int = 0

    @property
    def source(self) -> Endpoint:
        """The endpoint that sent the segment."""
        return endpoints(self.ends)[0]

    @property
    def destination(self) -> Endpoint:
        """The endpoint that the segment was sent to."""
        return endpoints(self.ends)[1]


def endpoints(ends: bytes) -> tuple[Endpoint, Endpoint]:
    """Source and destination in a segment's `ends`."""
    addresses, size = len(ends) - _PORTS.size, (len(ends) - _PORTS.size) // 2
    source, destination = _PORTS.unpack(ends, addresses)
    return Endpoint(ends[:size], source), Endpoint(ends[size:addresses], destination)


def turned(ends: bytes) -> bytes:
    """The `ends` of segments in the other direction."""
    addresses, size, port = len(ends) - _PORTS.size, (len(ends) - _PORTS.size) // 2, _PORTS.size // 2
    return ends[size:addresses] + ends[:size] + ends[addresses + port :] + ends[addresses : addresses + port]


def connection_key(segment: Segment) -> int:
    """Return a signed number of 64 bits that tells a connection from others, by its first packet.

    If that is a SYN or its answer, the key is a digest of the ends and of the client's initial sequence number, so that
    two captures of the connection give the same key. Else it is a digest of the ends, the time and the sequence number.
    """
    ends, number, time = segment.ends, segment.sequence, segment.time
    if segment.flags & SYN:
        time = None
        if segment.flags & ACK:
            ends, number = turned(ends), (segment.acknowledgment - 1) & _SEQUENCE
    text = b"%b %d %d" % (ends, number, -1 if time is None else time)
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big", signed=True)


_SEQUENCE = 0xFFFFFFFF


@lru_cache(maxsize=4096)
def endpoint_text(endpoint: Endpoint) -> str:
    """`127.0.0.1:9092`, `[::1]:9092`."""
    from socket import AF_INET, AF_INET6, inet_ntop  # noqa: PLC0415 - takes long to import, and only text needs it

    if len(endpoint.address) == 4:
        return f"{inet_ntop(AF_INET, endpoint.address)}:{endpoint.port}"
    return f"[{inet_ntop(AF_INET6, endpoint.address)}]:{endpoint.port}"


# Bytes that arrive in any order, put in order: of an IP datagram, or of one direction of a TCP connection.

OVERHEAD = 256
"""Bytes that a chunk costs beside its data, roughly."""


class Chunk(NamedTuple):
    """`size` bytes at position `start`; `data` is None for bytes that are known to exist but were not captured. `tag`
    is the caller's.
    """

    start: int
    size: int
    data: bytes | None
    tag: Any


class Inserted(NamedTuple):
    """The result of an insertion: how many bytes were new, and how many were there before.

    `differs` tells whether any byte differs from the one that was there before.
    """

    new: int
    duplicate: int
    differs: bool


class Chunks:
    """Chunks in order, none overlapping another: the bytes that came first stay. `cost` is about what they take of
    memory.
    """

    __slots__ = ("chunks", "cost", "starts")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.chunks: list[Chunk] = []
        self.cost = 0

    def __bool__(self) -> bool:
        return bool(self.chunks)

    def insert(self, start: int, size: int, data: bytes | None, tag: Any = None) -> Inserted:
        """Keep what is new of these bytes."""
        end, position = start + size, start
        index = max(bisect_right(self.starts, start) - 1, 0)
        if index < len(self.chunks) and self.starts[index] + self.chunks[index].size <= start:
            index += 1
        duplicate, differs = 0, False
        while position < end:
            if index < len(self.chunks) and self.starts[index] <= position:
                there = self.chunks[index]
                upto = min(end, there.start + there.size)
                if data is not None and there.data is not None:
                    differs |= (
                        data[position - start : upto - start] != there.data[position - there.start : upto - there.start]
                    )
                duplicate += upto - position
            else:
                upto = min(end, self.starts[index]) if index < len(self.chunks) else end
                piece = data[position - start : upto - start] if data is not None else None
                self.starts.insert(index, position)
                self.chunks.insert(index, Chunk(position, upto - position, piece, tag))
                self.cost += OVERHEAD + len(piece or b"")
            index += 1
            position = upto
        return Inserted(size - duplicate, duplicate, differs)

    def pop(self) -> Chunk:
        """Take the first chunk out."""
        self.starts.pop(0)
        chunk = self.chunks.pop(0)
        self.cost -= OVERHEAD + len(chunk.data or b"")
        return chunk


# What the TCP streams of a capture give: events, in the order in which each direction's bytes were sent.
#
# `connection` is the stream's number, from 0 by first packet. `direction` is 0 for bytes from the side that
# opened the connection, as far as that is known, else from the side whose packet was seen first, and 1 for
# bytes to it. `time` (nanoseconds, or None) and `packet` say which packet is meant.

GapKind = Literal["lost", "cut", "limit", "end"]


EndReason = Literal["fin", "rst", "reused", "evicted", "end"]


class Start(NamedTuple):
    """A connection's first packet. `source` sends direction 0. `opened` says that a SYN or its answer was seen before
    any other event. `key` is `connection_key` of the connection.
    """

    connection: int
    source: Endpoint
    destination: Endpoint
    opened: bool
    time: int | None
    packet: int
    key: int = 0


class Data(NamedTuple):
    """The next bytes of a direction; time and packet are those of the packet that they arrived in, be it before that of
    the bytes ahead of them.
    """

    connection: int
    direction: int
    data: bytes
    time: int | None
    packet: int


class Gap(NamedTuple):
    """`size` bytes of a direction that the capture does not have, by the sequence numbers around them.

    `lost`: the other side acknowledged them, so they were sent, but not captured. `cut`: the capture kept only the
    first `have` bytes of the `have + size` that this packet carried. `limit`: more waited for them than may. `end`: the
    connection or the capture ended without them. Time and packet are of the packet that shows it: the first one beyond
    the gap.
    """

    connection: int
    direction: int
    size: int
    kind: GapKind
    have: int
    time: int | None
    packet: int


class Conflict(NamedTuple):
    """A packet repeats bytes that wait, with another content; the first stand."""

    connection: int
    direction: int
    time: int | None
    packet: int


class Foreign(NamedTuple):
    """`size` bytes of a direction that were taken out of it, since they are of a protocol around what is said, as TLS
    is.

    `content` names what they are, as far as that could be read; `reason` says why the rest of them could not. Time and
    packet are of the last byte.
    """

    connection: int
    direction: int
    size: int
    protocol: str
    content: tuple[str, ...]
    reason: str | None
    time: int | None
    packet: int


class Fin(NamedTuple):
    """A direction's bytes are complete: its sender closed it."""

    connection: int
    direction: int
    time: int | None
    packet: int


class Life(NamedTuple):
    """The course of a TCP connection, as its packets show.

    `syns` counts the SYNs of the side that opened the connection, which sends another one if the first is not
    answered. `heard` says of each direction whether it sent anything but a RST. `sizes` are the bytes of payload in
    each direction modulo 2^32, None if its beginning was not seen; `repeated` are the segments with payload that were
    sent again, and `again` the bytes in them. `first` is the time of the first packet in nanoseconds, and `packet` its
    number. `closed_by` is the direction that sent the first FIN or RST, at the time `closed`; `reset` says that it was
    a RST. `shut` are the nanoseconds for which the sender of a direction took no bytes from the other side, `lost` the
    bytes that were sent but are not in the capture, and `cut` the bytes that the capture cut off its packets.
    """

    syns: int
    heard: tuple[bool, bool]
    sizes: tuple[int | None, int | None]
    repeated: tuple[int, int]
    first: int | None
    packet: int
    closed_by: int | None = None
    closed: int | None = None
    reset: bool = False
    again: tuple[int, int] = (0, 0)
    shut: tuple[int, int] = (0, 0)
    lost: tuple[int, int] = (0, 0)
    cut: tuple[int, int] = (0, 0)


class End(NamedTuple):
    """A connection's last event. `reused`: a new one began between the same ends; `evicted`: too many were open; `end`:
    of the capture.
    """

    connection: int
    reason: EndReason
    time: int | None
    packet: int
    life: Life | None = None


Event = Start | Data | Gap | Conflict | Foreign | Fin | End


# The origin of a capture's packets: its capture point, and in which file each packet is.

KEPT = 1 << 16
"""Packets of merged files whose places are remembered although nothing waits for them."""


class Place(NamedTuple):
    """A file, None if it is not known, and the number of a packet in it."""

    file: str | None
    packet: int | None


class Origin:
    """The capture point of lines. `point` is its name, and `capture` is the same if there are others.

    `several` says that lines are in more than one file; `index` counts points from 0; `file` is
    the only one. Packets are numbered over all files of a point.
    """

    moving = False
    """True if the place of a packet has to be asked for as long as the packet is new."""

    def __init__(
        self,
        point: str | None = None,
        *,
        capture: str | None = None,
        several: bool = False,
        index: int = 0,
        file: str | None = None,
    ) -> None:
        self.point, self.capture, self.several, self.index, self.file = point, capture, several, index, file
        self.earlier: dict[int, Place] = {}
        """The places of packets of files that were read before, by number: these are below those of the other files."""

    def place(self, packet: int) -> Place:
        """Return the file of a packet and its number there."""
        return Place(self.file, packet)

    def number(self, packet: int) -> int:
        """Return the number of a packet, counted file by file."""
        return packet

    def forget(self, before: int) -> None:
        """Forget what only packets long before this number need."""

    def labels(self, file: str | None) -> dict[str, str | None]:
        """Return what a line in this file says of its origin: nothing if there is one file only."""
        out: dict[str, str | None] = {} if self.capture is None else {"capture": self.capture}
        return out | {"file": file} if self.several or out else out


ALONE = Origin()
"""The origin of lines whose packets are in one file that nobody asks for."""


class FileRow(NamedTuple):
    """Files that follow each other: `befores` are how many packets are before each."""

    files: Sequence[str]
    befores: Sequence[int]
    packets: int = 0

    def place(self, packet: int) -> Place:
        """Return the file of a packet and its number there."""
        at = max(bisect_left(self.befores, packet) - 1, 0)
        return Place(self.files[at], packet - int(self.befores[at]))


class InRow(Origin):
    """The origin of packets in files that follow each other."""

    def __init__(self, row: FileRow, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.row = row

    def place(self, packet: int) -> Place:
        """As `Origin`."""
        return self.earlier.get(packet) or self.row.place(packet)


class Merged(Origin):
    """The origin of packets in files that overlap, merged by time. What was merged is told by `add`, and forgotten
    later. Packets are counted on from `first`.
    """

    moving = True

    def __init__(self, rows: Sequence[FileRow], *args: Any, first: int = 0, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rows = rows
        self._first = first
        self._bases = [0, *accumulate(row.packets for row in rows)]
        self._starts: list[int] = []
        self._which: list[tuple[int, Any]] = []

    @property
    def count(self) -> int:
        """Return the number of the last packet that was merged."""
        return self._starts[-1] - 1 + len(self._which[-1][1]) if self._starts else self._first

    @property
    def told(self) -> tuple[list[int], list[tuple[int, Any]]]:
        """Return what it was told and has not forgotten, for another one to `go_on`."""
        return self._starts, self._which

    def go_on(self, starts: list[int], which: list[tuple[int, Any]]) -> None:
        """Know what another one was told."""
        self._starts, self._which = starts, which

    def add(self, start: int, row: int, packets: Any) -> None:
        """From the number `start` on packets are these of a row: a range, or an array of numbers."""
        self._starts.append(start)
        self._which.append((row, packets))

    def _at(self, packet: int) -> tuple[int, int]:
        at = max(bisect_right(self._starts, packet) - 1, 0)
        row, packets = self._which[at]
        return row, int(packets[min(max(packet - self._starts[at], 0), len(packets) - 1)])

    def place(self, packet: int) -> Place:
        """As `Origin`."""
        if packet in self.earlier:
            return self.earlier[packet]
        row, own = self._at(packet)
        return self.rows[row].place(own)

    def number(self, packet: int) -> int:
        """As `Origin`: row by row, as nobody counts what lies between them in time."""
        if packet in self.earlier or packet <= self._first:
            return packet
        row, own = self._at(packet)
        return self._bases[row] + own

    def forget(self, before: int) -> None:
        """Forget the places of packets long before this number."""
        if (done := bisect_right(self._starts, before - KEPT) - 1) > KEPT >> 4:
            del self._starts[:done], self._which[:done]
