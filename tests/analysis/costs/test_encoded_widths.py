import pytest

from kwire_cli.analysis.costs.extremes import dearest, widths
from kwire_cli.structs.numbers import RANGES, encoded_int


def test_zig_zag_of_n_bytes_holds_what_its_seven_bits_a_byte_hold():
    rows = widths("int32", "packed32")
    for low, high, size in rows:
        if size < 5:
            assert (low, high) in {
                (-(1 << (7 * size - 1)), low_of_next(size) - 1),
                (0 if size == 1 else 1 << (7 * size - 8), (1 << (7 * size - 1)) - 1),
            }
    assert rows[0] == (-(1 << 31), -134217729, 5)
    assert rows[-1] == (134217728, (1 << 31) - 1, 5)


def low_of_next(size):
    return -(1 << (7 * (size - 1) - 1)) if size > 1 else 0


def test_upacked_is_short_for_small_positive_numbers_alone():
    assert widths("int16", "upacked16") == ((-32768, -1, 3), (0, 127, 1), (128, 16383, 2), (16384, 32767, 3))
    assert widths("int64", "upacked64")[0] == (-(1 << 63), -1, 10)


@pytest.mark.parametrize("kind", ["int16", "int32", "int64"])
@pytest.mark.parametrize(
    "name", ["fixed16", "packed16", "upacked16", "fixed32", "packed32", "upacked32", "fixed64", "packed64", "upacked64"]
)
def test_the_ranges_cover_all_that_can_be_written_and_change_where_they_meet(kind, name):
    layout, rows = encoded_int(kind, name), widths(kind, name)
    assert (rows[0][0], rows[-1][1]) == (layout.low, layout.high)
    assert (layout.low, layout.high) == (
        max(RANGES[kind][0], RANGES[f"int{name[-2:]}"][0]),
        min(RANGES[kind][1], RANGES[f"int{name[-2:]}"][1]),
    )
    at = rows[0][0]
    for low, high, size in rows:
        assert low == at
        assert len(layout.build(low)) == len(layout.build(high)) == size
        at = high + 1


def test_the_dearest_number_is_the_nearest_to_zero_of_most_bytes():
    assert dearest("int32", "packed32") == 134217728
    assert dearest("int16", "packed16") == 8192
    assert dearest("int32", "upacked32") == -1
