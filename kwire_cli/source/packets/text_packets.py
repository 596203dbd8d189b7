"""Packets in dumps that tcpdump, tshark and Wireshark print as text, without I/O: bytes of the text in, packets out.

Rows of an offset and bytes make a packet. A line before the rows may contain its time. Bytes that tshark builds from
several packets, such as "Reassembled TCP", are skipped, because they are in the packets. A dump does not name the link
layer: it is the first one under which the bytes are an IP packet.
"""

from __future__ import annotations

import codecs
import re
import struct
from datetime import datetime

from kwire_cli.engine.fixed import fixed
from kwire_cli.source.files import OPENING
from kwire_cli.source.packets import headers
from kwire_cli.source.packets.headers import OtherError, datagram
from kwire_cli.source.packets.model import Notice, Packet
from kwire_cli.source.text import rows
from kwire_cli.source.text.model import MismatchError, has_controls
from kwire_cli.structs import network

LINKS = (
    *(network.LINK_RAW_IP, network.LINK_ETHERNET, network.LINK_SLL, network.LINK_SLL2),
    *(network.LINK_NULL, network.LINK_PPP),
)
"""Link layers that are tried, in this order."""
BEYOND = 1 << 17
"""An IP packet that specifies its length ends before this offset."""
MAX_PACKET = 1 << 24
MAX_LINE = 1 << 20
MAX_NOTICES = 10
DAY = 86400
_MIN_TCP = fixed(network.TCP).size
_STYLES = (rows.TCPDUMP, rows.WIRESHARK)
_ROW = re.compile(rb"^[ \t]*(?:0x)?0{4,16}:?[ \t]+[0-9a-fA-F]{2}", re.MULTILINE)
_TIME = re.compile(
    r"(?: {0,8}\d{1,10} +|\s+Epoch (?:Arrival )?Time: )?"
    r"(?:(?:(?P<date>\d{4}-\d\d-\d\d)[ T])?(?P<clock>\d\d:\d\d:\d\d)|(?P<seconds>\d{1,11}))"
    r"\.(?P<fraction>\d{1,9})(?=\s|Z|$)"
)
"""The time of a packet, after its number in summaries of tshark: with a date, without one, or in seconds since 1970."""
_SECTION = re.compile(r"(?!Frame |Packet )[A-Z][A-Za-z0-9 ,/_.-]{0,60} \(\d{1,9} bytes?\):$")
"""The line above bytes that tshark makes of packets."""
_DATELESS = "times in this dump have no date and count from 1970-01-01; tcpdump -tttt and tshark -t ud print dates"


def is_packet_text(start: bytes, *, whole: bool) -> bool | None:
    """Return whether text with this start is a dump of IP packets, or None if more bytes are needed.

    `whole` is true if there are no more bytes.
    """
    more_needed = None if len(start) < OPENING and not whole else False
    start = start[:OPENING]
    if not _is_wide(start):
        if has_controls(start):
            return False
        if not _ROW.search(start):
            return more_needed
    reader = TextReader()
    reader.feed(start)
    reader.close()
    return True if reader.proved else more_needed


def _is_wide(start: bytes) -> bool:
    return start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class TextReader:
    """The packets of a dump, in its order, numbered from 1.

    `feed` takes the text in pieces of any size and returns the packets that are complete; `close` returns the last one.
    `notices` name the rows that could not be read, `remarks` apply to all packets. `proved` is true after the first IP
    packet.
    """

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self.remarks: list[str] = []
        self.stopped = False
        self.proved = False
        self._decoder: codecs.IncrementalDecoder | None = None
        self._rest = ""
        self._line = 0
        self._position = 0
        self._number = 0
        self._out: list[Packet] = []
        self._known = LINKS[0]
        self._time: int | None = None
        self._data = bytearray()
        self._open = False
        self._broken = False
        self._skips = False

    def feed(self, data: bytes) -> list[Packet]:
        """Return the packets that these bytes complete."""
        lines = (self._rest + self._decode(data, final=False)).split("\n")
        self._rest = lines.pop()
        for line in lines:
            self._take(line)
        if len(self._rest) > MAX_LINE:  # no line of a dump is that long: its end is read as another one
            self._take(self._rest)
            self._rest = ""
        return self._complete()

    def close(self) -> list[Packet]:
        """Return the last packet: the text has ended."""
        self._take(self._rest + self._decode(b"", final=True))
        self._rest = ""
        self._end()
        return self._complete()

    def _decode(self, data: bytes, *, final: bool) -> str:
        if self._decoder is None:
            self._decoder = codecs.getincrementaldecoder("utf-16" if _is_wide(data) else "utf-8-sig")("replace")
        return self._decoder.decode(data, final)

    def _complete(self) -> list[Packet]:
        packets = self._out
        self._out = []
        return packets

    def _take(self, line: str) -> None:
        self._line += 1
        line = line.rstrip("\r")
        for style in _STYLES:
            match = style.pattern.match(line)
            if match is not None and (style is rows.TCPDUMP or not match.start(1)):
                self._row(int(match[1], 16), line[match.end() :], style)
                break
        else:
            self._end()
            self._skips = _SECTION.match(line) is not None
            if time := _TIME.match(line):
                self._time = self._moment(time)
        self._position += len(line) + 1

    def _row(self, offset: int, text: str, style: rows.Style) -> None:
        if self._skips:
            return
        if offset == 0:
            self._end()
            self._open = True
            self._broken = False
        if self._broken:
            return
        if not self._open or offset != len(self._data):
            self._break(f"offset {offset:04x} does not follow the row before")
            return
        try:
            self._data += rows.line_digits(text, style).before(-1) if text.strip() else b""
        except MismatchError as error:
            self._break(error.reason)
        if len(self._data) > MAX_PACKET:
            self._break(f"a packet is longer than {MAX_PACKET} bytes")

    def _break(self, reason: str) -> None:
        """Add a notice on a row. The packet ends before the row."""
        self._broken = True
        if len(self.notices) < MAX_NOTICES:
            text = f"line {self._line}: {reason}; the packet ends there"
            self.notices.append(Notice(text, self._position, self._number))

    def _end(self) -> None:
        """Add the packet that is being read."""
        if not self._open:
            return
        data = bytes(self._data)
        self._open = False
        self._data.clear()
        if data:
            self._number += 1
            self._out.append(Packet(self._number, self._time, *self._link(data)))
        self._time = None

    def _moment(self, match: re.Match[str]) -> int | None:
        """Return a time as nanoseconds since 1970, or None for a clock that shows none, such as 25:00:00."""
        if match["seconds"]:
            seconds = int(match["seconds"])
        else:
            try:
                day = datetime.fromisoformat(f"{match['date'] or '1970-01-01'}T{match['clock']}+00:00")
            except ValueError:
                return None
            seconds = int(day.timestamp())
        if seconds < DAY:
            self.remarks = [_DATELESS]
        return seconds * 1_000_000_000 + int(match["fraction"].ljust(9, "0"))

    def _link(self, data: bytes) -> tuple[int, bytes, int]:
        """Return the link type of a packet, its bytes, and its length on the wire."""
        ends = {link: end for link in (self._known, *LINKS) if (end := _end_of_ip(link, data)) is not None}
        if not ends:
            return self._known, data, len(data)
        self.proved = True
        # A packet that ends with its bytes proves more than one that was cut.
        self._known = min(ends, key=lambda link: ends[link] > len(data))
        return self._known, data, max(ends[self._known], len(data))


def _end_of_ip(kind: int, data: bytes) -> int | None:
    """Return the end of the IP packet after this link layer, or None if there is no IP packet."""
    try:
        protocol, at = headers.carried(kind, data)
        if protocol not in {network.ETHER_IPV4, network.ETHER_IPV6}:
            return None
        ip_packet = datagram(protocol, data, at, BEYOND)
    except (OtherError, struct.error):
        return None
    is_tcp = ip_packet.fragment is None and ip_packet.protocol == network.PROTOCOL_TCP
    if is_tcp and len(data) < ip_packet.start + _MIN_TCP:
        return None
    return len(data) if ip_packet.end == BEYOND else ip_packet.end
