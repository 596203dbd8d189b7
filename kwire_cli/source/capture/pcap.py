"""pcap files, without I/O: bytes in, packets out."""

from __future__ import annotations

from typing import NamedTuple

from kwire_cli.engine.fixed import Fixed, fixed
from kwire_cli.source.capture.model import Notice, Packet
from kwire_cli.structs.captures import PCAP, PCAP_MICRO, PCAP_NANO

MAX_PACKET = 1 << 24
"""No packet is longer, whatever the file says: what claims to be has lost its place."""
USUAL_PACKET = 1 << 18
"""What tcpdump takes unless asked for less; files that say less may still hold more."""

_HEADERS = {order: fixed(layout.header) for order, layout in PCAP.items()}
_RECORDS = {order: fixed(layout.record) for order, layout in PCAP.items()}
_NANOSECONDS = {PCAP_MICRO: 1000, PCAP_NANO: 1}

HEADER_SIZE = _HEADERS["<"].size


def pcap_order(header: bytes) -> str | None:
    """The byte order of a pcap file, by its magic; None for what is no pcap file."""
    if len(header) < HEADER_SIZE:
        header = header.ljust(HEADER_SIZE, b"\0")
    return next((order for order, layout in _HEADERS.items() if layout.unpack(header)[0] in _NANOSECONDS), None)


class PcapFile(NamedTuple):
    """What a file's header says: byte order, link type, nanoseconds that a fraction counts, and what no captured length is above."""

    order: str
    link: int
    scale: int
    longest: int


def pcap_file(header: bytes) -> PcapFile:
    """The header of a file, which has to be whole."""
    order = pcap_order(header) or ">"
    magic, _, _, _, _, snap_length, link = _HEADERS[order].unpack(header)
    # A snapshot length of 0, or a huge one, is as good as none; captured lengths above a small one exist in real files.
    return PcapFile(order, link & 0xFFFF, _NANOSECONDS.get(magic, 1000), min(max(snap_length, USUAL_PACKET), MAX_PACKET))


class PcapReader:
    """The packets of one pcap file.

    `feed` takes the file's bytes in pieces of any size and gives the packets that are whole; nothing is thrown away in between, so a file that is
    still growing is read by feeding what came since. `close` says that no more will come. What ends the reading early stands in `notices`. `number`
    packets were before those that it is given.
    """

    def __init__(self, number: int = 0) -> None:
        self.notices: list[Notice] = []
        self.stopped = False
        self._rest: list[bytes] = []
        self._held = 0
        self._needed = HEADER_SIZE
        self._position = 0  # in the file, of the first byte not yet read
        self._number = number
        self._layout: Fixed | None = None  # of records; the rest is known with it
        self._link = self._scale = self._longest = 0

    def feed(self, data: bytes) -> list[Packet]:
        """The packets that these bytes complete."""
        if self.stopped:
            return []
        self._rest.append(data)
        self._held += len(data)
        if self._held < self._needed:
            return []
        data = b"".join(self._rest) if len(self._rest) > 1 else data
        layout = self._layout
        at = 0 if layout else HEADER_SIZE
        if layout is None:
            layout = self._begin(data)
        packets, used = self._packets(layout, data, at)
        self._rest = [data[used:]]
        self._held = len(data) - used
        self._position += used
        return packets

    def close(self) -> None:
        """The file has ended; a packet that is not whole becomes a notice."""
        if self._held and not self.stopped:
            what = "a packet" if self._layout else "the file's header"
            self._stop(f"the file ends in the middle of {what}: {self._held} of at least {self._needed} bytes", 0)

    def _stop(self, text: str, used: int) -> None:
        self.stopped = True
        self.notices.append(Notice(text, self._position + used, self._number))

    def _begin(self, data: bytes) -> Fixed:
        order, self._link, self._scale, self._longest = pcap_file(data)
        self._layout = _RECORDS[order]
        return self._layout

    def _packets(self, layout: Fixed, data: bytes, at: int) -> tuple[list[Packet], int]:
        """The whole packets in `data` from `at`, and where the first that is not whole begins."""
        link, scale, longest, unpack, size = self._link, self._scale, self._longest, layout.unpack, layout.size
        packets: list[Packet] = []
        add, new, number, stop = packets.append, tuple.__new__, self._number, len(data)
        last = stop - size
        self._needed = size
        while at <= last:
            seconds, fraction, captured, length = unpack(data, at)
            start = at + size
            end = start + captured
            if end > stop or captured > longest:
                if captured > longest:
                    self._number = number
                    self._stop(f"packet {number + 1} says that it is {captured} bytes long; reading stops before it", at)
                self._needed = size + captured
                break
            number += 1
            add(new(Packet, (number, seconds * 1_000_000_000 + fraction * scale, link, data[start:end], length)))
            at = end
        self._number = number
        return packets, at
