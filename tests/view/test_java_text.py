"""Text as Java writes it. The values follow from the documentation of `Double.toString` and the sources of `String` and
Jackson.
"""

import json
import math
import struct

import pytest
from hypothesis import given, strategies as st

from kwire_cli.view.java_text import jackson, java_double, java_string

DOUBLES = {
    0.0: "0.0",
    1.0: "1.0",
    75.0: "75.0",
    100.0: "100.0",
    0.001: "0.001",
    0.00123: "0.00123",
    0.25: "0.25",
    12.5: "12.5",
    -3.75: "-3.75",
    9.999e-4: "9.999E-4",
    1e-5: "1.0E-5",
    2000000.0: "2000000.0",
    9999999.0: "9999999.0",
    1e7: "1.0E7",
    10485760.0: "1.048576E7",
    123456789.125: "1.23456789125E8",
    1e16: "1.0E16",
    1e21: "1.0E21",
    1.5e300: "1.5E300",
    -2.5e-300: "-2.5E-300",
    1.7976931348623157e308: "1.7976931348623157E308",
    math.inf: "Infinity",
    -math.inf: "-Infinity",
}


@pytest.mark.parametrize(("number", "text"), DOUBLES.items())
def test_doubles(number, text):
    assert java_double(number) == text


def test_what_equals_no_other_number():
    assert java_double(-0.0) == "-0.0"
    assert java_double(math.nan) == "NaN"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_keep_their_value(number):
    text = java_double(number)
    assert struct.pack(">d", float(text)) == struct.pack(">d", number)
    mantissa, _, _ = text.partition("E")
    assert ("E" in text) == (number != 0 and not 1e-3 <= abs(number) < 1e7)
    assert len(mantissa.partition(".")[2]) > 0


STRINGS = {
    b"caf\xc3\xa9": "café",
    b"a\xffb": "a\ufffdb",
    b"\xc0\x80": "\ufffd\ufffd",
    b"\xe4\xb8": "\ufffd",
    b"\xe4\xb8x": "\ufffdx",
    b"\xf0\x9f\x98": "\ufffd",
    b"\xed\xa0\x80": "\ufffd",  # Python makes three of these
    b"\xed\xa0\x80\xed\xb0\x80x": "\ufffd\ufffdx",
    b"\xed\xa0x": "\ufffdx",
    b"\xed": "\ufffd",
    b"\xed\x9f\xbf": "\ud7ff",
}


@pytest.mark.parametrize(("data", "text"), STRINGS.items())
def test_strings(data, text):
    assert java_string(data) == text


@given(st.binary())
def test_strings_are_python_s_but_for_surrogates(data):
    if b"\xed" not in data:
        assert java_string(data) == data.decode("utf-8", "replace")


def test_json():
    document = {"a": [1, None, True, 2.5e9], "b": 'x"\\\n\x1f\\u001f\x7fé\u2028', "c": {}}
    text = jackson(document)
    assert text == '{"a":[1,null,true,2.5E9],"b":"x\\"\\\\\\n\\u001F\\\\u001f\x7fé\u2028","c":{}}'
    assert json.loads(text) == document


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    )
)
def test_json_keeps_what_it_says(document):
    assert json.loads(jackson(document)) == document
