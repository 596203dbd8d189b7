"""Segments that are really cut while a task reads them: a fault with the offset, and not the end of the process."""

import json
import subprocess
import sys
import textwrap

import pytest
from command_line import ROOT

pytest.importorskip("numba")

pytestmark = pytest.mark.numba
SEGMENT = next((ROOT / "samples" / "segments" / "txn-out-0").glob("*.log"))
READ = """
    import json, os, sys
    from functools import partial
    from kwire_cli.pipeline.model import Reading
    from kwire_cli.pipeline.segments import SEGMENT_TABLES, segment_parts, source_of_part

    path, name, keep = sys.argv[1], sys.argv[2], int(sys.argv[3])
    (table,) = [table for table in SEGMENT_TABLES if table.name == name]
    (part,) = segment_parts([(path, os.path.getsize(path))], 1 << 40)
    reading, rows = Reading(), []
    for _, batch in table.read(part, reading, partial(source_of_part, part, reading)):
        os.truncate(path, keep)  # the file is mapped when the first rows come
        rows += batch.column("position").to_pylist()
    print(json.dumps([rows, reading.faults.first]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("table", ["batches", "records"])
@pytest.mark.parametrize("keep", [0, 8192, 5_000_001])
def test_rows_end_where_the_file_does(tmp_path, table, keep):
    data = SEGMENT.read_bytes()
    path = tmp_path / "t-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(data * (12_000_000 // len(data)))
    size = path.stat().st_size
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(READ), path, table, str(keep)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (done.returncode, done.stderr) == (0, "")
    rows, faults = json.loads(done.stdout)
    assert faults == [
        [str(path), f"it became shorter while it was read: it had {size} bytes and ends at byte {keep} now"]
    ]
    assert rows == sorted(rows)
    assert 0 < len(rows) < size // 60
