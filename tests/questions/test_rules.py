"""Each rule finds something in the capture that it names, and nothing in a similar one; no rule finds anything where
all is well; the files of a rule say all they must.
"""

import pytest
from kit.calls import INCIDENTS, OF_PACKETS, OF_VERSIONS, REAL, all_findings, codes, rows, subjects
from kit.commands import ROOT, slow

from kwire_cli.errors import InputError
from kwire_cli.questions.rule_files import read_rules, rules
from kwire_cli.questions.sentence import sentence

RULES = {rule.code: rule for rule in rules()}


def finds(rule, path):
    """Return whether a rule finds something in a sample. All rules run, as a cause leaves out its consequences."""
    return rule.code in {row["code"] for row in all_findings(INCIDENTS / path)}


@pytest.mark.parametrize(
    "code", [pytest.param(code, marks=pytest.mark.slow if number % 4 else ()) for number, code in enumerate(RULES)]
)
def test_a_rule_finds_its_sample_and_misses_the_other_one(code):
    assert finds(RULES[code], RULES[code].finds)
    assert not finds(RULES[code], RULES[code].misses)


WELL = (
    *("old39-java-2.4.1", "old39-sarama-0.11.0.0", "client-librdkafka", "java44-produce-consume", "java44-txn"),
    *("tls-keylog", "edge-midstream"),
)
"""Of the captures that docs/findings.md judges those that differ most."""


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("name", WELL)
def test_no_alarm_where_all_is_well(name):
    (path,) = (REAL / name).glob("capture.pcap*")
    assert codes(path, severity="warning") == []
    assert "old39" not in name or OF_VERSIONS.isdisjoint(codes(path))
    assert "java44" not in name or OF_PACKETS.isdisjoint(codes(path))


@pytest.mark.parametrize("name", ["any", "mirror", "over-the-limit"])
def test_no_alarm_on_connections_in_other_incidents(name):
    assert codes(INCIDENTS / f"{name}.pcap", severity="warning") == []


def test_healthy_groups_have_no_finding():
    for name in ("kafka-python-4.4.0.pcapng", "ipv6.pcap", "midstream.pcap"):
        of_groups = {code for code, rule in RULES.items() if rule.subject.startswith("group ")}
        assert rows(subjects(ROOT / "samples" / "captures" / name), of_groups) == [], name


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        slow("rebalancing-consumer", "GROUP_REBALANCE_LOOP", "worker-2 exceeded max.poll.interval.ms 2 times"),
        slow("rebalancing-share", "GROUP_REBALANCE_LOOP", "payments-0 offset 0 was delivered 4 times"),
        ("static-member", "STATIC_MEMBER_CONFLICT", "group.instance.id worker-a: 3 FENCED_INSTANCE_ID"),
    ],
)
def test_incidents_of_groups_are_named_by_their_causes(name, code, words):
    first = all_findings(INCIDENTS / f"{name}.pcap")[0]
    assert first["code"] == code
    assert words in first["text"]
    assert first["evidence"]


TEXT = """
title = "A client is slow."
severity = "info"
subject = "client {client}"
text = "{n:# request} took {span_s:s}"
meaning = "The client waits."
[advice]
any = "Wait."
"""


def rule_folder(folder, text=TEXT, query="select client from calls"):
    (folder / "SLOW.toml").write_text(text, "utf-8")
    (folder / "SLOW.sql").write_text(query, "utf-8")
    return folder


def test_a_folder_of_rules_is_read(tmp_path):
    (rule,) = read_rules(rule_folder(tmp_path))
    assert (rule.code, rule.severity, rule.rank, rule.advice) == ("SLOW", "info", 50, {"any": "Wait."})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TEXT + "[x]\n", "unknown key x"),
        (TEXT.replace("title", "#"), "title is missing"),
        (TEXT.replace('"info"', '"bad"'), "a severity is error, warning or info"),
        (TEXT.replace("any =", "ruby ="), "[advice] has a text `any`"),
        (TEXT + '[cases.idle]\ntitle = "x"\n', "a case has meaning, advice, settings, see, rank"),
        ("title = ", "rule SLOW"),
    ],
)
def test_a_rule_that_says_something_else_is_an_error(tmp_path, text, reason):
    with pytest.raises(InputError) as error:
        read_rules(rule_folder(tmp_path, text))
    assert reason in error.value.reason


def test_a_case_has_texts_of_its_own(tmp_path):
    cases = TEXT + 'java = "Read."\n[cases.idle]\nrank = 7\n'
    cases += 'advice = "Work."\nsee = ["KIP-1"]\n'
    (rule,) = read_rules(rule_folder(tmp_path, cases))
    idle = rule.in_case("idle")
    assert (idle.rank, idle.meaning, idle.advice) == (7, "The client waits.", {"any": "Work."})
    assert idle.see == ("KIP-1",)
    assert rule.in_case(None) == rule.in_case("other") == rule


def test_a_rule_needs_both_files(tmp_path):
    (rule_folder(tmp_path) / "SLOW.sql").unlink()
    with pytest.raises(InputError, match="needs two files"):
        read_rules(tmp_path)


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("{n:# answer}", "3 answers"),
        ("{one:# retry|retries}", "1 retry"),
        ("{n:# retry|retries}", "3 retries"),
        ("{one:# Metadata response}", "1 Metadata response"),
        ("{none:?}{n:?}", "?"),
        ("{span:s}", "1.5 s"),
        ("{us:us}", "350 µs"),
        ("{size:bytes}", "3.4 kB"),
        ("{share:%}", "25 %"),
        ("{names}", "a, b, c and 2 more"),
        ("{big}", "12,000"),
        ("x[ {none}]{none}", "x?"),
        ("x[ of {empty}]", "x"),
        ("x[ of {names}]", "x of a, b, c and 2 more"),
    ],
)
def test_a_sentence_shows_values(template, shown):
    row = {"n": 3, "one": 1, "span": 1.5, "us": 350, "size": 3400, "share": 0.25, "names": [*"abcde"], "big": 12000}
    assert sentence(template, row | {"none": None, "empty": []}) == shown


def test_a_sentence_with_an_unknown_column_is_an_error():
    with pytest.raises(KeyError):
        sentence("{nothing}", {})
