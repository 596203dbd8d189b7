"""Questions with --master: tasks of Spark ask about each input by itself."""

import json

import pytest
from kit.captures import SAMPLES
from kit.commands import json_of, kwire, refusal_of
from kit.lakes import run

from kwire_cli.analysis.one_by_one import InputAnswer, merge_answers
from kwire_cli.answer import Answer, Column, Fact, Facts, Item, Note, Outline, Table
from kwire_cli.errors import InputError

MASTER = ("--master", "local[2]")
SOURCES = ("incidents/rebalancing.pcap", "incidents/fenced-producer", "request-logs/kafka-request.log")
CAPTURES = tuple(SAMPLES / "captures" / name for name in ("ipv6.pcap", "kafka-python-4.4.0.pcapng"))


@pytest.fixture
def points(tmp_path):
    """Copy captures into folders, which are capture points."""
    for capture in CAPTURES:
        folder = tmp_path / capture.stem
        folder.mkdir()
        (folder / capture.name).write_bytes(capture.read_bytes())
    return [tmp_path / capture.stem / capture.name for capture in CAPTURES]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
class TestQuestions:
    def test_a_diagnosis_has_the_findings_of_each_input(self):
        inputs = [SAMPLES / name for name in SOURCES]
        found = json_of("diagnose", *inputs, "--severity", "warning", *MASTER)["tables"]["findings"]
        expected = []
        for source in inputs:
            rows = json_of("diagnose", source, "--severity", "warning")["tables"]["findings"]
            expected += [(source.stem, row["code"], row["subject"], row["text"]) for row in rows]
        shown = [(row["input"], row["code"], row["subject"], row["text"]) for row in found]
        assert sorted(row[1:] for row in shown) == sorted(row[1:] for row in expected)
        assert {row["severity"] for row in found} == {"error", "warning"}
        assert shown[0][1] == "GROUP_REBALANCE_LOOP"

    @pytest.mark.parametrize(
        ("command", "table"), [(("groups",), "groups"), (("stats",), "api"), (("stats", "--every", "1s"), "intervals")]
    )
    def test_rows_are_those_of_each_input(self, points, command, table):
        rows = json_of(*command, *points, *MASTER)["tables"][table]
        for point in points:
            own = [{**row} for row in rows if row["input"] in {str(point), str(point.parent)}]
            for row in own:
                del row["input"]
            assert [_without_file(row) for row in own] == [
                _without_file(row) for row in json_of(*command, point)["tables"][table]
            ]

    def test_a_lake_is_asked_by_capture_point_and_day(self, points, tmp_path):
        run(points, tmp_path / "lake", "all")
        found = json_of("stats", tmp_path / "lake", "--by", "api", *MASTER)["tables"]["api"]
        names = {row["input"] for row in found}
        assert len(names) == 2
        assert all(name.rsplit(" ", 1)[1].startswith("2026-") for name in names)
        for point in points:
            own = [{**row} for row in found if row["input"].startswith(str(point.parent))]
            for row in own:
                del row["input"]
            assert own == json_of("stats", point, "--by", "api")["tables"]["api"]

    def test_a_verification_is_that_of_one_process(self):
        asked = ("dump", "--verify", "--deep", SAMPLES / "segments", SAMPLES / "logs", "-f", "json")
        here = kwire(*asked)
        there = kwire(*asked, *MASTER)
        assert (here.code, here.out) == (there.code, there.out)
        assert here.code == 1

    def test_an_input_that_cannot_be_read_is_named(self, points):
        damaged = points[0].parent.parent / "damaged" / "damaged.pcap"
        damaged.parent.mkdir()
        damaged.write_bytes(CAPTURES[0].read_bytes()[:40])
        done = kwire("transactions", *points, damaged, "-f", "json", *MASTER)
        assert done.code == 0
        assert [note for note in json.loads(done.out)["notes"] if "was not read" in note and "damaged" in note]


def _without_file(row):
    return {name: value for name, value in row.items() if name not in {"file", "capture"}}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("stats", CAPTURES[0], "--filter", "size > 1", *MASTER), "does not go with --master"),
        (("diagnose", CAPTURES[0], "--conf", "spark.ui.enabled=false"), "--conf is for Spark: add --master URL"),
        (("diagnose", "-", *MASTER), "a task can't read a pipe"),
        (("stats", SAMPLES / "logs", *MASTER), "this is a folder"),
        (("dump", SAMPLES / "logs", *MASTER), "--master is for --verify"),
        (("dump", "--state", SAMPLES / "logs", *MASTER), "--master"),
    ],
)
def test_what_does_not_go_with_spark_is_refused_before_it_starts(arguments, why):
    assert why in refusal_of(*arguments, stdin=CAPTURES[0].read_bytes())


def answer_with(count, *lines):
    table = Table("things", (Column("name"), Column("number", "count")), [("a", count)], total=("all", count))
    facts = Facts([Fact("number", count, "count"), Fact("said", "words", spoken=True)])
    return Answer("about", [facts, table, Outline("", map(Item, [0] * len(lines), lines)), Note("done")], bool(lines))


def test_answers_are_merged_with_the_name_of_their_input():
    merged = merge_answers(
        [InputAnswer("b", answer_with(2)), InputAnswer("c", None, "broken"), InputAnswer("d", answer_with(3, "bad"))]
    )
    assert merged.found
    assert merged["inputs"].to_dicts() == [{"input": "d", "number": 3}, {"input": "b", "number": 2}]
    rows = [{"input": "d", "name": "a", "number": 3}, {"input": "b", "name": "a", "number": 2}]
    assert (merged["things"].to_dicts(), merged["things"].total) == (rows, None)
    outlines = [block for block in merged.blocks if isinstance(block, Outline)]
    assert [(item.depth, item.text) for outline in outlines for item in outline.items] == [(0, "d"), (1, "bad")]
    assert merged.notes == ["d: done", "b: done", "c was not read: broken"]


def test_nothing_that_could_be_read_is_an_error():
    with pytest.raises(InputError, match="no input could be read: broken"):
        merge_answers([InputAnswer("c", None, "broken")])
