"""Lakes and reports of files on a store: the rows of the same files here, whatever the parts, and faults
where a file is not whole.
"""

import gzip
import json
from collections import Counter

import pytest
import zstandard
from kit.captures import SAMPLES
from kit.commands import kwire
from kit.lakes import COSTS

from kwire_cli.lake import chosen
from kwire_cli.lake.export import Cut, export, write_tables
from kwire_cli.lake.inputs import Input, listed, named_files
from kwire_cli.lake.logs import log_rows
from kwire_cli.lake.model import Reading, Wanted
from kwire_cli.lake.query import Lake
from kwire_cli.lake.snapshot import snapshot
from kwire_cli.stores.paths import location
from kwire_cli.structs.logs import OFFSET_INDEX_ENTRY

pytestmark = pytest.mark.spark

CAPTURES = SAMPLES / "captures"
LARGE = "bitflip-0"


@pytest.fixture(scope="module")
def trees(object_store, tmp_path_factory):
    """The same files in a folder and on the store: logs, one of them with an index, captures plain, packed and cut, a
    request log.
    """
    here = tmp_path_factory.mktemp("stored")
    for path in (SAMPLES / "segments").rglob("*.*"):
        if path.parent.name in {LARGE, "cutheader-0", "__cluster_metadata-0"}:
            (here / "logs" / path.parent.name).mkdir(parents=True, exist_ok=True)
            (here / "logs" / path.parent.name / path.name).write_bytes(path.read_bytes())
    (log,) = (here / "logs" / LARGE).iterdir()
    import kwire_cli as api

    entries = [
        (item.head.last_offset, item.position)
        for item in api.read_records(log)
        if hasattr(item, "head") and item.crc_valid and item.position
    ]
    index = b"".join(OFFSET_INDEX_ENTRY.build({"relativeOffset": offset, "position": at}) for offset, at in entries)
    log.with_suffix(".index").write_bytes(index)
    caps = here / "caps"
    caps.mkdir()
    for name in ("kafka-python-4.4.0.pcapng", "midstream.pcap"):
        (caps / name).write_bytes((CAPTURES / name).read_bytes())
    data = (CAPTURES / "ipv6.pcap").read_bytes()
    (caps / "ipv6.pcap.gz").write_bytes(gzip.compress(data))
    (caps / "not-kafka.pcapng.zst").write_bytes(zstandard.compress((CAPTURES / "not-kafka.pcapng").read_bytes()))
    (caps / "cut.pcap").write_bytes(data[:-20])
    (caps / "none.pcap").write_bytes(b"no capture")
    (here / "broker").mkdir()
    (here / "broker" / "kafka-request.log").write_bytes((SAMPLES / "request-logs" / "kafka-request.log").read_bytes())
    object_store.copy(here, "all")
    return here, object_store.url("all")


def inside(tree, path):
    return f"{tree}/{path}"


def below(tree, rows):
    """The rows, with paths below the tree."""
    root = str(tree)
    found = Counter()
    for row in rows:
        for name in ("capture_point", "file", "unit"):
            if row.get(name):
                assert row[name].startswith(f"{root}/")
                row[name] = row[name].removeprefix(f"{root}/")
        # the names of connections in a request log are known in their file alone
        if "connection" in row and str(row["file"]).endswith("kafka-request.log"):
            row["connection"] = None
        found[json.dumps(row, sort_keys=True, default=repr)] += 1
    return found


def test_a_lake_has_the_rows_of_the_same_files_here(spark, trees, tmp_path):
    """Tasks of Spark read the store, and this process the files: a task writes what a process does (test_on_spark)."""
    from kwire_cli.spark.export import SparkTasks

    def rows(tree, folder):
        paths = [inside(tree, path) for path in ("caps", "logs", "broker")]
        wanted = Wanted(chosen(None), Reading())
        if tree is trees[0]:
            export(paths, folder, wanted)
        else:
            write_tables(SparkTasks(spark), named_files(paths), folder, wanted, cut=Cut(4000))
        names = sorted({*snapshot(folder).tables} - {"carried"})
        queries = {name: COSTS if name == "costs" else f"select * exclude (run) from {name}" for name in names}
        with Lake(folder, *queries.values()) as lake:
            return [{"table": name} | row for name in names for row in lake.arrow(queries[name]).read_all().to_pylist()]

    expected, found = (below(tree, rows(tree, tmp_path / str(number))) for number, tree in enumerate(trees))
    assert {json.loads(row)["table"] for row in expected} >= {"frames", "costs", "names", "faults", "records", "index"}
    assert found == expected
    faults = [json.loads(row) for row in found if json.loads(row)["table"] == "faults"]
    codes = {(row["file"].rpartition("/")[2], row["code"]) for row in faults}
    assert {("cut.pcap", "TRUNCATED"), ("none.pcap", "UNREADABLE")} <= codes
    assert {code for _, code in codes} >= {"CRC_MISMATCH", "TRUNCATED", "UNREADABLE"}


def test_a_file_that_goes_is_a_fault(object_store):
    data = (SAMPLES / "segments" / "orders-zstd-0" / "00000000000000000000.log").read_bytes()
    object_store.put("going/t-1/00000000000000000000.log", data)
    wanted = Wanted(chosen("faults"), Reading())
    listing = listed(named_files([object_store.url("going")]))
    (going,) = [Input(**row) for row in listing.to_pylist()]
    object_store.files.rm_file(f"{object_store.bucket}/going/t-1/00000000000000000000.log")
    (fault,) = [row for _, some in log_rows(going, wanted.tables, wanted.reading) for row in some.to_pylist()]
    file = location(object_store.url("going/t-1/00000000000000000000.log"))
    assert (fault["file"], fault["code"]) == (file, "UNREADABLE")
    assert "no such file" in fault["detail"]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("s3://{bucket}/nothing/here", "there is no such file or folder"),
        ("s3://{bucket}/all/*.nothing", "there is no such file or folder"),
        ("s3://no-such-bucket/all", "there is no such file or folder"),
        ("s3://somebody:secret@kwire/all", "a URL must not contain a password"),
        ("nosuch://kwire/all", "fsspec does not know nosuch://"),
    ],
)
def test_what_is_wrong_is_said(object_store, tmp_path, url, says):
    done = kwire("export", url.format(bucket=object_store.bucket), "-o", tmp_path / "lake", "--master", "local[2]")
    assert done.code == 2
    assert says in done.err
    assert "secret" not in done.err


def test_other_commands_take_urls_too(trees):
    for command in (("dump", "--format", "jsonl"), ("dump", "--verify")):
        here, there = (kwire(*command, inside(tree, f"logs/{LARGE}")) for tree in trees)
        assert there.code == here.code
        assert there.out.replace(str(trees[1]), "") == here.out.replace(str(trees[0]), "")
        assert here.out or here.err
