"""Findings as marks at lines: SARIF has what code scanning needs, whatever rule was broken and whatever names hold."""

import json
import os

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples

from kwire_cli.spec.conventions import CONVENTIONS
from kwire_cli.spec.evolution.breaking import RULES as BREAKING
from kwire_cli.spec.files import Finding
from kwire_cli.spec.rules import RULES
from kwire_cli.view.marks import explanation, github_lines, sarif_text

EVERY_RULE = [*BREAKING, *RULES, *CONVENTIONS]
TEXTS = st.text(st.characters(), max_size=40)
NAMES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters=":"), max_size=40),
    st.binary(max_size=40).map(lambda data: os.fsdecode(data.replace(b":", b""))),
)
"""Names that a file system gives: a lone surrogate stands for a byte that is not UTF-8. A name with a colon would be a
file of a revision, as in HEAD:specs.
"""


def run_of(findings):
    log = json.loads(sarif_text(findings, "lint"))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    [run] = log["runs"]
    return run["tool"]["driver"]["rules"], run["results"]


def test_each_rule_is_explained():
    for rule in EVERY_RULE:
        summary, more = explanation(rule)
        assert summary.endswith((".", ")")), rule
        assert more, rule
        assert all(text.endswith((".", "V")) for text in more), rule


@examples(60)
@given(
    st.lists(st.tuples(st.sampled_from([*RULES, *CONVENTIONS]), TEXTS, NAMES, TEXTS, st.integers(1, 99)), max_size=5)
)
def test_results_point_to_their_rules_and_places(rows):
    findings = [
        Finding(rule, "error", message, file or None, line, line, path or None)
        for rule, message, file, path, line in rows
    ]
    rules, results = run_of(findings)
    assert len({rule["id"] for rule in rules}) == len(rules)
    for finding, result in zip(findings, results, strict=True):
        assert (result["ruleId"], rules[result["ruleIndex"]]["id"]) == (finding.rule, finding.rule)
        [location] = result["locations"]
        assert ("physicalLocation" in location) == bool(finding.file)
        if finding.file:
            place = location["physicalLocation"]
            assert place["region"] == {"startLine": finding.line, "startColumn": finding.column}
            assert place["artifactLocation"]["uri"].isascii()
            assert not set(place["artifactLocation"]["uri"]) & set(' <>"{}|\\^`')


@examples(30)
@given(TEXTS, TEXTS, TEXTS)
def test_a_workflow_command_is_one_line(message, file, path):
    [line] = github_lines([Finding("TAG_RANGE", "error", message, file, 1, 1, path)])
    assert line.startswith("::error ")
    assert not set(line) & {"\n", "\r"}
    properties, _, _ = line.removeprefix("::error ").partition("::")
    assert [part.partition("=")[0] for part in properties.split(",")][-3:] == ["line", "col", "title"]


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("HEAD~1:specs/Fetch Request.json", "specs/Fetch%20Request.json"),
        ("./specs/../specs/A.json", "specs/A.json"),
        ("kafka.jar!common/message/A.json", "kafka.jar%21common/message/A.json"),
        ("/elsewhere/A.json", "file:///elsewhere/A.json"),
    ],
)
def test_files_are_named_as_the_repository_has_them(name, uri):
    _, [result] = run_of([Finding("MESSAGE_REMOVED", "wire", "gone", name, definition="A")])
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_a_file_below_the_current_folder_is_named_from_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [line] = github_lines([Finding("TAG_RANGE", "error", "", str(tmp_path / "specs" / "A.json"))])
    assert line.startswith("::error file=specs/A.json,")
