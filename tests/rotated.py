"""A capture in files that were rotated in the middle of frames, and the rows that one machine makes of it."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import packets as make
from command_line import ROOT
from damage import packet_of

import kwire_cli as kwire
from kwire_cli.source.packets.descriptors import outlined, schedule
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.segments import Segments

COLUMNS = (
    "file",
    "packet",
    "time",
    "src",
    "dst",
    "stream",
    "frame",
    "request_frame",
    "kind",
    "size",
    "api",
    "api_version",
    "correlation_id",
    "latency_us",
    "error_codes",
    "anomalies",
)
"""Those that say the same whatever other connections say."""


def shown(row):
    """The columns of a row, with the name of its file alone."""
    return Path(row["file"]).name, *(str(row[name]) for name in COLUMNS[1:])


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
        from kwire_cli.message.redaction import Redaction
        from kwire_cli.pipeline.lake.captures import PointTables, point_rows
        from kwire_cli.pipeline.lake.frames import resolved

        one = folder / "one.pcap"
        one.write_bytes(make.pcap_file(self.packets))
        tables = PointTables("", Redaction(kwire.catalog()), ("frames",))
        found = [rows for _, rows in point_rows(schedule([outlined(str(one))]), 0, tables, None)]
        rows = [row for each in found for row in resolved(each, tables.names).to_pylist()]
        return Counter(shown({**row, **self._place(row["packet"])}) for row in rows)

    def _place(self, packet):
        bounds = [0, *self.cuts, len(self.packets)]
        number = next(number for number, end in enumerate(bounds[1:]) if packet <= end)
        return {"file": name(number), "packet": packet - bounds[number]}


def name(number):
    """Of a file."""
    return f"capture-{number}.pcap"


def rotated_points(folder):
    """Write capture points of rotated files into a folder: whole, from mid-stream, and with fetch sessions."""
    for number, name in enumerate(("captures/ipv6.pcap", "captures/midstream.pcap", "incidents/fetch-sessions.pcap")):
        point = folder / str(number)
        point.mkdir(parents=True)
        for at, data in enumerate(Rotated(ROOT / "samples" / name, 3).files):
            (point / f"{at}.pcap").write_bytes(data)
    return folder
