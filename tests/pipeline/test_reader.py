"""What the data source plans and reads, without Spark around it."""

import json
import pickle
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from record_sets import SEGMENTS, batch, record

pytest.importorskip("numba")
pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import EqualTo, GreaterThan, GreaterThanOrEqual, In, IsNotNull, LessThan, LessThanOrEqual, Not
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

import kwire_cli as kwire
from kwire_cli.pipeline.segment_tables import SEGMENT_TABLES, as_time
from kwire_cli.pipeline.source import KwireReader, KwireSource

pytestmark = pytest.mark.numba

TABLES = {table.name: table for table in SEGMENT_TABLES}


def reader(*paths, columns=None, filters=(), **options):
    given = {"path": str(paths[0])} if len(paths) == 1 else {"paths": json.dumps([*map(str, paths)])}
    source = KwireSource(given | options)
    schema = source.schema()
    made = source.reader(StructType([schema[name] for name in columns]) if columns else schema)
    assert made.pushFilters([*filters]) == [*filters]
    return pickle.loads(pickle.dumps(made))


def rows(*paths, **options):
    made = reader(*paths, **options)
    found = []
    for part in made.partitions():
        for some in made.read(pickle.loads(pickle.dumps(part))):
            assert some.schema == to_arrow_schema(made.schema, timezone="UTC")
            some.validate(full=True)
            found += some.to_pylist()
    return found


@pytest.mark.parametrize("table", TABLES)
def test_all_columns_of_each_table(table):
    found = rows(SEGMENTS, table=table)
    assert {row["topic"] for row in found} <= {path.name.rpartition("-")[0] for path in SEGMENTS.iterdir()}
    assert found
    assert [*found[0]] == TABLES[table].schema.names


def test_records_are_those_of_read_records():
    found = rows(SEGMENTS, showSecrets="true")
    expected = []
    for path in sorted(SEGMENTS.glob("*/*")):
        for item in kwire.read_records(path):
            if hasattr(item, "records"):
                expected += [(str(path), path.parent.name.rpartition("-")[0], 0, item.position, row.offset, row.value) for row in item.records()]
    names = ("file", "topic", "partition", "position", "offset", "value")
    assert sorted(tuple(row[name] for name in names) for row in found) == sorted(expected)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("size", ["1", "500", "5000"])
def test_parts_make_no_difference(table, size):
    assert rows(SEGMENTS, table=table, splitSize=size) == rows(SEGMENTS, table=table)


@pytest.mark.parametrize("table", TABLES)
def test_only_the_columns_that_are_asked_for(table):
    every = rows(SEGMENTS, table=table)
    for name in TABLES[table].schema.names:
        assert rows(SEGMENTS, table=table, columns=[name]) == [{name: row[name]} for row in every]
    last = TABLES[table].schema.names[-1]
    assert rows(SEGMENTS, table=table, columns=[last, "file"]) == [{last: row[last], "file": row["file"]} for row in every]


PASSES = {
    EqualTo: lambda value, wanted: value == wanted,
    In: lambda value, wanted: value in wanted,
    GreaterThan: lambda value, wanted: value > wanted,
    GreaterThanOrEqual: lambda value, wanted: value >= wanted,
    LessThan: lambda value, wanted: value < wanted,
    LessThanOrEqual: lambda value, wanted: value <= wanted,
    IsNotNull: lambda value, _: value is not None,
}


def passing(found, filters):
    """What Spark leaves of these rows."""

    def test(row, each):
        if isinstance(each, Not):
            return not test(row, each.child)
        value = row[each.attribute[0]]
        return value is not None and PASSES[type(each)](value, getattr(each, "value", None))

    return [row for row in found if all(test(row, each) for each in filters)]


NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
FILTERS = [
    ("records", [EqualTo(("topic",), "orders-zstd")], 1),
    ("records", [In(("topic",), ("orders-zstd", "txn-out")), EqualTo(("partition",), 0)], 2),
    ("records", [EqualTo(("partition",), 1)], 0),
    ("records", [EqualTo(("offset",), 5)], None),
    ("records", [In(("offset",), (2, 7))], None),
    ("records", [GreaterThan(("offset",), 3), LessThanOrEqual(("offset",), 6)], None),
    ("records", [GreaterThanOrEqual(("time",), NOON), GreaterThan(("offset",), 0), LessThan(("offset",), 50)], None),
    ("records", [GreaterThanOrEqual(("timestamp",), 1_790_000_000_000)], None),
    ("records", [Not(EqualTo(("topic",), "orders-zstd"))], None),
    ("records", [IsNotNull(("key",)), EqualTo(("magic",), 1)], None),
    ("batches", [GreaterThanOrEqual(("last_offset",), 4), LessThan(("base_offset",), 8)], None),
    ("batches", [GreaterThan(("base_offset",), 4)], None),
    ("batches", [GreaterThan(("max_time",), NOON)], None),
    ("faults", [EqualTo(("topic",), "bitflip"), GreaterThan(("position",), 5)], 1),
]


@pytest.mark.parametrize(("table", "filters", "files"), FILTERS, ids=str)
def test_filters_leave_out_work_and_no_row(table, filters, files):
    every, found = rows(SEGMENTS, table=table), rows(SEGMENTS, table=table, filters=filters)
    assert passing(found, filters) == passing(every, filters)
    assert len(found) <= len(every)
    if files is not None:
        assert len(reader(SEGMENTS, table=table, filters=filters).partitions()) == files


def test_filters_do_leave_out_work(tmp_path):
    folder = tmp_path / "t-0"
    folder.mkdir()
    made = [batch(10 * k, [record(b"k", b"v", n) for n in range(10)], maxTimestamp=1_760_000_000_000 + k) for k in range(9)]
    (folder / "00000000000000000000.log").write_bytes(b"".join(made))
    assert len(rows(tmp_path, filters=[EqualTo(("offset",), 35)])) == 10
    assert len(rows(tmp_path, filters=[GreaterThan(("timestamp",), 1_760_000_000_006)])) == 30
    assert len(rows(tmp_path, table="batches", filters=[LessThan(("base_offset",), 20)])) == 3  # of 20 itself Spark says no


def test_what_was_given_is_read_once_and_in_order():
    path = SEGMENTS / "orders-zstd-0"
    file = next(path.iterdir())
    assert rows(path) == rows(file) == rows(SEGMENTS / "orders-*") == rows(file, path)
    assert rows(SEGMENTS / "**" / "*.*") == rows(SEGMENTS)


def test_an_unreadable_file_is_a_fault_and_no_error(tmp_path):
    folder = tmp_path / "t-3"
    shutil.copytree(SEGMENTS / "orders-zstd-0", folder)
    made = {table: reader(tmp_path, table=table) for table in TABLES}
    (part,) = made["records"].partitions()
    next(folder.iterdir()).unlink()
    assert [*made["records"].read(part)] == [*made["batches"].read(part)] == []
    (found,) = made["faults"].read(part)
    (fault,) = found.to_pylist()
    assert (fault["code"], fault["topic"], fault["partition"]) == ("UNREADABLE", "t", 3)
    assert "No such file" in fault["detail"]


def test_a_file_that_was_cut_since_is_read_as_it_is(tmp_path):
    file = tmp_path / "00000000000000000000.log"
    one = batch(0, [record(b"k", b"v")])
    file.write_bytes(one * 3)
    made = reader(file, splitSize="1")
    parts = made.partitions()
    assert len(parts) == 3
    file.write_bytes(one)
    assert [sum(some.num_rows for some in made.read(part)) for part in parts] == [1, 0, 0]


def test_secrets_are_hidden_unless_they_are_asked_for(tmp_path):
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    scram = {"name": "u", "mechanism": 1, "salt": "AAAA", "storedKey": "c3RvcmVk", "serverKey": "AAAA", "iterations": 4096}
    value = b"\1\x0b\0" + kwire.encode(scram, message="UserScramCredentialRecord", version=0)
    (folder / "00000000000000000000.log").write_bytes(batch(0, [record(None, value)]))
    (hidden,), (shown,) = rows(tmp_path), rows(tmp_path, showSecrets="true")
    assert hidden["value"] == b"<redacted %d bytes>" % len(value)
    assert "c3RvcmVk" not in hidden["payload"]
    assert shown["value"] == value
    assert "c3RvcmVk" in shown["payload"]


def test_an_empty_file_has_no_rows(tmp_path):
    (tmp_path / "00000000000000000000.log").write_bytes(b"")
    for table in TABLES:
        assert rows(tmp_path, table=table) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"table": "frame"}, "there is no table 'frame': tables are batches, records"),
        ({"tabel": "records"}, "there is no option tabel"),
        ({"splitSize": "64 MB"}, "it is a number of bytes"),
        ({"showSecrets": "yes"}, "it is true or false"),
        ({"path": "/no/such/folder"}, "there is no such file or folder"),
    ],
)
def test_bad_options_say_what_is_wrong(options, says):
    given = {"path": str(SEGMENTS), **options}
    with pytest.raises(kwire.InputError, match=says):
        reader(given.pop("path"), **given).partitions()


def test_bad_columns_and_no_input_say_what_is_wrong(tmp_path):
    with pytest.raises(kwire.InputError, match="no column offsett"):
        KwireReader({"path": "x"}, StructType().add("offsett", "long"))
    with pytest.raises(kwire.InputError, match="no input"):
        KwireReader({}, StructType())
    with pytest.raises(kwire.InputError, match="no segment"):
        reader(tmp_path).partitions()


def test_times_that_are_none_are_null():
    found = as_time(pa.array([-1, 0, 1_760_000_000_123, 2**62, None], pa.int64()))
    assert pc.is_null(found).to_pylist() == [True, False, False, True, True]
    assert found[2].as_py() == datetime(2025, 10, 9, 8, 53, 20, 123000, UTC)


def test_the_documentation_has_every_column_and_its_type():
    text = (Path(__file__).resolve().parents[2] / "docs" / "pipeline.md").read_text("utf-8").split("\n## Tables")[1].split("\n## ")[0]
    every, *parts = re.split(r"^`(\w+)`: ", text, flags=re.MULTILINE)
    listed = {
        name: re.findall(r"^\| `(\w+)` \| (\S+) \|", part, re.MULTILINE) for name, part in [("", every), *zip(parts[::2], parts[1::2], strict=True)]
    }
    for table in TABLES:
        schema = KwireSource({"table": table}).schema()
        assert [(field.name, field.dataType.simpleString()) for field in schema] == listed[""] + listed[table]
