"""Packets of a capture file as columns.

Most packets of a file have the same simple form. Compiled loops find the positions of such packets, and numpy reads
their headers all at once. All other packets and blocks go through the exact readers of `pcap`, which define the format;
a test compares both. Packet bytes are not copied: a row has the position and size of the bytes in the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from construct import Struct

from kwire_cli.engine.compiled import compiled, field_offset, numpy_type, read_rows
from kwire_cli.source.packets.model import NO_TIME, Notice
from kwire_cli.source.packets.pcap import (
    HEADER_SIZE,
    MAX_BLOCK,
    MAX_PACKET,
    PcapngReader,
    PcapReader,
    pcap_file,
)
from kwire_cli.structs import network
from kwire_cli.structs.network import PCAP, PCAPNG

if TYPE_CHECKING:
    import numpy.typing as npt

    from kwire_cli.source.packets.model import Packet
    from kwire_cli.source.packets.pcap import Interface, Order, Secrets

    Ints = npt.NDArray[np.int64]
    Octets = npt.NDArray[np.uint8]


def hop_records(
    data: Any, at: int, stop: int, header: int, captured_at: int, little: Any, longest: int, out: Any
) -> tuple[int, int]:
    """Find the positions of pcap packets, at most `len(out)`.

    Return the number of packets, and the position of the next one. The search ends at a packet that is incomplete or
    too long.
    """
    count = 0
    while count < len(out) and at + header <= stop:
        size = 0
        for k in range(4):
            size = size << 8 | (data[at + captured_at + (3 - k if little else k)] & 255)
        if size > longest or at + header + size > stop:
            break
        out[count] = at
        count += 1
        at += header + size
    return count, at


def hop_blocks(
    data: Any,
    at: int,
    stop: int,
    least: int,
    length_at: int,
    trailer: int,
    kind: int,
    little: Any,
    longest: int,
    out: Any,
) -> tuple[int, int]:
    """Find the positions of consecutive pcapng blocks of one kind whose two lengths agree.

    The results are as in `hop_records`.
    """
    count = 0
    while count < len(out) and at + least <= stop:
        block_kind = 0
        size = 0
        for k in range(4):
            place = 3 - k if little else k
            block_kind = block_kind << 8 | (data[at + place] & 255)
            size = size << 8 | (data[at + length_at + place] & 255)
        if block_kind != kind or size % 4 or size < least or size > longest or at + size > stop:
            break
        same = 0
        while same < 4 and data[at + size - trailer + same] == data[at + length_at + same]:
            same += 1
        if same < 4:
            break
        out[count] = at
        count += 1
        at += size
    return count, at


def in_order(
    direction: Any,
    sequence: Any,
    acknowledgment: Any,
    size: Any,
    missing: Any,
    flags: Any,
    deciding: int,
    expected: int,
    state: Any,
) -> int:
    """Return the number of leading segments that arrived in order, and update `state`.

    A segment in order is the next of its direction, has the expected flags, is not truncated, and acknowledges only
    delivered bytes. `state` has three values per direction: the next sequence number, the number of delivered bytes,
    and the last acknowledgment.
    """
    mask = 0xFFFFFFFF
    for i in range(len(direction)):
        d = direction[i]
        if flags[i] & deciding != expected or missing[i] or sequence[i] != state[d, 0]:
            return i
        if size[i] and (state[1 - d, 0] - acknowledgment[i]) & mask >= 0x80000000:
            return i
        state[d, 0] = (state[d, 0] + size[i]) & mask
        state[d, 1] += size[i]
        state[d, 2] = acknowledgment[i]
    return len(direction)


def hop_frames(data: Any, at: int, width: int, most: int, out: Any) -> tuple[int, int]:
    """Find the positions of complete frames.

    Return the number of frames, and the position of the rest. The position is -1 if a size is invalid.
    """
    count = 0
    while at + width <= len(data):
        size = 0
        for k in range(width):
            size = size << 8 | (data[at + k] & 255)
        if size > most:
            return count, -1
        if at + width + size > len(data):
            break
        out[count] = at
        count += 1
        at += width + size
    return count, at


def group_rows(rows: Any, table: Any, first: Any, group: Any) -> int:
    """Number the distinct rows of octets in order of first appearance. Return the count of distinct rows.

    `group` receives the number of each row, `first` the first row with each number. `table` is a hash table whose size
    is a power of two, at least twice the number of rows, filled with -1.
    """
    mask = len(table) - 1
    width = rows.shape[1]
    count = 0
    for i in range(len(rows)):
        mixed = 1469598103934665603
        for k in range(width):
            mixed = (mixed ^ (rows[i, k] & 255)) * 1099511628211
        slot = (mixed ^ (mixed >> 29)) & mask
        while True:
            number = table[slot]
            if number < 0:
                table[slot] = count
                first[count] = i
                group[i] = count
                count += 1
                break
            j = first[number]
            k = 0
            while k < width and rows[i, k] == rows[j, k]:
                k += 1
            if k == width:
                group[i] = number
                break
            slot = (slot + 1) & mask
    return count


_SECOND = 1_000_000_000


_MAX_TIME = 1 << 62
_MAX_INT64 = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class PacketColumns:
    """Packets.

    Attributes:
        number: Counts packets from 1.
        time: Nanoseconds since 1970, or NO_TIME.
        link: The link type.
        position: The position of the captured bytes.
        size: The number of captured bytes.
        wire: The length on the wire.

    """

    number: Ints
    time: Ints
    link: Ints
    position: Ints
    size: Ints
    wire: Ints

    def __len__(self) -> int:
        return len(self.number)

    def only(self, which: Any) -> PacketColumns:
        """Return the rows that a mask, slice or index array selects."""
        return PacketColumns(*(getattr(self, name)[which] for name in self.__slots__))

    @classmethod
    def joined(cls, parts: list[PacketColumns]) -> PacketColumns:
        """Return the packets of several parts in order."""
        if len(parts) == 1:
            return parts[0]
        empty = np.zeros(0, np.int64)
        columns: list[Ints] = []
        for name in cls.__slots__:
            values = [getattr(part, name) for part in parts]
            columns.append(np.concatenate([empty, *values]))
        return cls(*columns)


class PcapColumns:
    """The packets of a pcap file with this header. `number` packets came before. `lead` lists the bytes of the file
    that are needed to read the others.
    """

    def __init__(self, header: bytes, number: int = 0) -> None:
        self.number = number
        self.notices: list[Notice] = []
        self.lead = [(0, HEADER_SIZE)]
        self.secrets: list[Secrets] = []  # pcap files cannot contain secrets
        self._header = header
        self._file = pcap_file(header)
        self._record = PCAP[self._file.order].record

    def read(self, data: Octets, at: int, stop: int, most: int) -> tuple[PacketColumns, int]:
        """Return complete packets from `at` on, at most `most`, and the position of the next packet."""
        layout = numpy_type(self._record)
        file = self._file
        out = np.empty(most, np.int64)
        captured_at = field_offset(self._record, "captured_length")
        count, at = compiled(hop_records)(
            data, at, stop, layout.itemsize, captured_at, file.order == "<", file.longest, out
        )
        where = out[:count].copy()
        rows = read_rows(data, where, layout)
        number = np.arange(self.number + 1, self.number + count + 1)
        self.number += count
        time = rows["seconds"].astype(np.int64) * _SECOND + rows["fraction"].astype(np.int64) * file.scale
        size = rows["captured_length"].astype(np.int64)
        wire = rows["original_length"].astype(np.int64)
        return PacketColumns(number, time, np.full(count, file.link), where + layout.itemsize, size, wire), at

    def report_rest(self, data: Octets, at: int, stop: int) -> None:
        """Report an incomplete or invalid packet at `at`, where the file ends or cannot be continued."""
        reader = PcapReader(self.number)
        reader.feed(self._header)
        reader.feed(bytes(data[at : min(stop, at + MAX_PACKET + HEADER_SIZE)]))
        reader.close()
        self.notices += [Notice(text, position - HEADER_SIZE + at, packet) for text, position, packet in reader.notices]


class PcapngColumns(PcapngReader):
    """The packets of a pcapng file, with the interface of PcapColumns. `lead` lists the blocks of the current section
    that are needed to read its packets.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lead: list[tuple[int, int]] = []
        self._plain = _Plain([])

    def read(self, data: Octets, at: int, stop: int, most: int) -> tuple[PacketColumns, int]:
        """Return complete packets from `at` on, about `most`, and the position of the next or of an incomplete
        block.
        """
        parts: list[PacketColumns] = []
        count = 0
        while count < most and not self.stopped:
            before = at
            part, at = self._enhanced(data, at, stop, most - count)
            if at == before:
                part, at = self._other_block(data, at, stop)
            if at == before:
                break
            parts.append(part)
            count += len(part)
        return PacketColumns.joined(parts or [_NONE]), at

    def report_rest(self, data: Octets, at: int, stop: int) -> None:  # noqa: ARG002 - as PcapColumns
        """Report an incomplete block at `at`, where the file ends or cannot be continued."""
        if not self.stopped and at < stop:
            self._stop("the file ends in the middle of a block", at)

    def _enhanced(self, data: Octets, at: int, stop: int, most: int) -> tuple[PacketColumns, int]:
        """Read the well-formed enhanced packet blocks at `at`."""
        order = self.order
        interfaces = self.interfaces
        if order is None or not interfaces or at == stop:
            return _NONE, at
        layout = _enhanced_type(order.name)
        if self._plain.count != len(interfaces):
            self._plain = _Plain(interfaces)
        plain = self._plain
        out = np.empty(most, np.int64)
        trailer = order.trailer.size
        begin = at
        count, at = compiled(hop_blocks)(
            data, at, stop, layout.itemsize + trailer, field_offset(PCAPNG[order.name].block, "total_length"), trailer,
            network.ENHANCED_PACKET_BLOCK, order.name == "<", MAX_BLOCK, out,
        )  # fmt: skip
        where = out[:count].copy()
        rows = read_rows(data, where, layout)
        number = rows["interface_id"].astype(np.int64)
        in_range = number < plain.count
        number[~in_range] = 0
        size = rows["captured_packet_length"].astype(np.int64)
        upper = rows["timestamp_upper"].astype(np.int64)
        fits = (
            in_range
            & (size <= rows["total_length"].astype(np.int64) - layout.itemsize - trailer)
            & (upper < plain.most[number])
        )
        if not fits.all():
            count = int(fits.argmin())
            at = int(where[count])
        if not count:
            return _NONE, begin
        rows = rows[:count]
        number = number[:count]
        units = upper[:count] << 32 | rows["timestamp_lower"].astype(np.int64)
        time = units * plain.scale[number]
        numbers = np.arange(self.number + 1, self.number + count + 1)
        self.number += count
        return PacketColumns(
            numbers,
            time,
            plain.link[number],
            where[:count] + layout.itemsize,
            size[:count],
            rows["original_packet_length"].astype(np.int64),
        ), at

    def _other_block(self, data: Octets, at: int, stop: int) -> tuple[PacketColumns, int]:
        """Read the block at `at` singly. Return its packets, and the position of the next block."""
        packets: list[Packet] = []
        view = memoryview(data)  # type: ignore[arg-type] # numpy's stubs do not know that arrays support it
        after = self.read_block(view[:stop], at, packets)
        if self._skip:
            self._skip = 0
            return _NONE, at
        if not packets:
            return _NONE, after
        (packet,) = packets
        time = packet.time if packet.time is not None and abs(packet.time) <= _MAX_INT64 else NO_TIME
        start = address_of(packet.data) - address_of(data) if packet.data else 0
        row = (packet.number, time, packet.link, start, len(packet.data), packet.wire_length)
        return PacketColumns(*(np.array([value]) for value in row)), after

    def _block(self, order: Order, kind: int, body: bytes, packets: list[Packet], at: int) -> None:
        super()._block(order, kind, body, packets, at)
        end = at + order.least + len(body)
        if kind == network.SECTION_BLOCK:
            self.lead = [(at, end)]
            self._plain = _Plain([])
        elif kind == network.INTERFACE_BLOCK:
            joins = bool(self.lead) and self.lead[-1][1] == at
            self.lead.append((self.lead.pop()[0] if joins else at, end))


Columns = PcapColumns | PcapngColumns


class _Plain:
    """The interfaces whose times can be read as columns, because they are whole numbers of nanoseconds since 1970.

    `most` is the limit of the upper half of a timestamp, beyond which the time does not fit. It is 0 for other
    interfaces.
    """

    def __init__(self, interfaces: list[Interface]) -> None:
        self.count = len(interfaces)
        scales: list[int] = []
        for interface in interfaces:
            is_whole = not interface.offset and interface.units <= _SECOND and _SECOND % interface.units == 0
            scales.append(_SECOND // interface.units if is_whole else 0)
        self.scale = np.array(scales, np.int64)
        self.link = np.array([interface.link for interface in interfaces], np.int64)
        self.most = np.array([(_MAX_TIME // scale) >> 32 if scale else 0 for scale in scales], np.int64)


def address_of(data: Any) -> int:
    """Return the address of bytes in memory."""
    return int(np.frombuffer(data, np.uint8).__array_interface__["data"][0])


@cache
def _enhanced_type(order: str) -> np.dtype[Any]:
    layout = PCAPNG[order]
    return numpy_type(Struct(*layout.block.subcons, *layout.enhanced.subcons))


_NONE = PacketColumns(*(np.zeros(0, np.int64) for _ in PacketColumns.__slots__))
