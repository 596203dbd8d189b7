"""Each rule finds the change that it is about, at the versions that it is in, and says which reader fails; compatible
changes find nothing.
"""

import pytest
from evolution_cases import CASES, COMPATIBLE, A, B, S, found, message, numbers, request, tagged

from kwire_cli.errors import SpecError
from kwire_cli.spec.evolution.breaking import RULES, SEVERITIES, spans
from kwire_cli.spec.model import Versions, joined, ranges

EVERY = [
    pytest.param(rule, case, id=f"{rule}-{number}")
    for rule, cases in CASES.items()
    for number, case in enumerate(cases)
]
FAILS = {"both": (True, True), "old": (True, False), "new": (False, True), "none": (False, False)}


def test_every_rule_has_a_case():
    assert [*CASES] == [*RULES]
    assert {rule.severity for rule in RULES.values()} == set(SEVERITIES)


@pytest.mark.parametrize(("rule", "case"), EVERY)
def test_each_rule_finds_its_change(rule, case):
    breaks = found(case.old, case.new, part=case.part)
    each = [each for each in breaks if each.rule == rule and each.path == case.path]
    assert len(each) == 1
    [one] = each
    assert one.severity == RULES[rule].severity
    assert numbers(one) == case.versions
    assert (one.old_reads_new is not None, one.new_reads_old is not None) == FAILS[case.fails]
    assert one.file
    assert one.line
    assert one.message
    # At most one rule is about the bytes of a place; what names and remarks say beside it is no break.
    bytes_of = [(each.path, version) for each in breaks if each.severity == "wire" for version in numbers(each)]
    assert len(bytes_of) == len(set(bytes_of))


@pytest.mark.parametrize("change", COMPATIBLE)
def test_compatible_changes_break_nothing(change):
    old, new = COMPATIBLE[change]
    assert [each for each in found(old, new) if each.severity in {"wire", "tagged"}] == []


def rules(old, new):
    return {each.rule for each in found(old, new)}


TAGGED_B = B | {"tag": 0, "taggedVersions": "1+"}
NESTED = message(A, {"name": "P", "type": "[]Part", "versions": "0+", "fields": [A, S]})
PART = tagged(type="Part", fields=[A])
KAFKAS_CHECKER = {
    "accepts a swap of two tags": (
        message(tagged("T", 0), tagged("U", 1)),
        message(tagged("T", 1), tagged("U", 0)),
        {"TAG_REUSED"},
    ),
    "accepts mandatory to tagged": (message(A, B), message(A, TAGGED_B), {"MANDATORY_TO_TAGGED"}),
    "accepts tagged to mandatory": (message(A, TAGGED_B), message(A, B), {"TAGGED_TO_MANDATORY"}),
    "accepts fields of one type that change places": (message(A, B), message(B, A), {"FIELD_MOVED"}),
    "accepts a new name as this does": (message(A), message(B), {"FIELD_RENAMED"}),
    "rejects a new tagged field": (message(A), message(A, tagged()), set()),
    "rejects structs against themselves": (NESTED, NESTED, set()),
    "hangs on a removed field": (message(A, B), message(A), {"FIELD_REMOVED"}),
}
"""Where Kafka's own checker (MetadataSchemaCheckerTool) is wrong, as docs/changes.md says, and what is right."""
NOTHING_ELSE = {
    "a tagged field under another name elsewhere in the text": (
        message(A, tagged("T"), S),
        message(tagged("U"), A, S),
        {"FIELD_RENAMED"},
    ),
    "another type has another default by itself": (message(A), message(A | {"type": "string"}), {"TYPE_CHANGED"}),
    "another type with a default that is stated": (
        message(A),
        message(A | {"type": "int64", "default": "1"}),
        {"TYPE_CHANGED", "DEFAULT_CHANGED"},
    ),
    "a struct with other fields has no other default too": (
        message(PART),
        message(PART | {"fields": [A, B]}),
        {"FIELD_ADDED"},
    ),
}


@pytest.mark.parametrize("name", KAFKAS_CHECKER | NOTHING_ELSE)
def test_a_change_breaks_these_rules_and_no_others(name):
    old, new, expected = (KAFKAS_CHECKER | NOTHING_ELSE)[name]
    assert rules(old, new) == expected


def test_what_was_never_released_is_advice():
    old = request(A, latestVersionUnstable=True)
    released, unreleased = found(old, request(A | {"type": "int64"}))
    assert (released.rule, released.severity, numbers(released)) == ("TYPE_CHANGED", "wire", (0, 1))
    assert (unreleased.rule, unreleased.severity, numbers(unreleased)) == ("TYPE_CHANGED", "advice", (2,))
    assert unreleased.message == f"{released.message} (never released)"


def test_a_response_is_as_unreleased_as_its_request():
    answer = message(A, type="response", name="TestResponse", apiKey=9000)
    old = [request(latestVersionUnstable=True), answer]
    new = [request(validVersions="0-1"), answer | {"validVersions": "0-1"}]
    assert {(each.rule, each.severity) for each in found(old, new)} == {("VERSIONS_REMOVED", "advice")}


def test_the_keys_of_coordinators_kept_their_bytes_when_their_versions_became_api_keys():
    old = message(S, name="OffsetCommitKey", type="data", validVersions="0-1", flexibleVersions="none")
    new = old | {"type": "coordinator-key", "apiKey": 1, "validVersions": "0"}
    legacy = new | {"name": "LegacyOffsetCommitKey", "apiKey": 0}
    assert {each.rule for each in found([old], [new, legacy])} == {"MESSAGE_KIND_CHANGED"}
    [lost] = [each for each in found([old], [new]) if each.severity == "wire"]
    assert (lost.rule, numbers(lost)) == ("VERSIONS_REMOVED", (0,))
    [changed] = [each for each in found([old], [new, legacy | {"fields": [S, A]}]) if each.severity == "wire"]
    assert (changed.rule, numbers(changed)) == ("FIELD_ADDED", (0,))


def test_of_some_new_definitions_none_is_missed():
    assert found([message(A), message(S, name="Other")], [message(A)]) == []
    assert [each.rule for each in found([message(A), message(S, name="Other")], [message(A)], part=False)] == [
        "MESSAGE_REMOVED"
    ]


def test_structs_that_double_at_every_level_are_refused():
    def twice(kind):
        return [{"name": name, "type": kind, "versions": "0+"} for name in "PQ"]

    structs = [{"name": f"S{n}", "versions": "0+", "fields": twice(f"S{n + 1}") if n < 40 else [A]} for n in range(41)]
    doubling = message(*twice("S0"), commonStructs=structs)
    with pytest.raises(SpecError, match="more than 100000 fields"):
        found(doubling, doubling)


def test_version_numbers_are_told_as_ranges():
    assert spans(ranges([5, 0, 2, 1])) == "0-2, 5"
    assert spans(()) == ""
    assert joined([Versions(4, 6), Versions(0, 1), Versions(2, 3), Versions(9, 9)]) == (Versions(0, 6), Versions(9, 9))


NULL = {"nullableVersions": "1+", "default": "null"}


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (tagged(type="bool"), tagged(type="bool", default="true"), "the default false became true"),
        (tagged(default="0x10"), tagged(default="17"), "the default 16 became 17"),
        (tagged(type="[]int32", **NULL), tagged(type="[]int32", nullableVersions="1+"), "the default null became []"),
        (
            tagged(type="Part", fields=[A]),
            tagged(type="Part", fields=[A | {"default": "3"}]),
            "the defaults of its fields are others",
        ),
        (
            tagged(type="Part", fields=[A], **NULL),
            tagged(type="Part", fields=[A], nullableVersions="1+"),
            "the default null became {}",
        ),
    ],
)
def test_defaults_are_told_as_values(old, new, what):
    assert [each.message for each in found(message(old), message(new)) if each.rule == "TAG_DEFAULT_CHANGED"] == [what]


def test_a_field_that_may_not_be_null_any_more_gives_its_struct_another_default():
    nullable, never = ({"name": "S", "type": "string", "versions": "1+"} | more for more in (NULL, {}))
    old, new = (message(tagged(type="Part", fields=[field])) for field in (nullable, never))
    assert {"TAG_DEFAULT_CHANGED", "NULLABLE_REMOVED"} <= rules(old, new)
    assert {"TAG_DEFAULT_CHANGED", "NULLABLE_ADDED"} <= rules(new, old)
    assert "TAG_DEFAULT_CHANGED" not in rules(message(tagged(type="Part", fields=[nullable | {"default": ""}])), new)
