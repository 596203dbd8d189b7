"""What is in a lake, a server that speaks S3, and captures that were rotated."""

import atexit
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from kit import traffic as make
from kit.captures import packet_of
from kit.commands import ROOT
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.segments import Segments
from kwire_cli.stores import opening

# What is in a lake, to be compared with what is in another one.

COSTS = """select * exclude (run, prefix_bytes, value_bytes, count), sum(prefix_bytes), sum(value_bytes), sum(count)
           from costs group by all"""


def die(_):
    """A task that ends its process."""
    os._exit(9)


def run(inputs, into, tables=None, *, reading=None, **settings):
    """Write tables of inputs into a lake; return what the run did."""
    from kwire_cli.lake import chosen
    from kwire_cli.lake.export import export
    from kwire_cli.lake.model import Reading, Wanted
    from kwire_cli.stores.paths import path_of

    wanted = Wanted(chosen(tables), reading or Reading())
    return export([*map(str, inputs)], path_of(into), wanted, **settings)


def rows_of(lake, query):
    """The rows of a query over a lake."""
    from kwire_cli.lake.query import Lake

    with Lake(lake, query) as tables:
        return [tuple(row.values()) for row in tables.arrow(query).read_all().to_pylist()]


def content(lake, without=""):
    """The columns and the rows of all tables, costs in sum; frames without some columns. Runs differ, and what
    connections carry is not for readers.
    """
    from kwire_cli.lake.query import Lake
    from kwire_cli.lake.snapshot import snapshot
    from kwire_cli.stores.paths import path_of

    names = sorted({*snapshot(path_of(lake)).tables} - {"carried"})
    queries = {name: f"select * exclude (run) from {name}" for name in names} | {
        "costs": COSTS,
        "inputs": "select path, size, digest, capture_point, kind, latest, tables from inputs",
        "frames": f"select * exclude ({', '.join(['run', *without.split(', ')]) if without else 'run'}) from frames",
    }
    out = {}
    with Lake(path_of(lake), *queries.values()) as tables:
        for name in [*names, "inputs"]:
            found = tables.arrow(queries[name]).read_all()
            out[name] = [(each.name, each.type) for each in found.schema], sorted(map(repr, found.to_pylist()))
    return {name: found for name, found in out.items() if found[1]}


# A server on this machine that speaks S3, and files on it.


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


PORT = free_port()
ACCESS = {
    "AWS_ACCESS_KEY_ID": "someone",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_ENDPOINT_URL": f"http://127.0.0.1:{PORT}",
}
"""What workers have to find in their environment; the server lets anybody in."""


class ObjectStore:
    """`put` copies files to the bucket of the server."""

    bucket = "kwire"

    def __init__(self):
        from s3fs import S3FileSystem

        self.files = S3FileSystem(endpoint_url=ACCESS["AWS_ENDPOINT_URL"], use_listings_cache=False)
        self.files.mkdir(self.bucket)

    def url(self, key=""):
        return f"s3://{self.bucket}/{key}"

    def put(self, key, data):
        self.files.pipe_file(f"{self.bucket}/{key}", data)
        return self.url(key)

    def copy(self, folder, key):
        """A folder of this machine with all that is in it."""
        for path in folder.rglob("*"):
            if path.is_file():
                self.put(f"{key}/{path.relative_to(folder)}", path.read_bytes())
        return self.url(key)


@cache
def running_store():
    """Start the server of this process, which ends with it."""
    program = f"from moto.server import main; main(['-H', '127.0.0.1', '-p', '{PORT}'])"
    server = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(server.kill)
    until = time.monotonic() + 60
    while True:
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", PORT)):
                return ObjectStore()
        assert server.poll() is None
        assert time.monotonic() < until
        time.sleep(0.1)


@contextmanager
def serving():
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ACCESS.items():
            patch.setenv(name, value)
        yield running_store()


# A capture in files that were rotated in the middle of frames, and the rows that one machine makes of it.

COLUMNS = (
    *("file", "packet", "time", "src", "dst", "stream", "frame", "request_frame"),
    *("kind", "size", "api", "api_version", "correlation_id", "latency_us", "error_codes", "anomalies"),
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


def record_requests(monkeypatch):
    """Return a list that grows by the place and size of whatever stores are asked for."""
    requests = []
    of_place = opening._stored_reader

    def recording(place):
        size, read_into = of_place(place)
        return size, lambda buffer, at: (requests.append((at, len(buffer))), read_into(buffer, at))

    monkeypatch.setattr(opening, "_stored_reader", recording)
    return requests
