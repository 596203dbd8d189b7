"""What is sent to the workers of a cluster: a zip from which kwire can be imported, wherever it lies, with its specs;
machine code is kept.
"""

import json
import os
import shutil
import subprocess
import sys

from kwire_cli.spark.session import pack

USED = """
import json, sys
sys.path.insert(0, "./kwire.zip")
import numpy as np
import kwire_cli
from kwire_cli.engine import numba_loops as gathers
from kwire_cli.engine.compiled import compiled

code = kwire_cli.decode(bytes(6), message="HeartbeatResponse", version=1).to_json()
sort, order = compiled(gathers.sort_by_node), np.zeros(3, np.int64)
sort(np.array([1, 0, 1]), np.array([0, 1]), order)
hits = sum(sort.stats.cache_hits.values())
print(json.dumps({"from": kwire_cli.__file__, "decoded": code, "order": order.tolist(), "hits": hits}))
"""


def test_kwire_runs_from_a_zip_and_finds_its_machine_code_again_from_another(tmp_path):
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    variables.pop("NUMBA_CACHE_DIR", None)
    (tmp_path / "cache").mkdir(mode=0o700)
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    pack(folders[0] / "kwire.zip")
    shutil.copy(folders[0] / "kwire.zip", folders[1])
    found = []
    for folder in folders:
        done = subprocess.run(
            [sys.executable, "-I", "-c", USED], cwd=folder, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    for each in found:
        assert each.pop("from").endswith("kwire.zip/kwire_cli/__init__.pyc")
    one, two = found
    assert one == {"decoded": {"throttleTimeMs": 0, "errorCode": 0}, "order": [1, 0, 2], "hits": 0}
    assert two == one | {"hits": 1}
