"""Files with types: Parquet and Arrow, the same rows in both."""

import gc
import io
import re
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kwire_cli.answer import Column, Table
from kwire_cli.view.arrow import FORMATS, write_batches, write_table

TITLE = re.compile(r" \('\w+'\)")
COLUMNS = (
    Column("api"),
    Column("requests", "count"),
    Column("p99Seconds", "duration"),
    Column("first", "instant"),
    Column("isSlow", "flag"),
    Column("version", "id"),
    Column("name", "id"),
    Column("topics", "list"),
    Column("versions", "list"),
    Column("errors", "map"),
    Column("stagesSeconds", "map", unit="s"),
    Column("overTime", "spark"),
    Column("drawn", "bar"),
)
ROWS = [
    (
        *("Fetch", 1200, 0.5, "2026-11-21T10:00:00.123456Z", True, 12, 12, ["a", "b"], [1, 2]),
        *({"NOT_LEADER": 2}, {"io": 0.25}, [1, None, 2.5], 7),
    ),
    ("Produce", None, None, None, None, None, "3+", [], [], {}, {}, [], 8),
    ({"nested": [1]}, 0, 1, 1 << 60, False, 7, None, None, None, None, None, None, None),
]


def read(data, form):
    return pq.read_table(io.BytesIO(data)) if form == "parquet" else pa.ipc.open_file(io.BytesIO(data)).read_all()


def written(rows, form, columns=COLUMNS):
    out = io.BytesIO()
    write_table(out.write, Table("rows", columns, iter(rows)), form)
    return read(out.getvalue(), form)


@pytest.mark.parametrize("form", FORMATS)
def test_tables_have_types(form):
    table = written(ROWS, form)
    assert {field.name: TITLE.sub("", str(field.type)).replace("element", "item") for field in table.schema} == {
        "api": "string",
        "requests": "int64",
        "p99Seconds": "double",
        "first": "timestamp[us, tz=UTC]",
        "isSlow": "bool",
        "version": "int64",
        "name": "string",
        "topics": "list<item: string>",
        "versions": "list<item: int64>",
        "errors": "map<string, int64>",
        "stagesSeconds": "map<string, double>",
        "overTime": "list<item: double>",
    }
    first, second, third = table.to_pylist()
    assert first["first"] == datetime(2026, 11, 21, 10, 0, 0, 123456, UTC)
    assert (first["errors"], first["stagesSeconds"]) == ([("NOT_LEADER", 2)], [("io", 0.25)])
    assert (first["topics"], first["versions"], first["overTime"]) == (["a", "b"], [1, 2], [1.0, None, 2.5])
    assert (first["name"], second["name"], second["versions"]) == ("12", "3+", [])
    assert (third["api"], third["first"], third["topics"]) == ('{"nested":[1]}', None, None)


@pytest.mark.parametrize("form", FORMATS)
def test_no_rows_are_a_table_too(form):
    assert written([], form).num_rows == 0
    assert written([], form).column_names == [column.name for column in COLUMNS if column.kind != "bar"]


def test_a_file_that_is_given_up_has_no_end():
    schema = pa.schema([("text", pa.string())])

    def batches():
        yield pa.record_batch([["x"]], schema=schema)
        raise KeyboardInterrupt

    begun = {form: io.BytesIO() for form in FORMATS}
    for form, out in begun.items():
        with pytest.raises(KeyboardInterrupt):
            write_batches(out.write, pa.RecordBatchReader.from_batches(schema, batches()), form)
    sizes = [out.tell() for out in begun.values()]
    gc.collect()
    assert [out.tell() for out in begun.values()] == sizes
    assert not any(out.getvalue()[9:].endswith((b"PAR1", b"ARROW1")) for out in begun.values())


@pytest.mark.parametrize("form", FORMATS)
def test_names_that_are_no_utf_8(form):
    table = written([("\udcff", ["\udcfe"])], form, (Column("file"), Column("files", "list")))
    assert table.to_pylist() == [{"file": "\\udcff", "files": ["\\udcfe"]}]


@pytest.mark.parametrize("form", FORMATS)
def test_batches_stay_as_they_are(form):
    table, out = pa.table({"a": pa.array([1, 2], pa.int16()), "b": [[1.5], None]}), io.BytesIO()
    assert write_batches(out.write, table.to_reader(), form) == 2
    again = read(out.getvalue(), form)
    assert again.to_pylist() == table.to_pylist()
    assert again.schema.field("a").type == pa.int16()


def test_numbers_that_no_integer_holds_are_null():
    assert written([(1 << 63,), (2.0,), (2.5,), ("x",)], "arrow", (Column("n", "count"),))["n"].to_pylist() == [
        *(None, 2, None, None)
    ]
