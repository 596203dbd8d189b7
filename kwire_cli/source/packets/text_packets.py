"""Packets in printed captures."""

from __future__ import annotations

import codecs
import re
import struct
from dataclasses import dataclass
from datetime import UTC, datetime

from kwire_cli.engine.fixed import fixed
from kwire_cli.source.files import OPENING
from kwire_cli.source.packets import headers
from kwire_cli.source.packets.headers import OtherError, datagram
from kwire_cli.source.packets.model import Endpoint, Notice, Packet
from kwire_cli.source.text import rows
from kwire_cli.source.text.model import MismatchError
from kwire_cli.source.text.reading import has_controls
from kwire_cli.structs import network
from kwire_cli.structs.network import (
    ETHER_IPV4,
    ETHER_IPV6,
    ETHER_NAMES,
    LINK_ETHERNET,
    LINK_NULL,
    LINK_PPP,
    LINK_RAW_IP,
    LINK_SLL,
    LINK_SLL2,
)

# Lines above packets in dumps: when a packet was captured, how long it was on the wire, and between which
# ends it went.

SECOND, DAY = 1_000_000_000, 86_400_000_000_000
"""A second and a day in nanoseconds."""


_DIGITS = r"(?P<fraction>\d{1,9})"
_CLOCK = re.compile(rf"(?:(?P<date>\d{{4}}-\d\d-\d\d)[ T])?(?P<clock>\d\d:\d\d:\d\d)\.{_DIGITS}(?=\s|Z|$)")
"""`10:00:00.123456`, with a date by `tcpdump -tttt` and `tshark -t ad`."""
_SECONDS = re.compile(rf"(?P<seconds>\d{{1,11}})\.{_DIGITS}(?=\s|$)")
"""Seconds since 1970, by `tcpdump -tt`, `tshark -t e`; in tshark's summaries since the first packet."""
_EPOCH = re.compile(rf"\s+Epoch (?:Arrival )?Time: (?P<seconds>\d{{1,11}})\.{_DIGITS}")
_RAW = re.compile(r'\s*"frame_raw": \[$')
"""The line before the bytes of a packet in the JSON of `tshark -T json -x`."""
_JSON_TIME = re.compile(
    r'\s*"frame\.time_epoch": "(?:(?P<seconds>\d{1,11})|(?P<date>\d{4}-\d\d-\d\d)T(?P<clock>\d\d:\d\d:\d\d))'
    rf"\.{_DIGITS}"
)
_JSON_LENGTH = re.compile(r'\s*"frame\.len": "(\d{1,9})"')
_FRAME = re.compile(r"(?:Frame|Packet) \d+: (\d{1,9}) bytes on wire")
"""The first line of what `tshark -V` says of a packet."""
_SUMMARY = re.compile(r" {0,8}\d{1,10} +(?=[\d-])")
"""The packet's number in tshark's and Wireshark's summaries."""
_PACKET = re.compile(r"(?:\S+ +(?:In|Out|P|B|M) +)?(?:IP6?|ARP,|\S+ > \S+, ethertype) ?")
"""The text after the time in a summary of tcpdump, behind the interface if there are several."""
_ADDRESS = r"(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]*|\[[0-9a-fA-F:.]+\])"
_ENDS = re.compile(rf"(?<!\S)({_ADDRESS})[.:](\d{{1,5}}) (?:->|>|→) ({_ADDRESS})[.:](\d{{1,5}})(?![\d.])")
_NUMBERS = re.compile(r", seq (\d{1,10})(?::\d{1,10})?,.*? length (\d{1,9})")
_NODE = re.compile(rf"Node ([01]): ({_ADDRESS}):(\d{{1,5}})$")
"""The ends of a stream that tshark followed."""
_SECTION = re.compile(r"([A-Z][A-Za-z0-9 ,/_.-]{0,60}) \((\d{1,9}) bytes?\):$")
"""`Frame (105 bytes):`, `Reassembled TCP (43 bytes):` above the parts that tshark makes of a packet."""
_OWN_SECTIONS = ("Frame", "Packet")


@dataclass(slots=True)
class Heading:
    """The facts about a packet in the lines above it. `payload` counts the bytes within TCP."""

    time: int | None = None
    wire_length: int | None = None
    ends: tuple[Endpoint, Endpoint] | None = None
    sequence: int | None = None
    payload: int | None = None


class Clock:
    """Times in a dump, as nanoseconds since 1970. `dateless` says that some had no date: these count from 1970-01-01.

    Times of one capture go on: a clock that falls by more than half a day has passed midnight.
    """

    def __init__(self) -> None:
        self.dateless = False
        self._days, self._latest = 0, 0

    def time(self, found: re.Match[str]) -> int | None:
        """The time in a match of `_CLOCK`, `_SECONDS` or `_EPOCH`; None if it can be none, such as 25:00:00."""
        groups = found.groupdict()
        fraction = int(groups["fraction"].ljust(9, "0"))
        if groups.get("seconds"):
            seconds = int(groups["seconds"])
            self.dateless |= seconds < DAY // SECOND
            return seconds * SECOND + fraction
        try:
            day = datetime.fromisoformat(f"{groups['date'] or '1970-01-01'}T{groups['clock']}+00:00")
        except ValueError:
            return None
        time = int((day - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * SECOND + fraction
        return time if groups["date"] else self._of_day(time)

    def _of_day(self, time: int) -> int:
        self.dateless = True
        if time + self._days < self._latest - DAY // 2:
            self._days += DAY
        self._latest = max(self._latest, time + self._days)
        return time + self._days


def section(line: str) -> bool | None:
    """Tell whether a line is above the packet itself (True) or above bytes made from packets (False).

    Return None for any other line.
    """
    match = _SECTION.match(line)
    return None if match is None else match[1] in _OWN_SECTIONS


def node(line: str) -> tuple[int, Endpoint] | None:
    """The end of a followed stream that a line names, and which of the two it is."""
    match = _NODE.match(line)
    end = _endpoint(match[2], match[3]) if match else None
    return (int(match[1]), end) if match and end else None


def heading(line: str, clock: Clock) -> Heading | None:
    """Return what a packet's first line says, in the words of any tool, or None for any other line."""
    if match := _FRAME.match(line):
        return Heading(wire_length=int(match[1]))
    summary = _SUMMARY.match(line)
    at = summary.end() if summary else 0
    match = _CLOCK.match(line, at) or _SECONDS.match(line, at)
    if match is None or not (summary or _PACKET.match(line, match.end() + 1)):
        # With -t tcpdump prints no time; with -ttt and -ttttt the time since another packet, behind a space.
        bare = re.match(r"(?: \d\d:\d\d:\d\d\.\d{6,9} )?(?=IP6? )", line)
        if bare is None and (line.startswith("    ") or not _ENDS.search(line)):
            return None
        return _with_ends(Heading(), line)
    return _with_ends(Heading(clock.time(match)), line)


def more(known: Heading, line: str, clock: Clock) -> None:
    """Add what a line further down in a packet's description says: `tcpdump -v` and `tshark -V` need several."""
    if match := _EPOCH.match(line):
        known.time = clock.time(match)
    elif line.startswith("    ") and known.ends is None and " > " in line[:120]:
        _with_ends(known, line)


def _with_ends(known: Heading, line: str) -> Heading:
    line = line[:1000]
    if match := _ENDS.search(line):
        source, destination = _endpoint(match[1], match[2]), _endpoint(match[3], match[4])
        if source and destination and len(source.address) == len(destination.address):
            known.ends = source, destination
    if match := _NUMBERS.search(line):
        known.sequence, known.payload = int(match[1]), int(match[2])
    return known


def _endpoint(address: str, port: str) -> Endpoint | None:
    from ipaddress import ip_address  # noqa: PLC0415 - only for bytes without IP headers

    try:
        packed = ip_address(address.strip("[]")).packed
    except ValueError:
        return None
    return Endpoint(packed, int(port)) if int(port) < 1 << 16 else None


# Bytes of a dumped packet: their link layer, which a dump does not name, and headers for payload that was
# dumped without any.

LINKS = (LINK_RAW_IP, LINK_ETHERNET, LINK_SLL, LINK_SLL2, LINK_NULL, LINK_PPP)
"""Link layers that are tried, in this order."""


BEYOND = 1 << 17
"""The first offset at which no IP packet ends that says its length."""
_LEAST_TCP = fixed(network.TCP).size


class Link:
    """The link layer of a dump's packets: the one that the packet before had, if it fits, else the first that does."""

    def __init__(self) -> None:
        self._known = LINK_RAW_IP

    def find(self, data: bytes) -> tuple[int, int] | None:
        """Return the link type under which the bytes are an IP packet, and the length of the packet on the wire; None
        if no type fits.
        """
        candidates = (self._known, *(one for one in LINKS if one != self._known))
        ends = {one: end for one in candidates if (end := _end(one, data)) is not None}
        # A packet that ends with its bytes proves more than one that was cut.
        for one in sorted(ends, key=lambda one: ends[one] > len(data)):
            self._known = one
            return one, max(ends[one], len(data))
        return None

    def other(self, data: bytes) -> int:
        """Return the link type of a packet that is not IP, such as ARP."""
        try:
            if headers.ethernet(data, 0)[0] in ETHER_NAMES:
                return LINK_ETHERNET
        except struct.error:
            pass
        return self._known


def _end(kind: int, data: bytes) -> int | None:
    """Return where the IP packet behind this link layer ends, or None if there is no IP packet."""
    try:
        protocol, at = headers.carried(kind, data)
        if protocol not in {ETHER_IPV4, ETHER_IPV6}:
            return None
        ip_packet = datagram(protocol, data, at, BEYOND)
    except (OtherError, struct.error):
        return None
    if (
        ip_packet.fragment is None
        and ip_packet.protocol == network.PROTOCOL_TCP
        and len(data) < ip_packet.start + _LEAST_TCP
    ):
        return None
    return len(data) if ip_packet.end == BEYOND else ip_packet.end


def with_headers(ends: tuple[Endpoint, Endpoint], sequence: int, payload: bytes) -> bytes:
    """Return an IP packet that carries payload which was dumped alone."""
    source, destination = ends
    tcp = {
        "source_port": source.port,
        "destination_port": destination.port,
        "sequence": sequence & 0xFFFFFFFF,
        "acknowledgment": 0,
    }
    tcp |= {"data_offset": _LEAST_TCP // 4 << 4, "flags": network.PSH, "window": 0, "checksum": 0, "urgent_pointer": 0}
    addresses = {"source": source.address, "destination": destination.address}
    if len(source.address) == 4:
        # A total length of 0 reaches to the packet's end.
        head = {
            "version_and_header_length": 4 << 4 | fixed(network.IPV4).size // 4,
            "type_of_service": 0,
            "total_length": 0,
            "identification": 0,
        }
        head |= {"flags_and_fragment_offset": 0, "time_to_live": 64, "protocol": network.PROTOCOL_TCP, "checksum": 0}
        return bytes(network.IPV4.build(head | addresses) + network.TCP.build(tcp) + payload)
    head = {"version_and_flow": 6 << 28, "payload_length": 0, "next_header": network.PROTOCOL_TCP, "hop_limit": 64}
    return bytes(network.IPV6.build(head | addresses) + network.TCP.build(tcp) + payload)


# Packets that tcpdump, tshark and Wireshark printed as text, without I/O: bytes of the text in, packets out.
#
# Rows of offset and bytes make a packet; the lines above it say when and between whom it went. Sections that
# tshark made from several packets ("Reassembled TCP") are skipped: their bytes are in the packets. A stream
# that tshark followed has payload alone, and offsets that count it.

MAX_PACKET, MAX_LINE, MAX_NOTICES = 1 << 24, 1 << 20, 10
_ROW = re.compile(rb"^[ \t]*(?:0x)?0{4,16}:?[ \t]+[0-9a-fA-F]{2}", re.MULTILINE)
_DETAILS = re.compile(rb"(?:Frame|Packet) \d+: \d+ bytes on wire \(\d+ bits\), \d+ bytes captured")


def is_packet_text(start: bytes, *, whole: bool) -> bool | None:
    """Return whether a text with this start is a dump of packets, or None if more bytes are needed.

    In a dump, a packet has an IP header, or the ends of a followed stream are named. `whole` says that there are no
    more bytes.
    """
    more_needed = None if len(start) < OPENING and not whole else False
    start = start[:OPENING]
    if _DETAILS.match(start.lstrip()):
        return True
    if start[:2] not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        if has_controls(start):
            return False
        if not _ROW.search(start) and b'"frame_raw": [' not in start:
            return more_needed
    reader = TextReader()
    reader.feed(start)
    reader.close()
    return True if reader.proved else more_needed


class TextReader:
    """The packets of a dump, in its order, numbered from 1.

    `feed` takes the text's bytes in pieces of any size and gives the packets that are whole; `close` gives the last
    one. `notices` name the rows that could not be read, `remarks` what should be known of all packets. `proved` says
    that an IP header, or the ends of a stream, were seen.
    """

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self.stopped = self.proved = False
        self._decoder: codecs.IncrementalDecoder | None = None
        self._rest, self._line, self._position = "", 0, 0
        self._out: list[Packet] = []
        self._number = 0
        self._clock, self._link = Clock(), Link()
        self._heading, self._data = Heading(), bytearray()
        self._open = self._derived = self._broken = self._raw = self._json = False
        self._nodes: dict[int, Endpoint] = {}
        self._side, self._first = 0, 0
        self._sequences: dict[tuple[Endpoint, Endpoint], int] = {}

    @property
    def remarks(self) -> list[str]:
        """The remarks that apply to all packets."""
        dateless = (
            "times in this dump have no date and count from 1970-01-01; tcpdump -tttt and tshark -t ud print dates"
        )
        return [dateless] if self._clock.dateless else []

    def feed(self, data: bytes) -> list[Packet]:
        """The packets that these bytes complete."""
        lines = (self._rest + self._decode(data, final=False)).split("\n")
        self._rest = lines.pop()
        for line in lines:
            self._take(line)
        if len(self._rest) > MAX_LINE:  # no line of a dump is that long: its end is read as another one
            self._take(self._rest)
            self._rest = ""
        return self._given()

    def close(self) -> list[Packet]:
        """The text has ended: the last packet."""
        self._take(self._rest + self._decode(b"", final=True))
        self._rest = ""
        self._end()
        return self._given()

    def _decode(self, data: bytes, *, final: bool) -> str:
        if self._decoder is None:
            wide = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            self._decoder = codecs.getincrementaldecoder("utf-16" if wide else "utf-8-sig")("replace")
        return self._decoder.decode(data, final)

    def _given(self) -> list[Packet]:
        packets, self._out = self._out, []
        return packets

    def _take(self, line: str) -> None:
        self._line += 1
        line = line.rstrip("\r")
        if self._json or _RAW.match(line):
            self._of_json(line)
        elif not (self._row(line, rows.TCPDUMP) or self._row(line, rows.WIRESHARK)):
            self._other(line)
        self._position += len(line) + 1

    def _of_json(self, line: str) -> None:
        """Take a line of tshark's JSON, in which `frame_raw` is a whole packet."""
        if self._raw:
            self._raw = False
            try:
                self._data = bytearray.fromhex(line.strip(' ",'))
            except ValueError:
                self._fault("expected the hex digits of a packet")
            self._open = True
        elif _RAW.match(line):
            self._end()
            self._heading = Heading()
            self._raw = self._json = True
        elif match := _JSON_TIME.match(line):
            self._heading.time = self._clock.time(match)
        elif match := _JSON_LENGTH.match(line):
            self._heading.wire_length = int(match[1])

    def _row(self, line: str, style: rows.Style) -> bool:
        """Take a row of this style, and return whether the line is one."""
        match = style.pattern.match(line)
        if match is None:
            return False
        start, at = match.start(1), match.end()
        if style is rows.WIRESHARK and start and not self._nodes:
            return False  # only the second side of a followed stream is indented
        if self._derived:
            return True
        offset = int(match[1], 16)
        text = line[at:]
        try:
            data = rows.line_digits(text, style).before(-1) if text.strip() else b""
        except MismatchError as error:
            self._fault(error.reason)
            self._broken = True
            return True
        self._place(offset, 1 if start else 0, data)
        return True

    def _place(self, offset: int, side: int, data: bytes) -> None:
        """Add a row's bytes to the packet that is being read, or begin another."""
        if self._nodes and side != self._side:
            self._end()
        follows = self._open and offset == self._first + len(self._data)
        if offset == 0 or (self._nodes and not follows):
            self._end()
            self._open, self._broken, self._first, self._side = True, False, offset, side
        elif not follows:
            if not self._broken:
                self._fault(f"offset {offset:04x} does not follow the row before")
            self._broken = True
        if self._broken:
            return
        self._data += data
        if len(self._data) > MAX_PACKET:
            self._fault(f"a packet is longer than {MAX_PACKET} bytes")
            self._broken = True

    def _other(self, line: str) -> None:
        """Take a line that is no row."""
        bare = line.strip()
        own = section(line)
        if not bare or own is not None or line[0] == "=":
            self._end()
            self._derived = own is False
            if bare and line[0] == "=":
                self._nodes = {}
        elif endpoint := node(bare):
            self._nodes[endpoint[0]] = endpoint[1]
        elif line[0] in " \t" and not bare[0].isdigit():
            self._below(line)
        elif summary := heading(line, self._clock):
            self._end()
            self._heading, self._derived = summary, False
        else:
            self._below(line)

    def _below(self, line: str) -> None:
        if self._open and not self._nodes:
            self._end()
        more(self._heading, line, self._clock)

    def _end(self) -> None:
        """Give the packet that is being read."""
        if not self._open:
            return
        data, summary = bytes(self._data), self._heading
        self._open, self._data = False, bytearray()
        if self._nodes:
            self._followed(data)
            return
        self._heading = Heading()
        if not data:
            return
        link = self._link.find(data)
        if link is None and summary.ends and summary.payload in {None, len(data)}:
            first = self._sequences.get(summary.ends, 1) if summary.sequence is None else summary.sequence
            self._sequences[summary.ends] = first + len(data)
            self._payload(summary, summary.ends, first, data)
            return
        self.proved |= link is not None
        kind, length = link or (self._link.other(data), len(data))
        self._number += 1
        self._out.append(
            Packet(
                self._number, summary.time, kind, data, summary.wire_length if summary.wire_length and link else length
            )
        )

    def _followed(self, data: bytes) -> None:
        if data and len(self._nodes) == 2:
            ends = self._nodes[self._side], self._nodes[1 - self._side]
            self._payload(Heading(), ends, 1 + self._first, data)

    def _payload(self, known: Heading, ends: tuple[Endpoint, Endpoint], sequence: int, data: bytes) -> None:
        if len(ends[0].address) != len(ends[1].address):
            return
        self.proved = True
        self._number += 1
        packet = with_headers(ends, sequence, data)
        self._out.append(Packet(self._number, known.time, LINK_RAW_IP, packet, len(packet)))

    def _fault(self, reason: str) -> None:
        """Say what is wrong with a row; the packet ends before it."""
        if len(self.notices) < MAX_NOTICES:
            self.notices.append(
                Notice(f"line {self._line}: {reason}; the packet ends there", self._position, self._number)
            )
