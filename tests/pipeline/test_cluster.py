"""A standalone master and a worker of the pyspark package, on this machine: an executor that is killed in the middle of a job changes nothing."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from record_sets import SEGMENTS

import kwire_cli as kwire

pytestmark = [pytest.mark.spark, pytest.mark.numba]


@pytest.fixture
def master(tmp_path):
    """The address of a master with one worker, whose processes end with the test."""
    pyspark = pytest.importorskip("pyspark")
    if not Path("/proc/self/stat").exists():
        pytest.skip("the executor to kill is found in /proc")
    from kwire_cli.pipeline.java import check

    try:
        check()
    except kwire.InputError as error:
        pytest.skip(str(error))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    home = Path(pyspark.__file__).parent
    variables = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
    start = [str(home / "bin" / "spark-class"), "org.apache.spark.deploy."]
    given = {
        "master.Master": ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"],
        "worker.Worker": ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "2", "--memory", "1g", "--work-dir", str(tmp_path / "work"), url],
    }
    running = []
    try:
        for name, options in given.items():
            with (tmp_path / name).open("wb") as log:
                running.append(subprocess.Popen([start[0], start[1] + name, *options], env=variables, stdout=log, stderr=log))
            said = "I have been elected leader" if name == "master.Master" else "Successfully registered with master"
            until = time.monotonic() + 120
            while said not in (tmp_path / name).read_text("utf-8", "replace"):
                assert running[-1].poll() is None, (tmp_path / name).read_text("utf-8", "replace")
                assert time.monotonic() < until, (tmp_path / name).read_text("utf-8", "replace")
                time.sleep(0.2)
        yield url
    finally:
        for process in running[::-1]:
            process.terminate()
        for process in running:
            process.wait(60)


def test_an_executor_that_is_killed_changes_nothing(master, tmp_path):
    program = Path(__file__).with_name("losing_workers.py")
    done = subprocess.run(
        [sys.executable, str(program), master, str(SEGMENTS), str(tmp_path / "died")], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    expected = []
    for path in SEGMENTS.glob("*/*"):
        topic = path.parent.name.rpartition("-")[0]
        expected += [(topic, item.position, item.size) for item in kwire.read_records(path) if hasattr(item, "records")]
    assert done.stdout.splitlines() == [" ".join(map(str, row)) for row in sorted(expected)]
