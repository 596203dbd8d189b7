"""`kwire query --master`: tables of a lake in Spark."""

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
    export([str(folder)], tmp_path / "lake", Wanted(chosen("frames"), Reading(naming=Naming("007"))))
    query = "select capture_point, cast(day as string) as day, count(*) as frames from frames group by all"
    answer = spark_lake.answer(spark, str(tmp_path / "lake"), query).read_all().to_pylist()
    assert answer == [{"capture_point": "007", "day": "2026-11-21", "frames": 148}]
