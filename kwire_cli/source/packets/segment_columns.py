"""Packets to TCP segments as columns: those of the usual headers all at once, the others by `segments.Segments`, one by
one.

What is given is what `Segments` gives, as a test holds. A segment's payload is a place in the bytes of the file; only
what was put together from fragments is copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from construct import Struct

from kwire_cli.engine import numba_loops
from kwire_cli.engine.compiled import compiled, numpy_type, octets, offset_of, read_rows
from kwire_cli.source.packets import packet_columns
from kwire_cli.source.packets.model import NO_TIME, Packet, Segment, turned
from kwire_cli.source.packets.segments import WINDOW_COUNTS
from kwire_cli.structs import network
from kwire_cli.structs.network import TCP

if TYPE_CHECKING:
    import numpy.typing as npt

    from kwire_cli.source.packets.packet_columns import PacketColumns
    from kwire_cli.source.packets.segments import Segments

    Ints = npt.NDArray[np.int64]
    Octets = npt.NDArray[np.uint8]

DESCRIPTOR = np.dtype(
    [
        ("packet", "<i8"),
        ("time", "<i8"),
        ("moment", "<i8"),
        ("position", "<i8"),
        ("sequence", "<u4"),
        ("acknowledgment", "<u4"),
        ("size", "<u4"),
        ("missing", "<u4"),
        ("flags", "<u2"),
        ("direction", "u1"),
    ]
)
"""A segment without its payload, which are the `size` bytes at `position`: of the file, or below 0 of the bytes kept
beside, at -1 - position.

`packet` and `time` as in `PacketColumns`; `moment` is the latest time so far; `direction` is 1 for segments whose ends
are turned in their connection's key.
"""


@dataclass(frozen=True, slots=True)
class SegmentColumns:
    """Segments in the order of their packets, grouped by ends: `group` is the number of each in `keys`.

    `kept` are bytes that no file has in one piece.
    """

    rows: npt.NDArray[Any]
    group: Ints
    keys: list[bytes]
    kept: bytes

    def by_group(self) -> list[tuple[bytes, npt.NDArray[Any]]]:
        """The segments between each two ends, in their order."""
        order = np.argsort(self.group, kind="stable")
        rows = self.rows[order]
        ends = np.cumsum(np.bincount(self.group, minlength=len(self.keys))).tolist()
        return [(key, rows[begin:end]) for key, begin, end in zip(self.keys, [0, *ends], ends, strict=False)]


@dataclass(frozen=True, slots=True)
class _Common:
    """Headers that follow each other in most packets: `link.protocol`, where the link layer has one, has to be
    `protocol`.
    """

    links: tuple[int, ...]
    version: int
    decl: Any
    protocol: int | None


def _common(links: tuple[int, ...], before: Any) -> list[_Common]:
    front = [] if before is None else ["link" / before]
    four = Struct(*front, "ip" / network.IPV4, "tcp" / TCP)
    six = Struct(*front, "ip" / network.IPV6, "tcp" / TCP)
    has_link = before is not None
    return [
        _Common(links, 4, four, network.ETHER_IPV4 if has_link else None),
        _Common(links, 6, six, network.ETHER_IPV6 if has_link else None),
    ]


_COMMON = [
    *_common((network.LINK_ETHERNET,), network.ETHERNET),
    *_common((network.LINK_SLL,), network.SLL),
    *_common((network.LINK_SLL2,), network.SLL2),
    *_common(tuple(sorted(network.LINK_RAW)), None),
]


def segment_columns(data: Octets, packets: PacketColumns, exact: Segments, moment: int = NO_TIME) -> SegmentColumns:
    """The segments in these packets, whose bytes are in `data`; `moment` is the latest time before them. `exact` reads
    those that are not usual.
    """
    moments = np.maximum.accumulate(np.append(moment, packets.time))[1:]
    left = np.ones(len(packets), bool)
    parts: list[tuple[Ints, npt.NDArray[Any], Octets]] = []
    for common in _COMMON:
        which = np.flatnonzero(
            left & np.isin(packets.link, common.links) & (packets.size >= numpy_type(common.decl).itemsize)
        )
        if len(which):
            taken, rows, ends = _usual(data, packets.only(which), common)
            left[which[taken]] = False
            parts.append((which[taken], rows, ends))
    kept = bytearray()
    unusual = np.flatnonzero(left)
    if len(unusual):
        parts += _unusual(data, packets, unusual, exact, kept)
    return _grouped(parts, moments, bytes(kept))


def _usual(data: Octets, packets: PacketColumns, common: _Common) -> tuple[Ints, npt.NDArray[Any], Octets]:
    """Return which packets have these common headers and no anomaly, their segments, and their ends."""
    layout = numpy_type(common.decl)
    headers = read_rows(data, packets.position, layout)
    first = "ip.version_and_header_length" if common.version == 4 else "ip.version_and_flow"
    ip_at = offset_of(common.decl, first)
    tcp_at = offset_of(common.decl, "tcp.source_port")
    tcp_size = layout.itemsize - tcp_at
    right = np.ones(len(packets), bool) if common.protocol is None else headers["link.protocol"] == common.protocol
    if common.version == 4:
        plain = 4 << 4 | (tcp_at - ip_at) // 4
        fragment = headers["ip.flags_and_fragment_offset"] & (network.IPV4_MORE_FRAGMENTS | network.IPV4_OFFSET)
        right &= (headers[first] == plain) & (headers["ip.protocol"] == network.PROTOCOL_TCP) & (fragment == 0)
        length = headers["ip.total_length"].astype(np.int64)
        end = ip_at + length
    else:
        right &= (headers[first] >> 28 == 6) & (headers["ip.next_header"] == network.PROTOCOL_TCP)
        length = headers["ip.payload_length"].astype(np.int64)
        end = tcp_at + length
    end = np.minimum(end, np.maximum(packets.wire, packets.size))
    start = tcp_at + (headers["tcp.data_offset"] >> 4).astype(np.int64) * 4
    right &= (length > 0) & (tcp_at + tcp_size <= start) & (start <= end)
    taken = np.flatnonzero(right)
    headers, start, end = headers[taken], start[taken], end[taken]
    size = np.maximum(np.minimum(end, packets.size[taken]) - start, 0)
    rows = np.zeros(len(taken), DESCRIPTOR)
    rows["packet"] = packets.number[taken]
    rows["time"] = packets.time[taken]
    rows["position"] = packets.position[taken] + start
    rows["sequence"] = headers["tcp.sequence"]
    rows["acknowledgment"] = headers["tcp.acknowledgment"]
    rows["flags"] = headers["tcp.flags"]
    shut = (headers["tcp.window"] == 0) & (headers["tcp.flags"] & WINDOW_COUNTS == network.ACK)
    rows["flags"] |= np.where(shut, np.uint16(network.ZERO_WINDOW), np.uint16(0))
    rows["size"], rows["missing"] = size, end - start - size
    ends = np.ascontiguousarray(headers).view(np.uint8).reshape(len(taken), layout.itemsize)
    return taken, rows, _canonical(ends, common, rows)


def _canonical(headers: Octets, common: _Common, rows: npt.NDArray[Any]) -> Octets:
    """The ends of each segment, as `Segment.ends` has them, of the two ways round the lower one; and in `rows` whether
    that is the other's.
    """
    source = offset_of(common.decl, "ip.source")
    destination = offset_of(common.decl, "ip.destination")
    ports = [offset_of(common.decl, name) for name in ("tcp.source_port", "tcp.destination_port")]
    width = destination - source
    port = ports[1] - ports[0]
    ends = np.concatenate([headers[:, source : destination + width], headers[:, ports[0] : ports[1] + port]], axis=1)
    compiled(turn_ends)(ends, width, port, rows["direction"])
    return ends


def turn_ends(ends: Any, width: int, port: int, direction: Any) -> None:
    """Turn those ends that are above what they are when turned, and say so."""
    for i in range(len(ends)):
        row = ends[i]
        order = 0
        for k in range(width):
            if order == 0:
                order = (row[k] & 255) - (row[width + k] & 255)
        for k in range(port):
            if order == 0:
                order = (row[2 * width + k] & 255) - (row[2 * width + port + k] & 255)
        if order > 0:
            direction[i] = 1
            for k in range(width):
                row[k], row[width + k] = row[width + k], row[k]
            for k in range(port):
                row[2 * width + k], row[2 * width + port + k] = row[2 * width + port + k], row[2 * width + k]


def _unusual(
    data: Octets, packets: PacketColumns, which: Ints, exact: Segments, kept: bytearray
) -> list[tuple[Ints, npt.NDArray[Any], Octets]]:
    """Return the segments of the packets in `which`, read one by one.

    Payloads that were put together from fragments go to `kept`.
    """
    base = data.__array_interface__["data"][0]
    view = memoryview(data)  # type: ignore[arg-type] # numpy's stubs do not know that it is one
    by_width: dict[int, list[tuple[int, Segment]]] = {}
    columns = zip(
        which.tolist(),
        *(getattr(packets, name)[which].tolist() for name in ("number", "time", "link", "position", "size", "wire")),
        strict=True,
    )
    for at, number, time, kind, position, size, wire in columns:
        segment = exact.segment(Packet(number, time, kind, view[position : position + size], wire))  # type: ignore[arg-type] # slices do
        if segment is not None:
            by_width.setdefault(len(segment.ends), []).append((at, segment))
    parts = []
    for width, segments in by_width.items():
        rows = np.zeros(len(segments), DESCRIPTOR)
        ends = np.zeros((len(segments), width), np.uint8)
        for i, (_, segment) in enumerate(segments):
            other = turned(segment.ends)
            position = _place(segment.payload, base, len(data), kept)
            numbers = (segment.packet, segment.time, 0, position, segment.sequence, segment.acknowledgment)
            rows[i] = (*numbers, len(segment.payload), segment.missing, segment.flags, segment.ends > other)
            ends[i] = np.frombuffer(min(segment.ends, other), np.uint8)
        parts.append((np.array([at for at, _ in segments]), rows, ends))
    return parts


def _place(payload: Any, base: int, size: int, kept: bytearray) -> int:
    """Return where a payload is: in the data that begins at address `base`, or in `kept`."""
    if not len(payload):
        return 0
    at = int(np.frombuffer(payload, np.uint8).__array_interface__["data"][0]) - base
    if 0 <= at < size:
        return at
    kept += payload
    return len(payload) - len(kept) - 1


def payloads(data: Octets, rows: npt.NDArray[Any], kept: bytes) -> tuple[Octets, Ints]:
    """The payloads of these segments, one after the other, and where they begin in that."""
    start, size = rows["position"].copy(), rows["size"].astype(np.int64)
    there = np.flatnonzero(start < 0)
    if len(there):  # put together from fragments
        own = np.flatnonzero(start >= 0)
        first, last = (int(start[own].min()), int((start + size)[own].max())) if len(own) else (0, 0)
        data = np.concatenate([data[first:last], octets(kept)])
        start[own] -= first
        start[there] = len(data) - len(kept) - 1 - start[there]
    offsets = np.zeros(len(rows) + 1, np.int64)
    out = np.empty(int(size.sum()), np.uint8)
    compiled(numba_loops.copy_bytes)(data, start, start + size, out, offsets)
    return out, offsets


def _grouped(parts: list[tuple[Ints, npt.NDArray[Any], Octets]], moments: Ints, kept: bytes) -> SegmentColumns:
    """All of them in the order of their packets."""
    keys: list[bytes] = []
    numbers: dict[bytes, int] = {}
    groups = []
    for _, _, ends in parts:
        group = np.empty(len(ends), np.int64)
        firsts = np.empty(len(ends), np.int64)
        count = compiled(packet_columns.group_rows)(
            ends, np.full(1 << (2 * len(ends)).bit_length(), -1, np.int64), firsts, group
        )
        own = np.empty(count, np.int64)
        for i, first in enumerate(firsts[:count].tolist()):
            key = ends[first].tobytes()
            if key not in numbers:
                numbers[key] = len(keys)
                keys.append(key)
            own[i] = numbers[key]
        groups.append(own[group])
    if not parts:
        return SegmentColumns(np.zeros(0, DESCRIPTOR), np.zeros(0, np.int64), [], kept)
    which = np.concatenate([part[0] for part in parts])
    rows = np.concatenate([part[1] for part in parts])
    group = np.concatenate(groups)
    rows["moment"] = moments[which]
    order = np.argsort(which, kind="stable") if len(parts) > 1 else slice(None)
    return SegmentColumns(rows[order], group[order], keys, kept)
