"""Segments that are really cut while a task reads them: a fault with the offset, and neither the end of the process nor
of the job.
"""

import json
import subprocess
import sys
import textwrap

import pytest
from command_line import ROOT

pytest.importorskip("pyspark")
pytest.importorskip("numba")

pytestmark = pytest.mark.numba
SEGMENT = next((ROOT / "samples" / "segments" / "txn-out-0").glob("*.log"))
READ = """
    import json, os, sys
    from kwire_cli.pipeline.model import Reading, Told
    from kwire_cli.pipeline.source import TABLES

    path, name, keep = sys.argv[1], sys.argv[2], int(sys.argv[3])
    table, told, rows = TABLES[name], Told(), []
    (part,) = table.parts([path], (), 1 << 40)
    view = table.read(part, ["file", "position"], Reading(told=told))
    for batch in view:  # what a task does: the file is opened when the first rows come
        os.truncate(path, keep)
        rows += batch.column(1).to_pylist()
    print(json.dumps([rows, told.first]))
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
    rows, told = json.loads(done.stdout)
    assert told == [
        [str(path), f"it became shorter while it was read: it had {size} bytes and ends at byte {keep} now"]
    ]
    assert rows == sorted(rows)
    assert 0 < len(rows) < size // 60
