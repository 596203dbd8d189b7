"""A lake that the first kwire with Delta tables wrote: it is read, and an export into it goes on.

`data/first-delta-lake.zip` has the first 11,678 bytes of `offset-out-of-range.pcap`, exported by commit 96d1fd96 from
the folder `broker-1`, with that name for its capture point.
"""

import json
from pathlib import Path
from zipfile import ZipFile

import pytest
from kit.commands import ROOT, kwire
from kit.lakes import rows_of, run

import kwire_cli
from kwire_cli.errors import InputError
from kwire_cli.lake.model import Reading
from kwire_cli.source.files import Naming
from kwire_cli.view.answers import answer_json

CAPTURE = ROOT / "samples" / "incidents" / "offset-out-of-range.pcap"
HEADER = 24
"""Bytes of the header of a pcap file."""
EXPORTED = 11_678
FRAMES = "select connection, kind, api, api_version, correlation_id, client_id, size, latency_us, topics from frames"


@pytest.fixture
def lake(tmp_path):
    with ZipFile(Path(__file__).parent / "data" / "first-delta-lake.zip") as packed:
        packed.extractall(tmp_path / "lake")
    return tmp_path / "lake"


def test_an_old_lake_answers(lake):
    assert rows_of(lake, "select count(*), count(distinct connection) from frames") == [(32, 3)]
    (requests,) = rows_of(lake, "select count(*) from frames where kind = 'request'")[0]
    report = [json.loads(line) for line in kwire("query", lake, "stats").out.splitlines()]
    assert sum(row["requests"] for row in report) == requests == 16
    assert rows_of(lake, "select * from connections") == []


def test_questions_name_the_tables_of_an_old_lake_that_are_missing(lake):
    diagnosis = "".join(answer_json(kwire_cli.ask("diagnose", lake)))
    assert "exported without connections, errors, produce_batches, bodies" in diagnosis
    with pytest.raises(InputError, match="exported without connections"):
        kwire_cli.ask("stats", lake)


def test_an_export_goes_on_in_an_old_lake(lake, tmp_path):
    whole = CAPTURE.read_bytes()
    folder = tmp_path / "broker-1"
    folder.mkdir()
    (folder / "two.pcap").write_bytes(whole[:HEADER] + whole[EXPORTED:])
    done = run([folder], lake, reading=Reading(naming=Naming("broker-1")))
    assert (done.read, done.known) == (1, 0)
    assert rows_of(lake, "select count(*) from faults") == [(0,)]
    run([CAPTURE], tmp_path / "anew")
    assert sorted(map(repr, rows_of(lake, FRAMES))) == sorted(map(repr, rows_of(tmp_path / "anew", FRAMES)))
