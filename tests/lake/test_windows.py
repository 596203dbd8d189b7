"""The plan of captures as columns, and its windows."""

from itertools import pairwise

import pyarrow as pa
import pytest
from kit import traffic as make
from kit.captures import SAMPLES, packet_of

from kwire_cli.lake.inputs import listed, named_files
from kwire_cli.lake.model import CAPTURES, found
from kwire_cli.lake.windows import OUTLINES, outline_rows, parts_of, planned, windows
from kwire_cli.source.files import Naming
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.segments import Segments

SIZE = 3000


@pytest.fixture
def folder(tmp_path):
    """Captures of which two overlap, a file that is none, and a folder of its own."""
    segments = [*Segments()(packets(SAMPLES / "captures" / "ipv6.pcap"))]
    for half in (0, 1):
        some = [packet_of(segment, number) for number, segment in enumerate(segments) if number % 2 == half]
        (tmp_path / f"{half}.pcap").write_bytes(make.pcap_file(some))
    (tmp_path / "broken.pcap").write_bytes(b"\xd4\xc3\xb2\xa1")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.pcap").write_bytes((SAMPLES / "captures" / "midstream.pcap").read_bytes())
    return tmp_path


@pytest.fixture
def plan(folder):
    listing = listed(named_files([str(folder)]))
    return planned(listing, outlines_of(listing), Naming())


def outlines_of(listing):
    return pa.Table.from_batches([*outline_rows(enumerate(listing["path"].to_pylist()), SIZE)], OUTLINES)


def test_files_that_are_no_captures(folder, plan):
    paths = [each.file for each in found([str(folder)], CAPTURES)]
    assert [paths[number].rpartition("/")[2] for number, _ in plan.faults] == ["broken.pcap"]
    assert [point.apart for point in plan.points] == [True, True, False]


def test_windows_have_each_part_once(plan, tmp_path):
    some = [*windows(plan, tmp_path, range(len(plan.points)), budget=200_000, most=5)]
    own = [[part for pack in range(window.packs) for part in parts_of(window, tmp_path, pack)] for window in some]
    assert len(some) > 5
    assert max(map(len, own)) <= 5
    places = [(part.part.file, part.part.start) for parts in own for part in parts]
    assert len({*places}) == len(places) == plan.parts.num_rows
    for (window, parts), (_, after) in pairwise(zip(some, own, strict=True)):
        assert window.goes_on == (parts[-1].point if after[0].point == parts[-1].point else None)
        assert {*window.points} == {part.point for part in parts}
    assert some[-1].goes_on is None


def test_windows_of_some_points(plan, tmp_path):
    (window,) = windows(plan, tmp_path, [1])
    assert {*window.points} == {1}
    assert [*windows(plan, tmp_path, [])] == []
