"""`kwire doctor`: what the metadata names against what is installed."""

import json
import tomllib
from importlib.metadata import PackageNotFoundError

from kit.commands import ROOT, kwire, refusal_of

from kwire_cli.cli import doctor
from kwire_cli.cli.doctor import PURPOSES, requires


class Installed:
    """Metadata of a kwire, and the versions of the libraries beside it."""

    requires = (
        "click<9,>=8.2",
        "rich>=14",
        'numba<1,>=0.61; extra == "all"',
        'numba<1,>=0.61; extra == "lake"',
        "numpy (>=2.0,<3) ; extra == 'lake'",
        "pyspark>=4; extra == 'spark'",
        "tomli>=2; python_version < '3.11'",
    )

    def __init__(self, monkeypatch, **versions):
        def version(name):
            if name not in versions:
                raise PackageNotFoundError(name)
            return versions[name]

        self.metadata = {"Requires-Python": ">=3.11"}
        monkeypatch.setattr(doctor, "distribution", lambda _: self)
        monkeypatch.setattr(doctor, "version", version)


def states(variables=None):
    return {(row.part, row.name): (row.installed, row.state) for row in requires(variables or {})}


def test_each_requirement_is_ok_absent_or_broken(monkeypatch):
    Installed(monkeypatch, click="8.4rc1", rich=None, numba="0.60.1")
    found = states()
    assert found.pop(("kwire", "python"))[1] == "ok"
    assert found == {
        ("kwire", "click"): ("8.4rc1", "ok"),
        ("kwire", "rich"): ("", "broken"),
        ("kwire[lake]", "numba"): ("0.60.1", "broken"),
        ("kwire[lake]", "numpy"): ("", "absent"),
        ("kwire[spark]", "pyspark"): ("", "absent"),
    }


def test_java_belongs_to_spark(monkeypatch, tmp_path):
    Installed(monkeypatch, pyspark="4.1.0")
    assert states({"PATH": "/nowhere"})["kwire[spark]", "java"] == ("", "absent")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch()
    (tmp_path / "release").write_text('JAVA_VERSION="11.0.2"\n')
    assert states({"JAVA_HOME": str(tmp_path)})["kwire[spark]", "java"] == ("11", "broken")


def test_the_exit_code_is_1_if_something_is_broken(monkeypatch):
    Installed(monkeypatch, click="8.4", rich="14.2")
    assert kwire("doctor").code == 0
    Installed(monkeypatch, click="8.1", rich="14.2")
    done = kwire("doctor", "-f", "jsonl")
    assert done.code == 1
    assert [row["name"] for row in map(json.loads, done.out.splitlines()) if row["state"] == "broken"] == ["click"]


def test_kwire_that_is_not_installed_is_an_error(monkeypatch):
    def nothing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "distribution", nothing)
    assert "kwire is not installed" in refusal_of("doctor")


def test_every_extra_has_a_purpose():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert sorted([*PURPOSES, "all"]) == sorted(project["optional-dependencies"])


def test_the_real_metadata_is_read():
    assert states()["kwire", "construct"][1] == "ok"
