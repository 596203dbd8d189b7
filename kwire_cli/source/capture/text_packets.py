"""Packets that tcpdump, tshark and Wireshark printed as text, without I/O: bytes of the text in, packets out.

Rows of offset and bytes make a packet; the lines above it say when and between whom it went. Sections that tshark made from several packets
("Reassembled TCP") are skipped: their bytes are in the packets. A stream that tshark followed has payload alone, and offsets that count it.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from kwire_cli.source.binary import has_controls
from kwire_cli.source.capture.model import Notice, Packet
from kwire_cli.source.capture.text_headings import Clock, Heading, heading, more, node, section
from kwire_cli.source.capture.text_links import Link, with_headers
from kwire_cli.source.forms import tcpdump, wireshark
from kwire_cli.source.forms.model import MismatchError
from kwire_cli.source.forms.rows import Row
from kwire_cli.source.forms.xxd import grouped
from kwire_cli.structs.network.link import LINK_RAW_IP

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.source.capture.model import Endpoint

OPENING = 1 << 16
"""Bytes of a file that tell whether it is a dump of packets."""
MAX_PACKET, MAX_LINE, MAX_NOTICES = 1 << 24, 1 << 16, 10
_ROW = re.compile(rb"^[ \t]*(?:0x)?0{4,16}:?[ \t]+[0-9a-fA-F]{2}", re.MULTILINE)
_DETAILS = re.compile(rb"(?:Frame|Packet) \d+: \d+ bytes on wire \(\d+ bits\), \d+ bytes captured")


def is_packet_text(start: bytes, *, whole: bool) -> bool | None:
    """Whether a text that begins so is a dump of packets: one of them has an IP header, or the ends of a followed stream are named.

    None: more bytes are needed. `whole` says that there are no more.
    """
    more_needed = None if len(start) < OPENING and not whole else False
    start = start[:OPENING]
    if _DETAILS.match(start.lstrip()):
        return True
    if start[:2] not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        if has_controls(start):
            return False
        if not _ROW.search(start):
            return more_needed
    reader = TextReader()
    reader.feed(start)
    reader.close()
    return True if reader.proved else more_needed


class TextReader:
    """The packets of a dump, in its order, numbered from 1.

    `feed` takes the text's bytes in pieces of any size and gives the packets that are whole; `close` gives the last one. `notices` name the rows that
    could not be read, `remarks` what should be known of all packets. `proved` says that an IP header, or the ends of a stream, were seen.
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
        self._open = self._derived = self._broken = False
        self._nodes: dict[int, Endpoint] = {}
        self._side, self._first = 0, 0
        self._sequences: dict[tuple[Endpoint, Endpoint], int] = {}

    @property
    def remarks(self) -> list[str]:
        """What should be known of all packets."""
        dateless = "times in this dump have no date and count from 1970-01-01; tcpdump -tttt and tshark -t ud print dates"
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
        if not (self._row(line, tcpdump.ROW, grouped) or self._row(line, wireshark.ROW, wireshark.row_bytes)):
            self._other(line)
        self._position += len(line) + 1

    def _row(self, line: str, pattern: re.Pattern[str], read: Callable[[Row], bytes]) -> bool:
        """Take a row of this syntax; False if the line is none."""
        found = pattern.match(line)
        if found is None:
            return False
        start, at = found.start(1), found.end()
        if pattern is wireshark.ROW and start and not self._nodes:
            return False  # only the second side of a followed stream is indented
        if self._derived:
            return True
        offset = int(found[1], 16)
        row = Row(self._line, start, start, found[1], at, line[at:], squeezed=False, fresh=False, label=None)
        try:
            data = b"" if row.empty else read(row)
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
        elif found := node(bare):
            self._nodes[found[0]] = found[1]
        elif line[0] in " \t" and not bare[0].isdigit():
            self._below(line)
        elif known := heading(line, self._clock):
            self._end()
            self._heading, self._derived = known, False
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
        data, known = bytes(self._data), self._heading
        self._open, self._data = False, bytearray()
        if self._nodes:
            self._followed(data)
            return
        self._heading = Heading()
        if not data:
            return
        link = self._link.find(data)
        if link is None and known.ends and known.payload in {None, len(data)}:
            first = self._sequences.get(known.ends, 1) if known.sequence is None else known.sequence
            self._sequences[known.ends] = first + len(data)
            self._payload(known, known.ends, first, data)
            return
        self.proved |= link is not None
        kind, length = link or (self._link.other(data), len(data))
        self._number += 1
        self._out.append(Packet(self._number, known.time, kind, data, known.wire_length if known.wire_length and link else length))

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
            self.notices.append(Notice(f"line {self._line}: {reason}; the packet ends there", self._position, self._number))
