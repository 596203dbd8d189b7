import pytest
from bad_definitions import check, field, message, tagged, with_field
from hypothesis import given, strategies as st
from kit.commands import examples

from kwire_cli.errors import InputError, KwireError, SpecError
from kwire_cli.spec.model import NONE, Encoding, Versions
from kwire_cli.spec.overlay import load_file, load_text, read_text_leniently
from kwire_cli.spec.reading import element_encoding_at, encoding_at


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


def test_old_files_without_flexible_versions_load():
    definition, findings = read_text_leniently(message(flexibleVersions=None))
    assert definition.spec.flexible_versions == NONE
    assert [finding.rule for finding in findings] == ["FLEXIBLE_VERSIONS_MISSING"]


def test_header_versions_and_reserved_keys_load():
    text = message(name="MRequest", type="request", apiKey=900, headerVersions={"0": "1", "1+": "2"})
    assert load_text(text).header_versions == ((Versions(0, 0), 1), (Versions.parse("1+"), 2))
    reserved, findings = read_text_leniently(message(validVersions="none", flexibleVersions=None))
    assert not reserved.spec.valid_versions
    assert findings == []


def test_encodings_hold_by_version():
    item = field_of(with_field(type="int64", encoding={"0-1": "fixed32", "2+": "fixed64"}))
    assert [encoding_at(item, version) for version in (0, 1, 2)] == ["fixed32", "fixed32", "fixed64"]
    assert item.encoding[0] == Encoding(Versions(0, 1), "fixed32")
    elements = field_of(with_field(type="[]int32", elementEncoding="upacked32"))
    assert element_encoding_at(elements, 3) == "upacked32"
    assert encoding_at(elements, 3) is None
    assert encoding_at(field_of(with_field()), 0) is None


def test_an_error_names_its_place(tmp_path):
    path = tmp_path / "M.json"
    path.write_text('{\n "name": "M",\n "type": "data",\n "validVersions": "zero"}')
    with pytest.raises(SpecError) as error:
        load_file(path)
    assert (error.value.file, error.value.line, error.value.column, error.value.path) == (
        str(path),
        4,
        2,
        "validVersions",
    )


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
