"""Streams in an embedded Spark: rows of one machine, each once, whenever files arrive and whatever dies."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from command_line import ROOT, kwire as command
from lakes import content, rows_of
from record_sets import SEGMENTS
from rotated import Rotated, name, shown

pytest.importorskip("numba")
pytest.importorskip("pyspark")
pytest.importorskip("duckdb")
pytest.importorskip("polars")

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
from pyspark.errors import StreamingQueryException

import kwire_cli as kwire
from kwire_cli.pipeline import lake, streams
from kwire_cli.pipeline.lake import writing
from kwire_cli.pipeline.lake.export import export
from kwire_cli.pipeline.lake.query import Lake
from kwire_cli.pipeline.model import Reading, Wanted
from kwire_cli.pipeline.session import BRIEF
from kwire_cli.pipeline.stream_following import follow_into
from kwire_cli.pipeline.stream_lake import LakeFiles

pytestmark = [pytest.mark.spark, pytest.mark.numba]

SAMPLES = ROOT / "samples" / "captures"
SETTINGS = ["--conf", f"spark.driver.extraJavaOptions={BRIEF}"]
"""As the session of the tests has them: what is killed within a minute gains nothing from thorough compiling."""
LONGEST = 300
"""Seconds after which a test gives up."""
LATE = "Python worker failed to connect back"
"""Spark says so if the process that reads a stream's source takes more than ten seconds to start, as it may on a busy
machine. Spark has no setting for these seconds, so a stream that is late is started again.
"""
STARTS = 5


class Following:
    """`kwire scan --follow --into`, in processes that all die at once."""

    def __init__(self, folder, out):
        self.checkpoint = out / "_checkpoint"
        asked = ["scan", folder, "--follow", "--into", out, "--every", "0.1", "--master", "local[2]", *SETTINGS]
        command = [sys.executable, "-m", "kwire_cli", *map(str, asked)]
        self.process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait_for(self, true):
        until = time.monotonic() + LONGEST
        while not true():
            assert self.process.poll() is None, self.process.stderr.read().decode()
            assert time.monotonic() < until
            time.sleep(0.05)

    def read(self):
        """How far files were read, by name, in batches that are written."""
        done = max((int(each.name) for each in (self.checkpoint / "commits").glob("[0-9]*")), default=-1)
        if done < 0:
            return {}
        offset = json.loads((self.checkpoint / "offsets" / str(done)).read_text("utf-8").splitlines()[-2])
        return {Path(path).name: mark.get("at", 0) for path, mark in offset["files"].items()}

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=LONGEST)
        assert self.process.returncode == 0, said.decode()
        return said.decode()


@pytest.fixture
def following():
    """Begins to follow; what still runs at the end is killed."""
    begun = []

    def follow(*where):
        begun.append(Following(*where))
        return begun[-1]

    yield follow
    for each in begun:
        if each.process.poll() is None:
            each.kill()


def everybody_reads(lake):
    """Files of a lake at any time: each is whole, and has rows."""
    with Lake(lake) as tables, duckdb.connect() as database:
        for table in (path for path in lake.iterdir() if path.name[0] not in "_."):
            files = [*table.rglob("*")]
            assert all(path.suffix == ".parquet" for path in files if path.is_file())
            assert all(pq.read_metadata(path).num_rows for path in files if path.is_file())
            counts = [
                database.execute(f"select count(*) from '{table}/**/*.parquet'").fetchone()[0],
                len(pd.read_parquet(table)),
                len(pl.read_parquet(f"{table}/**/*.parquet", hive_partitioning=True)),
                tables.arrow(f"select count(*) as n from {table.name}").read_all()["n"][0].as_py(),
            ]
            assert all(counts)


def test_each_row_once_though_it_is_killed_and_everybody_reads_it_all_the_time(following, tmp_path):
    folder, out = tmp_path / "captures", tmp_path / "out"
    folder.mkdir()
    rotated = Rotated(SAMPLES / "ipv6.pcap", 4)
    files = rotated.files

    def arrive(number, share=1.0):
        path = folder / name(number)
        with path.open("ab") as file:
            file.write(files[number][path.stat().st_size : int(len(files[number]) * share)])

    arrive(0)
    stream = following(folder, out)
    stream.wait_for(stream.read)
    everybody_reads(out)
    arrive(1)
    arrive(2, 0.5)
    time.sleep(random.Random().random())  # whenever it is
    stream.kill()
    everybody_reads(out)
    arrive(2)
    stream = following(folder, out)
    stream.wait_for(lambda: stream.read().get(name(2)) == len(files[2]))
    everybody_reads(out)
    arrive(3)
    stream.wait_for(lambda: stream.read() == {name(number): len(content) for number, content in enumerate(files)})
    said = stream.interrupt()
    everybody_reads(out)
    assert not [*out.glob("_run-*")]
    with Lake(out) as lake:
        rows = lake.arrow("select * from frames").read_all().to_pylist()
    assert Counter(map(shown, rows)) == rotated.rows(tmp_path)
    assert re.search(r"^kwire: [\d,]+ rows, [\d.]+ s$", said, re.MULTILINE)


def crash(*_):
    raise RuntimeError("killed here")


def crash_at_the_third(put):
    calls = []

    def some(*given):
        calls.append(given)
        if len(calls) == 3:
            crash()
        put(*given)

    return some


def then_crash(write):
    def written(*given):
        write(*given)
        crash()

    return written


CRASHES = [
    (writing.Run, "commit", crash),
    (writing, "_carry_out", crash),
    (writing, "_put", crash_at_the_third(writing._put)),
    (LakeFiles, "write", then_crash(LakeFiles.write)),
]
"""Before a batch has its journal, after that, while its files are moved, and before Spark knows that it is written."""


def crash_in_the_second_batch(patch, place, name, way):
    """Have what comes after a batch, which may be one that is done again, die in this way."""
    write, calls = LakeFiles.write, []

    def written(*given):
        calls.append(given)
        if len(calls) == 2:
            patch.setattr(place, name, way)
            return (way if place is LakeFiles else write)(*given)
        return write(*given)

    patch.setattr(LakeFiles, "write", written)


def was_late(error):
    """Whether a stream, or one of the causes of its end, says so."""
    while error is not None:
        if LATE in str(error):
            return True
        error = getattr(error, "_cause", None)
    return False


def follow_until(stream, out, over):
    """Follow a stream, again if it was late."""
    for _ in range(STARTS):
        try:
            return follow_into(stream, lake.chosen("all"), out, "parquet", every=0.1, over=over)
        except StreamingQueryException as error:
            if not was_late(error):
                raise
    raise AssertionError(LATE)


def test_a_lake_has_the_rows_of_one_that_is_exported_whatever_dies_when(spark, tmp_path, monkeypatch):
    folder, out, expected = tmp_path / "in", tmp_path / "out", tmp_path / "expected"
    shutil.copytree(ROOT / "samples" / "logs", folder / "logs", ignore=shutil.ignore_patterns("*.deleted"))
    shutil.copytree(ROOT / "samples" / "request-logs", folder / "requests")
    shutil.copytree(SEGMENTS / "orders-zstd-0", folder / "segments" / "orders-zstd-0")
    (folder / "one").mkdir()
    (folder / "two").mkdir()
    shutil.copy(SAMPLES / "kafka-python-4.4.0.pcapng", folder / "one")
    (folder / "two" / "none.pcap").write_bytes(b"this is none" * 9)
    for number, data in enumerate(Rotated(SAMPLES / "ipv6.pcap", 3).files):
        (folder / "two" / name(number)).write_bytes(data)
    for path in folder.rglob("*.*"):
        os.utime(path, (1, 1))  # nobody writes to it
    export([str(folder)], expected, Wanted(lake.chosen("all"), Reading()))
    for die in CRASHES:
        with monkeypatch.context() as patch:
            patch.setattr(writing, "_is_alive", lambda _: False)
            patch.setattr(writing.Run, "__exit__", lambda *_: None)
            crash_in_the_second_batch(patch, *die)
            stream = streams(spark, folder, maxBytesPerTrigger=20_000)
            with pytest.raises(StreamingQueryException, match="killed here"):
                follow_until(stream, out, lambda: False)
    until = time.monotonic() + LONGEST

    def over():
        assert time.monotonic() < until
        return rows_of(out, query) == count

    query = "select (select count(*) from frames), (select count(*) from records)"
    count = rows_of(expected, query)
    follow_until(streams(spark, folder, idle=1), out, over)
    found, wanted = content(out, "topics, broker"), content(expected, "topics, broker")
    del wanted["inputs"]
    assert found == wanted
    with pytest.raises(kwire.InputError, match="a stream writes this"):
        export([str(folder)], out, Wanted(lake.chosen("all"), Reading()))
    with pytest.raises(kwire.InputError, match="no stream wrote this"):
        follow_into(streams(spark, folder), lake.chosen("all"), expected, "parquet", every=1, over=lambda: True)


def ended(query):
    """Whether a query came to its end, and was not late."""
    try:
        assert query.awaitTermination(LONGEST)
    except StreamingQueryException as error:
        if not was_late(error):
            raise
        return False
    return True


@pytest.fixture
def run(spark, tmp_path):
    """Reads a stream up to what is there now; a name is a checkpoint."""
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")

    def to_its_end(frame, name):
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / f"{name}.checkpoint"))
        writer = writer.trigger(availableNow=True)
        assert any(ended(writer.start(str(tmp_path / name))) for _ in range(STARTS))
        return spark.read.schema(frame.schema).parquet(str(tmp_path / name))

    yield to_its_end
    spark.conf.unset("spark.sql.streaming.noDataMicroBatches.enabled")


def test_records_of_segments_that_grow(spark, run, tmp_path):
    folder = tmp_path / "logs"
    for share in (0.6, 1):
        for path in SEGMENTS.glob("*/*"):
            target = folder / path.parent.name / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes()
            target.write_bytes(data[: int(len(data) * share)])
        if share == 1:
            for partition in folder.iterdir():  # nothing more will come to what is there
                (partition / "00000000009999999999.log").write_bytes(b"")
        found = run(streams(spark, folder, maxBytesPerTrigger=30_000)["records"], "records")
    read = spark.read.format("kwire").load(str(SEGMENTS))
    names = [each for each in read.columns if each != "file"]
    assert sorted(map(repr, found.select(*names).collect())) == sorted(map(repr, read.select(*names).collect()))
    assert found.count()


def test_tables_of_files_and_their_faults(spark, run, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    data = (SAMPLES / "ipv6.pcap").read_bytes()
    (folder / "grows.pcap").write_bytes(data[:30_000])
    shutil.copytree(SEGMENTS / "garbage-0", folder / "garbage-0")
    cut = folder / "cut.pcap"
    cut.write_bytes(data[:20_000])
    os.utime(cut, (1, 1))  # nobody writes to it
    run(streams(spark, folder)["packets"], "packets")
    run(streams(spark, folder)["faults"], "faults")
    (folder / "grows.pcap").write_bytes(data)
    cut.unlink()
    found = run(streams(spark, folder)["packets"], "packets").where("file like '%grows.pcap'")
    read = spark.read.format("kwire").option("table", "packets").load(str(folder / "grows.pcap"))
    assert sorted(map(repr, found.collect())) == sorted(map(repr, read.collect()))
    (folder / "garbage-0" / "00000000009999999999.log").write_bytes(b"")
    (folder / "grows.pcap").write_bytes(b"\0" * 50)
    faults = {(Path(row.file).name, row.code) for row in run(streams(spark, folder)["faults"], "faults").collect()}
    assert faults == {("cut.pcap", "TRUNCATED"), ("grows.pcap", "REPLACED"), ("00000000000000000000.log", "CORRUPT")}


def test_the_example_of_the_page(spark, run, tmp_path, monkeypatch, capsys, updating):  # noqa: ARG001 - `run` sets what the page does
    page = ROOT / "docs" / "pipeline.md"
    text = page.read_text("utf-8")
    section = text.split("\n## Streams\n")[1].split("\n## ")[0]
    code, printed = (
        section.split("```python\n")[1].split("```\n\n```\n")[0],
        section.split("```\n\n```\n")[1].split("```")[0],
    )
    monkeypatch.chdir(ROOT)
    exec(compile(code.replace('"out/', f'"{tmp_path}/'), "the page", "exec"), {"spark": spark})
    found = capsys.readouterr().out.strip("\n") + "\n"
    if updating:
        page.write_text(text.replace(f"```\n\n```\n{printed}```", f"```\n\n```\n{found}```"), "utf-8")
    else:
        assert found == printed


def test_silent_connections_end(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    rotated = Rotated(SAMPLES / "ipv6.pcap", 1)
    del rotated.packets[rotated.firsts[-10] :]  # it ends in the middle of a frame
    (folder / name(0)).write_bytes(rotated.files[0])
    rows = rotated.rows(tmp_path)
    writer = streams(spark, folder, idle=2).table("frames").writeStream.format("memory").queryName("silent")
    query = (
        writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(processingTime="0.5 seconds").start()
    )
    until = time.monotonic() + LONGEST
    try:
        while (
            not query.lastProgress
            or query.lastProgress["stateOperators"][0]["numRowsTotal"]
            or not spark.table("silent").count()
        ):
            assert query.isActive, query.exception()
            assert time.monotonic() < until
            time.sleep(0.2)
    finally:
        query.stop()
    assert Counter(shown(row) for row in spark.table("silent").toArrow().to_pylist()) == rows


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--table", "frames"], "--follow goes with --table and --out, or with --into"),
        (["--sql", "select 1", "--out", "x"], "--follow goes with --table and --out, or with --into"),
        (["--into", "x", "--tls-keylog", __file__], "--follow does not decrypt TLS"),
        (["--table", "frames", "--out", "x", "--force"], "--force does not go with --follow"),
    ],
)
def test_options_that_do_not_go_together(options, said):
    done = command("scan", SAMPLES, "--follow", *options)
    assert done.code == 2
    assert said in done.err


@pytest.mark.usefixtures("spark")  # whose session is the command's
def test_a_stream_that_fails_is_said(tmp_path):
    asked = ("scan", tmp_path / "no" / "such", "--table", "packets", "--out", tmp_path / "out", "--follow")
    done = next(done for _ in range(STARTS) if LATE not in (done := command(*asked, "--every", "0.2")).err)
    assert done.code == 2
    assert "there is no such file or folder" in done.err


def test_what_is_wrong_is_said(spark):
    with pytest.raises(
        kwire.InputError,
        match="no stream of the table 'index': there are batches, records, packets, frames, costs, names, faults",
    ):
        streams(spark, "samples")["index"]
    with pytest.raises(kwire.InputError, match="the table frames has no column apis"):
        streams(spark, "samples").table("frames", ["apis"])
    with pytest.raises(Exception, match="the table index cannot be a stream"):
        spark.readStream.format("kwire").option("table", "index").load("samples").writeStream.format(
            "noop"
        ).start().awaitTermination(LONGEST)
