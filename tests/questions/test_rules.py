"""Each rule finds something in the capture that it names, and nothing in a similar one; its files say all they must."""

from functools import cache

import pytest
from kit.commands import ROOT

import kwire_cli as kwire
from kwire_cli.errors import InputError
from kwire_cli.questions.rule_files import read_rules, rules
from kwire_cli.questions.sentence import sentence
from kwire_cli.view.answers import answer_document

RULES = {rule.code: rule for rule in rules()}


@cache
def codes_in(path):
    return {row["code"] for row in answer_document(kwire.diagnose(ROOT / path))["tables"]["findings"]}


@pytest.mark.parametrize("code", RULES)
def test_a_rule_finds_its_sample_and_misses_the_other_one(code):
    rule = RULES[code]
    assert code in codes_in(rule.finds)
    assert code not in codes_in(rule.misses)


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
        ("title = ", "rule SLOW"),
    ],
)
def test_a_rule_that_says_something_else_is_an_error(tmp_path, text, reason):
    with pytest.raises(InputError) as error:
        read_rules(rule_folder(tmp_path, text))
    assert reason in error.value.reason


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
