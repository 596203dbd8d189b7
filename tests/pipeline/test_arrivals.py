"""What arrives in a folder is read once: files that grow, are renamed, cut, replaced, deleted; and what is kept of them
is short.
"""

import gzip
import json
import os
import random
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("numba")
pytest.importorskip("pyspark")

from kwire_cli import read_records
from kwire_cli.errors import InputError
from kwire_cli.pipeline.stream_files import CaptureFiles, SegmentFiles
from kwire_cli.pipeline.stream_progress import Mark, Progress
from kwire_cli.pipeline.stream_reader import GONE, REPLACED, Arrivals
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.parts import Part, PartReader, grown

pytestmark = pytest.mark.numba

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
PYTHON = SAMPLES / "captures" / "kafka-python-4.4.0.pcapng"
DATA = PYTHON.read_bytes()
COUNT = sum(1 for _ in packets(PYTHON))
ALL = 1 << 60


class Stream:
    """A stream without Spark: its offsets go through JSON, and it may be begun anew at any time."""

    def __init__(self, folder, *kinds):
        self.folder, self.kinds, self.progress = folder, kinds or (CaptureFiles(60),), Progress()
        self.restart()

    def restart(self):
        self.arrivals = Arrivals([str(self.folder)], self.kinds)

    def read(self, most=ALL, size=1 << 30):
        """The next batch: names of files with the numbers of their packets, or where their bytes are; and faults."""
        later = self.arrivals.later(self.progress, most)
        if later is self.progress:
            return None
        later = Progress.of(json.loads(json.dumps(later.to_json())))
        found, faults = Counter(), []
        for each in self.arrivals.between(self.progress, later):
            faults += [(Path(each.path).name, code) for code in each.faults]
            for part, count, _ in each.portions(size):
                if isinstance(each.kind, SegmentFiles):
                    found[Path(each.path).name, part.start, part.stop] += 1
                    continue
                own = [number for _, some in PartReader(part).chunks() for number in some.number.tolist()]
                assert len(own) == count
                found.update((Path(each.path).name, number) for number in own)
        self.progress = later
        return found, faults

    def rest(self, **how):
        found = Counter()
        while batch := self.read(**how):
            assert not batch[1]
            found += batch[0]
        return found


@pytest.fixture
def stream(tmp_path):
    return Stream(tmp_path)


def whole(*names):
    return Counter((name, number) for name in names for number in range(1, COUNT + 1))


@pytest.mark.parametrize("seed", range(4))
def test_files_that_grow_are_read_once(stream, tmp_path, seed):
    dice, found, sizes = random.Random(seed), Counter(), {"a.pcapng": 0, "b.pcapng": 0, "c.cap": 0}
    while any(size < len(DATA) for size in sizes.values()):
        name = dice.choice([*sizes])
        sizes[name] += dice.choice([0, 3, 20, 2000, 9000])
        (tmp_path / name).write_bytes(DATA[: sizes[name]])
        if dice.random() < 0.3:
            stream.restart()
        if batch := stream.read(most=dice.choice([1, 700, ALL]), size=dice.choice([500, ALL])):
            found += batch[0]
            assert not batch[1]
    assert found + stream.rest() == whole(*sizes)
    assert stream.progress.packets == {str(tmp_path): 3 * COUNT}


def test_a_batch_done_again_is_the_same(stream, tmp_path):
    for name in ("a.pcapng", "b.pcapng"):
        (tmp_path / name).write_bytes(DATA)
    first = stream.arrivals.later(stream.progress, 5000)
    second = stream.arrivals.later(first, 9000)

    def parts(arrivals):
        return [[*each.portions(1000)] for each in arrivals.between(first, second)]

    told = parts(stream.arrivals)
    (tmp_path / "c.pcapng").write_bytes(DATA)
    assert parts(Arrivals([str(tmp_path)], (CaptureFiles(60),))) == told


@pytest.mark.parametrize("most", [1, 300, 1000, 5000])
def test_rotated_files_are_read_one_behind_the_other(stream, tmp_path, most):
    path = SAMPLES / "captures" / "midstream.pcap"
    data, bounds = path.read_bytes(), [24]
    while (found := grown(Part(str(path), bounds[-1], packets=0, lead=((0, 24),)), bounds[-1] + 9000)).packets:
        bounds.append(found.onward.start)
    for number, (start, stop) in enumerate(pairwise(bounds)):
        (tmp_path / f"{9 - number}.pcap").write_bytes(data[:24] + data[start:stop])  # the order is that of the times
    order = []
    while batch := stream.read(most=most):
        order += sorted(batch[0], key=lambda each: (-int(each[0][0]), each[1]))
    assert [*dict.fromkeys(name for name, _ in order)] == [f"{9 - number}.pcap" for number in range(len(bounds) - 1)]
    assert order == sorted(order, key=lambda each: (-int(each[0][0]), each[1]))
    assert len(order) == sum(1 for _ in packets(path))


def test_a_folder_that_is_away_for_a_moment(stream, tmp_path):
    stream.folder = tmp_path / "in"
    stream.folder.mkdir()
    stream.restart()
    (stream.folder / "a.pcapng").write_bytes(DATA)
    stream.read()
    stream.folder.rename(tmp_path / "away")
    assert stream.read() is None
    (tmp_path / "away").rename(stream.folder)
    assert stream.read() is None
    stream.folder.rename(tmp_path / "away")
    for _ in range(18):
        assert stream.read() is None
    with pytest.raises(InputError, match="no such file or folder"):
        [stream.read() for _ in range(9)]


def test_renamed_files_go_on(stream, tmp_path):
    (tmp_path / "live.pcapng").write_bytes(DATA[:9000])
    found, _ = stream.read()
    (tmp_path / "live.pcapng").rename(tmp_path / "live.1.pcapng")
    (tmp_path / "live.1.pcapng").write_bytes(DATA)
    assert Counter(number for _, number in found) + Counter(number for _, number in stream.rest()) == Counter(
        range(1, COUNT + 1)
    )
    (tmp_path / "live.1.pcapng").rename(tmp_path / "live.2.pcapng")
    assert stream.read() is None


def test_many_files_are_kept_short(stream, tmp_path):
    begun = grown(Part(str(PYTHON)), 700)
    small, few = DATA[: begun.onward.start], begun.packets
    for number in range(300):
        (tmp_path / f"{number:03}.pcapng").write_bytes(small)
    assert len(stream.rest()) == 300 * few
    (tmp_path / "last.pcapng").write_bytes(small)
    stream.read()
    offset = stream.progress.to_json()
    assert len(offset["files"]) == 1
    assert len(json.dumps(offset)) < 300 * 30
    (tmp_path / "017.pcapng").write_bytes(DATA)  # what was done may grow
    (tmp_path / "018.pcapng").rename(tmp_path / "moved.pcapng")
    stream.restart()
    found, faults = stream.read()
    assert found == Counter(("017.pcapng", number) for number in range(few + 1, COUNT + 1))
    assert not faults
    for path in tmp_path.iterdir():
        path.unlink()
    (tmp_path / "new.pcapng").write_bytes(DATA)
    stream.read()
    assert [Path(path).name for path in stream.progress.files] == ["new.pcapng"]
    assert not stream.progress.done


def test_cut_replaced_and_deleted_files_are_told(stream, tmp_path):
    file = tmp_path / "ring.pcapng"
    file.write_bytes(DATA)
    stream.read()
    other = (SAMPLES / "captures" / "midstream.pcap").read_bytes()
    file.write_bytes(other[: len(other) // 2])
    found, faults = stream.read()
    assert faults == [("ring.pcapng", REPLACED)]
    assert min(number for _, number in found) == 1
    file.write_bytes(DATA[: len(DATA) // 3])  # as long as it likes: its beginning is another one
    assert stream.read()[1] == [("ring.pcapng", REPLACED)]
    waits = tmp_path / "waits.pcapng"
    waits.write_bytes(DATA[:-20])
    stream.read()
    waits.unlink()
    assert stream.read() == (Counter(), [("waits.pcapng", GONE)])
    assert stream.read() is None


def test_what_nobody_writes_to_is_taken_as_it_is(tmp_path):
    stream = Stream(tmp_path, CaptureFiles(3600))
    for name, content in (
        ("cut.pcapng", DATA[:-20]),
        ("packed.pcap.gz", gzip.compress(DATA)[:-9]),
        ("none.pcap", b"not a capture"),
    ):
        (tmp_path / name).write_bytes(content)
    found, _ = stream.read()
    assert {name for name, _ in found} == {"cut.pcapng"}  # the others may be whole one day
    assert stream.read() is None
    for path in tmp_path.iterdir():
        os.utime(path, (1, 1))
    later = stream.arrivals.later(stream.progress, ALL)
    ranges = {Path(each.path).name: (each.start, each.stop) for each in stream.arrivals.between(stream.progress, later)}
    assert ranges["none.pcap"] == (0, 13)
    assert ranges["cut.pcapng"][1] == len(DATA) - 20
    assert "packed.pcap.gz" in ranges
    stream.progress = later
    (tmp_path / "packed.pcap.gz").write_bytes(gzip.compress(DATA))
    assert stream.read() == (whole("packed.pcap.gz"), [("packed.pcap.gz", REPLACED)])


def test_segments_wait_for_the_next_one(tmp_path):
    folder = tmp_path / "orders-0"
    folder.mkdir()
    data = next((SAMPLES / "segments" / "txn-out-0").glob("*.log")).read_bytes()
    active = folder / "00000000000000000000.log"
    active.write_bytes(data[:-40] + bytes(1000))  # preallocated, and half written
    stream = Stream(tmp_path, SegmentFiles())
    ((_, _, stop),) = stream.read()[0]
    assert stop < len(data)
    assert stream.read() is None
    active.write_bytes(data)
    assert [*stream.read()[0]] == [(active.name, stop, len(data))]
    active.write_bytes(data + b"half a batch")
    assert stream.read() is None
    (folder / "00000000000000000500.log").write_bytes(b"")
    assert [*stream.read()[0]] == [(active.name, len(data), len(data) + 12)]
    active.write_bytes(data[len(data) // 2 :])  # what the cleaner leaves is nothing new
    batch = stream.read()
    assert batch in (None, (Counter(), []))
    shutil.copy(active, folder / "00000000000000000500.log.cleaned")
    active.unlink()  # as retention does
    assert stream.read() is None


def test_segments_that_are_copied_one_piece_after_the_other(tmp_path):
    """They were taken for ended, as a later one was there."""
    folder = tmp_path / "orders-0"
    folder.mkdir()
    data = next((SAMPLES / "segments" / "__transaction_state-0").glob("*.log")).read_bytes()
    ends = [each.position + each.size for each in read_records(data)]
    file = folder / "00000000000000000000.log"
    (folder / "00000000000000000500.log").write_bytes(data)
    stream, found = Stream(tmp_path, SegmentFiles()), []
    for size in (ends[2] + 7, ends[5], ends[9] - 1, len(data)):
        file.write_bytes(data[:size])
        found += [(start, stop) for name, start, stop in stream.read()[0] if name == file.name]
        stream.restart()
    assert found == [(0, ends[2] + 7), (ends[2], ends[5]), (ends[5], ends[9] - 1), (ends[8], len(data))]


def test_both_kinds_in_one_folder(tmp_path):
    shutil.copytree(SAMPLES / "segments" / "garbage-0", tmp_path / "garbage-0")
    (tmp_path / "a.pcapng").write_bytes(DATA)
    stream = Stream(tmp_path, SegmentFiles(), CaptureFiles(60))
    names = {each[0] for each in stream.read()[0]}
    assert names == {"a.pcapng", "00000000000000000000.log"}
    assert stream.read() is None


def test_a_folder_may_be_empty(stream, tmp_path):
    assert stream.read() is None
    (tmp_path / "a.pcapng").write_bytes(b"")
    assert stream.read() is None
    (tmp_path / "a.pcapng").write_bytes(DATA)
    assert stream.read()[0] == whole("a.pcapng")


def test_what_comes_after_now_is_for_later(stream, tmp_path):
    (tmp_path / "a.pcapng").write_bytes(DATA)
    stream.arrivals.stop_here()
    (tmp_path / "b.pcapng").write_bytes(DATA)
    assert stream.rest(most=4000) == whole("a.pcapng")
    (tmp_path / "a.pcapng").rename(tmp_path / "c.pcapng")
    assert stream.read() is None
    stream.restart()
    assert stream.rest() == whole("b.pcapng")


def test_progress_is_its_json():
    files = {
        f"/folder/{number}": Mark(at=1000 + number, beginning=7 | number << 8 | 1, size=1000 + number)
        for number in range(100)
    }
    progress = Progress(files | {"/x": Mark(at=1, beginning=3, size=9, turn=2, was="00")}, {}, {"/folder": 12})
    assert Progress.of(json.loads(json.dumps(progress.to_json()))) == progress
