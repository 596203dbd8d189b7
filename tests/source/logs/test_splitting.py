"""Parts of a segment, read on their own and put together, are the whole."""

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st
from kit.logs import batch, damaged_segments, record, segments
from kit.messages import SHARED

import kwire_cli as kwire
from kwire_cli.records.batch import Batch
from kwire_cli.records.columns import batch_columns, fault_columns
from kwire_cli.records.gaps import Gap
from kwire_cli.records.reading import read_items, source_of
from kwire_cli.source.logs.indexes import OffsetEntry
from kwire_cli.source.logs.splitting import split_file, splits
from kwire_cli.structs.logs import OFFSET_INDEX_ENTRY


def told(read, source, parts):
    return [
        row for part in parts for some in read(source, *part) if not isinstance(some, Gap) for row in some.to_pylist()
    ]


def index_of(source):
    """Return an entry for each batch that has one format and a valid checksum."""
    return [
        OffsetEntry(0, item.head.last_offset, item.position)
        for item in read_items(source)
        if isinstance(item, Batch) and item.crc_valid
    ]


def check(data, size, index=None):
    source = source_of(data)
    parts = splits(source, size, index_of(source) if index is None else index)
    at = 0
    for start, stop in parts:
        assert start == at
        assert stop > start
        at = stop
    assert at == source.size
    for read in (batch_columns, fault_columns):
        assert told(read, source, parts) == told(read, source, [(0, None)])
    return parts


@pytest.mark.parametrize("name", segments())
@pytest.mark.parametrize("size", [100, 1000, 10000])
def test_samples(name, size):
    check(segments()[name], size)


@pytest.mark.slow  # all real segments
@pytest.mark.shared
def test_real_segments():
    paths = sorted([*(SHARED / "real").rglob("*.log"), *(SHARED / "real").rglob("*.checkpoint")])
    assert sum(len(check(path, 512)) for path in paths) > 2 * len(paths)


@given(damaged_segments(), st.integers(1, 400))
def test_damaged_segments(data, size):
    check(data, size)


BATCHES = [batch(3 * k, [record(b"k", b"v" * 20 * k, n) for n in range(3)]) for k in range(8)]
WHOLE = b"".join(BATCHES)
STARTS = [sum(map(len, BATCHES[:k])) for k in range(9)]


def test_a_small_file_is_one_part_and_an_empty_one_none():
    assert check(WHOLE, len(WHOLE)) == [(0, len(WHOLE))]
    assert check(b"", 10) == []
    with pytest.raises(kwire.InputError, match="at least one"):
        splits(source_of(WHOLE), 0, ())


def test_the_index_says_where_batches_begin():
    index = [OffsetEntry(0, 3 * k + 2, STARTS[k]) for k in (2, 4, 6)]
    assert check(WHOLE, 10, index) == [*pairwise([0, STARTS[2], STARTS[4], STARTS[6], len(WHOLE)])]


@pytest.mark.parametrize(
    "index",
    [
        [OffsetEntry(0, 3 * k + 2, STARTS[k] + 1) for k in range(1, 8)],
        [OffsetEntry(0, 1000 + k, STARTS[k]) for k in range(1, 8)],
        [OffsetEntry(0, 5, 1 << 31)],
        [OffsetEntry(0, 5, -4)],
    ],
)
def test_a_wrong_index_is_not_believed(index):
    assert check(WHOLE, 150, index) == [(0, len(WHOLE))]


def test_the_parts_of_a_file_are_about_the_same(tmp_path):
    one = batch(0, [record(b"k", b"v" * 100)])
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(one * 100)
    entries = ({"relativeOffset": 0, "position": len(one) * number} for number in range(100))
    path.with_suffix(".index").write_bytes(b"".join(map(OFFSET_INDEX_ENTRY.build, entries)))
    for count, parts in ((90, 1), (60, 2), (30, 3), (11, 9), (1000, 1)):
        sizes = [(stop - start) // len(one) for start, stop in split_file(path, len(one) * count)]
        assert len(sizes) == parts
        assert max(sizes) - min(sizes) <= parts
    assert split_file(path, 3 * len(one), 50 * len(one))[-1][1] == 50 * len(one)
    with pytest.raises(kwire.InputError):
        split_file(path.with_name("none.log"))
