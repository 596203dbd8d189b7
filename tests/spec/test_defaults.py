import pytest

from kwire_cli.errors import SpecError
from kwire_cli.spec.model import FieldSpec, Versions, default_value


def of(kind, default=None):
    return default_value(FieldSpec("F", kind, Versions.parse("0+"), default=default))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("bool", "True", True), ("int32", "0x7fffffff", 2147483647), ("int64", "-1", -1), ("int16", "+5", 5),
        ("uint32", "4294967295", 4294967295),
        ("int32", "010", 10), ("int32", "0x", 0), ("int32", "0x-1", -1), ("int32", "\u0663", 3), ("float64",
        "0x1p3", 8.0), ("float64", "-NaN", "NaN"),
        ("float64", "1.5f", 1.5), ("float64", "-Infinity", "-Infinity"),
        ("float64", "1e999", "Infinity"), ("float64", "NaN", "NaN"),
        ("string", "null", None), ("string", "hello world", "hello world"), ("bytes", "null", None),
        ("[]Foo", "null", None), ("Foo", "null", None),
        ("uuid", "AAAAAAAAAAAAAAAAAAAAAQ==", "AAAAAAAAAAAAAAAAAAAAAQ"),
    ],
)  # fmt: skip
def test_stated_defaults(kind, text, value):
    assert of(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("bool", "1"), ("int8", "0xff"), ("int8", "128"), ("uint16", "-1"), ("int32", "1_0"), ("int32", "0xg"),
        ("int32", "--1"), ("int32", "null"),
        ("int32", "²"),
        ("int64", "9" * 5000), ("int32", "0x--1"), ("float64", "1_0"), ("float64", "inf"), ("float64", "e"),
        ("uuid", "AAAA"), ("uuid", "!"),
        ("uuid", "é"),
        ("bytes", "abc"), ("[]int32", "0"), ("Foo", "x"), ("records", "x"), ("bool", "null"), ("uuid", "null"),
    ],
)  # fmt: skip
def test_texts_that_are_no_default(kind, text):
    with pytest.raises(SpecError):
        of(kind, text)
