"""Segments that grow by some bytes at a time: what is read up to where they are whole is, all in all, what is read of
the whole.
"""

import random

import pytest
from record_sets import SEGMENTS

pytest.importorskip("numba")
pytest.importorskip("pyarrow")

from kwire_cli.records.columns import batch_columns, fault_columns
from kwire_cli.records.gaps import Gap
from kwire_cli.records.reading import source_of
from kwire_cli.source.logs.splitting import whole

pytestmark = pytest.mark.numba

FILES = sorted(SEGMENTS.glob("*/*.log"))


def read(data, start, stop):
    """The batches and faults between two places."""
    source = source_of(data)
    batches = [
        row for rows in batch_columns(source, start, stop) if not isinstance(rows, Gap) for row in rows.to_pylist()
    ]
    return batches, [row for rows in fault_columns(source, start, stop) for row in rows.to_pylist()]


def growing(data, dice, zeros, most=1 << 40):
    """What is read of a file that grows, with zeros behind what was written; and how far."""
    batches, faults, at, size = [], [], 0, 0
    while size < len(data):
        size += dice.choice([1, 7, 60, 400, 5000])
        there = data[:size] + bytes(zeros)
        while (stop := whole(source_of(there), at, most)) > at:
            new = read(there, at, stop)
            batches += new[0]
            faults += new[1]
            at = stop
    return batches, faults, at


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_what_is_read_as_it_grows_is_what_there_is(path):
    data = path.read_bytes()
    for seed, zeros, most in ((0, 0, 1 << 40), (1, 3000, 1 << 40), (2, 0, 1)):
        batches, faults, at = growing(data, random.Random(seed), zeros, most)
        rest = read(data, at, len(data))  # what is said of it once nothing more comes
        assert (batches + rest[0], faults + rest[1]) == read(data, 0, len(data))


def test_a_batch_is_taken_when_it_is_whole_and_right():
    data = (SEGMENTS / "orders-zstd-0" / "00000000000000000000.log").read_bytes()
    (first, *_), _ = read(data, 0, len(data))
    end = first["position"] + first["size"]
    assert whole(source_of(data[: end - 1]), 0, 1 << 40) == 0
    assert whole(source_of(data[:end]), 0, 1 << 40) == end
    assert whole(source_of(data[:end] + bytes(4000)), 0, 1 << 40) == end
    half = data[: end - 5] + bytes(4000)  # the rest of it is yet to be written
    assert whole(source_of(half), 0, 1 << 40) == 0


def test_a_wrong_checksum_is_believed_when_a_right_batch_follows():
    data = bytearray(next((SEGMENTS / "txn-out-0").glob("*.log")).read_bytes())
    batches, _ = read(bytes(data), 0, len(data))
    ends = [each["position"] + each["size"] for each in batches]
    data[ends[1] - 1] ^= 1
    assert whole(source_of(bytes(data[: ends[1]])), 0, 1 << 40) == ends[0]
    assert whole(source_of(bytes(data[: ends[2]])), 0, 1 << 40) == ends[2]
