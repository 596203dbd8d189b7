"""A capture in files that were rotated in the middle of frames, and the rows that one machine makes of it."""

from collections import Counter
from itertools import pairwise

import packets as make
from damage import packet_of

import kwire_cli as kwire
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.model import Origin, Place, Start
from kwire_cli.source.packets.segments import Segments

COLUMNS = (
    "file",
    "packet",
    "time_ns",
    "src",
    "dst",
    "stream",
    "kind",
    "size",
    "api",
    "api_version",
    "correlation_id",
    "latency",
    "in_flight",
    "header",
)
"""Those that say the same whatever other connections say."""


class Rotated:
    """The packets of a capture, with each payload in two of them; in some files, each of which ends behind a first
    half.
    """

    def __init__(self, path, count):
        segments, firsts = [], []
        for segment in Segments()(packets(path)):
            at = len(segment.payload) // 2
            if at:
                firsts.append(len(segments) + 1)
                segments.append(segment._replace(payload=segment.payload[:at]))
            segments.append(
                segment._replace(sequence=segment.sequence + at & 0xFFFFFFFF, payload=segment.payload[at:])
                if at
                else segment
            )
        begin = 1 << 60
        self.packets = [
            packet_of(each._replace(time=begin + number * 1_000_000), number) for number, each in enumerate(segments, 1)
        ]
        self.firsts = firsts
        self.cuts = [firsts[len(firsts) * number // count] for number in range(1, count)]

    @property
    def files(self):
        """Their bytes, in the order of time."""
        return [
            make.pcap_file(self.packets[start:stop]) for start, stop in pairwise([0, *self.cuts, len(self.packets)])
        ]

    def rows(self, folder):
        """The rows of all packets in one file, with the files and the packets in which they are."""
        from kwire_cli.pipeline.line_columns import Line, Options, frame_rows

        one, catalog = folder / "one.pcap", kwire.catalog()
        one.write_bytes(make.pcap_file(self.packets))
        starts = {event.connection: event.packet for event in Capture(one) if type(event) is Start}
        capture = Capture(one)
        capture.origin = _Cut(self)
        lines = traffic(catalog, capture, waiting_since=capture.waiting_since)
        made = (Line(line, starts[line.stream], Options(catalog)) for line in lines)
        return Counter(tuple(row.values()) for rows in frame_rows(made, COLUMNS) for row in rows.to_pylist())


class _Cut(Origin):
    def __init__(self, rotated):
        super().__init__()
        self._bounds = [0, *rotated.cuts, len(rotated.packets)]

    def place(self, packet):
        number = next(number for number, end in enumerate(self._bounds[1:]) if packet <= end)
        return Place(name(number), packet - self._bounds[number])


def name(number):
    """Of a file."""
    return f"capture-{number}.pcap"
