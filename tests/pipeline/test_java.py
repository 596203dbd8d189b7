"""What is said where Spark can't be started."""

import pytest
from command_line import kwire

import kwire_cli as api
from kwire_cli.pipeline.java import check, java_version

SCAN = ("scan", "samples/segments", "--table", "batches")


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


def test_the_command_says_it(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = kwire(*SCAN)
    assert done.code == 2
    assert "Spark needs Java, and there is no Java on PATH" in done.err


def test_packages_that_are_missing_are_named(monkeypatch, tmp_path):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "pyspark" else real(name, *rest))
    with pytest.raises(api.InputError, match=r"pyspark is not installed: pip install 'kwire\[spark\]'"):
        check({"JAVA_HOME": a_java(tmp_path / "new", "21")})
