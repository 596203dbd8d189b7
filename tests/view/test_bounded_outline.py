"""What there is room for of an outline: rows and bytes, none of them secret."""

import kwire_cli
from kwire_cli.view.bounded_outline import MOST_BYTES, MOST_NODES, BoundedOutline
from kwire_cli.view.outline import body_part
from kwire_cli.view.rows import Buffer, Extent, Title


def rows(buffer, count, secret=None):
    for number in range(count):
        yield Title(0, f"field{number}", "gap", buffer, (number, number, number + 1), [], secret=secret)


def test_an_outline_has_room_for_so_many_rows_and_bytes_unless_all_is_asked_for():
    for full in (False, True):
        buffer = Buffer("b", bytes(MOST_BYTES + 10), 0, MOST_BYTES + 10)
        outline = BoundedOutline(rows(buffer, MOST_NODES + 5), buffer, full=full)
        assert outline.left_out == (0 if full else 5)
        assert len(outline.rows) == (MOST_NODES + 5 if full else MOST_NODES)
        (shown,) = outline.buffers
        assert (shown.size, len(shown.data)) == (MOST_BYTES + 10, MOST_BYTES + 10 if full else 0)


def test_bytes_end_with_the_last_field_that_was_told_where_rows_are_left_out():
    value = {"topics": [{"topic": "t", "partitions": [*range(30_000)]}]}
    data = kwire_cli.encode(value, message="DescribeLogDirsRequest", version=1)
    body = kwire_cli.decode(data, message="DescribeLogDirsRequest", version=1)
    part = body_part(Extent(kwire_cli.catalog()), "body", body)
    outline = BoundedOutline(part.rows(), part.buffer)
    (shown,) = outline.buffers
    assert outline.left_out
    assert shown.data == data[: outline.rows[-1].place[2]]
    assert len(shown.data) < len(data)


def test_masked_bytes_are_not_in_it():
    buffer = Buffer("b", b"abcdef", 1, 6)
    title = Title(0, "a", "gap", buffer, (0, 0, 3), [], secret=0)
    outline = BoundedOutline([title, Title(0, "b", "gap", buffer, (5, 5, 9), [], secret=5)], buffer)
    (shown,) = outline.buffers
    assert shown.data == b"\0\0de\0"
    assert shown.masked == ((0, 2), (4, 5))
    assert shown.cells(0, 9) == ["**", "**", "64", "65", "**"]


def test_ranges_that_touch_are_masked_as_one():
    buffer = Buffer("b", b"abcdef", 0, 6)
    titles = [Title(0, "a", "gap", buffer, (low, low, high), [], secret=low) for low, high in [(3, 5), (0, 2), (2, 3)]]
    (shown,) = BoundedOutline(titles, buffer).buffers
    assert shown.masked == ((0, 5),)
