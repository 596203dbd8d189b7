"""Files of a stream: a batch that is done again is there once, batches without rows leave nothing, and all files are
whole at any time.
"""

import csv
import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytestmark = [pytest.mark.spark]

WAYS = [("parquet", ()), ("parquet", ("topic",)), ("parquet", ("number",)), ("csv", ()), ("json", ("topic",))]
"""Those of Parquet by topic are written by tasks, as without folders; all others by Spark."""


@pytest.fixture
def frames(spark):
    """Some batches: rows in the first task alone, in others alone, none."""

    def made(rows, tasks):
        return spark.createDataFrame(
            [(number, f"t{number % 2}", f"v{number}") for number in rows], "number int, topic string, value string"
        ).repartition(tasks, "topic")

    return [made(range(4), 1), made(range(4, 9), 5), made([], 3)]


def stream(spark, folder, fmt, by, query="0123456789"):
    from kwire_cli.pipeline.output import folder_of_tasks
    from kwire_cli.pipeline.stream_following import Batches, _BySpark, _InTasks

    there = folder_of_tasks(spark, str(folder), fmt, by)
    found = Batches(_InTasks(there, by) if there else _BySpark(spark, str(folder), fmt, by))
    found.begin(query)
    return found


def values(folder, fmt):
    """The values in all files of a folder, hidden ones too, which are read as anybody would."""
    found = Counter()
    for file in folder.rglob(f"*.{fmt}"):
        if fmt == "parquet":
            own = pq.ParquetFile(file).read().column("value").to_pylist()
        elif fmt == "csv":
            own = [row["value"] for row in csv.DictReader(file.read_text().splitlines())]
        else:
            own = [json.loads(line)["value"] for line in file.read_text().splitlines()]
        assert own, file
        found.update(own)
    return found


@pytest.mark.parametrize(("fmt", "by"), WAYS)
def test_each_row_once_however_often_a_batch_is_done(spark, frames, tmp_path, fmt, by):
    folder = tmp_path / "out"
    folder.mkdir()
    expected = Counter()
    for number, frame in enumerate(frames):
        expected.update(row.value for row in frame.collect())
        for killed in (True, False):
            batches = stream(spark, folder, fmt, by)
            batches.write(frame, number)
            assert values(folder, fmt) == expected
            assert not [*folder.glob("_temporary*")]
            if killed:
                for file in [
                    file for file in sorted(folder.rglob(f"*.{fmt}")) if file.name.startswith(f"batch-{number:08}-")
                ][:1]:
                    file.unlink()
                (folder / "_temporary-of-a-killed-process" / "x").mkdir(parents=True)
    assert {each.parent.relative_to(folder).as_posix().split("=")[0] for each in folder.rglob(f"*.{fmt}")} == {
        by[0] if by else "."
    }
    stream(spark, folder, fmt, by, "another").write(frames[0], 3)
    assert values(folder, fmt) == expected + Counter(row.value for row in frames[0].collect())


def test_after_the_end_no_batch_is_taken(spark, frames, tmp_path):
    batches = stream(spark, tmp_path, "parquet", ())
    batches.end()
    with pytest.raises(InterruptedError):
        batches.write(frames[0], 0)
    assert not [*tmp_path.iterdir()]


def test_a_file_has_its_name_when_it_is_whole(tmp_path):
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from kwire_cli.pipeline.output import Writer

    hidden = tmp_path / "_temporary-x"
    hidden.mkdir()
    writer = Writer(str(hidden), (), StructType.fromDDL("value int"), "zstd")
    found = [
        tuple(row.values())
        for made in writer.written(iter([pa.record_batch({"value": pa.array([1], pa.int32())})]))
        for row in made.to_pylist()
    ]
    assert [*hidden.iterdir()]
    assert not [*tmp_path.rglob("*.parquet")]
    writer.put(found, tmp_path, "batch-")
    (file,) = tmp_path.rglob("*.parquet")
    assert (file.parent, file.name[:6]) == (tmp_path, "batch-")
    assert pq.read_table(Path(file)).to_pylist() == [{"value": 1}]
