import pytest
from bad_definitions import check, field, message, tagged, with_field
from hypothesis import given, strategies as st
from kit.commands import examples

from kwire_cli.errors import InputError, KwireError, SpecError
from kwire_cli.spec.model import Versions
from kwire_cli.spec.overlay import load_file, load_text, read_text_leniently


def field_of(text):
    return load_text(text).fields[0]


@examples(60)
@given(st.text())
def test_any_text_gives_a_result_or_an_error_of_ours(text):
    check(text)
    with pytest.raises(KwireError):
        load_text(text)


def test_versions_left_out_are_those_of_the_tag():
    assert field_of(tagged(versions=None, taggedVersions="2+")).versions == Versions.parse("2+")
    plain = field_of(with_field(tag=0, versions=None))
    assert plain.versions == plain.tagged_versions == Versions.parse("1+")
    assert field_of(with_field(tag=0, versions="2+")).tagged_versions == Versions.parse("2+")


def test_draft_lists_become_tagged_fields():
    definition, findings = read_text_leniently(
        message(fields=[field(name="A")], optionalFields=[field(name="B", tag=0, versions=None)])
    )
    assert [(item.name, item.tag, str(item.tagged_versions)) for item in definition.spec.fields] == [
        ("A", None, "none"),
        ("B", 0, "1+"),
    ]
    assert "UNKNOWN_KEY" in {finding.rule for finding in findings}


def test_json_null_is_no_default_but_the_text_null_is():
    assert (
        field_of(
            '{"name": "M", "type": "data", "validVersions": "0", "fields": [{"name": "F", "type": "string", '
            '"versions": "0", "default": null}]}'
        ).default
        is None
    )
    assert field_of(with_field(type="string", nullableVersions="0+", default="null")).default == "null"


@pytest.mark.parametrize(("literal", "text"), [(-2, "-2"), (False, "false"), (1.5, "1.5")])
def test_defaults_may_be_json_literals(literal, text):
    kind = {int: "int32", bool: "bool", float: "float64"}[type(literal)]
    assert field_of(with_field(type=kind, default=literal)).default == text


def test_header_versions_and_reserved_keys_load():
    text = message(name="MRequest", type="request", apiKey=900, headerVersions={"0": "1", "1+": "2"})
    assert load_text(text).header_versions == ((Versions(0, 0), 1), (Versions.parse("1+"), 2))
    reserved, findings = read_text_leniently(message(validVersions="none", flexibleVersions=None))
    assert not reserved.spec.valid_versions
    assert findings == []


def test_files_that_are_no_text(tmp_path):
    path = tmp_path / "M.json"
    path.write_bytes(b'{\n "name": "\xff"}')
    with pytest.raises(SpecError) as error:
        load_file(path)
    assert (error.value.line, error.value.column) == (2, 11)
    with pytest.raises(InputError):
        load_file(tmp_path / "none.json")
    path.write_bytes(b"\xef\xbb\xbf" + message().encode())
    assert load_file(path).name == "M"
