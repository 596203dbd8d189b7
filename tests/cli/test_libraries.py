import re
import tomllib
from importlib.metadata import PackageNotFoundError

import pytest
from command_line import ROOT

from kwire_cli.cli import doctor
from kwire_cli.cli.doctor import PURPOSES, Need, meets, needs

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


@pytest.mark.parametrize(
    ("version", "ranges", "in_it"),
    [
        ("2.10.70", ">=2.10.70,<2.11", True),
        ("2.10.70rc1", ">=2.10.70", True),
        ("2.9.99", ">=2.10.70,<2.11", False),
        ("2.11", "<2.11,>=2.10.70", False),
        ("2.11.0", "<2.11", False),
        ("10", ">=9", True),
        ("2.9.post0", ">=2.7,<3", True),
        ("1!2.0", ">=2", True),
        ("3.1.4", "~=3.1", True),
        ("3.2", "~=3.1.1", False),
        ("1.5.9", "==1.5.*", True),
        ("1.6", "==1.5.*", False),
        ("1.6", "!=1.6.0", False),
        ("anything", "", True),
    ],
)
def test_a_version_is_in_its_ranges_or_not(version, ranges, in_it):
    assert meets(version, ranges) is in_it


def test_every_extra_says_what_needs_it():
    assert sorted(EXTRAS) == sorted(PURPOSES)


class Installed:
    """Metadata, and versions of what is there."""

    requires = (
        "click<9,>=8.2",
        'numba<1,>=0.61; extra == "lake"',
        "numpy (>=2.0,<3) ; extra == 'lake'",
        "kwire[lake]; extra == 'spark'",
        "moto[server]>=5; extra == 'spark'",
        "tomli>=2; python_version < '3.11'",
    )

    def __init__(self, monkeypatch, **there):
        def version(name):
            if name not in there:
                raise PackageNotFoundError(name)
            return there[name]

        monkeypatch.setattr(doctor, "distribution", lambda _: self)
        monkeypatch.setattr(doctor, "version", version)


def test_needs_are_read_from_the_metadata(monkeypatch):
    Installed(monkeypatch)
    assert [*needs()][:4] == [
        Need("click", "<9,>=8.2"),
        Need("numba", "<1,>=0.61", "lake"),
        Need("numpy", ">=2.0,<3", "lake"),
        Need("moto", ">=5", "spark"),
    ]


def test_what_is_missing_is_broken_or_absent_and_told_how_to_get(monkeypatch):
    Installed(monkeypatch, numba="0.60.1", numpy="2.1")
    found = {each.name: each for each in doctor.libraries()}
    assert found["click"].state == "broken"
    assert found["click"].how == "pip install 'kwire'"
    assert (found["numba"].state, found["numba"].found) == ("broken", "0.60.1")
    assert "kwire needs <1,>=0.61: pip install 'kwire[lake]'" in found["numba"].how
    assert found["numpy"].state == "ok"
    assert found["moto"].state == "absent"
    assert [each.group for each in doctor.libraries() if each.name == "(unknown)"] == [
        f"kwire[{x}]" for x in sorted(PURPOSES.keys() - {"lake", "spark"})
    ]


def test_kwire_that_is_not_installed_says_so(monkeypatch):
    def nothing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "distribution", nothing)
    [found] = doctor.libraries()
    assert found.state == "absent"
    assert "without being installed" in found.found


def test_the_real_metadata_is_understood():
    wanted = [*needs()]
    assert {"click", "construct"} <= {need.name for need in wanted if need.extra is None}
    assert all(re.fullmatch(r"(([<>=!~]=?)[\w.]+,?)+", need.ranges) for need in wanted)
