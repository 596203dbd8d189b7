"""`kwire query --master`: tables of a lake in Spark."""

import json
from pathlib import Path

import pytest

from kwire_cli.lake import chosen
from kwire_cli.lake.export import export
from kwire_cli.lake.model import Reading, Wanted
from kwire_cli.source.files import Naming
from kwire_cli.spark import query as spark_lake

pytestmark = pytest.mark.spark

CAPTURE = Path(__file__).resolve().parents[2] / "samples" / "captures" / "ipv6.pcap"


def test_capture_points_are_text(spark, tmp_path):
    """One that looks like a number stays as it is."""
    folder = tmp_path / "007"
    folder.mkdir()
    (folder / "c.pcap").write_bytes(CAPTURE.read_bytes())
    export([str(folder)], tmp_path / "lake", Wanted(chosen("frames"), Reading(naming=Naming("{parent}"))))
    query = "select capture_point, cast(day as string) as day, count(*) as frames from frames group by all"
    answer = spark_lake.answer(spark, str(tmp_path / "lake"), query).read_all().to_pylist()
    assert answer == [{"capture_point": "007", "day": "2026-11-21", "frames": 148}]


def test_files_of_a_killed_run_do_not_count(spark, tmp_path):
    """It has not moved its last file yet, so the file that it has moved is left out, and nothing is written."""
    lake = tmp_path / "lake"
    export([str(CAPTURE)], lake, Wanted(chosen("frames"), Reading()))
    (file,) = (lake / "frames").rglob("*.parquet")
    moved = file.with_name("moved.parquet")
    moved.write_bytes(file.read_bytes())
    targets = [str(path.relative_to(lake)) for path in (moved, file.with_name("waiting.parquet"))]
    hidden = lake / "_run-0"
    hidden.mkdir()
    (hidden / "b").touch()
    journal = {"moves": [*zip("ab", targets, strict=True)], "gone": [str(file.relative_to(lake))]}
    (hidden / "_journal.json").write_text(json.dumps(journal))
    before = {*lake.rglob("*")}
    assert spark_lake.answer(spark, str(lake), "select count(*) from frames").read_all().to_pylist() == [
        {"count(1)": 148}
    ]
    assert {*lake.rglob("*")} == before
