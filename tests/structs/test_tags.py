import pytest
from kit.messages import FLEXIBLE, definition, field

from kwire_cli import EncodeError
from kwire_cli.message.decoded import decode_spec
from kwire_cli.message.encode import encode_spec
from kwire_cli.structs.messages import declare
from kwire_cli.structs.tags import TAG_SECTION


def tagged(name, kind, tag, **keys):
    return {"name": name, "type": kind, "versions": "1+", "taggedVersions": "1+", "tag": tag} | keys


SPEC = definition(
    {"name": "Plain", "type": "int8"},
    tagged("First", "int32", 0, default="-1"),
    tagged("Second", "string", 1, nullableVersions="1+", default="null"),
    tagged("Third", "[]S", 2, fields=[{"name": "A", "type": "int8", "versions": "1+"}]),
)


def check(value, data):
    data = bytes.fromhex(data)
    assert encode_spec(SPEC, value, FLEXIBLE) == data
    decoded = decode_spec(SPEC, data, FLEXIBLE)
    assert decoded.value == value
    assert list(decoded.value) == list(value)
    assert not decoded.anomalies
    assert declare(SPEC, FLEXIBLE).parse(data) == value


def unknown(*tags):
    return [{"tag": tag, "data": data} for tag, data in tags]


def test_fields_at_their_default_are_left_out():
    check({"plain": 5}, "05 00")
    assert encode_spec(SPEC, {"plain": 5, "first": -1, "second": None, "third": []}, FLEXIBLE) == b"\5\0"


def test_known_fields_stand_in_the_order_of_their_tags():
    check({"plain": 5, "first": 7, "second": "x"}, "05 02 00 04 00000007 01 02 0278")
    check({"plain": 5, "second": ""}, "05 01 01 01 01")
    check({"plain": 5, "third": [{"a": 1}, {"a": 2}]}, "05 01 02 05 03 0100 0200")


def test_unknown_tags_are_kept_and_merged_in_order():
    value = {"plain": 5, "second": "x", "unknownTaggedFields": unknown((3, "AQI="), (300, ""))}
    check(value, "05 03 01 02 0278 03 02 0102 ac02 00")
    backwards = value | {"unknownTaggedFields": value["unknownTaggedFields"][::-1]}
    assert encode_spec(SPEC, backwards, FLEXIBLE) == encode_spec(SPEC, value, FLEXIBLE)


def test_a_field_can_be_plain_first_and_tagged_later():
    spec = definition(field("int32", tag=0, taggedVersions="1+", default="3"))
    assert encode_spec(spec, {"f": 3}, 0) == b"\0\0\0\3"
    assert encode_spec(spec, {"f": 3}, 1) == b"\0"
    assert encode_spec(spec, {"f": 4}, 1).hex() == "01000400000004"


def test_the_default_of_a_struct_is_that_of_its_fields():
    spec = definition(tagged("S", "T", 0, fields=[{"name": "A", "type": "int8", "default": "7", "versions": "1+"}]))
    assert encode_spec(spec, {"s": {"a": 7}}, FLEXIBLE) == b"\0"
    data = encode_spec(spec, {"s": {"a": 0}}, FLEXIBLE)
    assert data.hex() == "0100020000"
    assert decode_spec(spec, data, FLEXIBLE).value == {"s": {"a": 0}}


def test_a_default_that_cannot_be_written_stands_in_no_ones_way():
    records = tagged("S", "T", 0, fields=[{"name": "R", "type": "records", "versions": "1+"}])
    assert encode_spec(definition(records), {"s": {"r": "AA=="}}, FLEXIBLE).hex() == "0100030200" + "00"
    narrow = tagged("F", "int64", 0, default="0x10000000000", encoding="fixed32")
    assert encode_spec(definition(narrow), {"f": 1}, FLEXIBLE).hex() == "01000400000001"


def test_minus_zero_is_zero_as_in_java():
    assert encode_spec(definition(tagged("F", "float64", 0)), {"f": -0.0}, FLEXIBLE) == b"\0"


@pytest.mark.parametrize(
    ("entries", "path", "reason"),
    [
        ({}, "", None),
        ("x", "unknownTaggedFields", "a list of"),
        ([1], "unknownTaggedFields[0]", "an unknown tagged field is"),
        ([{"tag": 5}], "unknownTaggedFields[0]", "an unknown tagged field is"),
        ([{"tag": -1, "data": ""}], "unknownTaggedFields[0]", "is not a tag number"),
        ([{"tag": 1 << 31, "data": ""}], "unknownTaggedFields[0]", "is not a tag number"),
        ([{"tag": True, "data": ""}], "unknownTaggedFields[0]", "is not a tag number"),
        ([{"tag": [], "data": ""}], "unknownTaggedFields[0]", "is not a tag number"),
        ([{"tag": 5, "data": "a"}], "unknownTaggedFields[0]", "base64"),
        ([{"tag": 5, "data": None}], "unknownTaggedFields[0]", "base64"),
        ([{"tag": 5, "data": ""}, {"tag": 5, "data": ""}], "unknownTaggedFields[1]", "occurs twice"),
        ([{"tag": 0, "data": ""}], "unknownTaggedFields", "tag 0 is first"),
    ],
)
def test_unknown_tags_that_do_not_fit(entries, path, reason):
    value = {"plain": 0, "first": 1, "unknownTaggedFields": entries}
    if reason is None:
        assert encode_spec(SPEC, value, FLEXIBLE)
        return
    with pytest.raises(EncodeError, match=reason) as caught:
        encode_spec(SPEC, value, FLEXIBLE)
    assert caught.value.path == path


def test_plain_versions_have_no_tags():
    with pytest.raises(EncodeError, match="not flexible"):
        encode_spec(SPEC, {"plain": 0, "unknownTaggedFields": unknown((9, ""))}, 0)
    assert encode_spec(SPEC, {"plain": 0, "unknownTaggedFields": []}, 0) == b"\0"


def test_the_section_is_declared_of_its_count_its_tags_and_its_sizes():
    data = bytes.fromhex("02 00 02 0278 ac02 01 ff")
    rows = [{"tag": 0, "size": 2, "data": "Ang="}, {"tag": 300, "size": 1, "data": "/w=="}]
    assert TAG_SECTION.parse(data) == rows
    assert TAG_SECTION.build(rows) == data
    assert (
        repr(TAG_SECTION)
        == """ARRAY(Struct(
    "tag" / UNSIGNED_VARINT,
    "size" / UNSIGNED_VARINT,
    "data" / Rest(),
    size="size",
), count=UNSIGNED_VARINT)"""
    )
