"""Capture points in Spark: what `kwire decode` says of the same files, and no connection of two points is one."""

import random
from collections import Counter
from pathlib import Path

import pytest
from kit import traffic as make
from kit.captures import packet_of
from kit.commands import kwire

from kwire_cli.source.files import Naming
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.segments import Segments

pytestmark = pytest.mark.spark

SAMPLES = Path(__file__).resolve().parents[2] / "samples" / "captures"


def written(path, some):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(make.pcap_file(some))


def decoded(paths, *options):
    import json

    lines = [json.loads(line) for line in kwire("decode", *paths, "--format", "jsonl", *options).out.splitlines()]
    names = ("capture", "file", "packet", "src", "dst", "kind", "size", "api", "apiVersion")
    return Counter((*map(line.get, names), line.get("header", {}).get("correlationId")) for line in lines)


def read(captures):
    """The lines of captures, as tasks read them."""

    def lines(found):
        return [
            (line.origin.point, *line.where, line.src, line.dst, line.kind, line.seen.size, line.api, line.api_version,
             line.correlation_id)
            for line in found
        ]  # fmt: skip

    return Counter(line for some in captures.folded(lines, list.extend) for line in some)


def test_points_are_what_decode_says(spark, tmp_path):
    from kwire_cli.pipeline.captures import Captures

    made = [
        packet_of(segment, number)
        for number, segment in enumerate(Segments()(packets(SAMPLES / "kafka-python-4.4.0.pcapng")), 1)
    ]
    dice, shared = random.Random(3), [[], []]
    for packet in made:
        dice.choice(shared).append(packet)
    for number, some in enumerate(shared):  # which overlap, and are merged
        written(tmp_path / "a" / f"{number}.pcap", some)
    for number in (0, 1):  # copies, which are not
        written(tmp_path / "b" / f"{number}.pcap", made)
    paths = [str(path) for path in sorted(tmp_path.rglob("*.pcap"))]
    notes = []
    found = Captures(spark, paths, partitions=2, note=notes.append)
    assert read(found) == decoded(paths)
    assert len(notes) == 1
    assert [point.apart for point in found.plan.points].count(True) == 2
    merged = read(Captures(spark, paths, partitions=2, naming=Naming(merged=True)))
    assert sum(merged.values()) == sum(decoded(paths, "--merge-points").values()) == sum(decoded(paths[:2]).values())
