from pathlib import Path

import pytest
from bad_definitions import BAD, BOOK_OF, IGNORED_STRUCTS, MANY, MORE_BAD, check, field, message, tagged, with_field

from kwire_cli.errors import InputError, SpecError
from kwire_cli.spec.conventions import CONVENTIONS
from kwire_cli.spec.files import specs_folder
from kwire_cli.spec.overlay import load_text, read_text_leniently
from kwire_cli.spec.rules import BOOKS, FATAL, RULES, check_folder, check_many

ROOT = Path(__file__).parents[2]
FOO_RESPONSE = (ROOT / "samples" / "definitions" / "kip482" / "FooResponse.json").read_text("utf-8")
"""The example of KIP-482 with valid JSON."""


def ids(findings):
    return [finding.rule for finding in findings]


@pytest.mark.parametrize(("rule", "text"), [*BAD.items(), *MORE_BAD])
def test_each_rule_finds_its_minimal_bad_definition(rule, text):
    found = [finding for finding in check(text, "bad.json", BOOK_OF.get(rule, "kafka-4.4")) if finding.rule == rule]
    assert found
    assert found[0].severity == ("warning" if RULES[rule].warning else "error")
    assert found[0].file == "bad.json"
    assert found[0].line
    assert found[0].column
    # Only fatal rules keep a definition from loading.
    if rule in FATAL:
        with pytest.raises(SpecError) as error:
            load_text(text, "bad.json")
        assert error.value.line
        assert error.value.column
    else:
        load_text(text)


@pytest.mark.parametrize("rule", MANY)
def test_rules_between_definitions(rule):
    assert rule in ids(check_many([(text, f"{n}.json") for n, text in enumerate(MANY[rule])]))


def test_every_rule_has_a_bad_definition():
    assert {*BAD, *MANY} == set(RULES)


@pytest.mark.parametrize("book", BOOKS)
def test_a_good_definition_is_clean_in_every_book(book):
    assert check(message(fields=[field()]), rules=book) == []


def test_all_violations_come_at_once_in_the_order_of_the_text():
    text = message(
        name=None, colour=1, fields=[field(type="int24"), field(name="G", tag=-1, versions="1+", taggedVersions="1+")]
    )
    findings = check(text)
    assert {"NAME_MISSING", "UNKNOWN_KEY", "FIELD_TYPE_UNKNOWN", "TAG_RANGE"} <= set(ids(findings))
    assert [(finding.line, finding.column) for finding in findings] == sorted(
        (finding.line, finding.column) for finding in findings
    )


def test_the_shipped_specs_are_clean_one_by_one_and_together():
    assert check_folder([specs_folder()], "kafka9927") == []
    removed = check_folder([specs_folder()])
    assert {finding.rule for finding in removed} == {"LISTENER_REMOVED"}
    assert [Path(finding.file).stem.removesuffix("Request") for finding in removed] == [
        "ControlledShutdown", "LeaderAndIsr", "StopReplica", "UpdateMetadata",
    ]  # fmt: skip
    early = {folder.name: ids(check_folder([folder], "kafka9927")) for folder in Path(specs_folder()).glob("kafka-*")}
    # Two of the folders have a response without its request.
    assert early == {"kafka-3.6": [], "kafka-3.7": ["PAIR_MISSING"], "kafka-3.9": [], "kafka-4.0": ["PAIR_MISSING"]}


def test_kip_482_breaks_its_own_rule_twice():
    assert check(FOO_RESPONSE) == []
    findings = check(FOO_RESPONSE, rules="kip482")
    assert [(finding.rule, finding.path) for finding in findings] == [
        ("KIP482_VERSIONS_MISSING", "UserAgent.taggedVersions"),
        ("KIP482_VERSIONS_MISSING", "Foos.Bar.taggedVersions"),
    ]
    assert (findings[0].line, findings[0].column) == (8, 56)


@pytest.mark.shared
def test_kip_482_as_printed_is_refused_with_its_place():
    seeds = Path(__file__).parents[3] / "shared" / "seeds"
    printed = (seeds / "000_92c76dc4c7aafc60.txt").read_text("utf-8").split("```")[1]
    with pytest.raises(SpecError) as error:
        load_text(printed, "kip.json")
    assert (error.value.file, error.value.line, error.value.column) == ("kip.json", 10, 7)


def test_a_tag_alone_is_all_that_kip_482_asks_for():
    text = tagged(versions=None, taggedVersions=None)
    assert check(text, rules="kip482") == []
    assert ids(check(text)) == ["TAG_WITHOUT_TAGGED_VERSIONS"]


def test_the_draft_has_lists_of_optional_fields():
    text = message(optionalFields=[field(type="string", tag=0, versions=None)])
    assert check(text, rules="kip482-draft") == []
    assert set(ids(check(text))) == {"UNKNOWN_KEY", "TAG_WITHOUT_TAGGED_VERSIONS"}
    assert "UNKNOWN_KEY" in ids(check(tagged(), rules="kip482-draft"))


def test_element_encoding_is_kwires_and_encoding_is_kafka_9927s():
    elements = with_field(type="[]int32", elementEncoding="packed32")
    assert read_text_leniently(elements)[1] == []
    assert ids(check(elements, rules="kafka9927")) == ["UNKNOWN_KEY"]
    encoded = with_field(encoding={"0-1": "fixed32", "2+": "upacked32"})
    assert check(encoded, rules="kafka9927") == []
    assert ids(check(encoded)) == ids(check(encoded, rules="kip482")) == ["UNKNOWN_KEY"]


def test_comments_and_coercions_are_legal_for_kafka():
    text = '{ "name": "M", /* a */ "type": "data", "validVersions": 0, "flexibleVersions": "0+", // b\n "fields":'
    text += (
        ' { "name": "F", "type": "int32", "versions": "0+", "tag": "0", "taggedVersions": "0+", "default": '
        '-1, "ignorable": "true" } }'
    )
    assert check(text) == []
    loaded = load_text(text)
    assert loaded.fields[0].default == "-1"
    assert loaded.fields[0].tag == 0
    assert loaded.fields[0].ignorable


@pytest.mark.parametrize("text", IGNORED_STRUCTS)
def test_structs_below_a_field_that_is_no_struct_break_no_rule(text):
    assert [finding for finding in check(text, "ignored.json") if finding.severity == "error"] == []


def test_an_unknown_rule_book_is_refused():
    with pytest.raises(InputError, match=r"kafka-4\.4"):
        check("{}", rules="strict")


def test_the_documentation_lists_every_rule_with_its_books():
    page = (Path(__file__).parents[2] / "docs" / "changes.md").read_text("utf-8")
    text = page.partition("\n## Rule books\n")[2].partition("\n## Pull requests\n")[0]
    for name, rule in RULES.items():
        marks = " | ".join("yes" if book in rule.books else "-" for book in BOOKS)
        kind = ("warning" if rule.warning else "error") + (", fatal" if rule.fatal else "")
        assert f"| `{name}` | {kind} | {marks} | {rule.summary} |" in text
    assert text.count("\n| `") == len(RULES) + len(CONVENTIONS)
