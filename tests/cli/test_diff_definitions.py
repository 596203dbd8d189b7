"""kwire diff of definitions and of versions; what it prints is in golden/diff-definitions.txt."""

import json

import pytest
from kit.commands import ROOT, json_of, kwire, lines_of, refusal_of

import kwire_cli as kwire_api

BEFORE, AFTER = (ROOT / "samples" / "definitions" / when for when in ("before", "after"))
PROPOSED = ROOT / "samples" / "definitions" / "proposed" / "plain" / "MetadataResponse.json"


def tables(*arguments, **about):
    return json_of("diff", *arguments, **about)["tables"]


def test_exit_code_is_asked_for():
    assert kwire("diff", "Metadata", 9, 12).code == 0
    assert kwire("diff", "Metadata", 9, 12, "--exit-code").code == 1
    assert kwire("diff", "MetadataResponse", 12, 12, "--exit-code").code == 0
    assert kwire("diff", BEFORE, AFTER, "--exit-code").code == 1
    assert kwire("diff", BEFORE, BEFORE, "--exit-code").code == 0


def test_traffic_costs_what_encoding_it_again_costs():
    capture = ROOT / "samples" / "incidents" / "rebalancing.pcap"
    old, new = ROOT / "specs" / "MetadataResponse.json", PROPOSED
    told = tables(old, new, "--traffic", capture, "--traffic", capture)
    [row] = told["traffic"]
    lines = lines_of("decode", capture, "--filter", "api == Metadata")
    bodies = [line["body"] for line in lines if line["kind"] == "response"]
    old_size = sum(len(kwire_api.encode(body, message="MetadataResponse", version=13)) for body in bodies)
    for partition in (part for body in bodies for topic in body["topics"] for part in topic["partitions"]):
        partition["leaderRack"] = None
    new_size = sum(len(kwire_api.encode(body, message="MetadataResponse", version=14, specs=new)) for body in bodies)
    assert (row["oldVersion"], row["newVersion"], row["messages"]) == (13, 14, 2 * len(bodies))
    assert (row["oldSize"], row["newSize"]) == (2 * old_size, 2 * new_size)
    assert (row["difference"], row["lost"], row["refused"]) == (2 * (new_size - old_size), 0, 0)


def test_traffic_of_a_version_that_changed_is_priced_at_this_version(tmp_path):
    text = (ROOT / "specs" / "HeartbeatRequest.json").read_text()
    definition = json.loads(text)
    definition["fields"] = [field for field in definition["fields"] if field["name"] != "GroupInstanceId"]
    (tmp_path / "HeartbeatRequest.json").write_text(json.dumps(definition))
    capture = ROOT / "samples" / "incidents" / "rebalancing.pcap"
    [row] = tables(ROOT / "specs" / "HeartbeatRequest.json", tmp_path, "--traffic", capture)["traffic"]
    assert (row["oldVersion"], row["newVersion"]) == (4, 4)
    assert row["difference"] == -row["messages"]  # a null
    unchanged = kwire("diff", ROOT / "specs" / "HeartbeatRequest.json", text, "--traffic", capture)
    assert unchanged.code == 2
    same = tables(ROOT / "specs" / "HeartbeatRequest.json", ROOT / "specs", "--traffic", capture)
    assert same["traffic"] == []


def test_traffic_of_a_folder_is_that_of_its_captures():
    folder = ROOT / "samples" / "captures"
    captures = sorted(path for path in folder.iterdir() if ".pcap" in path.name)
    assert len(captures) == 5
    of_folder, of_files = (
        tables("MetadataResponse", 0, 13, *(part for path in paths for part in ("--traffic", path)))["traffic"]
        for paths in ([folder], captures)
    )
    assert of_folder == of_files
    assert of_folder[0]["messages"] > 10


@pytest.mark.parametrize(("a", "b", "status"), [(BEFORE, "empty", "removed"), ("empty", BEFORE, "added")])
def test_messages_of_one_side(a, b, status, tmp_path):
    (tmp_path / "Other.json").write_text(
        '{"name": "Other", "type": "data", "validVersions": "0", "flexibleVersions": "none", "fields": []}'
    )
    messages = tables(*(tmp_path if side == "empty" else side for side in (a, b)))["messages"]
    assert {row["message"]: row["status"] for row in messages if row["message"] != "Other"} == {
        "LeaseRequest": status,
        "LeaseResponse": status,
    }


def test_an_empty_file_or_hex_is_no_definition(tmp_path):
    empty = tmp_path / "empty.json"
    empty.write_text("")
    assert f"{empty}:1:1: expected a value" in refusal_of("diff", empty, AFTER / "LeaseRequest.json")
    assert kwire("diff", "00:12:00:03", "00:12:00:04").code == 2  # messages, too short to be any
