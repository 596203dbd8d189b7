"""What the data source plans and reads, without Spark around it."""

import json
import pickle
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from record_sets import SEGMENTS, batch, record

pytest.importorskip("numba")
pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

import kwire_cli as kwire
from kwire_cli.pipeline.segments import as_time
from kwire_cli.pipeline.source import TABLES as ALL_TABLES, KwireReader, KwireSource, PartToRead
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.files import walk

pytestmark = pytest.mark.numba

TABLES = {name: KwireSource({"table": name}).schema().names for name in ALL_TABLES if name != "packets"}
"""The columns of those of log directories."""
SAMPLES = SEGMENTS.parent
LOGS, CAPTURE = SAMPLES / "logs", SAMPLES / "captures" / "kafka-python-4.4.0.pcapng"


def reader(*paths, columns=None, **options):
    given = {"path": str(paths[0])} if len(paths) == 1 else {"paths": json.dumps([*map(str, paths)])}
    source = KwireSource(given | options)
    schema = source.schema()
    return pickle.loads(
        pickle.dumps(source.reader(StructType([schema[name] for name in columns]) if columns else schema))
    )


def parts(made, filters):
    """The tasks that `tables` and `kwire scan --sql` plan behind filters."""
    return [PartToRead(part) for part in ALL_TABLES[made.table].parts(made.paths, filters, made.split_size)]


def rows_behind(filters, *paths, table):
    """The rows of a table as `tables` and `kwire scan --sql` make them, before Spark applies the filters."""
    made, table = reader(*paths, table=table), ALL_TABLES[table]
    some = (table.read(part.value, table.schema.names, made.reading) for part in parts(made, filters))
    return [row for batches in some for each in batches for row in each.to_pylist()]


def rows(*paths, filters=(), **options):
    made = reader(*paths, **options)
    found = []
    for part in parts(made, filters) if filters else made.partitions():
        for some in made.read(pickle.loads(pickle.dumps(part))):
            assert some.schema == to_arrow_schema(made.schema, timezone="UTC")
            some.validate(full=True)
            found += some.to_pylist()
    return found


@pytest.mark.parametrize("table", TABLES)
def test_all_columns_of_each_table(table):
    found = rows(SEGMENTS, LOGS, table=table)
    folders = {path.name.rpartition("-")[0] for folder in (SEGMENTS, LOGS) for path in folder.iterdir()}
    assert {row["topic"] for row in found if not Path(row["file"]).name.endswith("offset-checkpoint")} <= folders
    assert found
    assert [*found[0]] == TABLES[table]


def test_records_are_those_of_read_records():
    found = rows(SEGMENTS, showSecrets="true")
    expected = []
    for path in sorted(SEGMENTS.glob("*/*")):
        for item in kwire.read_records(path):
            if hasattr(item, "records"):
                expected += [
                    (str(path), path.parent.name.rpartition("-")[0], 0, item.position, row.offset, row.value)
                    for row in item.records()
                ]
    names = ("file", "topic", "partition", "position", "offset", "value")
    assert sorted(tuple(row[name] for name in names) for row in found) == sorted(expected)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("size", ["1", "500", "5000"])
def test_parts_make_no_difference(table, size):
    assert rows(SEGMENTS, LOGS, table=table, splitSize=size) == rows(SEGMENTS, LOGS, table=table)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_only_the_columns_that_are_asked_for(table):
    every = rows(SEGMENTS, LOGS, table=table)
    for name in TABLES[table]:
        assert rows(SEGMENTS, LOGS, table=table, columns=[name]) == [{name: row[name]} for row in every]
    last = TABLES[table][-1]
    assert rows(SEGMENTS, LOGS, table=table, columns=[last, "file"]) == [
        {last: row[last], "file": row["file"]} for row in every
    ]


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
    ("faults", [EqualTo(("topic",), "bitflip"), GreaterThan(("position",), 5)], None),
    ("index", [EqualTo(("kind",), "txnindex")], None),
    ("index", [EqualTo(("topic",), "txn-out"), In(("kind",), ("index", "timeindex"))], None),
    ("index", [EqualTo(("topic",), "orders-none")], None),  # of which checkpoints of a log directory say something
]


@pytest.mark.parametrize(("table", "filters", "files"), FILTERS, ids=str)
def test_filters_leave_out_work_and_no_row(table, filters, files):
    every, found = (rows_behind(some, SEGMENTS, LOGS, table=table) for some in ((), filters))
    assert passing(found, filters) == passing(every, filters)
    assert len(found) <= len(every)
    if files is not None:
        assert len(parts(reader(SEGMENTS, table=table), filters)) == files


def test_filters_do_leave_out_work(tmp_path):
    folder = tmp_path / "t-0"
    folder.mkdir()
    made = [
        batch(10 * k, [record(b"k", b"v", n) for n in range(10)], maxTimestamp=1_760_000_000_000 + k) for k in range(9)
    ]
    (folder / "00000000000000000000.log").write_bytes(b"".join(made))
    assert len(rows(tmp_path, filters=[EqualTo(("offset",), 35)])) == 10
    assert len(rows(tmp_path, filters=[GreaterThan(("timestamp",), 1_760_000_000_006)])) == 30
    assert (
        len(rows(tmp_path, table="batches", filters=[LessThan(("base_offset",), 20)])) == 3
    )  # of 20 itself Spark says no


@pytest.mark.parametrize("name", [CAPTURE.name, "rotated"])
def test_times_leave_out_packets_and_parts_of_captures(name, tmp_path):
    for number in range(2):
        shutil.copy(CAPTURE, tmp_path / f"{number}.pcapng")
    path = CAPTURE if name == CAPTURE.name else tmp_path
    every = rows(path, table="packets", splitSize="4000")
    times = sorted(row["time_ns"] for row in every)
    seconds, nanoseconds = divmod(times[len(times) // 3], 10**9)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=nanoseconds // 1000)
    made = reader(path, table="packets", splitSize="4000")
    for filters in (
        [GreaterThan(("time_ns",), times[len(times) // 2])],
        [LessThanOrEqual(("time_ns",), times[3]), EqualTo(("file",), every[0]["file"])],
        [EqualTo(("time",), moment)],
        [GreaterThanOrEqual(("time",), moment), LessThan(("time",), moment + timedelta(milliseconds=9))],
        [In(("time_ns",), (times[0], times[1]))],
    ):
        found = rows(path, table="packets", splitSize="4000", filters=filters)
        assert passing(found, filters) == passing(every, filters)
        assert 0 < len(found) < len(every)
        assert len(parts(made, filters)) < len(made.partitions())
    assert rows(path, table="packets", filters=[GreaterThan(("time_ns",), times[-1] + 1)]) == []
    assert rows(path, table="packets", filters=[GreaterThan(("size",), 0), Not(EqualTo(("file",), "x"))]) == every


def snake(name):
    return re.sub("([A-Z])", lambda match: f"_{match[1].lower()}", name)


ENTRIES = {"index", "timeindex", "txnindex", "snapshot", "leader-epoch-checkpoint", "replication-offset-checkpoint"}
ENTRIES |= {f"{what}-checkpoint" for what in ("recovery-point-offset", "log-start-offset", "cleaner-offset")}


def test_the_index_is_what_dump_says_of_each_file():
    expected = []
    for file in walk(LOGS):
        if file.kind.value in ENTRIES:
            for number, entry in enumerate(read_log_file(file.path).to_json()["entries"]):
                said = {snake(name): value for name, value in entry.items()}
                expected.append({"file": str(file.path), "kind": file.kind.value, "entry": number} | said)
    found = [{name: value for name, value in row.items() if value is not None} for row in rows(LOGS, table="index")]
    for row in found:
        if "timestamp" in row:
            assert row.pop("time") == datetime.fromtimestamp(row["timestamp"] / 1000, UTC)
        if not row["kind"].endswith("offset-checkpoint"):
            assert f"{row.pop('topic')}-{row.pop('partition')}" == Path(row["file"]).parent.name
    assert found == expected
    assert {row["kind"] for row in found} == ENTRIES


def test_faults_of_indexes(tmp_path):
    folder = tmp_path / "t-1"
    folder.mkdir()
    index = folder / "00000000000000000007.index"
    index.write_bytes(b"".join(number.to_bytes(4, "big") for number in (5, 70, 3, 90, 6, 40)) + bytes(16) + b"\1\2\3")
    (folder / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n1 x\n")
    (folder / "00000000000000000007.timeindex").symlink_to("nowhere")
    found = rows(tmp_path, table="faults")
    assert {row["topic"] for row in found} == {"t"}
    assert {row["partition"] for row in found} == {1}
    told = [(Path(row["file"]).name, row["code"], row["path"], row["offset"]) for row in found]
    assert sorted(told) == sorted(
        [
            *((index.name, note.code, note.path, note.offset) for note in read_log_file(index).anomalies),
            (index.with_suffix(".timeindex").name, "UNREADABLE", "", 0),
            ("leader-epoch-checkpoint", "INVALID_TEXT", "line 4", 8),
            ("leader-epoch-checkpoint", "ROW_COUNT_MISMATCH", "count", 2),
        ]
    )
    assert {code for _, code, *_ in told} >= {"ENTRY_ORDER", "TRUNCATED"}
    assert len([row for row in rows(tmp_path, table="index") if row["kind"] == "index"]) == len(
        read_log_file(index).entries
    )


def test_each_table_takes_its_own_of_mixed_inputs(tmp_path):
    for name in ("logs/txn-out-1", "request-logs"):
        shutil.copytree(SAMPLES / name, tmp_path / Path(name).name)
    shutil.copy(CAPTURE, tmp_path / "txn-out-1")
    shutil.copy(CAPTURE, tmp_path / "as-it-is")
    segment = tmp_path / "00000000000000000000.log"
    shutil.copy(next((SEGMENTS / "orders-zstd-0").iterdir()), segment)
    mixed = (tmp_path / "txn-out-1", tmp_path / "request-logs", CAPTURE, tmp_path / "as-it-is", segment)

    def without_files(found):
        return [{name: value for name, value in row.items() if name != "file"} for row in found]

    for table in TABLES:
        of_logs, found = rows(tmp_path / "txn-out-1", segment, table=table), rows(*mixed, table=table)
        if table == "faults":  # which captures have too
            of_logs, found = ([row for row in some if row["topic"]] for some in (of_logs, found))
        assert without_files(found) == without_files(of_logs)
    packets = rows(*mixed, table="packets")
    assert len(packets) == 3 * len(rows(CAPTURE, table="packets"))
    assert len({row["file"] for row in packets}) == 3
    assert without_files(rows(tmp_path / "*", table="records")) == without_files(rows(segment, tmp_path / "txn-out-1"))
    for table, path, what in (
        ("records", CAPTURE, "segment or snapshot"),
        ("index", CAPTURE, "index or checkpoint"),
        ("packets", SEGMENTS, "capture"),
    ):
        with pytest.raises(kwire.InputError, match=f"there is no {what} in this"):
            reader(path, table=table).partitions()


def test_records_are_read_by_definitions_of_ones_own(tmp_path):
    folder, mine = SEGMENTS / "__consumer_offsets-0", tmp_path / "OffsetCommitValue.json"
    definition = (SAMPLES.parent / "specs" / mine.name).read_text("utf-8")
    mine.write_text(definition.replace('"metadata"', '"remark"'), "utf-8")
    usual = [row["payload"] for row in rows(folder, columns=["payload"])]
    made = reader(folder, columns=["payload"], specs=str(tmp_path), kafka="4.4")
    mine.unlink()  # who reads need not have it
    found = [
        payload
        for part in made.partitions()
        for some in made.read(part)
        for payload in some.column("payload").to_pylist()
    ]
    assert found == [text.replace('"metadata"', '"remark"') for text in usual]
    assert found != usual
    with pytest.raises(kwire.InputError, match=r"no layouts of Kafka 1\.0"):
        reader(folder, kafka="1.0")
    with pytest.raises(kwire.InputError, match="no overlay"):
        reader(folder, overlay="none")


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
    (at_faults,) = made["faults"].partitions()
    next(folder.iterdir()).unlink()
    assert [*made["records"].read(part)] == [*made["batches"].read(part)] == []
    (found,) = made["faults"].read(at_faults)
    (fault,) = found.to_pylist()
    assert (fault["code"], fault["topic"], fault["partition"]) == ("UNREADABLE", "t", 3)
    assert "No such file" in fault["detail"]


def test_a_file_that_was_cut_since_is_read_as_it_is(tmp_path):
    file = tmp_path / "00000000000000000000.log"
    one = batch(0, [record(b"k", b"v")])
    file.write_bytes(one * 3)
    made = reader(file, splitSize=str(len(one)))
    parts = made.partitions()
    assert len(parts) == 3
    file.write_bytes(one)
    assert [sum(some.num_rows for some in made.read(part)) for part in parts] == [1, 0, 0]


def test_a_file_that_has_grown_since_is_read_as_far_as_it_was(tmp_path):
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(b"".join(batch(offset, [record(b"k", b"v")]) for offset in range(6)))
    made = reader(file, splitSize=str(file.stat().st_size // 3))
    parts = made.partitions()
    with file.open("ab") as grown:
        grown.write(b"".join(batch(offset, [record(b"k", b"v")]) for offset in range(6, 20)))
    offsets = [[row["offset"] for some in made.read(part) for row in some.to_pylist()] for part in parts]
    assert offsets == [[0, 1], [2, 3], [4, 5]]


def test_planning_opens_no_segment(tmp_path, monkeypatch):
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(batch(0, [record(b"k", b"v")]) * 10)
    made = reader(file, splitSize="200")
    with monkeypatch.context() as patch:
        patch.setattr("kwire_cli.source.logs.splitting.opened", lambda path: pytest.fail(f"{path} was opened"))
        parts = made.partitions()
    assert len(parts) > 1
    assert sum(some.num_rows for part in parts for some in made.read(part)) == 10


def test_secrets_are_hidden_unless_they_are_asked_for(tmp_path):
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    scram = {
        "name": "u",
        "mechanism": 1,
        "salt": "AAAA",
        "storedKey": "c3RvcmVk",
        "serverKey": "AAAA",
        "iterations": 4096,
    }
    value = b"\1\x0b\0" + kwire.encode(scram, message="UserScramCredentialRecord", version=0)
    (folder / "00000000000000000000.log").write_bytes(batch(0, [record(None, value)]))
    (hidden,), (shown,) = rows(tmp_path), rows(tmp_path, showSecrets="true")
    assert hidden["value"] == b"<redacted %d bytes>" % len(value)
    assert "c3RvcmVk" not in hidden["payload"]
    assert shown["value"] == value
    assert "c3RvcmVk" in shown["payload"]


def test_an_empty_file_has_no_rows(tmp_path):
    for kind in ("log", "index"):
        (tmp_path / f"00000000000000000000.{kind}").write_bytes(b"")
    for table in TABLES:
        assert rows(tmp_path, table=table) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"table": "frame"}, "there is no table 'frame'; did you mean frames or names.: tables are batches, records"),
        ({"tabel": "records"}, "there is no option tabel; did you mean table.: options are path"),
        ({"table": "bodies_fetch_requests"}, "did you mean bodies_fetch_request or"),
        ({"table": "frames", "port": "90922"}, "port='90922': it is a number from 1 to 65535"),
        ({"pushdown": "true"}, "there is no option pushdown"),
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
    with pytest.raises(kwire.InputError, match=r"paths='a,b': it is a JSON list of texts"):
        KwireReader({"paths": "a,b"}, StructType())
    with pytest.raises(kwire.InputError, match="no input"):
        KwireReader({}, StructType())
    with pytest.raises(kwire.InputError, match="no segment"):
        reader(tmp_path).partitions()


def test_times_that_are_none_are_null():
    found = as_time(pa.array([-1, 0, 1_760_000_000_123, 2**62, None], pa.int64()))
    assert pc.is_null(found).to_pylist() == [True, False, False, True, True]
    assert found[2].as_py() == datetime(2025, 10, 9, 8, 53, 20, 123000, UTC)


def test_the_documentation_has_every_column_and_its_type():
    text = (
        (Path(__file__).resolve().parents[2] / "docs" / "pipeline.md")
        .read_text("utf-8")
        .split("\n## Tables")[1]
        .split("\n## ")[0]
    )
    every, *parts = re.split(r"^`(\w+)`: ", text, flags=re.MULTILINE)
    listed = {
        name: re.findall(r"^\| `(\w+)` \| (\S+) \|", part, re.MULTILINE)
        for name, part in [("", every), *zip(parts[::2], parts[1::2], strict=True)]
    }
    for table in TABLES:
        schema = from_arrow_schema(ALL_TABLES[table].schema)
        assert [(field.name, field.dataType.simpleString()) for field in schema] == listed[""] + listed[table]
