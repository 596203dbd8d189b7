"""The diagnosis as a whole: incidents are named by their causes, and findings do not depend on how input is cut."""

import json

import pytest
from kit.calls import all_findings
from kit.commands import ROOT, kwire

from kwire_cli.questions.rule_files import rules
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Reading
from kwire_cli.spec.catalog import catalog

INCIDENTS = ROOT / "samples" / "incidents"
CAUSES = [
    ("out-of-order", "warning", "SEQUENCE_GAP", "partition meters-0"),
    ("hanging-transaction.pcap", "error", "HANGING_TRANSACTION", "partition payments-0"),
    ("hanging-transaction", "error", "HANGING_TRANSACTION", "partition payments-0"),
]


def subjects(path):
    for opened in open_inputs([str(path)], Reading(catalog=catalog(), connections=True)):
        yield from opened.subjects()


@pytest.mark.parametrize(("name", "severity", "code", "subject"), CAUSES)
def test_an_incident_is_named_by_its_cause(name, severity, code, subject):
    first, *_ = all_findings(INCIDENTS / name)
    assert (first["severity"], first["code"], first["subject"]) == (severity, code, subject)
    assert first["evidence"]
    assert name == "out-of-order" or all(place["time"] for place in first["evidence"])
    assert "TRANSACTION" not in code or first["command"].startswith("transactions ")


def test_the_answer_has_all_of_a_finding():
    finding, _, no_login, _ = all_findings(INCIDENTS / "sasl.pcap")
    assert (finding["code"], finding["subject"]) == ("AUTHENTICATION_FAILED", "client billing")
    assert "it asked for SCRAM-SHA-512; the listener has PLAIN" in finding["text"]
    assert finding["evidence"][0]["frame"] == 10
    assert finding["meaning"]
    assert finding["advice"]
    assert no_login["text"].startswith("127.0.0.1:29092 closed 14 connections")


@pytest.mark.usefixtures("few_rules")
def test_severities_choose_and_exit_codes_tell():
    path = INCIDENTS / "permissions.pcap"
    errors = kwire("diagnose", path, "--severity", "error", "--format", "json")
    assert {row["severity"] for row in json.loads(errors.out)["tables"]["findings"]} == {"error"}
    assert errors.code == 0
    assert kwire("diagnose", path, "--exit-code").code == 1
    assert kwire("diagnose", ROOT / "samples/captures/kafka-python-4.4.0.pcapng", "--exit-code").code == 0


def test_findings_below_the_chosen_severity_are_counted():
    lost = kwire("diagnose", INCIDENTS / "lost-packets.pcap", "--severity", "error", "--format", "table").out
    assert lost == "nothing as severe as error; less severe: 1 warning\n"


@pytest.mark.usefixtures("few_rules")
def test_what_was_not_read_is_said(tmp_path):
    capture = (INCIDENTS / "rebalancing.pcap").read_bytes()
    (tmp_path / "cut.pcap").write_bytes(capture[:400])
    first, second, *others = (ROOT / "samples/request-logs/kafka-request.log").read_text("utf-8").splitlines()
    (tmp_path / "requests.log").write_text("\n".join((first, second[:500], *others)), "utf-8")
    for name, what in (
        ("cut.pcap", "the file ends in the middle of a packet"),
        ("requests.log", "1 line of a request"),
    ):
        notes = json.loads(kwire("diagnose", tmp_path / name, "--format", "json").out)["notes"]
        assert "a part was not read: " in notes[0]
        assert what in notes[0]
        assert "nothing found" not in notes
    said = "nothing found in the part that was read"
    assert said in kwire("diagnose", tmp_path / "cut.pcap", "--format", "table").out
    assert said in kwire("summary", tmp_path / "cut.pcap", "--format", "table").out


def test_connections_come_behind_their_calls():
    ended = set()
    for subject in subjects(INCIDENTS / "sasl.pcap"):
        assert subject.stream not in ended
        if isinstance(subject, TcpConnection):
            ended.add(subject.stream)
    assert len(ended) == 16


def test_each_rule_has_whole_sentences():
    for rule in rules():
        for text in (rule.title, rule.meaning, rule.advice["any"]):
            assert text.endswith("."), rule.code
            assert text == text.strip()
