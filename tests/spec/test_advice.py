"""Conventions: each finds what does not keep it, and Kafka's own definitions keep them as docs/changes.md says."""

import re
from pathlib import Path

import pytest
from bad_definitions import field, message, request, response, with_field

from kwire_cli.spec.conventions import CONVENTIONS, advise, definition_advice, judged
from kwire_cli.spec.files import json_files, read_text, specs_folder
from kwire_cli.spec.rules import RULES, examine

PAGE = Path(__file__).parents[2] / "docs" / "changes.md"
THROTTLED = field(name="ThrottleTimeMs", type="int32")


BROKEN = {
    "NAME_MESSAGE_SUFFIX": message(name="Broker", type="metadata", apiKey=1),
    "NAME_LOWER_CASE": with_field(name="count"),
    "NAME_ARRAY_SINGULAR": with_field(name="Broker", type="[]int32"),
    "NAME_ERROR": with_field(name="ErrorNumber", type="int16"),
    "NAME_WITHOUT_UNIT": with_field(name="SessionTimeout", type="int32"),
    "TYPE_UNUSUAL": with_field(name="PartitionIndex", type="int64"),
    "ENTITY_TYPE_MISSING": request(fields=[field(name="BrokerId", type="int32")]),
    "THROTTLE_TIME_MISSING": response(),
}
KEPT = {
    "NAME_MESSAGE_SUFFIX": message(name="BrokerRecord", type="metadata", apiKey=1),
    "NAME_LOWER_CASE": with_field(name="Count"),
    "NAME_ARRAY_SINGULAR": with_field(name="PartitionsPendingRevocation", type="[]int32"),
    "NAME_ERROR": with_field(name="PartitionErrorCode", type="int16"),
    "NAME_WITHOUT_UNIT": with_field(name="SessionTimeoutMs", type="int32"),
    "TYPE_UNUSUAL": with_field(name="PartitionIndex", type="int32"),
    "ENTITY_TYPE_MISSING": request(fields=[field(name="BrokerId", type="int32", entityType="brokerId")]),
    "THROTTLE_TIME_MISSING": response(fields=[THROTTLED]),
}


def ids(text):
    return [finding.rule for finding in advise(text)]


@pytest.mark.parametrize("rule", CONVENTIONS)
def test_each_piece_of_advice_is_given_and_not_given(rule):
    found = [finding for finding in advise(BROKEN[rule], "bad.json") if finding.rule == rule]
    assert len(found) == 1
    assert (found[0].severity, found[0].file) == ("advice", "bad.json")
    assert found[0].line
    assert found[0].message
    assert rule not in ids(KEPT[rule])


def test_every_piece_of_advice_has_an_id_of_its_own():
    assert {*BROKEN} == {*KEPT} == {*CONVENTIONS}
    assert not {*CONVENTIONS} & {*RULES}


def test_a_wider_type_says_what_it_costs():
    (found,) = advise(with_field(name="PartitionIndex", type="int64"))
    assert found.message == "PartitionIndex is an int32 elsewhere, not an int64: 4 bytes more each time"
    assert (found.path, found.column) == (
        "PartitionIndex.type",
        advise(with_field(name="PartitionIndex", type="int64"))[0].column,
    )


@pytest.mark.parametrize("text", ["{", "[]", message(fields=[field(type="int24")]), message(validVersions="none")])
def test_what_has_no_meaning_gets_no_advice(text):
    assert advise(text) == []


def shipped():
    return [path for path in json_files([specs_folder()]) if path.parent == Path(specs_folder())]


@pytest.mark.slow
def test_the_documentation_says_how_many_shipped_definitions_follow(updating):
    total = {rule: [0, 0] for rule in CONVENTIONS}
    for path in shipped():
        definition, _ = examine(read_text(path), str(path), "kafka-4.4")
        for rule, _, wrong in judged(definition):
            total[rule][0] += not wrong
            total[rule][1] += 1
    given = [finding.rule for finding in definition_advice(shipped())]
    rows = []
    for rule, (summary, *_) in CONVENTIONS.items():
        count = given.count(rule)
        shares = f"{total[rule][0]:,} of {total[rule][1]:,}"
        assert total[rule][1] - total[rule][0] == count
        assert total[rule][0] >= 0.8 * total[rule][1]  # what fewer keep is no convention
        rows.append(f"| `{rule}` | {shares} | {count} | {summary} |\n")
    text = PAGE.read_text("utf-8")
    table = re.search(r"(\| advice \|.*\n\|---.*\n)((?:\| `.*\n)*)", text)
    if updating:
        PAGE.write_text(text.replace(table[0], table[1] + "".join(rows)), "utf-8")
    else:
        assert table[2] == "".join(rows)
