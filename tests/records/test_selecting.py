"""Which records are wanted."""

import pytest

from kwire_cli.errors import InputError
from kwire_cli.records.batch import Record
from kwire_cli.records.selection import Selection, grep_pattern, offset_range, time_range

TEN = 1_795_255_200_000  # 2026-11-21T10:00:00Z


@pytest.mark.parametrize(
    ("text", "expected"), [("3", (3, 3)), ("3-", (3, None)), ("-3", (None, 3)), ("3-5", (3, 5)), ("0-0", (0, 0))]
)
def test_offsets(text, expected):
    assert offset_range(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5-7", (5, 7)),
        ("2026-11-21T10:00:00Z-", (TEN, None)),
        ("-2026-11-21T10:00:00", (None, TEN)),
        ("2026-11-21T10:00:00-2026-11-21T11:00:00.5+01:00", (TEN, TEN + 500)),
        ("2026-11-21T10:00:00Z", (TEN, TEN)),
        (f"{TEN}-2026-11-21T10:00:01Z", (TEN, TEN + 1000)),
    ],
)
def test_times(text, expected):
    assert time_range(text) == expected


@pytest.mark.parametrize(
    ("read", "text"),
    [(offset_range, "a-b"), (offset_range, ""), (offset_range, "5-3"), (time_range, "yesterday"), (grep_pattern, "(")],
)
def test_what_is_no_range(read, text):
    with pytest.raises(InputError):
        read(text)


def record(**more):
    return Record(5, TEN, -1, b"key", b"some value", (("name", b"header"), ("null", None)))._replace(**more)


@pytest.mark.parametrize("pattern", ["key", "me va", "^name$", "ead", "h.*r"])
def test_patterns_look_everywhere(pattern):
    assert Selection(pattern=grep_pattern(pattern)).wants(record())


def test_what_is_not_wanted():
    assert not Selection(pattern=grep_pattern("nothing")).wants(record())
    assert not Selection(key=b"ke").wants(record())
    assert not Selection(offsets=(6, None)).wants(record())
    assert not Selection(times=(None, TEN - 1)).wants(record())
    assert Selection().wants(record(key=None, value=None, headers=()))
