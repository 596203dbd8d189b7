"""The tables in an embedded Spark: rows of the one-machine reader, SQL over them, and errors that can be read."""

import re
from pathlib import Path
from random import Random

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
                yield from (
                    (path.parent.name.rpartition("-")[0], row.offset, row.timestamp, row.key, row.value)
                    for row in item.records()
                )


def test_records_are_those_of_read_records_whatever_the_parts(spark):
    for options in ({}, {"splitSize": "700"}):
        found = load(
            spark,
            "records",
            schema="topic string, offset bigint, timestamp bigint, key binary, value binary",
            showSecrets="true",
            **options,
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
    (row,) = spark.sql(
        "select headers[1].key, headers[1].value, year(time) from records where topic = 'orders-zstd' and offset = 4"
    ).collect()
    assert (row[0], bytes(row[1]), row[2]) == ("größe", "ß".encode(), 2026)
    rows = spark.sql("select topic, code from faults order by topic").collect()
    assert [tuple(row) for row in rows] == [
        ("bitflip", "CRC_MISMATCH"),
        ("cutheader", "TRUNCATED"),
        ("garbage", "CORRUPT"),
    ]


def test_rows_are_right_in_any_order_of_queries(spark):
    """Spark plans a DataFrame once and answers all its queries from that plan: whatever a query asks, the others stay
    right.
    """
    schema = "topic string, offset bigint, value_size int"
    every = sorted(
        (topic, offset, len(value or b"") if value is not None else -1) for topic, offset, _, _, value in records()
    )
    columns = {"topic": 0, "offset": 1, "value_size": 2}
    queries = {
        "count": (lambda found: found.count(), len),
        "offset": (
            lambda found: sorted(map(tuple, found.where("offset = 0").collect())),
            lambda rows: [row for row in rows if row[1] == 0],
        ),
        "topic": (
            lambda found: found.where("topic = 'txn-out' and offset >= 2").count(),
            lambda rows: sum(r[0] == "txn-out" and r[1] >= 2 for r in rows),
        ),
        "none": (lambda found: found.where("topic in ('no', 'such') or offset < 0").count(), lambda _: 0),
        **{
            name: (
                lambda found, name=name: sorted(row[0] for row in found.select(name).collect()),
                lambda rows, at=at: sorted(row[at] for row in rows),
            )
            for name, at in columns.items()
        },
        "sql": (lambda found: found.groupBy("topic").count().count(), lambda rows: len({row[0] for row in rows})),
    }
    random = Random(15)
    for _ in range(3):
        found = load(spark, "records", schema=schema, showSecrets="true")
        for name in random.choices([*queries], k=8):
            ask, expected = queries[name]
            assert ask(found) == expected(every), name


def test_workers_look_for_no_garbage_among_what_was_imported_for_them(spark):
    def left_out(batches):
        import gc

        for batch in batches:
            yield batch.set_column(0, "id", [gc.get_freeze_count()])

    (row,) = spark.range(1, numPartitions=1).mapInArrow(left_out, "id bigint").collect()
    assert row[0] > 10_000


def test_what_is_wrong_is_said(spark):
    for said, found in (
        (
            "tables are batches, records, index, packets, faults, frames, costs, names",
            lambda: load(spark, "frame").collect(),
        ),
        ("there is no such file or folder", lambda: load(spark, "records", "/no/such/folder").collect()),
        ("there is no option tabel", lambda: load(spark, "records", tabel="x").collect()),
        ("it is a number of bytes", lambda: load(spark, "records", splitSize="1 MB").count()),
        ("there is no segment", lambda: load(spark, "records", Path(__file__).parent / "golden").count()),
    ):
        with pytest.raises(Exception, match=said) as error:
            found()
        (line,) = [line for line in str(error.value).splitlines() if "kwire_cli.errors" in line]
        assert said in line
        assert "Traceback" not in str(error.value)
        assert 'File "' not in str(error.value)


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
