"""Logs of a stream, without Spark: request logs that grow in the middle of lines, and indexes that are written anew."""

import json
import os
import random
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

pytest.importorskip("numba")
pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadMaxBytes

from kwire_cli.pipeline.lake.logs import OF_KINDS, part_rows
from kwire_cli.pipeline.model import Reading
from kwire_cli.pipeline.stream_logs import ROWS, LogReader, unpacked
from kwire_cli.pipeline.stream_progress import Progress
from kwire_cli.source.logs.files import segment_at
from kwire_cli.source.request_log.reading import LogPart

pytestmark = pytest.mark.numba

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
TABLES = ("frames", "faults", "index", "batches")


class Query:
    """A query over a folder, that may be begun anew at any time."""

    def __init__(self, folder):
        self.folder, self.offset = folder, Progress().to_json()
        self.restart()

    def restart(self):
        files = {kind: [str(self.folder)] for kind in OF_KINDS}
        options = {"maxBytesPerTrigger": 1 << 30, "patience": 60}
        self.reader = LogReader(TABLES, files, [str(self.folder)], ROWS, Reading(), 4000, options)

    def batch(self, most=1 << 30):
        """The rows of a batch, by table and by the unit that they replace."""
        end = self.reader.latestOffset(self.offset, ReadMaxBytes(most))
        parts = [] if end is self.offset else self.reader.partitions(self.offset, end)
        self.offset = json.loads(json.dumps(end))
        found = defaultdict(list)
        for row in (row for part in parts for rows in self.reader.read(part) for row in rows.to_pylist()):
            shown = [each for rows in unpacked(row["rows"]) for each in rows.to_pylist()] if row["rows"] else []
            found[row["table"], row["unit"]] += shown
        return found


def rows_of(kind, table, part):
    source = next(each for each in OF_KINDS[kind] if each.name == table)
    return [row for rows in part_rows(source, part, Reading()) for row in rows.to_pylist()]


@pytest.mark.parametrize("seed", range(3))
def test_request_logs_grow_in_the_middle_of_lines(tmp_path, seed):
    dice = random.Random(seed)
    sample = SAMPLES / "request-logs" / "kafka-request.log"
    data, path, size = sample.read_bytes(), tmp_path / "kafka-request.log", 0
    query, found = Query(tmp_path), []
    while size < len(data):
        size += dice.choice([10, 3000, 20_000])
        path.write_bytes(data[:size])
        if dice.random() < 0.3:
            query.restart()
        found += query.batch(dice.choice([2000, 1 << 30]))["frames", None]
    while some := query.batch()["frames", None]:
        found += some
    assert found == rows_of("request-log", "frames", LogPart(str(path)))
    assert len(found) > 50


def test_a_line_without_an_end_is_read_when_nobody_goes_on_to_write(tmp_path):
    path = tmp_path / "kafka-request.log"
    path.write_bytes((SAMPLES / "request-logs" / "kafka-request.log").read_bytes()[:-30])
    query = Query(tmp_path)
    whole = len(query.batch()["frames", None])
    assert not query.batch()
    os.utime(path, (1, 1))
    rest = query.batch()
    assert [row["file"] for row in rest["faults", None]] == [str(path)] or rest["frames", None]
    assert whole == len(rows_of("request-log", "frames", LogPart(str(path)))) - len(rest["frames", None])


def test_indexes_of_a_folder_are_given_anew_when_one_has_changed(tmp_path):
    folder = tmp_path / "logs"
    shutil.copytree(SAMPLES / "logs", folder)
    query = Query(tmp_path)

    def age():
        for path in folder.rglob("*"):
            os.utime(path, (1, 1))

    for path in folder.rglob("*"):
        os.utime(path)
    assert not any(unit for _, unit in query.batch())  # somebody may be writing them
    age()
    first = query.batch()
    partition = folder / "txn-out-1"
    path = partition / "00000000000000000000.timeindex"
    path.write_bytes(path.read_bytes() * 2)
    age()
    query.restart()
    again = query.batch()
    (unit,) = {unit for _, unit in again}
    assert [*again] == [("index", unit), ("faults", unit)]
    assert ("index", unit) in first
    files = sorted(str(path) for path in partition.iterdir())
    names = {row["file"] for row in again["index", unit]}
    segments = tuple(segment_at(Path(file)) for file in files if file in names)
    assert again["index", unit] == rows_of("index", "index", segments)
    assert len(first["index", unit]) < len(again["index", unit])
    assert not query.batch()
