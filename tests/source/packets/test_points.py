"""Capture points: which files are one capture."""

import random
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from kit.captures import file_of

from kwire_cli.errors import InputError
from kwire_cli.source.files import Naming
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.points import apart_notes, points_of
from kwire_cli.source.packets.segments import Segments

SAMPLES = Path(__file__).resolve().parents[3] / "samples" / "captures"
PYTHON = SAMPLES / "kafka-python-4.4.0.pcapng"
START = 1 << 60


def written(path, segments):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file_of(segments))
    return str(path)


def timed(path, step=1_000_000):
    return [segment._replace(time=START + number * step) for number, segment in enumerate(Segments()(packets(path)))]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        (None, "/c/2026-11-22/broker-1"),
        (r"broker-\d+", "broker-1"),
        (r"/(\d+)-\d+-\d+/.*/(eth\d)", "2026/eth0"),
    ],
)
def test_names(pattern, name):
    assert Naming(pattern).name("/c/2026-11-22/broker-1/eth0-003.pcap.gz") == name


def test_patterns_that_say_nothing():
    with pytest.raises(InputError, match="not a regular expression"):
        Naming("(")
    with pytest.raises(InputError, match="does not match this path"):
        Naming("broker-").name("/a/b.pcap")


def test_folders_are_points_however_they_are_written(tmp_path, monkeypatch):
    segments = timed(PYTHON)
    middle = len(segments) // 2
    paths = []
    for folder in "ab":
        paths.append(written(tmp_path / folder / "0.pcap", segments[:middle]))
        paths.append(written(tmp_path / folder / "1.pcap", segments[middle:]))
    monkeypatch.chdir(tmp_path)
    found = points_of([paths[0], "a/1.pcap", "./b/0.pcap", "a/../b/1.pcap"], Naming())
    assert [(point.name, len(point.files), point.apart) for point in found] == [
        (str(tmp_path / "a"), 2, False),
        ("b", 2, False),
    ]
    # a/0.pcap and b/0.pcap hold the same
    assert sorted(point.name for point in points_of(paths, Naming("[^/]+$"))) == paths
    assert [point.name for point in points_of(paths[:2], Naming("[^/]+$"))] == ["0.pcap", "1.pcap"]


@pytest.mark.parametrize("seed", range(8))
def test_any_rotation_is_one_capture(tmp_path, seed):
    dice = random.Random(seed)
    segments = timed(dice.choice(sorted(SAMPLES.iterdir())), dice.choice([0, 1, 1_000_000]))
    cuts = sorted(dice.sample(range(1, len(segments)), min(dice.choice([1, 5, 20]), len(segments) - 1)))
    paths = [
        written(tmp_path / "in" / f"{number:03}.pcap", segments[start:stop])
        for number, (start, stop) in enumerate(pairwise([0, *cuts, len(segments)]))
    ]
    (point,) = points_of(dice.sample(paths, len(paths)), Naming())
    assert (point.files, point.apart) == (tuple(paths), False)


def moved(segments, time):
    return [each._replace(time=each.time + time) for each in segments]


def test_files_that_overlap_in_time_are_points_of_their_own(tmp_path):
    segments = timed(PYTHON)
    paths = [written(tmp_path / "a.pcap", segments[::2]), written(tmp_path / "b.pcap", segments[1::2])]
    found = points_of(paths, Naming())
    assert sorted((point.name, point.apart) for point in found) == [(path, True) for path in paths]
    (note,) = apart_notes(point.name for point in found)
    assert "a.pcap, b.pcap" in note
    assert [point.apart for point in points_of(paths, Naming("[^/]+$"))] == [False, False]


def test_two_rows_of_rotated_files_stay_rows(tmp_path):
    segments = timed(PYTHON)
    cuts = [0, len(segments) // 3, len(segments) // 2, len(segments)]
    for name, shift in (("eth0", 0), ("eth1", 10)):
        for number, (start, stop) in enumerate(pairwise(cuts)):
            written(tmp_path / f"{name}-{number}.pcap", moved(segments[start:stop], shift))
    found = points_of([str(path) for path in tmp_path.iterdir()], Naming())
    assert sorted([Path(file).name for file in point.files] for point in found) == [
        [f"{name}-{number}.pcap" for number in range(3)] for name in ("eth0", "eth1")
    ]


def test_many_copies_are_as_many_points(tmp_path):
    for number in range(500):
        shutil.copy(PYTHON, tmp_path / f"{number:03}.pcapng")
    assert len(points_of([str(path) for path in tmp_path.iterdir()], Naming())) == 500


def test_files_that_cannot_be_read_are_there(tmp_path):
    (tmp_path / "none.pcap").write_bytes(b"nothing")
    shutil.copy(PYTHON, tmp_path)
    (point,) = points_of([str(tmp_path / "none.pcap"), str(tmp_path / PYTHON.name)], Naming())
    assert len(point.files) == 2
