"""Segments that become shorter while a task reads them: a fault with the offset, and rows up to there."""

import os
from functools import partial

import pytest
from kit.logs import batch, record

from kwire_cli.lake.model import Reading
from kwire_cli.lake.segments import SEGMENT_TABLES, segment_parts, source_of_part


@pytest.mark.parametrize("table", ["batches", "records"])
@pytest.mark.parametrize("keep", [0, 5_000_001])
def test_rows_end_where_the_file_does(tmp_path, table, keep):
    path = tmp_path / "t-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(batch(0, [record(b"key", bytes(2000))]) * 6000)
    size = path.stat().st_size
    (rows_of,) = [each for each in SEGMENT_TABLES if each.name == table]
    (part,) = segment_parts(str(path), size, 1 << 40)
    reading, rows = Reading(), []
    for _, some in rows_of.read(part, reading, partial(source_of_part, part, reading)):
        os.truncate(path, keep)
        rows += some.column("position").to_pylist()
    assert reading.faults.count == 1
    assert rows == sorted(rows)
    assert 0 < len(rows) < 6000
