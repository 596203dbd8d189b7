"""A lake on a store is the lake in a folder: what is written, read again, left by killed runs, and asked."""

import json
import shutil
import signal
import subprocess
import sys
import time

import pytest
from kit.commands import ROOT, kwire
from kit.lakes import content, run

from kwire_cli.errors import InputError
from kwire_cli.lake import chosen, files
from kwire_cli.lake.model import Reading, Wanted
from kwire_cli.lake.query import Lake
from kwire_cli.stores.paths import path_of

CAPTURES = ROOT / "samples" / "captures"
SEGMENTS = ROOT / "samples" / "segments"
SOME = [CAPTURES / "ipv6.pcap", SEGMENTS / "garbage-0"]


def keys(object_store, folder):
    """The files below a folder of the store."""
    names = object_store.files.find(f"{object_store.bucket}/{folder}")
    return [name.removeprefix(f"{object_store.bucket}/{folder}/") for name in names]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake") / "lake"
    run(SOME, folder)
    return folder


def test_a_lake_on_a_store_is_that_in_a_folder(object_store, here):
    run(SOME, object_store.url("lake"))
    assert content(object_store.url("lake")) == content(here)
    written = keys(object_store, "lake")
    tables = {name.partition("/")[0] for name in written}
    assert tables == {path.name for path in here.iterdir()}
    asked = [kwire("query", lake, "clients", "-f", "jsonl") for lake in (object_store.url("lake"), here)]
    assert asked[0] == asked[1]
    assert (asked[0].code, len(asked[0].out) > 10) == (0, True)


@pytest.mark.slow
def test_a_second_run_reads_what_is_new(object_store, tmp_path):
    inputs, lake = tmp_path / "in", object_store.url("again")
    shutil.copytree(SEGMENTS / "orders-zstd-0", inputs / "orders-0")
    shutil.copy(CAPTURES / "midstream.pcap", inputs)
    assert run([inputs], lake).read > 1
    assert run([inputs], lake).read == 0
    (inputs / "more").mkdir()
    shutil.copy(CAPTURES / "ipv6.pcap", inputs / "more")
    shutil.copy(SEGMENTS / "cutheader-0" / "00000000000000000000.log", inputs / "orders-0")
    assert (done := run([inputs], lake)).read == 1 + len([*(inputs / "orders-0").iterdir()])
    assert done.known > 0
    run([inputs], tmp_path / "whole")
    assert content(lake) == content(tmp_path / "whole")
    assert not [name for name in keys(object_store, "again") if name.startswith("_")]


@pytest.mark.slow
def test_a_killed_run_leaves_nothing_that_readers_see(object_store, here):
    lake = object_store.url("killed")
    command = [sys.executable, "-m", "kwire_cli", "export", CAPTURES, SEGMENTS, "-o", lake, "--tables", "all"]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not any(name.endswith(".parquet") for name in keys(object_store, "killed")):
        assert time.monotonic() < until
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    with pytest.raises(InputError, match="this is no lake"):
        Lake(path_of(lake), "select 1")
    run(SOME, lake)
    assert content(lake) == content(here)


@pytest.mark.parametrize("form", ["csv", "arrow"])
def test_formats(object_store, tmp_path, form):
    run([CAPTURES / "ipv6.pcap"], object_store.url(form), "frames", form=form)
    run([CAPTURES / "ipv6.pcap"], tmp_path, "frames", form=form)
    (name,) = (name for name in keys(object_store, form) if name.startswith("frames/"))
    (path,) = (tmp_path / "frames").rglob(f"*.{form}")
    assert object_store.files.cat_file(f"{object_store.bucket}/{form}/{name}") == path.read_bytes()


@pytest.mark.slow
def test_rows_that_wait_in_a_file(object_store, tmp_path, monkeypatch):
    monkeypatch.setattr("kwire_cli.facts.columnar.spool.SPOOLED", 4096)
    monkeypatch.setattr(files, "MOST_BYTES", 4096)
    for place in (object_store.url("small"), tmp_path / "small"):
        run([CAPTURES / "ipv6.pcap"], place, "frames,faults")
    assert content(object_store.url("small")) == content(tmp_path / "small")


def test_what_cannot_be_written_is_one_line(object_store):
    url = object_store.url().replace(object_store.bucket, "no-such-bucket", 1)
    done = kwire("export", CAPTURES / "ipv6.pcap", "-o", url)
    assert done.code == 2
    assert done.err.startswith("kwire: s3://no-such-bucket")
    assert "the log of the table: " in done.err
    assert "endpoint_override" not in done.err
    assert done.err.count("\n") == 1
    assert "there is no such folder" in kwire("query", object_store.url("nothing"), "select 1").err


@pytest.mark.spark
def test_tasks_write_it_and_read_it(spark, object_store, tmp_path):
    """As `kwire export --master` and `kwire query --master` do, whose workers find the store as those of inputs do."""
    from kwire_cli.lake.export import write_tables
    from kwire_cli.lake.inputs import named_files
    from kwire_cli.spark import query as spark_lake
    from kwire_cli.spark.export import SparkTasks

    inputs, lake, wanted = tmp_path / "in", object_store.url("tasks"), Wanted(chosen(None), Reading())
    inputs.mkdir()
    for name in ("kafka-python-4.4.0.pcapng", "midstream.pcap"):
        shutil.copy(CAPTURES / name, inputs)
    write_tables(SparkTasks(spark), named_files([str(inputs)]), path_of(lake), wanted)
    shutil.copytree(SEGMENTS / "orders-zstd-0", inputs / "orders-0")
    assert write_tables(SparkTasks(spark), named_files([str(inputs)]), path_of(lake), wanted).read == len(
        [*(inputs / "orders-0").iterdir()]
    )
    run([inputs], tmp_path / "one")
    assert content(lake) == content(tmp_path / "one")
    query = "select api, day, count(*) as n, sum(size) as size from frames group by api, day order by api, day"
    asked = [spark_lake.answer(spark, str(place), query).read_all().to_pylist() for place in (lake, tmp_path / "one")]
    assert asked[0] == asked[1]
    assert json.dumps(asked[0], default=str) != "[]"
