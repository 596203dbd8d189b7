"""The tables in an embedded Spark: rows of the one-machine reader, SQL over them, and errors that can be read."""

import re
from pathlib import Path

import pytest
from record_sets import SEGMENTS

import kwire_cli as kwire

PAGE = Path(__file__).resolve().parents[2] / "docs" / "pipeline.md"

pytestmark = [pytest.mark.spark, pytest.mark.numba]


def load(spark, table, *paths, schema=None, **options):
    made = spark.read.format("kwire").options(table=table, **options)
    return (made.schema(schema) if schema else made).load([*map(str, paths or (SEGMENTS,))])


def records():
    for path in sorted(SEGMENTS.glob("*/*")):
        for item in kwire.read_records(path):
            if hasattr(item, "records"):
                yield from ((path.parent.name.rpartition("-")[0], row.offset, row.timestamp, row.key, row.value) for row in item.records())


def test_records_are_those_of_read_records_whatever_the_parts(spark):
    for options in ({}, {"splitSize": "700"}):
        found = load(
            spark, "records", schema="topic string, offset bigint, timestamp bigint, key binary, value binary", showSecrets="true", **options
        ).collect()
        shown = sorted((*row[:3], *(None if part is None else bytes(part) for part in row[3:])) for row in found)
        assert sorted(shown, key=repr) == sorted(records(), key=repr)


def test_sql_over_all_tables(spark):
    for table in ("batches", "records", "faults"):
        load(spark, table).createOrReplaceTempView(table)
    batches = [item for path in SEGMENTS.glob("*/*") for item in kwire.read_records(path) if hasattr(item, "records")]
    (row,) = spark.sql("select count(*), sum(size), count_if(not crc_valid), max(last_offset) from batches").collect()
    expected = (len(batches), sum(each.size for each in batches), 1, max(each.head.last_offset for each in batches))
    assert tuple(row) == expected
    (row,) = spark.sql("select headers[1].key, headers[1].value, year(time) from records where topic = 'orders-zstd' and offset = 4").collect()
    assert (row[0], bytes(row[1]), row[2]) == ("größe", "ß".encode(), 2026)
    rows = spark.sql("select topic, code from faults order by topic").collect()
    assert [tuple(row) for row in rows] == [("bitflip", "CRC_MISMATCH"), ("cutheader", "TRUNCATED"), ("garbage", "CORRUPT")]


def test_filters_reach_the_reader(spark):
    found = load(spark, "records", pushdown="true").where("topic = 'txn-out' and offset between 2 and 4")
    assert found.rdd.getNumPartitions() == 1
    assert sorted(row.offset for row in found.select("offset").collect()) == sorted(
        offset for topic, offset, *_ in records() if topic == "txn-out" and 2 <= offset <= 4
    )


def test_a_query_with_a_filter_leaves_the_dataframe_as_it_is(spark):
    """Where filters are pushed down Spark reads all later queries of a DataFrame by the last filter: so they are only where it was asked for."""
    found = load(spark, "batches", schema="topic string, base_offset bigint")
    every, one = found.count(), found.where("topic = 'txn-out'").count()
    assert 0 < one < every == found.count()


def test_what_is_wrong_is_said(spark):
    with pytest.raises(Exception, match="tables are batches, records, index, packets, faults"):
        load(spark, "frame").collect()
    with pytest.raises(Exception, match="there is no such file or folder"):
        load(spark, "records", "/no/such/folder").collect()


@pytest.mark.usefixtures("spark")
def test_the_example_of_the_documentation(monkeypatch, capsys, updating):
    text = PAGE.read_text("utf-8")
    program, shown = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL).groups()
    monkeypatch.chdir(PAGE.parent.parent)
    exec(program, {})  # the session that there is already is the one that the program gets
    printed = capsys.readouterr().out.strip("\n") + "\n"
    if updating:
        PAGE.write_text(text.replace(f"```\n{shown}```", f"```\n{printed}```"), "utf-8")
    else:
        assert printed == shown
