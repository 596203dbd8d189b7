"""Block `records`: how fast the records of batches are found in memory, with every key, value and header, by kwire's
kernel and by other readers.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from make_records import in_memory
from timing import Row, find, measure_in_turns, print_verdict, ratio, ratio_at_best, repeat

import kwire_cli as kwire
from kwire_cli.engine import kernel, program as p
from kwire_cli.engine.compiled import MEASURED as CHUNK, compiled, compiled_kernel
from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.spans import first_state
from kwire_cli.structs.records import v2

if TYPE_CHECKING:
    from collections.abc import Callable

COMPILED, QUICK = "kwire, compiled", "kwire, read_records in plain Python"
AIOKAFKA, KAFKA_PYTHON = "aiokafka, Cython", "kafka-python"
WITH_CRC = ", CRCs checked"
PIECE = 1 << 19
"""Bytes that are checked and then read."""

Sums = tuple[int, ...]
"""Records, and the sums of their offsets, of the bytes of keys, of values, and of the keys and values of headers."""


def block(rounds: int, folder: Path | None) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        files = in_memory(folder or Path(scratch))
        rows = [row for name, path in files.items() for crc in (False, True) for row in rows_of(name, path, crc=crc)]
        measure_in_turns(rows, rounds)
    names = [name + crc for name in files for crc in ("", WITH_CRC)]
    for name in names:
        print(f"\n  {name}")
        base = find(rows, name, COMPILED).seconds or 1.0
        for row in sorted((row for row in rows if row.input == name), key=lambda row: row.seconds or 1e9):
            if row.seconds is None:
                print(f"    {row.name:<42} not here ({row.why})")
            else:
                speed = (
                    f"{row.seconds * 1e9:>8.1f} ns/record, at best {min(row.times) * 1e9:>7.1f}, "
                    f"{1e-6 / row.seconds:>6.2f} million/s"
                )
                print(f"    {row.name:<42} {speed} {row.seconds / base:>9.2f}x")
    print("\n  ratios")
    for name in names:
        for what, of in (("medians", ratio), ("best turns", ratio_at_best)):
            print_verdict(f"{name}: {AIOKAFKA} / {COMPILED}, {what}", of(rows, name, AIOKAFKA, COMPILED), at_least=1)


def rows_of(name: str, path: Path, *, crc: bool) -> list[Row]:
    where = name + (WITH_CRC if crc else "")
    data = path.read_bytes()
    sums = _read_records(data)
    rows = []
    try:
        rows.append(Row(where, COMPILED, _timed(_compiled(data, sums, crc=crc), sums[0])))
    except ImportError:
        rows.append(Row(where, COMPILED, None, "no numba"))
    if crc:
        rows.append(Row(where, QUICK, _timed(lambda: _read_records(data), sums[0])))
    for peer, library in ((AIOKAFKA, "aiokafka"), (KAFKA_PYTHON, "kafka")):
        try:
            read = _python(library, data, crc=crc)
        except ImportError:
            rows.append(Row(where, peer, None, "not installed"))
            continue
        assert read() == sums, f"{peer} read something else"
        rows.append(Row(where, peer, _timed(read, sums[0])))
    return rows


def _timed(work: Callable[[], object], records: int) -> Callable[[], float]:
    return lambda: repeat(work, records)


def _read_records(data: bytes) -> Sums:
    """kwire's own reader from Python, an object for each record; it always checks CRCs."""
    count = offsets = keys = values = headers = 0
    for batch in kwire.read_records(data):
        assert batch.crc_valid  # type: ignore[union-attr]
        for record in batch.records():  # type: ignore[union-attr]
            count += 1
            offsets += record.offset
            keys += len(record.key or b"")
            values += len(record.value or b"")
            for key, value in record.headers:
                headers += len(key) + len(value or b"")  # type: ignore[arg-type] # of v2, where they are text
    return count, offsets, keys, values, headers


def _compiled(data: bytes, sums: Sums, *, crc: bool) -> Callable[[], int]:
    """The kernel over all batches: spans of every field of every header and record. A few thousand at a time; the
    columns are reused. With CRCs, a piece is checked and then read, while it is in the processor's cache.
    """
    import numpy as np

    from kwire_cli.records.bulk_batches import PLACES
    from kwire_cli.records.compiled_batches import find_batches

    run, find = compiled_kernel(), compiled(find_batches)
    entry = records_entry(v2.BATCHES)
    program = entry.program
    room = CHUNK + program.widest
    code, tables, job = (
        np.array(ints, np.int64) for ints in (program.code, program.tables, [entry.pc, 0, len(data), 0, 0, 0, 0])
    )
    start = np.array(first_state(program, job, CHUNK), np.int64)
    octets = np.frombuffer(data, np.uint8)
    node, value, end, flags = (
        np.zeros(room, np.int32),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(4 * room, np.int64),
    )
    sizes, bounds = np.zeros(len(program.leaves) + 1, np.int64), np.zeros(PIECE, np.int64)

    def walk(first: int, last: int, *, add: bool = False) -> int:
        state, todo = start.copy(), job.copy()
        state[1:3] = todo[1:3] = first, last
        spans = 0
        while True:
            status = run(code, tables, octets, todo, node, value, end, flags, state)
            n = int(state[p.STATE_SPANS])
            spans += n
            if add:
                np.add.at(sizes, node[:n], end[:n] - value[:n])
            if status == kernel.DONE:
                return spans

    def walk_all(*, add: bool = False) -> int:
        if not crc:
            return walk(0, len(data), add=add)
        at = spans = 0
        while at < len(data):
            count = find(octets, at, len(data), at + PIECE, PLACES, bounds)
            assert count
            spans += walk(at, int(bounds[count]), add=add)
            at = int(bounds[count])
        return spans

    walk_all(add=True)
    found = {
        leaf.path.partition("records[].")[2]: int(sizes[leaf.id])
        for leaf in program.leaves
        if leaf.path.startswith("batches[].records[].")
    }
    assert (found["key"], found["value"], found["headers[].key"] + found["headers[].value"]) == sums[2:], (
        f"the kernel found something else: {found}"
    )
    return walk_all


def _python(library: str, data: bytes, *, crc: bool) -> Callable[[], Sums]:
    """aiokafka and kafka-python have the same reader, one in Cython, one in Python: an object for each record."""
    import importlib

    reader = importlib.import_module(f"{library}.record.memory_records").MemoryRecords

    def read() -> Sums:
        count = offsets = keys = values = headers = 0
        records = reader(data)
        while records.has_next():
            batch = records.next_batch()
            if crc:
                assert batch.validate_crc()
            for record in batch:
                count += 1
                offsets += record.offset
                keys += len(record.key)
                values += len(record.value)
                for key, value in record.headers:
                    headers += len(key) + len(value)
        return count, offsets, keys, values, headers

    return read
