"""Lines above packets in dumps: when a packet was captured, how long it was on the wire, and between which ends it went."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire_cli.source.capture.model import Endpoint

SECOND, DAY = 1_000_000_000, 86_400_000_000_000
"""In nanoseconds."""

_DIGITS = r"(?P<fraction>\d{1,9})"
_CLOCK = re.compile(rf"(?:(?P<date>\d{{4}}-\d\d-\d\d)[ T])?(?P<clock>\d\d:\d\d:\d\d)\.{_DIGITS}(?=\s|Z|$)")
"""`10:00:00.123456`, with a date by `tcpdump -tttt` and `tshark -t ad`."""
_SECONDS = re.compile(rf"(?P<seconds>\d{{1,11}})\.{_DIGITS}(?=\s|$)")
"""Seconds since 1970, by `tcpdump -tt`, `tshark -t e`; in tshark's summaries since the first packet."""
_EPOCH = re.compile(rf"\s+Epoch (?:Arrival )?Time: (?P<seconds>\d{{1,11}})\.{_DIGITS}")
_FRAME = re.compile(r"(?:Frame|Packet) \d+: (\d{1,9}) bytes on wire")
"""The first line of what `tshark -V` says of a packet."""
_SUMMARY = re.compile(r" {0,8}\d{1,10} +(?=[\d-])")
"""The packet's number in tshark's and Wireshark's summaries."""
_PACKET = re.compile(r"(?:\S+ +(?:In|Out|P|B|M) +)?(?:IP6?|ARP,|\S+ > \S+, ethertype) ?")
"""What follows the time in a summary of tcpdump, behind the interface where there are several."""
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
    """What the lines above a packet say of it. `payload` counts the bytes within TCP."""

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
    """Whether a line is above the packet itself (True), above bytes that were made from packets (False), or neither (None)."""
    found = _SECTION.match(line)
    return None if found is None else found[1] in _OWN_SECTIONS


def node(line: str) -> tuple[int, Endpoint] | None:
    """The end of a followed stream that a line names, and which of the two it is."""
    found = _NODE.match(line)
    end = _endpoint(found[2], found[3]) if found else None
    return (int(found[1]), end) if found and end else None


def heading(line: str, clock: Clock) -> Heading | None:
    """What a packet's first line says, in whatever tool's words; None for any other line."""
    if found := _FRAME.match(line):
        return Heading(wire_length=int(found[1]))
    summary = _SUMMARY.match(line)
    at = summary.end() if summary else 0
    found = _CLOCK.match(line, at) or _SECONDS.match(line, at)
    if found is None or not (summary or _PACKET.match(line, found.end() + 1)):
        # With -t tcpdump prints no time; with -ttt and -ttttt the time since another packet, behind a space.
        bare = re.match(r"(?: \d\d:\d\d:\d\d\.\d{6,9} )?(?=IP6? )", line)
        if bare is None and (line.startswith("    ") or not _ENDS.search(line)):
            return None
        return _with_ends(Heading(), line)
    return _with_ends(Heading(clock.time(found)), line)


def more(known: Heading, line: str, clock: Clock) -> None:
    """Add what a line further down in a packet's description says: `tcpdump -v` and `tshark -V` need several."""
    if found := _EPOCH.match(line):
        known.time = clock.time(found)
    elif line.startswith("    ") and known.ends is None and " > " in line[:120]:
        _with_ends(known, line)


def _with_ends(known: Heading, line: str) -> Heading:
    line = line[:1000]
    if found := _ENDS.search(line):
        source, destination = _endpoint(found[1], found[2]), _endpoint(found[3], found[4])
        if source and destination and len(source.address) == len(destination.address):
            known.ends = source, destination
    if found := _NUMBERS.search(line):
        known.sequence, known.payload = int(found[1]), int(found[2])
    return known


def _endpoint(address: str, port: str) -> Endpoint | None:
    from ipaddress import ip_address  # noqa: PLC0415 - only for bytes without IP headers

    from kwire_cli.source.capture.model import Endpoint  # noqa: PLC0415 - as above

    try:
        packed = ip_address(address.strip("[]")).packed
    except ValueError:
        return None
    return Endpoint(packed, int(port)) if int(port) < 1 << 16 else None
