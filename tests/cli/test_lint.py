"""kwire lint with advice, and with traffic; what it prints of rules is in golden/lint.txt."""

import json

import pytest
from kit.commands import ROOT, kwire

from kwire_cli.spec.rules import TRAFFIC_ADVICE

CAPTURE = ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng"
SPECS = ROOT / "specs"


def found(*arguments):
    done = kwire("lint", "-f", "jsonl", *arguments)
    return done, [json.loads(line) for line in done.out.splitlines()]


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
    for words in ((file, file), (SPECS, file), (file, "--specs", SPECS)):
        done, rows = found("--rules", "kafka9927", *words)
        assert (done.code, rows) == (0, [])


def test_of_files_that_are_named_no_other_half_is_missing():
    files = [SPECS / "SyncGroupRequest.json", SPECS / "JoinGroupResponse.json"]
    assert kwire("lint", *files).code == 0


def test_traffic_speaks_of_the_definitions_that_are_given():
    done, advice = found("--traffic", CAPTURE, SPECS / "JoinGroupRequest.json")
    assert done.code == 0
    assert advice
    assert {each["file"] for each in advice} == {str(SPECS / "JoinGroupRequest.json")}
    lines = (SPECS / "JoinGroupRequest.json").read_text().splitlines()
    for each in advice:
        assert (each["rule"] in TRAFFIC_ADVICE, each["severity"]) == (True, "advice")
        assert f'"name": "{each["path"].rpartition(".")[2]}"' in lines[each["line"] - 1]
    _, of_all = found("--traffic", CAPTURE, SPECS)
    assert len(of_all) > len(advice)


def test_traffic_counts_all_captures():
    def count(*captures):
        _, advice = found(
            *(part for capture in captures for part in ("--traffic", capture)), SPECS / "ApiVersionsResponse.json"
        )
        [row] = [
            each for each in advice if (each["rule"], each["path"]) == ("TRAFFIC_INT_WOULD_SHRINK", "ApiKeys.ApiKey")
        ]
        return int(row["message"].split(" values")[0])

    assert count(CAPTURE, CAPTURE) == 2 * count(CAPTURE)


def test_what_ends_a_capture_early_is_said(tmp_path):
    (tmp_path / "cut.pcapng").write_bytes(CAPTURE.read_bytes()[:5000])
    done, advice = found("--traffic", tmp_path / "cut.pcapng", SPECS / "ApiVersionsResponse.json")
    assert advice
    assert (
        f"kwire: {tmp_path / 'cut.pcapng'}: after packet 22, byte 4636: the file ends in the middle of a block"
        in done.err
    )


def test_traffic_needs_captures_and_definitions_with_a_meaning(tmp_path):
    done, _ = found("--traffic", ROOT / "README.md", SPECS / "JoinGroupRequest.json")
    assert (done.code, done.out) == (2, "")
    assert "neither pcap nor pcapng" in done.err
    (tmp_path / "bad.json").write_text("{}")
    done, rows = found("--traffic", CAPTURE, tmp_path / "bad.json")
    assert done.code == 1
    assert all(each["severity"] == "error" for each in rows)


@pytest.mark.parametrize("options", [("--advice",), ("--traffic", CAPTURE)])
def test_advice_is_text_too(options):
    done = kwire("lint", *options, SPECS / "JoinGroupRequest.json")
    assert done.code == 0
    assert all(": advice " in line for line in done.out.splitlines())
