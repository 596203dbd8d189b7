"""The summary: what it counts of real inputs, and of input that means harm."""

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product

import pytest
from kit.calls import WRONG
from kit.captures import SAMPLES
from kit.logs import document

import kwire_cli
from kwire_cli.analysis import summary_parts
from kwire_cli.analysis.summary import MOST_COMMANDS, Summary, proposals
from kwire_cli.analysis.summary_parts import InputFacts, Logs
from kwire_cli.analysis.summary_text import MOST_FINDINGS
from kwire_cli.message.redaction import Redaction
from kwire_cli.questions.diagnose import Finding
from kwire_cli.questions.rule_files import rules
from kwire_cli.records.batch import Head
from kwire_cli.source.kafka.captured import Captured
from kwire_cli.source.kafka.line_records import anomaly_codes
from kwire_cli.source.log_inputs import LogItem
from kwire_cli.source.opening import open_input
from kwire_cli.source.reading import Reading
from kwire_cli.source.request_log.exchange import Reader
from kwire_cli.view.answers import answer_document
from kwire_cli.view.terminal import answer_text

pytestmark = pytest.mark.usefixtures("few_rules")

CATALOG = kwire_cli.catalog()
SCREENS = [  # without anything, with anomalies of each kind, with what is missing, and the longest
    *("captures/ipv6.pcap", "captures/not-kafka.pcapng", "incidents/cut-short.pcap", "incidents/http-get.pcapng"),
    *("incidents/hanging-transaction.pcap", "incidents/metadata-storm.pcap", "incidents/rebalancing.pcap"),
    *("incidents/rolling-restart.pcapng.gz", "incidents/too-large-request.pcap", "tls/cases.pcapng"),
]
REBALANCING = SAMPLES / "incidents/rebalancing.pcap"
LOGS = SAMPLES / "logs"


def subjects(path):
    how = Reading(catalog=CATALOG, connections=True)
    return [*open_input(str(path), how).subjects()]


def summary_of(path, kind="capture"):
    summary = Summary(Redaction(CATALOG))
    for subject in subjects(path):
        summary.add(subject)
    summary.inputs.append(InputFacts(path.name, kind, 1, 1000))
    return summary


@cache
def answer_of(name):
    return summary_of(SAMPLES / name).answer(name)


@pytest.mark.parametrize("name", SCREENS)
def test_a_summary_fits_a_screen_and_has_the_anomalies_of_frames_and_of_the_batches_in_them(name):
    for width in (80, 100, 120):
        lines = answer_text(answer_of(name), width).splitlines()
        assert max(map(len, lines)) <= width
        assert len(lines) <= (40 if width >= 100 else 48)
    assert json.dumps(document_of := answer_document(answer_of(name)))
    lines = [subject for subject in subjects(SAMPLES / name) if isinstance(subject, Captured)]
    codes = Counter(code for line in lines for code in anomaly_codes(line, deep=False))
    assert document_of["facts"].get("anomalies", {}) == codes


def test_the_numbers_of_a_capture_are_those_of_its_frames():
    document_of = answer_document(answer_of("incidents/rebalancing.pcap"))
    facts, tables = document_of["facts"], document_of["tables"]
    assert facts["frames"] == {"request": 166, "response": 166}
    assert (facts["requests"], facts["from"], facts["to"]) == (
        166,
        "2026-11-22T00:16:09.408562Z",
        "2026-11-22T00:16:27.619112Z",
    )
    assert facts["durationSeconds"] == pytest.approx(18.2, abs=0.1)
    assert sum(row["requests"] for row in tables["apis"]) == sum(row["requests"] for row in tables["clients"]) == 166
    assert sum(row["share"] for row in tables["apis"]) == pytest.approx(1)
    assert sum(row["bytes"] for row in tables["apis"]) == facts["bytes"]
    assert [(row["client"], row["api"], row["error"], row["count"]) for row in tables["errors"]] == [
        ("worker-1", "Heartbeat", "REBALANCE_IN_PROGRESS", 6),
    ]
    assert [(row["group"], row["members"], row["state"]) for row in tables["groups"]] == [("payment-workers", 2, "OK")]
    assert tables["brokers"][0]["nodeId"] == 1
    slow = [row["servedSeconds"] for row in tables["slowest"]]
    assert (len(slow), slow) == (5, sorted(slow, reverse=True))
    assert not {row["api"] for row in tables["slowest"]} & {"Fetch", "JoinGroup", "SyncGroup"}


def test_without_commits_nothing_is_said_about_the_state_of_a_group():
    (row,) = answer_document(answer_of("incidents/sync-failed.pcap"))["tables"]["groups"]
    assert (row["commits"], row["state"]) == (0, None)
    lines = answer_text(answer_of("incidents/sync-failed.pcap"), 100).splitlines()
    assert [line[-1] for line in lines if line.startswith("groups")] == [")"]


def test_anomalies_are_said_unless_they_are_missing_bytes():
    def said(name):
        lines = answer_text(answer_of(name), 100).splitlines()
        return [line for line in lines if line.startswith("anomalies")]

    assert said("incidents/metadata-storm.pcap") == ["anomalies  41 FITS_OTHERWISE, 41 TRAILING_BYTES"]
    assert said("incidents/cut-short.pcap") == said("incidents/rebalancing.pcap") == []


def test_what_is_missing_from_a_capture_is_said():
    def missing(name):
        return [row["what"] for row in answer_document(answer_of(name))["tables"]["missing"]]

    assert missing("incidents/rebalancing.pcap") == []
    assert missing("captures/midstream.pcap") == ["3 of 3 connections began before the capture"]
    assert missing("incidents/java-tls.pcap") == ["tls in place of Kafka, not decrypted (--tls-keylog)"]
    assert "http in place of Kafka" in missing("captures/not-kafka.pcapng")


def test_a_log_directory_is_counted_by_partition():
    facts = answer_document(summary_of(LOGS, "folder").answer())
    rows = facts["tables"]["partitions"]
    assert len(rows) == facts["facts"]["partitions"] == 4
    for name in ("batches", "records", "bytes"):
        assert sum(row[name] for row in rows) == facts["facts"][name]
    assert sum(facts["facts"]["codecs"].values()) == facts["facts"]["batches"]


def test_damage_in_a_log_is_said():
    summary = summary_of(SAMPLES / "segments/garbage-0", "folder")
    rows = answer_document(summary.answer())["tables"]["missing"]
    assert any("between batches" in row["what"] for row in rows)


def finding(code, severity, command=""):
    rule = replace(rules()[0], code=code)
    return Finding(rule, severity, "group billing", "x" * 1000, "m", "a", command, 1.0, ())


def test_the_findings_that_matter_most_are_shown_each_on_two_lines(monkeypatch):
    found = [finding(f"CODE_{number}", "error" if number < 4 else "warning") for number in range(9)]
    summary = summary_of(REBALANCING)
    monkeypatch.setattr(summary, "findings", lambda *_: found)
    lines = answer_text(summary.answer("a.pcap"), 100).splitlines()
    assert len(lines) <= 40
    assert "findings  4 errors, 5 warnings" in lines
    assert sum(line.startswith(("ERROR ", "warning ")) for line in lines) == MOST_FINDINGS
    assert "…         4 more, and the evidence: kwire diagnose a.pcap" in lines


def test_commands_of_findings_come_first_each_once():
    summary = summary_of(REBALANCING)
    found = [finding("A", "error", "groups --group 'a b'"), finding("A", "error", "groups --group 'a b'")]
    commands = proposals(summary, found, "'my file.pcap'")
    assert commands[0] == "kwire groups 'my file.pcap' --group 'a b'"
    assert len(commands) == len({*commands}) <= MOST_COMMANDS


def exchange(**more):
    return replace(Reader(CATALOG).exchange(document(request={}, response={}), 1, "2026-11-21T10:00:00.123Z"), **more)


@pytest.mark.parametrize("values", [WRONG, WRONG[::-1]], ids=["forwards", "backwards"])
def test_bodies_of_request_logs_may_hold_anything(values):
    """In any order, as what comes first may be kept."""
    summary = Summary(Redaction(CATALOG))
    fields = ("brokers", "topics", "groupId", "members", "apiKeys", "errorCode", "responses", "mechanisms", "groups")
    for value, key in product(values, (0, 1, 3, 8, 10, 11, 17, 18, 36, 68, 99)):
        for body in (dict.fromkeys(fields, value), {name: [dict.fromkeys(fields, value)] for name in fields}):
            summary.add(
                exchange(api_key=key, api=None, request=body, response=body, time=None, client=None, broker=None)
            )
    answer = summary.answer()
    assert answer_text(answer, 100)
    assert json.dumps(answer_document(answer))


def test_names_that_mean_harm_move_no_cursor():
    summary = Summary(Redaction(CATALOG))
    evil = "\x1b[2J\n" * 200
    summary.inputs.append(InputFacts(evil, "request-log", notices=(evil,)))
    for number in range(50):
        summary.add(
            exchange(
                client_id=f"{evil}{number}", errors=[evil], api=evil, broker=evil, software=evil, total_ms=float(number)
            )
        )
    lines = answer_text(summary.answer(), 100).splitlines()
    assert all(line.isprintable() for line in lines)
    assert len(lines) <= 40


def test_batches_whose_headers_lie_are_counted():
    class Batch(summary_parts.Batch):
        __slots__ = ()
        head = Head(5, -1, 0, 7, 7, None, base_timestamp=1 << 62, max_timestamp=-1)
        size, compression, magic = 61, "unknown-7", 9

        def __init__(self):
            pass

    logs = Logs()
    logs.add(LogItem(None, None, "file", Batch()))
    total = logs.total
    assert (total.records, total.batches, total.bytes) == (0, 1, 61)
    summary = Summary(Redaction(CATALOG))
    summary.logs = logs
    assert answer_document(summary.answer())["facts"].get("from") is None
