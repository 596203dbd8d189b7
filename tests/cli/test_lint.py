"""kwire lint with advice; what it prints of rules is in golden/lint.txt."""

import json

import pytest
from kit.commands import ROOT, kwire

SPECS = ROOT / "specs"


def found(*arguments):
    done = kwire("lint", "-f", "jsonl", *arguments)
    return done, [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.slow
def test_advice_is_asked_for_and_is_no_error():
    quiet, nothing = found("--rules", "kafka9927", SPECS)
    assert (quiet.code, nothing, quiet.err) == (0, [], "0 errors, 0 warnings\n")
    done, advice = found("--rules", "kafka9927", "--advice", SPECS)
    assert done.code == 0
    assert {each["severity"] for each in advice} == {"advice"}
    assert done.err == f"0 errors, 0 warnings, {len(advice)} advice\n"


def test_what_the_old_definitions_have_too_is_no_finding(tmp_path):
    """A pull request is told only of what it brings, wherever it stands in the file now."""
    text = (SPECS / "SyncGroupRequest.json").read_text()
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
        (folder / "SyncGroupResponse.json").write_text((SPECS / "SyncGroupResponse.json").read_text())
        (folder / "SyncGroupRequest.json").write_text(text.replace('"MemberId"', '"memberId"'))
    named = (new / "SyncGroupRequest.json").read_text().replace('"SyncGroupRequest"', '"SyncGroup"')
    (new / "SyncGroupRequest.json").write_text("\n\n" + named.replace('"GroupId"', '"groupId"'))
    done, rows = found(new, "--against", old, "--advice")
    assert [each["path"] for each in rows if each["rule"] == "NAME_LOWER_CASE"] == ["groupId.name"]
    assert {"NAME_REQUEST_SUFFIX", "PAIR_MISSING"} <= {each["rule"] for each in rows}
    assert done.code == 1
    same, none = found(new, "--against", new, "--advice")
    assert (same.code, none, same.err) == (0, [], "0 errors, 0 warnings, 0 advice\n")


def test_a_file_that_is_given_twice_is_no_duplicate():
    file = SPECS / "FetchRequest.json"
    for words in ((file, file), (SPECS, file)):
        done, rows = found("--rules", "kafka9927", *words)
        assert (done.code, rows) == (0, [])


def test_of_files_that_are_named_no_other_half_is_missing():
    files = [SPECS / "SyncGroupRequest.json", SPECS / "JoinGroupResponse.json"]
    assert kwire("lint", *files).code == 0


def test_advice_is_text_too():
    done = kwire("lint", "--advice", SPECS / "JoinGroupRequest.json")
    assert done.code == 0
    assert all(": advice " in line for line in done.out.splitlines())
