"""The types of the public API, as mypy reads them in a program that uses it."""

import subprocess
import sys

import pytest
from kit.commands import ROOT


@pytest.mark.slow
def test_a_program_that_uses_the_library_is_checked():
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "tests/typed_library.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines()[-1:], done.returncode) == (["Success: no issues found in 1 source file"], 0), (
        done.stdout
    )
