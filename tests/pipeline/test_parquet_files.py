"""Parquet written in tasks: Spark reads back from it what it reads from its own, whatever was there and whatever went
wrong before.
"""

import shutil
from collections import Counter

import pytest
from record_sets import SEGMENTS

from kwire_cli.errors import InputError

pytestmark = [pytest.mark.spark, pytest.mark.numba]


def read(spark, folder):
    """The types and the rows, as often as each is there."""
    frame = spark.read.parquet(str(folder))
    return {field.name: field.dataType for field in frame.schema}, Counter(
        repr(sorted(row.asDict(recursive=True).items())) for row in frame.collect()
    )


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Segments with names that a folder can't have as they are, and one of no topic."""
    folder = tmp_path_factory.mktemp("a=b's [logs] 50%")
    for path in SEGMENTS.glob("orders-*/*"):
        place = folder / path.parent.name
        place.mkdir(exist_ok=True)
        shutil.copy(path, place)
    (folder / "of no topic").mkdir()
    shutil.copy(next(SEGMENTS.glob("orders-zstd-0/*.log")), folder / "of no topic")
    return folder


@pytest.fixture
def written(spark, logs, tmp_path):
    """Writes a table to a folder, by tasks or as Spark does; the number of rows."""
    from kwire_cli.pipeline import tables
    from kwire_cli.pipeline.output import write

    def written(table, name, by=(), *, by_spark=False, overwrite=False, paths=logs, **given):
        found = tables(spark, str(paths), split_size=5000, **given)
        return write(
            found.table(table) if by_spark else found.rows(table),
            str(tmp_path / name),
            "parquet",
            by,
            overwrite=overwrite,
        )

    return written


@pytest.mark.parametrize(
    ("table", "by", "codec", "paths"),
    [
        ("records", ("topic",), "zstd", None),
        ("records", (), "snappy", None),
        ("batches", ("file", "partition"), "none", None),
        ("index", ("topic",), "snappy", SEGMENTS.parent / "logs"),
    ],
)
def test_spark_reads_what_it_would_have_written(spark, written, logs, tmp_path, table, by, codec, paths):
    key = "spark.sql.parquet.compression.codec"
    before = spark.conf.get(key)
    spark.conf.set(key, codec)
    try:
        given = {"paths": paths or logs}
        assert written(table, "own", by, **given) == written(table, "of-spark", by, by_spark=True, **given) > 0
    finally:
        spark.conf.set(key, before)
    assert read(spark, tmp_path / "own") == read(spark, tmp_path / "of-spark")
    folders = [
        {path.parent.relative_to(tmp_path / name) for path in (tmp_path / name).rglob("*.parquet")}
        for name in ("own", "of-spark")
    ]
    assert folders[0] == folders[1]
    assert (tmp_path / "own" / "_SUCCESS").exists()
    assert not [*(tmp_path / "own").glob("_temporary*")]


def test_rows_in_turn_and_row_groups(tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql.types import StructType

    from kwire_cli.pipeline import output

    monkeypatch.setattr(output, "ROW_GROUP", 8)
    topics = ["a", "a", None, None, None, "a/b", "", "a"]
    batch = pa.record_batch({"topic": topics, "offset": pa.array(range(8), pa.int64())})
    schema = StructType.fromDDL("topic string, offset bigint")
    found = pa.Table.from_batches(
        output.Writer(str(tmp_path), ("topic",), schema, "zstd").written(
            iter([batch.slice(0, 2), batch.slice(2), batch])
        )
    ).to_pylist()
    null = "topic=__HIVE_DEFAULT_PARTITION__"
    folders = ["topic=a", null, "topic=a%2Fb", null, "topic=a", null, "topic=a%2Fb", null, "topic=a"]
    assert [(each["folder"], each["rows"]) for each in found] == [
        *zip(folders, [2, 3, 1, 1, 3, 3, 1, 1, 1], strict=True)
    ]
    assert len({each["name"] for each in found}) == len(found)
    files = [pq.ParquetFile(tmp_path / each["name"]) for each in found]
    assert [row for file in files for row in file.read().to_pylist()] == [
        {"offset": number} for number in (*range(8), *range(8))
    ]
    assert [file.num_row_groups for file in files] == [1, 1, 1, 1, 2, 1, 1, 1, 1]


def test_what_is_there_stays_until_all_is_written(spark, written, tmp_path):
    from kwire_cli.pipeline.model import Reading

    with pytest.raises(Exception, match="InputError"):
        written("records", "out", paths=SEGMENTS, reading=Reading(fail_fast=True))
    assert not (tmp_path / "out").exists()
    (tmp_path / "out" / "_temporary-of-a-killed-job").mkdir(parents=True)
    written("batches", "out", ("topic",))
    before = read(spark, tmp_path / "out")
    assert not [*(tmp_path / "out").glob("_temporary*")]
    with pytest.raises(InputError, match="PATH_ALREADY_EXISTS"):
        written("records", "out")
    with pytest.raises(Exception, match="InputError"):
        written("records", "out", paths=SEGMENTS, reading=Reading(fail_fast=True), overwrite=True)
    assert read(spark, tmp_path / "out") == before
    assert not [*(tmp_path / "out").glob("_temporary*")]
    assert written("records", "out", overwrite=True) == read(spark, tmp_path / "out")[1].total()
    assert not [*(tmp_path / "out").glob("topic=*")]


def test_no_rows_are_a_file_with_columns(spark, written, tmp_path):
    empty = tmp_path / "logs" / "orders-0" / "00000000000000000000.log"
    empty.parent.mkdir(parents=True)
    empty.touch()
    for by in ((), ("topic",)):
        assert written("records", "out", by, paths=empty, overwrite=True) == 0
        types, rows = read(spark, tmp_path / "out")
        assert not rows
        assert "value" in types
        assert ("topic" in types) is not by


def test_a_folder_that_can_not_be_is_said(written, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        written("batches", "file/below")
