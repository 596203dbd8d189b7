"""docs/changes.md: its rules are those of the code, its commands print what it says, and what differs in two
releases is judged.
"""

import json
import re

import pytest
from kit.commands import ROOT, hold_page

from kwire_cli.spec.evolution import breaking
from kwire_cli.spec.evolution.breaking import breaking as breaking_breaking, spans
from kwire_cli.spec.evolution.sources import read_definitions

FILE = ROOT / "docs" / "changes.md"
FACTS = ROOT.parent / "shared" / "facts"
RULES = re.compile(r"^\| rule \| severity \| broken when .*?\n\n", re.DOTALL | re.MULTILINE)
JUDGED = re.compile(
    r"^\| `(?P<rule>[A-Z_]+)` \| (?P<severity>\w+) \| (?P<where>[^|]+) \| (?P<versions>[-0-9, ]+) \| "
    r"(?P<judgment>[^|]+) \|$",
    re.MULTILINE,
)


def rule_table():
    rows = [
        f"| `{name}` | {rule.severity} | {rule.summary} | {rule.old_reads_new or '-'} | {rule.new_reads_old or '-'} |"
        for name, rule in breaking.RULES.items()
    ]
    heads = (
        "| rule | severity | broken when | an old reader with a new writer's bytes "
        "| a new reader with an old writer's bytes |"
    )
    return "\n".join([heads, "|---|---|---|---|---|", *rows]) + "\n"


def judgments():
    return FILE.read_text("utf-8").partition("## From Kafka 3.9.2")[2]


def test_its_commands_and_rules_are_those_of_the_code(updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold_page(FILE, updating, lambda text: RULES.sub(lambda _: f"{rule_table()}\n", text))
    text = FILE.read_text("utf-8")
    for severity, meaning in breaking.SEVERITIES.items():
        assert f"| `{severity}` | {meaning} |\n" in text


@pytest.mark.slow
@pytest.mark.shared
def test_all_that_two_releases_differ_in_is_judged(tmp_path):
    sets = []
    for release in ("3.9.2", "4.4.0"):
        (tmp_path / release).mkdir()
        for definition in json.loads((FACTS / f"kafka-{release}.json").read_text("utf-8")):
            (tmp_path / release / f"{definition['name']}.json").write_text(json.dumps(definition))
        sets.append(read_definitions([str(tmp_path / release)]))
    found = {(each.rule, each.severity, each.place, spans(each.versions) or "-") for each in breaking_breaking(*sets)}
    judged = [row for row in JUDGED.finditer(judgments()) if len(row["judgment"]) > 10]
    rows = [
        (row["rule"], row["severity"], where, row["versions"]) for row in judged for where in row["where"].split(", ")
    ]
    assert len(rows) == len(set(rows))
    assert set(rows) == found
    for definitions in sets:
        assert breaking_breaking(definitions, definitions) == []


@pytest.mark.shared
def test_only_versions_that_were_never_released_got_other_bytes():
    """The comparison of these releases that was made with the definitions, by other means, found two versions with
    other layouts.
    """
    differences = json.loads((FACTS / "union-differences.json").read_text("utf-8"))
    other = {(row["message"], str(row["version"])) for row in differences if row["kind"] in {"LAYOUT", "EXTRA"}}
    rows = [row for row in JUDGED.finditer(judgments()) if row["rule"] == "FIELD_ADDED"]
    assert {(row["where"].split(".")[0], row["versions"]) for row in rows} == other
