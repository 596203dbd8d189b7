"""Batches that compiled loops find are those that the reader finds, and their CRC-32C is the library's."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st
from kit.logs import segments
from numba import njit

from kwire_cli.engine.compiled import compiled, octets
from kwire_cli.records import compiled_batches as c
from kwire_cli.records.bulk_batches import PLACES
from kwire_cli.records.codecs import crc32c
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.reading import Reader, source_of

BYTES = np.random.default_rng(7).bytes(200)
by_tables = c.checksum_by(njit(c.word_by_tables))


@pytest.mark.parametrize("checksum", [c.crc32c, by_tables], ids=["as here", "by tables"])
def test_checksums_of_every_length(checksum):
    assert checksum(octets(b"123456789"), 0, 9) == 0xE3069283
    for size in range(len(BYTES)):
        start = size % 9
        assert checksum(octets(BYTES), start, max(size, start)) == crc32c(BYTES[start:size])


@given(st.binary(max_size=100), st.integers(0, 5000))
def test_checksums_of_any_bytes(data, repeated):
    data += bytes(repeated) + data
    assert c.crc32c(octets(data + b"\0"), 0, len(data)) == by_tables(octets(data + b"\0"), 0, len(data)) == crc32c(data)


def found(data, start, stop, full=1 << 60):
    bounds = np.zeros(len(data) + 2, np.int64)
    count = compiled(c.find_batches)(octets(data), start, stop, full, PLACES, bounds)
    return bounds[: count + 1].tolist()


def expected(data, start, stop):
    reader = Reader(source_of(data), start, stop)
    return [start, *(end for _, end, _ in reader.plain(LAYOUTS["v2"]))]


SEGMENT = max((data for data in segments().values() if len(expected(data, 0, len(data))) > 3), key=len)[:20_000]


@given(st.data())
def test_batches_of_damaged_segments(data):
    damaged = bytearray(SEGMENT)
    header = expected(SEGMENT, 0, len(SEGMENT))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.sampled_from(header[:-1])) + data.draw(st.integers(0, 70))
        damaged[min(at, len(damaged) - 1)] = data.draw(st.integers(0, 255))
    start = data.draw(st.sampled_from([0, 1, *header]))
    stop = data.draw(st.integers(start, len(damaged)))
    assert found(damaged, start, stop) == expected(damaged, start, stop)


def test_it_ends_with_the_batch_that_reaches_far_enough_or_where_there_is_no_room():
    bounds = expected(SEGMENT, 0, len(SEGMENT))
    assert found(SEGMENT, 0, len(SEGMENT), bounds[1]) == bounds[:2]
    assert found(SEGMENT, 0, len(SEGMENT), bounds[1] + 1) == bounds[:3]
    room = np.zeros(3, np.int64)
    assert compiled(c.find_batches)(octets(SEGMENT), 0, len(SEGMENT), 1 << 60, PLACES, room) == 2
    assert room.tolist() == bounds[:3]


@pytest.mark.slow
def test_tables_take_the_place_of_an_instruction_that_code_may_not_use(tmp_path):
    text = "from kwire_cli.records import compiled_batches as c; print(c.crc32c(memoryview(b'123456789'), 0, 9))"
    environment = os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{0xE3069283}\n"), done.stderr
