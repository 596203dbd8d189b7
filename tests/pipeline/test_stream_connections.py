"""Connections of a stream, without Spark: batches of any size, rows in any order, what is kept taken up by others each
time.
"""

import random
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("numba")
pytest.importorskip("pyspark")


from pyspark.sql import Row
from rotated import COLUMNS, Rotated, name, shown

import kwire_cli as kwire
from kwire_cli.pipeline.model import Reading
from kwire_cli.pipeline.stream_connections import SEGMENTS, Connections, SegmentReader
from kwire_cli.pipeline.stream_logs import unpacked
from kwire_cli.pipeline.stream_progress import Progress
from kwire_cli.records.codecs import Limits

pytestmark = pytest.mark.numba

SAMPLES = Path(__file__).resolve().parents[2] / "samples" / "captures"
IDLE = 60
READING = Reading(Limits())


class Store:
    """What Spark keeps of each key, and the timers."""

    def __init__(self):
        self.kept, self.timers, self.key = {}, {}, None

    def at(self, key):
        self.key = key
        return self

    def getValueState(self, _name, _schema):  # noqa: N802 - PySpark's names, here and below
        return self

    def get(self):
        return self.kept.get(self.key)

    def update(self, value):
        self.kept[self.key] = value

    def clear(self):
        del self.kept[self.key]

    def registerTimer(self, moment):  # noqa: N802
        self.timers[self.key] = moment


class Now:
    def __init__(self, moment):
        self.moment = moment

    def getCurrentProcessingTimeInMs(self):  # noqa: N802
        return self.moment


class Query:
    """A query over a folder, that may be begun anew at any time."""

    def __init__(self, folder, dice):
        self.folder, self.dice, self.store, self.moment, self.offset = folder, dice, Store(), 1000, Progress().to_json()
        self.restart()

    def restart(self):
        self.reader = SegmentReader(
            [str(self.folder)], SEGMENTS, READING, 3000, {"maxBytesPerTrigger": 1 << 40, "patience": 3600}
        )

    def processor(self):
        made = Connections(("frames", "costs"), READING, None, IDLE)
        made.init(self.store)
        return made

    def batch(self, most):
        from pyspark.sql.streaming.datasource import ReadMaxBytes

        end = self.reader.latestOffset(self.offset, ReadMaxBytes(most))
        if end is self.offset:
            return None
        given = [
            row
            for each in self.reader.partitions(self.offset, end)
            for rows in self.reader.read(each)
            for row in rows.to_pylist()
        ]
        self.offset = end
        self.dice.shuffle(given)
        found = Counter()
        for key in {(row["point"], row["ends"]) for row in given}:
            rows = (Row(**row) for row in given if (row["point"], row["ends"]) == key)
            self.store.at(key)
            found += _shown(self.processor().handleInputRows(key, rows, Now(self.moment)))
        return found

    def rest(self, most=1 << 40):
        found = Counter()
        while (some := self.batch(most)) is not None:
            found += some
        return found

    def silence(self, seconds):
        self.moment += seconds * 1000
        found = Counter()
        for key, moment in [*self.store.timers.items()]:
            if moment <= self.moment:
                del self.store.timers[key]
                self.store.at(key)
                found += _shown(
                    self.processor().handleExpiredTimer(key=key, timerValues=Now(self.moment), expiredTimerInfo=None)
                )
        return found


def _shown(rows):
    return Counter(
        shown(row)
        for made in rows
        if made.table == "frames"
        for each in unpacked(made.rows)
        for row in each.to_pylist()
    )


@pytest.mark.parametrize("sample", ["ipv6.pcap", "midstream.pcap", "kafka-python-4.4.0.pcapng"])
@pytest.mark.parametrize("seed", [1, 2])
def test_rotated_captures_are_one(tmp_path, sample, seed):
    dice = random.Random(seed)
    folder = tmp_path / "in"
    folder.mkdir()
    rotated, found = Rotated(SAMPLES / sample, 5), Counter()
    query = Query(folder, dice)
    for number, content in enumerate(rotated.files):
        half = dice.randrange(len(content))
        for size in (half, len(content)):
            (folder / name(number)).write_bytes(content[:size])
            if dice.random() < 0.5:
                found += query.rest(dice.choice([1500, 9000, 1 << 40]))
            if dice.random() < 0.3:
                query.restart()
    found += query.rest()
    found += query.silence(IDLE - 1)
    assert query.store.kept
    found += query.silence(2)
    assert found == rotated.rows(tmp_path)
    assert not query.store.kept
    assert not query.store.timers


def test_captures_that_overlap_are_merged_by_time(tmp_path):
    """As from two machines: of one, the packets to the broker, and of another those from it."""
    import packets as make

    folder = tmp_path / "in"
    folder.mkdir()
    rotated = Rotated(SAMPLES / "ipv6.pcap", 1)
    for number in (0, 1):
        (folder / name(number)).write_bytes(make.pcap_file(rotated.packets[number::2]))
    query = Query(folder, random.Random(1))
    found = query.rest() + query.silence(IDLE)

    def plain(rows):
        """Packets have other numbers, and are in other files."""
        kept = [COLUMNS.index(each) for each in COLUMNS if each not in {"file", "packet", "stream"}]
        return Counter(tuple(row[at] for at in kept) for row in rows.elements())

    assert plain(found) == plain(rotated.rows(tmp_path))
    places = Counter((row[0], row[1]) for row in found.elements())
    assert {file for file, _ in places} == {name(0), name(1)}


def test_a_timer_that_is_early_waits_on(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    files = Rotated(SAMPLES / "ipv6.pcap", 2).files
    query = Query(folder, random.Random(1))
    for number, content in enumerate(files):
        (folder / name(number)).write_bytes(content)
        query.rest()
        query.silence(IDLE - 10)
    kept = len(query.store.kept)
    assert kept
    query.silence(5)  # the timers of the first ones, of which some were heard since
    assert 0 < len(query.store.kept) <= kept
    query.silence(IDLE)
    assert not query.store.kept


def test_what_another_version_kept_is_refused(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    query = Query(folder, random.Random(1))
    first, second = Rotated(SAMPLES / "ipv6.pcap", 2).files
    (folder / name(0)).write_bytes(first)
    query.rest()
    query.store.kept = {key: ("0.0.1/1", *rest) for key, (_, *rest) in query.store.kept.items()}
    (folder / name(1)).write_bytes(second)
    with pytest.raises(kwire.InputError, match=r"by kwire 0\.0\.1/1.*new checkpoint"):
        query.rest()
