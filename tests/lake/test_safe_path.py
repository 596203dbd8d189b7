"""Processes that kwire starts run no Python from the current folder, which may be an unpacked archive of anyone's; and
what a session of Spark of its own shows besides.
"""

import json
import os
import subprocess
import sys

import pytest
from kit.commands import ROOT
from kit.lakes import content, run as export

from kwire_cli.spark.session import BRIEF

CAPTURE = ROOT / "samples" / "captures" / "ipv6.pcap"
DEFAULT = "spark.hadoop.fs.defaultFS=hdfs://127.0.0.1:9"
"""A default file system of Spark that is on other machines."""
MODULES = ("kwire_cli", "pyspark", "numpy", "pandas", "pyarrow", "numba", "multiprocessing", "socket", "json")
COMMAND = "from kwire_cli.cli.main import main\n\nmain()\n"
PROCESSES = """\
from kwire_cli.lake.processes import Processes

if __name__ == "__main__":
    with Processes(2) as processes:
        print(*processes._each("works", str, [1, 2, 3], here=False))
"""


@pytest.fixture
def hostile(tmp_path):
    """A folder of modules that leave a file if they are imported, with a Spark above it that does so too."""
    folder = tmp_path / "archive" / "ticket"
    for name in MODULES:
        (folder / name).mkdir(parents=True)
        trap = f"open({str(tmp_path / f'ran-{name}')!r}, 'w')\nraise ImportError\n"
        for file in ("__init__.py", "__main__.py", "daemon.py"):
            (folder / name / file).write_text(trap)
    submit = folder.parent / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran-spark'}\n")
    submit.chmod(0o755)
    (folder.parent / "jars").mkdir()
    return folder


def run(folder, program, *arguments):
    """Run a program as an installed script is run, and return its output."""
    script = folder.parent.parent / "program.py"
    script.write_text(program)
    variables = {name: value for name, value in os.environ.items() if name not in {"PYTHONSAFEPATH", "SPARK_HOME"}}
    variables["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        [sys.executable, script, *arguments], cwd=folder, env=variables, capture_output=True, check=False, text=True
    )
    assert [path.name for path in folder.parent.parent.glob("ran-*")] == []
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_processes_of_an_export_import_nothing_from_there(hostile):
    assert run(hostile, PROCESSES) == "1 2 3\n"


@pytest.mark.spark
def test_workers_of_spark_import_nothing_from_there_and_use_files_of_this_machine(hostile, tmp_path):
    """Spark starts two kinds of Python: one that forks workers, and the workers. Files of this machine are read and
    written though Spark's default file system is another one, which it reads once: this takes a session of its own.
    """
    pytest.importorskip("pyspark")
    asked = ("export", CAPTURE, "-o", "lake", "--tables", "frames,names", "--format", "json", "--master", "local[1]")
    conf = ("--conf", DEFAULT, "--conf", "spark.ui.enabled=false", "--conf", f"spark.driver.extraJavaOptions={BRIEF}")
    assert json.loads(run(hostile, COMMAND, *asked, *conf))["tables"]["tables"]
    export([CAPTURE], tmp_path / "one", "frames,names")
    assert content(hostile / "lake") == content(tmp_path / "one")
