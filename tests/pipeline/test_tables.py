"""All tables of inputs of all kinds in an embedded Spark: whatever the tasks and the order of files, and whatever is
wrong with some of them.
"""

import json
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest
from command_line import kwire
from record_sets import SEGMENTS

pytest.importorskip("numba")
pytest.importorskip("pyarrow")

from kwire_cli.source.logs.contents import read_log_file

pytestmark = [pytest.mark.spark, pytest.mark.numba, pytest.mark.usefixtures("spark")]

SAMPLES = SEGMENTS.parent
CAPTURES = SAMPLES / "captures"
PYTHON, MIDSTREAM = CAPTURES / "kafka-python-4.4.0.pcapng", CAPTURES / "midstream.pcap"


@pytest.fixture
def tables(spark):
    from kwire_cli.pipeline import tables

    return lambda *paths, **options: tables(spark, [*map(str, paths)], **options)


def content(frame):
    return Counter(map(repr, (tuple(row) for row in frame.collect())))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Folders with files of all kinds."""
    folder = tmp_path_factory.mktemp("mixed")
    for name in ("txn-out-1", "trimmed-0"):
        shutil.copytree(SAMPLES / "logs" / name, folder / "logs" / name)
    shutil.copytree(SEGMENTS / "bitflip-0", folder / "logs" / "bitflip-0")
    for path in (PYTHON, MIDSTREAM):
        shutil.copy(path, folder / "logs" / "trimmed-0")
    return folder


def test_neither_tasks_nor_the_order_of_files_change_a_table(spark, tables, mixed):
    from kwire_cli.pipeline.captures import Captures

    files = [path for path in mixed.rglob("*") if path.is_file()]
    random.Random(7).shuffle(files)
    one, many = tables(mixed), tables(*files, split_size=5000)
    for name in ("batches", "records", "index", "packets", "faults"):
        expected = content(one[name])
        assert content(many[name]) == expected
        assert expected
    captures = [str(mixed / "logs" / "trimmed-0" / path.name) for path in (MIDSTREAM, PYTHON)]
    made = [
        Captures(spark, captures[::step], partitions=tasks, part_size=size)
        for step, tasks, size in ((1, 1, 1 << 20), (-1, 7, 9000))
    ]
    for what in ("frames", "costs", "names", "faults"):
        first, *others = (content(each.table(what)) for each in made)
        assert first or what == "faults"  # of which these have none
        assert others == [first]


def test_each_table_is_made_of_its_own_kind_of_inputs(tables, mixed):
    made = tables(mixed)
    query = (
        "select count(*), (select count(*) from frames), (select count(*) from index where kind = "
        "'timeindex'), max(offset) from records"
    )
    (row,) = made.sql(query).collect()
    batches = [
        json.loads(line) for line in kwire("dump", mixed / "logs", "--deep", "--format", "jsonl").out.splitlines()
    ]
    offsets = [record["offset"] for batch in batches for record in batch.get("records", ())]
    frames = sum(len(kwire("decode", path, "--format", "jsonl").out.splitlines()) for path in (PYTHON, MIDSTREAM))
    entries = sum(len(read_log_file(path).entries) for path in mixed.rglob("*.timeindex*"))
    assert tuple(row) == (len(offsets), frames, entries, max(offsets))
    assert made.inputs.tally.size > sum(path.stat().st_size for path in (PYTHON, MIDSTREAM))


def test_faults_of_indexes_are_told_for_the_broker_that_has_them(tables, tmp_path):
    brokers = [tmp_path / name for name in ("broker-1", "broker-2")]
    for broker in brokers:
        (broker / "t-0").mkdir(parents=True)
        (broker / "t-0" / "00000000000000000000.index").write_bytes(b"\1\2\3")
    rows = tables(*brokers).sql("select capture_point, file, code from faults order by file").collect()
    assert [tuple(row) for row in rows] == [
        (str(broker), str(broker / "t-0" / "00000000000000000000.index"), "TRUNCATED") for broker in brokers
    ]


def test_filters_leave_out_frames_that_are_not_wanted(tables):
    made = tables(PYTHON)
    every = made.table("frames").collect()
    moment = sorted(row.time for row in every)[len(every) // 2]
    wheres = {
        "api = 'Metadata' and kind = 'response'": lambda row: (row.api, row.kind) == ("Metadata", "response"),
        f"api_key in (0, 1) and time > timestamp'{moment:%Y-%m-%d %H:%M:%S.%f}'": lambda row: (
            row.api_key in {0, 1} and row.time > moment
        ),
        "api <=> null or api_version >= 4 and latency_us < 1000000": lambda row: (
            row.api is None or (row.api_version >= 4 and row.latency_us is not None)
        ),
    }
    for where, test in wheres.items():
        found = made.sql(f"select file, packet, size, errors from frames where {where}").collect()
        expected = [(row.file, row.packet, row.size, row.errors) for row in every if test(row)]
        assert sorted(map(tuple, found), key=repr) == sorted(expected, key=repr)
        assert expected
    fields = Counter((row.api, row.path) for row in made.table("fields").collect() if row.api == "Metadata")
    found = made.sql("select api, path from fields where api = 'Metadata'").collect()
    assert Counter(map(tuple, found)) == fields
    assert fields


def broken(folder):
    """Files that are cut, damaged, not there and not files; the tables are planned before some of them are gone."""
    shutil.copytree(SEGMENTS / "orders-zstd-0", folder / "gone-0")
    shutil.copytree(SEGMENTS / "orders-zstd-0", folder / "turned-0")
    shutil.copytree(SEGMENTS / "cutheader-0", folder / "cut-0")
    (folder / "links-0").mkdir()
    (folder / "links-0" / "00000000000000000000.log").symlink_to(folder / "nowhere")
    (folder / "links-0" / "00000000000000000000.index").symlink_to(folder / "nowhere")
    (folder / "a.pcap").symlink_to(folder / "nowhere")
    (folder / "cut.pcapng").write_bytes(PYTHON.read_bytes()[:-5])
    shutil.copy(PYTHON, folder / "gone.pcapng")
    (folder / "none.pcap").write_bytes(b"no capture")


def turn(folder):
    for path in (*folder.glob("gone*/*"), folder / "gone.pcapng"):
        path.unlink()
    (file,) = folder.glob("turned-0/*")
    file.unlink()
    file.mkdir()


def test_what_can_not_be_read_is_a_row_and_never_fails_a_job(tables, tmp_path):
    broken(tmp_path)
    made = tables(tmp_path)
    names = ("batches", "records", "index", "packets", "fields", "costs", "faults")
    planned = {name: made.table(name) for name in names}
    turn(tmp_path)
    rows = {name: planned[name].collect() for name in names}
    assert {Path(row.file).parent.name for row in rows["batches"]} == {"cut-0"}
    assert {row.path.partition("[].records[]")[0].removesuffix("[].records") for row in rows["costs"]} == {
        row.path.removesuffix("[].records") for row in rows["fields"]
    }  # costs open records
    assert {Path(row.file).name for row in rows["packets"]} == {"cut.pcapng"}
    told = {(Path(row.file).relative_to(tmp_path).parts[0], row.code) for row in rows["faults"] if row.frame is None}
    expected = {
        ("gone-0", "UNREADABLE"),
        ("turned-0", "UNREADABLE"),
        ("cut-0", "TRUNCATED"),
        ("links-0", "UNREADABLE"),
        ("a.pcap", "UNREADABLE"),
    }
    expected |= {("cut.pcapng", "TRUNCATED"), ("gone.pcapng", "UNREADABLE"), ("none.pcap", "UNREADABLE")}
    assert told == expected | {
        ("cut.pcapng", "SAME_CONNECTIONS"),
        ("gone.pcapng", "SAME_CONNECTIONS"),
    }  # they are copies, but for the end
    assert len([row for row in rows["faults"] if "links-0" in row.file]) == 2
    assert made.inputs.tally.faults > 0


def test_scan_stops_at_the_first_fault_where_it_is_to(tmp_path):
    (tmp_path / "cut.pcapng").write_bytes(PYTHON.read_bytes()[:-5])
    for command in (
        ("--table", "frames", "--fields", "api", "--format", "jsonl"),
        ("--table", "packets", "--out", tmp_path / "out"),
    ):
        done = kwire("scan", tmp_path, *command, "--fail-fast")
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"kwire: {tmp_path / 'cut.pcapng'}: the file ends in the middle of a block")
    assert not [*(tmp_path / "out").glob("*.parquet")]
    done = kwire("scan", tmp_path, "--sql", "select count(*) as n from costs", "--format", "jsonl")
    assert done.code == 0
    assert f"{PYTHON.stat().st_size - 5:,} bytes read, " in done.err
    assert "1 gap or file that cannot be read" in done.err
    (tmp_path / "none.pcap").write_bytes(b"no capture")
    done = kwire("scan", tmp_path / "none.pcap", "--table", "costs", "--fail-fast")
    assert (done.code, done.out) == (2, "")
    assert "neither pcap nor pcapng" in done.err
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / "00000000000000000000.index").write_bytes(bytes([0, 0, 0, 9] * 4))
    done = kwire("scan", tmp_path, "--table", "index", "--fail-fast")
    assert (done.code, done.out) == (2, "")
    assert "ENTRY_ORDER" in done.err


def test_scan_reads_by_definitions_of_ones_own(tmp_path):
    definition = (SAMPLES.parent / "specs" / "MetadataRequest.json").read_text("utf-8")
    (tmp_path / "MetadataRequest.json").write_text(
        definition.replace('"AllowAutoTopicCreation"', '"CreateTopics"'), "utf-8"
    )
    frames = "select to_json(body) from bodies_metadata_request"
    query = (
        "--sql",
        f"{frames} union all select path from costs where path like 'MetadataRequest.%' order by 1",
        "--format",
        "jsonl",
        PYTHON,
    )
    usual, mine = kwire("scan", *query), kwire("scan", *query, "--specs", tmp_path, "--kafka", "4.4")
    assert '"MetadataRequest.allowAutoTopicCreation"' in usual.out
    assert sorted(mine.out.splitlines()) == sorted(
        usual.out.replace("allowAutoTopicCreation", "createTopics").splitlines()
    )
    wrong = kwire("scan", PYTHON, "--table", "frames", "--overlay", "none")
    assert wrong.code == 2
    assert "no overlay" in wrong.err
