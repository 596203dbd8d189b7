"""What is said where Spark can't be started."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kit.commands import ROOT, kwire

import kwire_cli as api
from kwire_cli.spark.session import BRIEF, check, java_version


def a_java(folder, version):
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    (folder / "bin" / "java").chmod(0o755)
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return str(folder)


def test_versions(tmp_path):
    for version, number in (("1.8.0_402", 8), ("11.0.2", 11), ("17.0.15", 17), ("21", 21)):
        assert java_version({"JAVA_HOME": a_java(tmp_path / version, version)}) == number
    assert java_version({"PATH": str(tmp_path / "17.0.15" / "bin")}) == 17


def test_what_is_missing_is_said(tmp_path):
    with pytest.raises(api.InputError, match="no Java on PATH: install Java 17 or newer"):
        check({"PATH": str(tmp_path)})
    with pytest.raises(api.InputError, match="has no bin/java"):
        check({"JAVA_HOME": str(tmp_path)})
    with pytest.raises(api.InputError, match="is Java 11"):
        check({"JAVA_HOME": a_java(tmp_path / "old", "11.0.2")})


def test_packages_that_are_missing_are_said(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in {"numba", "pandas"} else name)
    monkeypatch.setattr("kwire_cli.spark.session.java_version", lambda _: 21)
    with pytest.raises(api.InputError, match=r"pandas, numba are not installed: pip install 'kwire\[spark\]'"):
        check({})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "numba" else name)
    with pytest.raises(api.InputError, match="and numba is not installed"):
        check({})


def test_the_command_says_it(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = kwire("export", ROOT / "samples" / "segments", "-o", tmp_path / "lake", "--master", "local[*]")
    assert done.code == 2
    assert "Spark needs Java, and there is no Java on PATH" in done.err


def test_a_java_that_does_not_start_says_why(tmp_path):
    home = a_java(tmp_path / "java", "17.0.1")
    Path(home, "bin", "java").write_text("#!/bin/sh\necho 'Could not reserve enough space' >&2\nexit 1\n")
    asked = ("export", "samples/segments", "-o", str(tmp_path / "lake"), "--master", "local[*]")
    done = started(asked, JAVA_HOME=home)
    said = done.communicate(timeout=120)[1].decode()
    assert done.returncode == 2
    assert "kwire: Spark does not start on local[*]: " in said
    assert "Could not reserve enough space" in said


@pytest.fixture
def long_export(tmp_path):
    """An export that takes longer than it is waited for: of many names of one log."""
    if not shutil.which("java"):
        pytest.skip("no Java")
    log = tmp_path / "0.log"
    log.write_bytes((ROOT / "samples" / "request-logs" / "kafka-request.log").read_bytes() * 200)
    for number in range(1, 80):
        os.link(log, tmp_path / f"{number}.log")
    conf = ("--conf", "spark.ui.enabled=false", "--conf", f"spark.driver.extraJavaOptions={BRIEF}")
    return ("export", str(tmp_path), "-o", str(tmp_path / "lake"), "--master", "local[1]", *conf)


@pytest.mark.spark
def test_ctrl_c_ends_it(long_export):
    running = started(long_export)
    in_its_tasks(running.pid)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    assert (running.returncode, out, err.strip()) == (130, b"", b"interrupted")


@pytest.mark.spark
def test_a_java_that_dies_is_said_in_one_line(long_export):
    running = started(long_export)
    os.kill(in_its_tasks(running.pid), signal.SIGKILL)
    out, err = running.communicate(timeout=120)
    assert (running.returncode, out) == (2, b"")
    assert b"kwire: Spark: Java ended before it answered. If it ran out of memory, try --conf spark." in err


def in_its_tasks(process):
    """Wait until an export has tasks. Return the number of its Java."""
    until = time.monotonic() + 120
    while not (java := children(process, "java")) or not any(
        children(daemon, "python")
        for daemon in children(java[0], "python")  # its children are in tasks
    ):
        assert time.monotonic() < until
        time.sleep(0.1)
    return java[0]


def children(process, name):
    """The processes that a process started, of those whose names begin so."""
    there = []
    with contextlib.suppress(FileNotFoundError):  # a process or a thread that ended meanwhile
        for task in Path(f"/proc/{process}/task").iterdir():
            there += [int(number) for number in (task / "children").read_text().split()]
        return [child for child in there if Path(f"/proc/{child}/comm").read_text().startswith(name)]
    return []


def started(arguments, **variables):
    """A command in a process of its own, in which no session is there."""
    pytest.importorskip("pyspark")
    pytest.importorskip("numba")
    command = [sys.executable, "-m", "kwire_cli", *arguments]
    return subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
