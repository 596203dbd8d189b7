"""Which records are wanted."""

import pytest

from kwire_cli.records.batch import Record
from kwire_cli.records.selection import Selection


@pytest.mark.parametrize(
    ("offsets", "is_wanted"), [((5, 5), True), ((6, None), False), ((None, 4), False), ((0, 9), True)]
)
def test_records_are_chosen_by_offset(offsets, is_wanted):
    record = Record(5, 0, -1, b"key", None, ())
    assert Selection(offsets).wants(record) is is_wanted
    assert Selection().wants(record)
