"""Captures with replaced values.

Packets are written with blank contents first. The frames of Kafka streams are written over them as soon as they are
complete and rewritten. Bytes that are never written over stay blank, so the file contains no original contents.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, cast

from kwire_cli.message.known_layout import Layouts
from kwire_cli.sanitize.packets import Headers, mend, other_proxy
from kwire_cli.sanitize.records import Frames
from kwire_cli.sanitize.replacing import NOTHING as BLANK
from kwire_cli.source.first_bytes import LONGEST, beginning
from kwire_cli.source.kafka.captured import Names
from kwire_cli.source.kafka.connection import State
from kwire_cli.source.kafka.traffic import Watch
from kwire_cli.source.packets.model import Data, End
from kwire_cli.source.packets.segments import Segments
from kwire_cli.source.packets.tcp import Streams
from kwire_cli.source.packets.tcp_direction import signed
from kwire_cli.source.packets.writing import PcapngWriter, PcapWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.sanitize.fields import Fields
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.connection import Seen
    from kwire_cli.source.packets.files import Packets
    from kwire_cli.source.packets.model import Event, Notice, Packet


# A file that is written packet by packet and overwritten later.


class Patched:
    """A file that is appended to and overwritten at any position."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file.fileno()
        self.size = 0

    def append(self, data: bytes | bytearray) -> None:
        """Add bytes at the end."""
        self.put(self.size, data)
        self.size += len(data)

    def put(self, at: int, data: bytes | bytearray) -> None:
        """Overwrite bytes."""
        view = memoryview(data)
        while view:
            done = os.pwrite(self._file, view, at)
            view = view[done:]
            at += done

    def get(self, at: int, size: int) -> bytes:
        """Return bytes that were written."""
        return os.pread(self._file, size, at)


# Captures. The streams are reassembled from payloads that know their place in the new file. Frames, tokens and gaps
# come out of a connection in the order of its bytes, so each takes the next places of its direction. Bytes of several
# packets, such as retransmissions, are rewritten once and copied at the end.


class _Same:
    """A mapping that keeps addresses."""

    def ip(self, address: bytes) -> bytes:
        return address

    mac = ip


_UNCHANGED = Headers(_Same())


class Placed:
    """A payload or a part of one, with its place in the new file, its addresses and its sequence number.

    Streams use it like bytes: it has a length, and can be sliced.
    """

    __slots__ = ("data", "ends", "place", "sequence")

    def __init__(self, data: bytes, place: int, ends: bytes, sequence: int) -> None:
        self.data = data
        self.place = place
        self.ends = ends
        self.sequence = sequence

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, part: slice) -> Placed:
        start, _, _ = part.indices(len(self.data))
        return Placed(self.data[part], self.place + start, self.ends, self.sequence + start)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placed) and self.data == other.data

    def __hash__(self) -> int:
        return hash(self.data)


class _OffsetMap:
    """The places in the new file of the bytes of one direction between two addresses.

    They are found by sequence numbers, extended beyond 32 bits.
    """

    __slots__ = ("last", "places", "sizes", "starts")

    def __init__(self) -> None:
        self.starts = array("q")
        self.places = array("q")
        self.sizes = array("q")
        self.last = 0

    def at(self, sequence: int) -> int:
        """Return the extended sequence number that is nearest to the last one."""
        return self.last + signed(sequence - self.last)

    def add(self, placed: Placed) -> None:
        self.last = start = self.at(placed.sequence) if self.starts else placed.sequence
        if not self.starts or start > self.starts[-1]:
            self.starts.append(start)
            self.places.append(placed.place)
            self.sizes.append(len(placed))
            return
        index = bisect_right(self.starts, start)
        self.starts.insert(index, start)
        self.places.insert(index, placed.place)
        self.sizes.insert(index, len(placed))

    def copied(self, sequence: int, size: int, out: Patched) -> list[tuple[int, bytes]]:
        """Return the known parts of `size` bytes from a sequence number on.

        Each part is a distance from the sequence number, and the bytes there.
        """
        start = self.at(sequence)
        parts = []
        index = max(bisect_right(self.starts, start) - 1, 0)
        while index < len(self.starts) and self.starts[index] < start + size:
            first = max(start, self.starts[index])
            last = min(start + size, self.starts[index] + self.sizes[index])
            if first < last:
                parts.append((first - start, out.get(self.places[index] + first - self.starts[index], last - first)))
            index += 1
        return parts


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of a run: packets, rewritten frames, and counts by kind of the parts that could not be kept."""

    packets: int
    frames: int
    counts: dict[str, int]
    notices: list[Notice]


class Sanitizer:
    """Rewrites one capture into a file."""

    def __init__(self, fields: Fields, out: IO[bytes], *, port: int | None = None) -> None:
        self._fields = fields
        self._out = Patched(out)
        self._headers = Headers(fields.addresses)
        self._watch = Watch(Layouts(fields.catalog), port, Names())
        self._frames = Frames(fields, self._watch.names.topic)
        self._segments = Segments()
        self._streams = Streams()
        self._waiting: dict[tuple[int, int], deque[Placed]] = {}
        self._begun: dict[tuple[int, int], bytearray] = {}
        self._offset_maps: dict[bytes, _OffsetMap] = {}
        self._repeated: list[tuple[bytes, int, int, int]] = []
        self._count = 0
        self._delivered = -1

    def run(self, packets: Packets, tell: Callable[[], None] = lambda: None) -> Summary:
        """Rewrite all packets. `tell` is called for each batch, to report progress.

        Raises:
            InputError: The file cannot be read, or is not a capture.

        """
        writer: PcapWriter | PcapngWriter | None = None
        places = array("Q")
        kinds = array("H")
        lengths = array("I")
        sizes = array("I")
        for batch in packets.batches():
            tell()
            for packet in batch:
                if writer is None:
                    write = self._out.append
                    writer = PcapWriter(write, packet.link) if packets.format == "pcap" else PcapngWriter(write)
                kinds.append(packet.link)
                lengths.append(packet.wire_length & 0xFFFFFFFF)
                sizes.append(len(packet.data))
                places.append(self._packet(packet, writer))
        if writer is None:
            PcapngWriter(self._out.append)
        self._take(self._streams.close())
        self._lines(self._watch.close())
        self._copy()
        for place, kind, length, size in zip(places, kinds, lengths, sizes, strict=True):
            self._mend(place, kind, length, size)
        return Summary(len(places), self._count, dict(self._fields.counts), packets.notices)

    def _packet(self, packet: Packet, writer: PcapWriter | PcapngWriter) -> int:
        """Write a packet and take its segment. Return the place of its data."""
        rewritten = self._headers.rewrite(packet.link, packet.data, packet.wire_length)
        place = writer.add(packet._replace(data=bytes(rewritten.data)))
        segment = self._segments.segment(packet)
        if segment is None or rewritten.payload is None:
            return place
        placed = Placed(segment.payload, place + rewritten.payload[0], segment.ends, segment.sequence)
        self._delivered = -1
        self._take(self._streams.feed(segment._replace(payload=cast("Any", placed))))
        if placed and self._delivered != placed.place:
            self._repeated.append((segment.ends, segment.sequence, placed.place, len(placed)))
        return place

    def _take(self, events: Any) -> None:
        for event in events:
            self._event(event)

    def _event(self, event: Event) -> None:
        if isinstance(event, Data):
            placed = cast("Placed", event.data)
            self._waiting.setdefault((event.connection, event.direction), deque()).append(placed)
            offset_map = self._offset_maps.get(placed.ends)
            if offset_map is None:
                offset_map = self._offset_maps[placed.ends] = _OffsetMap()
            offset_map.add(placed)
            self._delivered = placed.place
            event = event._replace(data=placed.data)
        stream = self._watch.connections.get(event.connection)
        self._lines(self._watch.take([event]))
        if isinstance(event, End):
            for side in (0, 1):
                self._foreign(event.connection, side, None)
                self._waiting.pop((event.connection, side), None)
                self._begun.pop((event.connection, side), None)
        elif stream and stream.connection.state is State.FOREIGN:
            for side, held in enumerate(stream.connection.rests):
                self._foreign(event.connection, side, None, held=len(held))

    def _lines(self, lines: list[Captured]) -> None:
        for line in lines:
            piece = line.seen
            stream = line.stream
            if line.is_frame:
                frame = line.connection.frame(piece)
                request_frame = line.connection.frame(piece.request) if piece.request else None
                sanitized = self._frames.frame(frame, cut=bool(piece.missing), asked=request_frame)
                assert len(sanitized) == len(piece.data)  # noqa: S101 - else the next bytes would be misplaced
                self._count += 1
                self._write_next(stream, piece, sanitized)
            elif piece.kind == "sasl-token":
                self._write_next(stream, piece, self._frames.token(piece.data))
            elif piece.kind == "gap":
                self._fields.count("bytes in which no frame was recognised", len(piece.data))
                self._write_next(stream, piece, BLANK * len(piece.data))
            elif piece.protocol == "proxy" and piece.data:
                self._write_next(stream, piece, other_proxy(piece.data))
            else:
                self._foreign(
                    stream, piece.side, len(piece.data) or piece.size, held=len(line.connection.rests[piece.side])
                )

    def _write_next(self, stream: int, seen: Seen, made: bytes) -> None:
        """Write the next bytes of a direction."""
        waiting = self._waiting[stream, seen.side] if made else deque()
        at = 0
        while at < len(made):
            placed = waiting.popleft()
            size = min(len(placed), len(made) - at)
            if size < len(placed):
                waiting.appendleft(placed[size:])
            self._out.put(placed.place, made[at : at + size])
            at += size

    def _foreign(self, stream: int, side: int, size: int | None, held: int = 0) -> None:
        """Write the next bytes of a direction, by default all, as another protocol: only its identification is kept.

        The first `held` bytes are the start of an incomplete frame, which a later gap will contain.
        """
        waiting = self._waiting.get((stream, side))
        kept_back = []
        while waiting and held:
            placed = waiting.popleft()
            if len(placed) > held:
                waiting.appendleft(placed[held:])
                placed = placed[:held]
            kept_back.append(placed)
            held -= len(placed)
        begun = self._begun.setdefault((stream, side), bytearray())
        telling = 0
        if len(begun) < LONGEST:
            coming = b"".join([placed.data for placed in islice(waiting or (), LONGEST)])
            telling = _telling((bytes(begun) + coming)[:LONGEST])
        while waiting and size != 0:
            placed = waiting.popleft()
            if size is not None:
                if len(placed) > size:
                    waiting.appendleft(placed[size:])
                    placed = placed[:size]
                size -= len(placed)
            kept = placed.data[: max(telling - len(begun), 0)]
            begun += placed.data[: LONGEST - len(begun)]
            self._fields.count("bytes of other protocols", len(placed))
            if placed.place >= 0:
                self._out.put(placed.place, kept + BLANK * (len(placed) - len(kept)))
        if waiting is not None:
            waiting.extendleft(reversed(kept_back))

    def _copy(self) -> None:
        """Write the replacements of retransmitted bytes."""
        for ends, sequence, place, size in self._repeated:
            offset_map = self._offset_maps.get(ends)
            for distance, data in offset_map.copied(sequence, size, self._out) if offset_map else ():
                self._out.put(place + distance, data)

    def _mend(self, place: int, kind: int, length: int, size: int) -> None:
        """Compute the checksums of a packet."""
        data = bytearray(self._out.get(place, size))
        checksums = _UNCHANGED.rewrite(kind, bytes(data), length).checksums
        if checksums:
            mend(data, checksums)
            self._out.put(place, data)


def _telling(data: bytes) -> int:
    """Return the number of first bytes of a direction that identify its protocol; 0 if the protocol is unknown."""
    opening = beginning(data)
    if opening is None:
        return 0
    return next(
        (
            size
            for size in range(1, len(data) + 1)
            if (shorter := beginning(data[:size])) and shorter.protocol == opening.protocol
        ),
        0,
    )
