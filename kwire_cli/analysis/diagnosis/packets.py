"""Captures that lack packets, parts of packets, one side or the beginnings of connections, and clocks that differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from kwire_cli.analysis.calls import evidence_of
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.places import Places, place_of
from kwire_cli.analysis.diagnosis.tallies import Book
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration, size_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call, Evidence
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.traffic import TcpConnection

LOST = FindingKind(
    "LOST_PACKETS",
    "warning",
    "The capture lacks packets that went over the network.",
    "The receiver acknowledged these bytes, so they arrived, but they are not in the capture: the machine that "
    "captured was too slow, or a mirror port dropped packets. Requests and responses in the gaps are missing from "
    "every result, and other requests may seem to be without an answer.",
    "Capture with a larger buffer (tcpdump -B 65536), write to a fast disk, and filter on the broker's port. When "
    "tcpdump ends, it says how many packets the kernel dropped.",
    rank=60,
)
CUT = FindingKind(
    "CUT_SHORT",
    "warning",
    "The capture has only the beginnings of packets.",
    "Packets are longer than the snap length of the capture. A request or response whose bytes were cut off cannot be "
    "read, or only in part.",
    "Capture whole packets: tcpdump -s 0. To share the capture without its contents, use kwire sanitize.",
    rank=61,
)
ONE_SIDE = FindingKind(
    "ONE_SIDE_ONLY",
    "warning",
    "The capture has only one direction of the traffic with a broker.",
    "Requests cannot be matched with responses, so latencies, errors and most findings are missing. Often the filter "
    "names only the source port or only the destination port, or the way back takes another network interface.",
    "Filter on the port in both directions (tcpdump 'tcp port 9092'), and capture on all interfaces of the path (-i "
    "any).",
    rank=62,
)
DUPLICATED = FindingKind(
    "DUPLICATED_PACKETS",
    "info",
    "The capture has most packets twice.",
    "The packets were captured at two points of their path, such as two interfaces of a machine or both sides of a "
    "mirrored port. They are not retransmissions. Counts of packets are double; counts of requests are not.",
    "Capture at one point: name an interface instead of any, or mirror one direction of each port.",
    rank=93,
)
MID_STREAM = FindingKind(
    "MID_STREAM",
    "info",
    "The capture begins in the middle of connections.",
    "What clients say when they connect is missing for these connections: their software, versions and logins. Which "
    "side is the client is inferred from the first frames.",
    "If the beginnings matter, start the capture before the clients.",
    rank=91,
)
CLOCKS = FindingKind(
    "CLOCKS_DISAGREE",
    "warning",
    "The times of the packets contradict each other.",
    "Responses are earlier than their requests, or two capture points saw the same connections at times that no "
    "network delay explains. Latencies and the order of events are wrong by as much.",
    "Synchronise the clocks of the machines that capture (NTP, PTP), or shift the times of one capture: editcap -t "
    "SECONDS IN OUT.",
    rank=63,
)
LEAST_BACKWARDS = 0.001
"""Seconds by which a response comes before its request: packets of several queues of a network card may be out of
order by microseconds."""
LEAST_APART = 1.0
"""Seconds between the times of the same connection at two capture points: no network takes so long."""
LEAST_TWICE = 20
"""Segments that are in the capture twice before it says so."""
TWICE = 0.9
"""The share of the bytes that are there twice."""
MOST_MET = 1 << 14
"""Connections whose beginnings are compared between capture points."""


@dataclass
class _Point:
    """Counts of a capture point: its connections, and what is missing of them."""

    connections: int = 0
    begun: int = 0
    lost: int = 0
    cut: int = 0
    late: int = 0
    twice: int = 0
    again: int = 0
    size: int = 0
    places: dict[str, Places] = field(default_factory=dict)

    def add(self, code: str, place: Evidence) -> None:
        """Keep a place."""
        self.places.setdefault(code, Places()).add(place)


class Packets(Rule):
    """Packets, sides and beginnings that are missing at capture points, connection by connection."""

    KINDS = (LOST, CUT, ONE_SIDE, DUPLICATED, MID_STREAM, CLOCKS)

    def __init__(self) -> None:
        self._points: Book[str | None, _Point] = Book(_Point)
        self._sides: Book[tuple[str | None, str], Counter[str]] = Book(Counter)
        self._met: dict[tuple[str, str], dict[str, float | None]] = {}
        self._backwards = 0.0

    unusual_only = True

    def call(self, call: Call) -> None:
        """Take a call: a response does not come before its request."""
        latency = call.latency
        if latency is not None and latency <= -LEAST_BACKWARDS:
            place = call.evidence()
            point = self._points[place.capture]
            point.late += 1
            point.add(CLOCKS.code, place)
            self._backwards = min(self._backwards, latency)

    def line(self, line: Captured) -> None:
        """Take a gap: its place shows where bytes are missing."""
        if line.seen.code == "LOST":
            self._points[line.origin.capture].add("gap", evidence_of(line, "gap"))

    def connection(self, connection: TcpConnection) -> None:
        """Take a connection that ended: of one that had begun before, its end alone may be there, which is nothing."""
        if not connection.opened and not connection.spoke:
            return
        point = self._points[connection.capture]
        place = place_of(connection)
        point.connections += not connection.is_unused
        if not connection.opened:
            point.begun += 1
            point.add(MID_STREAM.code, place)
        for kind, sizes in ((LOST, connection.lost), (CUT, connection.cut)):
            if any(sizes):
                point.add(kind.code, place)
        point.lost += sum(connection.lost)
        point.cut += sum(connection.cut)
        point.size += sum(size or 0 for size in connection.sizes)
        if None not in connection.sizes:
            point.again += sum(connection.again)
            point.twice += sum(connection.repeated)
        self._hear(connection)
        if connection.opened and connection.first is not None and connection.capture is not None:
            self._meet((connection.client, connection.broker), connection.capture, connection.first / 1e9)

    def _meet(self, ends: tuple[str, str], capture: str, first: float | None) -> None:
        """Note when a capture point saw a connection begin; None for ends between which it saw several."""
        met = self._met.get(ends)
        if met is None:
            if len(self._met) >= MOST_MET:
                return
            met = self._met[ends] = {}
        met[capture] = None if capture in met else first

    def _hear(self, connection: TcpConnection) -> None:
        """Note which sides of a connection are there. A client without payload may have had no answer."""
        client, broker = connection.heard
        spoke = connection.sizes[0] != 0 if client else connection.sizes[1] != 0
        side = "both" if client and broker else "client" if client and spoke else "broker" if broker and spoke else ""
        if side:
            sides = self._sides[connection.capture, connection.broker]
            sides[side] += 1

    def merge(self, other: Packets) -> None:
        for capture, its in other._points.items():
            own = self._points[capture]
            for name in ("connections", "begun", "lost", "cut", "late", "twice", "again", "size"):
                setattr(own, name, getattr(own, name) + getattr(its, name))
            for code, places in its.places.items():
                own.places.setdefault(code, Places()).merge(places)
        for key, sides in other._sides.items():
            self._sides[key].update(sides)
        for ends, met in other._met.items():
            for name, first in met.items():
                self._meet(ends, name, first)
        self._backwards = min(self._backwards, other._backwards)

    def findings(self) -> Iterator[Finding]:
        for capture, point in self._points.items():
            yield from self._of_point("the capture" if capture is None else f"capture {capture}", point)
        for (capture, broker), sides in self._sides.items():
            side = next(iter(sides)) if len(sides) == 1 else "both"
            if side != "both":
                other = "the broker's" if side == "client" else "the client's"
                count = sides[side]
                text = f"of {counted(count, 'connection')} only the {side}'s packets are there, not {other}"
                text += "" if capture is None else f" (capture {capture})"
                yield Finding(ONE_SIDE, f"broker {broker}", text, (), count)
        yield from self._apart()

    def _of_point(self, subject: str, point: _Point) -> Iterator[Finding]:
        def places(code: str) -> list[Evidence]:
            there = point.places.get(code)
            return there.earliest if there else []

        if point.lost:
            count = point.places[LOST.code].count
            text = f"{size_text(point.lost)} missing in {counted(count, 'connection')}"
            yield Finding(LOST, subject, text, places("gap") or places(LOST.code), point.lost)
        if point.cut:
            count = point.places[CUT.code].count
            text = f"{size_text(point.cut)} cut off packets of {counted(count, 'connection')}"
            yield Finding(CUT, subject, text, places(CUT.code), point.cut)
        if point.twice >= LEAST_TWICE and point.again >= TWICE * point.size:
            text = f"{counted(point.twice, 'segment')} with payload captured twice"
            yield Finding(DUPLICATED, subject, text, (), point.twice)
        if point.begun:
            text = f"{point.begun} of {counted(point.connections, 'connection')} had begun before the capture"
            yield Finding(MID_STREAM, subject, text, places(MID_STREAM.code), point.begun)
        if point.late:
            text = f"{counted(point.late, 'response')} earlier than the request, by up to {duration(-self._backwards)}"
            yield Finding(CLOCKS, subject, text, places(CLOCKS.code), point.late)

    def _apart(self) -> Iterator[Finding]:
        """Compare the times of connections that two capture points saw: half of them at least have to be far apart."""
        apart: dict[tuple[str, str], list[float]] = {}
        for met in self._met.values():
            points = sorted((capture, first) for capture, first in met.items() if first is not None)
            for at, (one, first) in enumerate(points):
                for another, second in points[at + 1 :]:
                    apart.setdefault((one, another), []).append(second - first)
        for (one, another), differences in apart.items():
            if abs(middle := median(differences)) >= LEAST_APART:
                text = (
                    f"{counted(len(differences), 'connection')} of both begin {duration(abs(middle))} "
                    f"{'later' if middle > 0 else 'earlier'} in {another} than in {one}"
                )
                yield Finding(CLOCKS, f"captures {one} and {another}", text, (), abs(middle))
