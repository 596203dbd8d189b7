"""TCP segments of packets as columns.

Packets with the usual headers are processed all at once with numpy. All others go singly through `segments.Segments`,
which has the same results for all packets (a test compares them). A payload is a position in the bytes of the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from construct import Struct

from kwire_cli.engine import numba_loops
from kwire_cli.engine.compiled import compiled, field_offset, numpy_type, read_rows
from kwire_cli.source.packets import packet_columns
from kwire_cli.source.packets.model import Packet, Segment, turned
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
        ("position", "<i8"),
        ("sequence", "<u4"),
        ("acknowledgment", "<u4"),
        ("size", "<u4"),
        ("missing", "<u4"),
        ("flags", "<u2"),
        ("direction", "u1"),
    ]
)
"""A segment without its payload. The payload is the `size` bytes at `position` of the file, or of the payloads that
are kept with the segments.

`packet` and `time` are as in `PacketColumns`. `direction` is 1 for segments whose addresses are swapped in the key of
their connection.
"""


@dataclass(frozen=True, slots=True)
class SegmentColumns:
    """Segments in the order of their packets, grouped by endpoints: `group` is the index of each segment in `keys`."""

    rows: npt.NDArray[Any]
    group: Ints
    keys: list[bytes]

    def by_group(self) -> list[tuple[bytes, npt.NDArray[Any]]]:
        """Return the segments between each pair of endpoints, in order."""
        order = np.argsort(self.group, kind="stable")
        rows = self.rows[order]
        ends = np.cumsum(np.bincount(self.group, minlength=len(self.keys))).tolist()
        return [(key, rows[begin:end]) for key, begin, end in zip(self.keys, [0, *ends], ends, strict=False)]


@dataclass(frozen=True, slots=True)
class _Common:
    """A sequence of headers that most packets have. If the link layer has a `link.protocol`, it must be `protocol`."""

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


def segment_columns(data: Octets, packets: PacketColumns, exact: Segments) -> SegmentColumns:
    """Return the segments of these packets, whose bytes are in `data`. `exact` reads the packets without the usual
    headers.
    """
    left = np.ones(len(packets), bool)
    parts: list[tuple[Ints, npt.NDArray[Any], Octets]] = []
    for common in _COMMON:
        which = np.flatnonzero(
            left & np.isin(packets.link, common.links) & (packets.size >= numpy_type(common.decl).itemsize)
        )
        if len(which):
            taken, rows, ends = _read_usual(data, packets.only(which), common)
            left[which[taken]] = False
            parts.append((which[taken], rows, ends))
    unusual = np.flatnonzero(left)
    if len(unusual):
        parts += _read_unusual(data, packets, unusual, exact)
    return _group(parts)


def _read_usual(data: Octets, packets: PacketColumns, common: _Common) -> tuple[Ints, npt.NDArray[Any], Octets]:
    """Return which packets have these headers and no anomaly, their segments, and their endpoints."""
    layout = numpy_type(common.decl)
    headers = read_rows(data, packets.position, layout)
    first = "ip.version_and_header_length" if common.version == 4 else "ip.version_and_flow"
    ip_at = field_offset(common.decl, first)
    tcp_at = field_offset(common.decl, "tcp.source_port")
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
    headers = headers[taken]
    start = start[taken]
    end = end[taken]
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
    rows["size"] = size
    rows["missing"] = end - start - size
    ends = np.ascontiguousarray(headers).view(np.uint8).reshape(len(taken), layout.itemsize)
    return taken, rows, _canonical_ends(ends, common, rows)


def _canonical_ends(headers: Octets, common: _Common, rows: npt.NDArray[Any]) -> Octets:
    """Return the addresses and ports of each segment in the form of `Segment.ends`, in the lower of both orders. Set
    `direction` in `rows` to 1 if they were swapped.
    """
    source = field_offset(common.decl, "ip.source")
    destination = field_offset(common.decl, "ip.destination")
    ports = [field_offset(common.decl, name) for name in ("tcp.source_port", "tcp.destination_port")]
    sides = headers[:, source:destination], headers[:, destination : 2 * destination - source]
    numbers = headers[:, ports[0] : ports[1]], headers[:, ports[1] : 2 * ports[1] - ports[0]]
    ends = np.concatenate([*sides, *numbers], axis=1)
    turned_ends = np.concatenate([*sides[::-1], *numbers[::-1]], axis=1)
    differences = ends.astype(np.int16) - turned_ends
    first = np.argmax(differences != 0, axis=1)
    is_turned = differences[np.arange(len(ends)), first] > 0
    ends[is_turned] = turned_ends[is_turned]
    rows["direction"] = is_turned
    return ends


def _read_unusual(
    data: Octets, packets: PacketColumns, which: Ints, exact: Segments
) -> list[tuple[Ints, npt.NDArray[Any], Octets]]:
    """Return the segments of the packets in `which`, read singly."""
    base = packet_columns.address_of(data)
    view = memoryview(data)  # type: ignore[arg-type] # numpy's stubs do not know that arrays support it
    by_width: dict[int, list[tuple[int, Segment]]] = {}
    names = ("number", "time", "link", "position", "size", "wire")
    values = [getattr(packets, name)[which].tolist() for name in names]
    columns = zip(which.tolist(), *values, strict=True)
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
            position = packet_columns.address_of(segment.payload) - base if segment.payload else 0
            numbers = (segment.packet, segment.time, position, segment.sequence, segment.acknowledgment)
            rows[i] = (*numbers, len(segment.payload), segment.missing, segment.flags, segment.ends > other)
            ends[i] = np.frombuffer(min(segment.ends, other), np.uint8)
        parts.append((np.array([at for at, _ in segments]), rows, ends))
    return parts


def payloads(data: Octets, rows: npt.NDArray[Any]) -> tuple[Octets, Ints]:
    """Return the payloads of these segments in one array, with the position of each."""
    start = rows["position"].copy()
    size = rows["size"].astype(np.int64)
    offsets = np.zeros(len(rows) + 1, np.int64)
    out = np.empty(int(size.sum()), np.uint8)
    compiled(numba_loops.copy_bytes)(data, start, start + size, out, offsets)
    return out, offsets


def _group(parts: list[tuple[Ints, npt.NDArray[Any], Octets]]) -> SegmentColumns:
    """Return the segments of all parts in the order of their packets."""
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
        return SegmentColumns(np.zeros(0, DESCRIPTOR), np.zeros(0, np.int64), [])
    which = np.concatenate([part[0] for part in parts])
    rows = np.concatenate([part[1] for part in parts])
    group = np.concatenate(groups)
    order = np.argsort(which, kind="stable") if len(parts) > 1 else slice(None)
    return SegmentColumns(rows[order], group[order], keys)
