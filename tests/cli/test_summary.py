"""`kwire summary`: one screen for each kind of input, with commands that can be typed, in every format."""

import json
import re
import shlex
import shutil
from datetime import datetime

import pytest
from kit.commands import ROOT, json_of, kwire, slow

pytestmark = pytest.mark.usefixtures("few_rules")

CAPTURE = ROOT / "samples/incidents/sasl.pcap"
LOG = ROOT / "samples/request-logs/kafka-request.log"
LOGS = ROOT / "samples/logs"


def summary(*arguments, **options):
    return json_of("summary", *arguments, **options)


@pytest.mark.parametrize("source", [CAPTURE, LOG, LOGS], ids=lambda path: path.name)
def test_the_commands_that_it_proposes_run(source, tmp_path):
    place = tmp_path / "my 'files'"
    place.mkdir()
    (shutil.copytree if source.is_dir() else shutil.copy)(source, place / source.name)
    commands = [row["command"] for row in summary(place / source.name)["tables"]["next"]]
    assert commands
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "kwire"
        assert str(place / source.name) in words
        assert kwire(*words[1:]).code in {0, 1}, command


def test_standard_input_and_several_files_are_counted():
    of_pipe = summary("-", stdin=CAPTURE.read_bytes())
    of_file = summary(CAPTURE)
    assert of_pipe["tables"]["apis"] == of_file["tables"]["apis"]
    assert of_pipe["tables"]["inputs"][0]["name"] == "standard input"
    many = summary(*[LOG] * 4)
    assert many["facts"]["requests"] == 4 * json_of("stats", LOG)["facts"]["frames"]["request"]
    assert "kwire clients INPUT... --to 4.4" in [row["command"] for row in many["tables"]["next"]]


DAMAGED = ("bitflip-0", "cutheader-0", "garbage-0")
WHOLE = [path for path in sorted((ROOT / "samples/segments").iterdir()) if path.name not in DAMAGED]


@pytest.mark.parametrize("path", [*map(slow, WHOLE[1:]), WHOLE[0], LOGS], ids=lambda path: path.name)
def test_records_and_their_times_are_those_that_dump_shows(path):
    """Wrappers of v0 and v1 say no number of records, and a delete horizon is no time of a record."""
    lines = kwire("dump", path, "--deep", "--format", "jsonl").out.splitlines()
    records = [record for line in lines for record in json.loads(line).get("records") or ()]
    partitions = summary(path)["tables"]["partitions"]
    assert sum(row["records"] for row in partitions) == len(records)
    moments = [row[name] for row in partitions for name in ("first", "last") if row[name]]
    times = [1000 * datetime.fromisoformat(moment).timestamp() for moment in moments]
    said = [record["timestamp"] for record in records if (record["timestamp"] or -1) >= 0]
    assert bool(times) == bool(said)
    assert not said or min(said) <= min(times) <= max(times) <= max(said)


def test_the_average_of_idle_clients_is_by_the_hour(tmp_path):
    """Two requests in four days: 5.79e-06/s says little."""
    line = LOG.read_text("utf-8").splitlines()[0]
    day = re.search(r"20\d\d-\d\d-\d\d", line)[0]
    log = tmp_path / "kafka-request.log"
    log.write_text(f"{line.replace(day, '2026-11-01', 1)}\n{line.replace(day, '2026-11-05', 1)}\n", "utf-8")
    assert "1 request in the busiest second, 0.0208/h on average" in kwire("summary", log).out
