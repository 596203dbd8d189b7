import pytest
from kit.messages import FLEXIBLE, definition, field

from kwire_cli import EncodeError
from kwire_cli.message.decoded import decode_spec
from kwire_cli.message.encode import encode_spec
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import unsigned_varint


def check(spec, version, value, data):
    assert encode_spec(spec, value, version) == data
    decoded = decode_spec(spec, data, version)
    assert decoded.value == value
    assert not decoded.anomalies
    assert declare(spec, version).parse(data) == value


LENGTHS = [0, 1, 125, 126, 127, 128, 16382, 16383, 32767]


@pytest.mark.parametrize("length", LENGTHS)
def test_a_string_in_both_forms(length):
    spec = definition(field("string"))
    text = "x" * length
    check(spec, 0, {"f": text}, length.to_bytes(2, "big") + text.encode())
    check(spec, FLEXIBLE, {"f": text}, unsigned_varint(length + 1) + text.encode() + b"\0")


def test_strings_are_measured_in_utf_8():
    check(definition(field("string")), 0, {"f": "日本😀"}, b"\0\x0a" + "日本😀".encode())


@pytest.mark.parametrize(
    ("kind", "plain"),
    [
        ("string", "ffff"),
        ("bytes", "ffffffff"),
        ("records", "ffffffff"),
        ("[]int8", "ffffffff"),
        ("[]string", "ffffffff"),
    ],
)
def test_null_differs_from_empty(kind, plain):
    spec = definition(field(kind, nullableVersions="0+"))
    check(spec, 0, {"f": None}, bytes.fromhex(plain))
    check(spec, FLEXIBLE, {"f": None}, b"\0\0")
    empty = [] if kind[0] == "[" else ""
    check(spec, 0, {"f": empty}, bytes(len(plain) // 2))
    check(spec, FLEXIBLE, {"f": empty}, b"\1\0")


@pytest.mark.parametrize("kind", ["string", "bytes", "records", "[]int8", "[]string"])
@pytest.mark.parametrize("version", [0, FLEXIBLE])
def test_null_where_it_is_not_allowed(kind, version):
    spec = definition(field(kind))
    with pytest.raises(EncodeError, match="is not nullable in this version") as caught:
        encode_spec(spec, {"f": None}, version)
    assert caught.value.path == "f"
    data = encode_spec(definition(field(kind, nullableVersions="0+")), {"f": None}, version)
    decoded = decode_spec(spec, data, version)
    assert decoded.value == {"f": None}
    assert [a.code for a in decoded.anomalies] == ["NULL_NOT_ALLOWED"]


@pytest.mark.parametrize("count", [0, 1, 126, 127, 128, 16382, 16383])
def test_an_array_in_both_forms(count):
    spec = definition(field("[]int8"))
    numbers = [i % 128 for i in range(count)]
    check(spec, 0, {"f": numbers}, count.to_bytes(4, "big") + bytes(numbers))
    check(spec, FLEXIBLE, {"f": numbers}, unsigned_varint(count + 1) + bytes(numbers) + b"\0")


def test_elements_are_never_null():
    spec = definition(field("[]string", nullableVersions="0+"))
    with pytest.raises(EncodeError) as caught:
        encode_spec(spec, {"f": ["", None]}, 0)
    assert caught.value.path == "f[1]"


NULLABLE = field("S", nullableVersions="0+", default="null", fields=[{"name": "A", "type": "int8"}])


def test_a_tagged_nullable_struct_has_a_varint():
    spec = definition(NULLABLE | {"tag": 0, "taggedVersions": "1+", "versions": "1+"})
    check(spec, FLEXIBLE, {}, b"\0")
    check(spec, FLEXIBLE, {"f": {"a": 7}}, bytes.fromhex("01 00 03 01 07 00"))
    there = definition(NULLABLE | {"tag": 0, "taggedVersions": "1+", "versions": "1+", "default": ""})
    check(there, FLEXIBLE, {"f": None}, bytes.fromhex("01 00 01 00"))
    assert encode_spec(there, {"f": {"a": 0}}, FLEXIBLE) == b"\0"


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("string", 1, "takes text"),
        ("string", "\ud800", "lone surrogate"),
        ("string", "x" * 32768, "at most 32767 fit"),
        ("string", "é" * 16384, "at most 32767 fit"),
        ("string", "<redacted 5 bytes>", "was redacted"),
        ("bytes", "<redacted 5 bytes>", "was redacted"),
        ("bytes", "a", "base64"),
        ("bytes", "é", "base64"),
        ("bytes", b"a", "takes base64 text"),
        ("records", 7, "takes base64 text"),
        ("[]int8", {}, "takes a list"),
        ("[]int8", "ab", "takes a list"),
        ("S", [], "takes an object"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(kind, value, reason):
    subs = {"fields": [{"name": "A", "type": "int8"}]} if kind == "S" else {}
    for version in (0, FLEXIBLE):
        with pytest.raises(EncodeError, match=reason) as caught:
            encode_spec(definition(field(kind, **subs)), {"f": value}, version)
        assert caught.value.path == "f"
        assert caught.value.value == value


def test_text_that_only_looks_redacted_is_text():
    check(definition(field("string")), 0, {"f": "<redacted >"}, b"\0\x0b<redacted >")
