"""Streams in an embedded Spark: rows of one machine, each once, whenever files arrive and whatever dies."""

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
from record_sets import SEGMENTS
from rotated import COLUMNS, Rotated, name

pytest.importorskip("numba")
pytest.importorskip("pyspark")
pytest.importorskip("duckdb")

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import StreamingQueryException

import kwire_cli as kwire

pytestmark = [pytest.mark.spark, pytest.mark.numba]

SAMPLES = ROOT / "samples" / "captures"
SETTINGS = ("--conf", "spark.sql.shuffle.partitions=2")
LONGEST = 300
"""Seconds after which a test gives up."""
LATE = "Python worker failed to connect back"
"""Spark says so if the process that reads a stream's source takes more than ten seconds to start, as it may on a busy
machine. Spark has no setting for these seconds, so a stream that is late is started again.
"""
STARTS = 5


def shown(frame):
    """Rows with the names of files alone."""
    return Counter((Path(row[0]).name, *row[1:]) for row in frame.select(*COLUMNS).collect())


class Following:
    """`kwire scan --follow` of frames, in processes that all die at once."""

    def __init__(self, folder, out):
        self.checkpoint, columns = out / "_checkpoint", ("--fields", ",".join((*COLUMNS, "time")))
        command = [
            "scan",
            folder,
            "--table",
            "frames",
            *columns,
            "--out",
            out,
            "--follow",
            "--every",
            "0.3",
            "--master",
            "local[2]",
            *SETTINGS,
        ]
        command = [sys.executable, "-m", "kwire_cli", *map(str, command)]
        self.process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait_for(self, true):
        until = time.monotonic() + LONGEST
        while not true():
            assert self.process.poll() is None, self.process.stderr.read().decode()
            assert time.monotonic() < until
            time.sleep(0.05)

    def read(self):
        """How far files were read, by name, in batches that are written."""
        done = self.commits()
        if done < 0:
            return {}
        offset = json.loads((self.checkpoint / "offsets" / str(done)).read_text("utf-8").splitlines()[-1])
        return {Path(path).name: mark.get("at", 0) for path, mark in offset["files"].items()}

    def commits(self):
        """The number of batches that are done, with rows or without."""
        return max((int(each.name) for each in (self.checkpoint / "commits").glob("[0-9]*")), default=-1)

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=LONGEST)
        assert self.process.returncode == 0, said.decode()
        return said.decode()


def whole(out):
    """The rows in files, as anybody reads them at any time: each is whole, and has rows with times in UTC."""
    files = [file for file in out.rglob("*.parquet") if file.exists()]
    for file in files:
        found = pq.ParquetFile(file)
        assert found.metadata.num_rows
        times = [
            found.schema_arrow.field(name).type
            for name in found.schema_arrow.names
            if pa.types.is_timestamp(found.schema_arrow.field(name).type)
        ]
        assert times == [pa.timestamp("us", "UTC")]
    if files:
        assert duckdb.connect().execute(f"select count(*) from '{out}/**/*.parquet'").fetchone()[0] == sum(
            pq.read_metadata(file).num_rows for file in files
        )
    return sorted(files)


def test_each_row_once_though_it_is_killed_in_the_middle(spark, tmp_path):
    folder, out = tmp_path / "captures", tmp_path / "out"
    folder.mkdir()
    rotated = Rotated(SAMPLES / "ipv6.pcap", 6)
    files = rotated.files

    def arrive(number, share=1.0):
        path = folder / name(number)
        with path.open("ab") as file:
            file.write(files[number][path.stat().st_size : int(len(files[number]) * share)])

    arrive(0)
    following = Following(folder, out)
    following.wait_for(following.read)
    before, commits = whole(out), following.commits()
    following.wait_for(lambda: following.commits() >= commits + 3)
    assert whole(out) == before  # triggers without rows leave no file
    arrive(1)
    arrive(2, 0.5)
    time.sleep(random.Random().random() * 2)  # whenever it is
    following.kill()
    whole(out)
    arrive(2)
    arrive(3, 0.3)
    following = Following(folder, out)
    following.wait_for(lambda: following.read().get(name(2)) == len(files[2]))
    for number in (3, 4, 5):
        arrive(number)
    following.wait_for(lambda: following.read() == {name(number): len(content) for number, content in enumerate(files)})
    said = following.interrupt()
    assert whole(out)
    assert shown(spark.read.parquet(str(out))) == rotated.rows(tmp_path)
    assert re.search(r"^kwire: [\d,]+ rows, [\d.]+ s$", said, re.MULTILINE)


def ended(query):
    """Whether a query came to its end, and was not late."""
    try:
        assert query.awaitTermination(LONGEST)
    except StreamingQueryException as error:
        if LATE not in str(error):
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
    from kwire_cli.pipeline import streams

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
    from kwire_cli.pipeline import streams

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
    from kwire_cli.pipeline import streams

    folder = tmp_path / "in"
    folder.mkdir()
    rotated = Rotated(SAMPLES / "ipv6.pcap", 1)
    del rotated.packets[rotated.firsts[-10] :]  # it ends in the middle of a frame
    (folder / name(0)).write_bytes(rotated.files[0])
    rows = rotated.rows(tmp_path)
    writer = streams(spark, folder, idle=2).table("frames", COLUMNS).writeStream.format("memory").queryName("silent")
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
    assert shown(spark.table("silent")) == rows


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--table", "frames"], "--follow goes with --table and --out"),
        (["--sql", "select 1", "--out", "x"], "--follow goes with --table and --out"),
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
    from kwire_cli.pipeline import streams

    with pytest.raises(
        kwire.InputError,
        match="no stream of the table 'ledger': there are batches, records, faults, packets, frames, fields",
    ):
        streams(spark, "samples")["ledger"]
    with pytest.raises(kwire.InputError, match="the table frames has no column apis"):
        streams(spark, "samples").table("frames", ["apis"])
    with pytest.raises(Exception, match="the table index cannot be a stream"):
        spark.readStream.format("kwire").option("table", "index").load("samples").writeStream.format(
            "noop"
        ).start().awaitTermination(LONGEST)
