import json

import pytest
from hypothesis import given, strategies as st

from kwire_cli.source.request_log import lines
from kwire_cli.source.request_log.lines import TextLine, lines_of, logged_in

DOCUMENT = b'{"requestHeader":{"a":"}"}}'


@given(st.lists(st.sampled_from([b"a", b"bc", b"\n", b"", b"\r\n"]), max_size=30), st.integers(1, 5))
def test_lines_are_the_same_however_the_pieces_are_cut(parts, size):
    data = b"".join(parts)
    whole = [*lines_of([data])]
    assert whole == [*lines_of(data[at : at + size] for at in range(0, len(data), size))]
    assert b"\n".join(line.data for line in whole) == data.removesuffix(b"\n")
    assert [line.number for line in whole] == [*range(1, len(whole) + 1)]


def test_a_line_that_never_ends_is_not_kept(monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 4)
    pieces = [b"abcd\nabc", b"de", b"f", b"ghi\nab", b"\n12345"]
    assert [*lines_of(pieces)] == [
        TextLine(1, b"abcd"),
        TextLine(2, None, 5),
        TextLine(3, b"ab", 15),
        TextLine(4, None, 18),
    ]


@pytest.mark.parametrize(
    ("before", "time"),
    [
        (b"[2026-11-21 10:00:00,123] DEBUG ", "2026-11-21T10:00:00.123000"),
        (b"2026-11-21T10:00:00.123456789Z DEBUG ", "2026-11-21T10:00:00.123456Z"),
        (b"Nov 21 10:00:00 host kafka[1]: 2026-11-21 11:30:00.5+0130 ", "2026-11-21T10:00:00.500000Z"),
        (b"[2026-11-21 10:00:00] ", "2026-11-21T10:00:00.000000"),
        (b"[0001-01-01 00:00:00+2359] ", None),
        (b"[2026-13-41 10:00:00,123] ", None),
        (b"", None),
        (b"[2026-11-21 10:00:00,123] " + b"x" * 300, None),
    ],
)
def test_the_time_is_that_before_the_mark(before, time):
    found = logged_in(before + b"Completed request:" + DOCUMENT + b" (kafka.request.logger)\r")
    assert (found.text, found.time) == (DOCUMENT, time)


@pytest.mark.parametrize(
    ("around", "time"),
    [
        ({"time": "2026-11-21T10:00:00.5Z"}, "2026-11-21T10:00:00.500000Z"),
        ({"timeMillis": 1795255200500}, "2026-11-21T10:00:00.500000Z"),
        ({"@timestamp": 1795255200.5}, "2026-11-21T10:00:00.500000Z"),
        ({"instant": {"epochSecond": 1795255200, "nanoOfSecond": 5}}, "2026-11-21T10:00:00.000000Z"),
        ({"instant": {"epochSecond": "x"}, "time": True, "ts": 1e300}, "2026-11-21T12:00:00.123000"),
        ({}, "2026-11-21T12:00:00.123000"),
    ],
)
def test_a_log_that_is_json_itself(around, time):
    message = f"[2026-11-21 12:00:00,123] DEBUG Completed request:{DOCUMENT.decode()} (kafka.request.logger)\n"
    found = logged_in(json.dumps({"stream": "stdout", "log": message} | around).encode())
    assert (found.text, found.time) == (DOCUMENT, time)


@given(st.binary(max_size=60))
def test_whatever_a_line_is_nothing_breaks(data):
    logged_in(data)
    logged_in(b"Completed request:" + data)
    logged_in(b'{"message":"Completed request:' + data)
