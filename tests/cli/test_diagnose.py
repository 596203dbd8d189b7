"""`kwire diagnose` as a person calls it."""

import json
import shutil

import pytest
from kit.calls import all_findings
from kit.commands import ROOT, kwire, refusal_of

INCIDENTS = ROOT / "samples" / "incidents"


def test_a_folder_of_captures_is_its_captures(tmp_path):
    for name in ("sasl.pcap", "tls-to-plain.pcap"):
        shutil.copy(INCIDENTS / name, tmp_path)
    (tmp_path / "README.md").write_text("no capture")
    assert {row["code"] for row in all_findings(tmp_path)} >= {"AUTHENTICATION_FAILED", "TLS_TO_PLAIN_PORT"}


def test_a_folder_of_logs_beside_captures_is_its_logs(tmp_path):
    shutil.copytree(INCIDENTS / "hanging-transaction", tmp_path / "logs")
    shutil.copy(INCIDENTS / "sasl.pcap", tmp_path)
    assert all_findings(tmp_path)[0]["code"] == "HANGING_TRANSACTION"


def test_a_folder_with_neither_is_an_error(tmp_path):
    (tmp_path / "README.md").write_text("nothing")
    assert "there is no segment and no snapshot in this folder" in refusal_of("diagnose", tmp_path)


@pytest.mark.usefixtures("few_rules")
def test_commands_of_findings_have_the_inputs_that_were_typed():
    done = kwire("diagnose", INCIDENTS / "rebalancing.pcap", "--format", "table")
    assert f"kwire groups {INCIDENTS / 'rebalancing.pcap'} --group payment-workers" in " ".join(done.out.split())


def test_evidence_is_found_by_its_packet():
    path = INCIDENTS / "permissions.pcap"
    finding, *_ = all_findings(path)
    assert finding["evidence"]
    for place in finding["evidence"]:
        lines = kwire("decode", path, "--packets", str(place["packet"]), "-f", "jsonl").out.splitlines()
        assert place["frame"] in [json.loads(line)["frame"] for line in lines]
