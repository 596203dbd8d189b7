import tomllib
from importlib import import_module
from importlib.resources import files
from string import Template

import pytest

import kwire_cli as kwire
from kwire_cli.analysis.papers.claims import PAPERS, Claim, Paper, Table, claim
from kwire_cli.view.answers import answer_document
from kwire_cli.view.tables import bar
from kwire_cli.view.terminal import answer_text

SAME = Claim("Space", "old overhead", (34, 102), (34, 102), repeat="kwire compare --record-count 3")
WRONG = Claim("Space", "bytes per message", (14, 25), (15, 28), "the schema gives more")
OPEN = Claim("Format", "checksum", ("crc",), ("crc32",), "not said", differing="explained")
PAPER = Paper(
    "kip0",
    "KIP-0",
    "all",
    "nothing",
    (SAME, WRONG, OPEN),
    (Table("sizes", ("form", "bytes"), (("v2", 7), ("v1", None))),),
)


@pytest.mark.parametrize("name", PAPERS)
def test_claims_name_each_figure_and_no_other(name):
    document = tomllib.loads(files("kwire_cli.analysis.papers").joinpath(f"{name}.toml").read_text())
    figures = import_module(f"kwire_cli.analysis.papers.{name}").figures(kwire.catalog())
    measured = {figure for row in document["claims"] for figure in row["measured"]}
    assert {*figures} == measured | {*Template(str(document)).get_identifiers()}


def test_a_claim_gets_its_figures():
    row = {"where": "A", "statement": "$b bytes", "says": ["$c", 3], "measured": ["b", "c"], "repeat": "for $$N: $d"}
    figures = {"b": 5, "c": (1, 2), "d": "e"}
    assert claim(row, figures) == Claim("A", "5 bytes", (1, 2, 3), (5, 1, 2), repeat="for $N: e")
    with pytest.raises(KeyError, match="d"):
        claim(row, {"b": 5, "c": 1})


def test_the_verdict_is_what_the_numbers_say():
    assert [claim.verdict for claim in PAPER.claims] == ["same", "corrected", "explained"]


def test_in_json_numbers_stay_numbers():
    document = answer_document(PAPER.answer())
    assert document["title"] == "KIP-0"
    assert (document["facts"]["proposed"], document["facts"]["shipped"]) == ("all", "nothing")
    assert document["tables"]["claims"][1] == {
        "where": "Space",
        "statement": "bytes per message",
        "says": [14, 25],
        "measured": [15, 28],
        "verdict": "corrected",
        "why": "the schema gives more",
        "repeat": None,
    }
    assert document["tables"]["claims"][2]["says"] == ["crc"]
    assert document["tables"]["measured1"] == [{"form": "v2", "bytes": 7}, {"form": "v1", "bytes": None}]
    assert [row["claims"] for row in document["tables"]["verdicts"]] == [1, 1, 1]


def test_a_person_sees_both_numbers_only_where_they_differ():
    lines = answer_text(PAPER.answer()).splitlines()
    at = lines.index("same  Space: old overhead")
    assert lines[at + 1 : at + 3] == ["  says  34, 102", "  repeat  kwire compare --record-count 3"]
    at = lines.index("corrected  Space: bytes per message")
    assert lines[at + 1 : at + 4] == ["  says  14, 25", "  kwire  15, 28", "  why  the schema gives more"]
    assert lines[-3:] == ["form  bytes", "v2        7", "v1"]


@pytest.mark.parametrize(("value", "length"), [(0, 0), (-1, 0), (1e-9, 1), (50, 12), (100, 24), (200, 24)])
def test_a_bar_is_as_long_as_its_share(value, length):
    assert len(bar(value, 100)) == length
