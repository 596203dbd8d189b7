"""Which records are wanted."""

import pytest

from kwire_cli.errors import InputError
from kwire_cli.records.batch import Record
from kwire_cli.records.selection import Selection, offset_range


@pytest.mark.parametrize(
    ("text", "expected"), [("3", (3, 3)), ("3-", (3, None)), ("-3", (None, 3)), ("3-5", (3, 5)), ("0-0", (0, 0))]
)
def test_offsets(text, expected):
    assert offset_range(text) == expected


@pytest.mark.parametrize("text", ["a-b", "", "-", "5-3", "1-2-3"])
def test_what_is_no_range(text):
    with pytest.raises(InputError):
        offset_range(text)


@pytest.mark.parametrize(("text", "is_wanted"), [("5", True), ("6-", False), ("-4", False), ("0-9", True)])
def test_records_are_chosen_by_offset(text, is_wanted):
    record = Record(5, 0, -1, b"key", None, ())
    assert Selection(offset_range(text)).wants(record) is is_wanted
    assert Selection().wants(record)
