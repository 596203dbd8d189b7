"""The scripts of the page: few lines, as the formatter leaves them, of the types that they say; and the library."""

import os
import re
import shutil
import subprocess

import pytest
from kit.commands import ROOT

from kwire_cli.view.page.shell import LIBRARY, SCRIPTS

FOLDER = ROOT / "kwire_cli" / "view" / "page"
VENDOR = ROOT / "kwire_cli" / "view" / "vendor"
MOST_LINES = 2200
PRETTIER, TYPESCRIPT = "prettier@3.10.1", "typescript@5.9.3"
ENVIRONMENT = {**os.environ, "npm_config_fetch_retries": "1", "npm_config_fetch_timeout": "20000"}
"""Without these, npm waits for minutes for a network that is not there."""


def run_npx(*arguments, **settings):
    """Run a program of npm; the test is skipped if it cannot be fetched."""
    if shutil.which("npx") is None:
        pytest.skip("there is no npx")
    done = subprocess.run(
        ["npx", "--yes", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=ENVIRONMENT,
        **settings,
    )
    if re.search(r"npm (ERR!|error) code (E[A-Z]+|ENOTFOUND)", done.stderr):
        pytest.skip("no package index can be reached")
    return done


def test_every_script_is_in_the_page_and_together_they_are_short():
    assert sorted(SCRIPTS) == sorted(file.name for file in FOLDER.glob("*.js"))
    assert sum(len((FOLDER / name).read_text("utf-8").splitlines()) for name in SCRIPTS) <= MOST_LINES


@pytest.mark.slow
def test_the_formatter_leaves_scripts_and_style_as_they_are():
    files = [str(file) for file in (*FOLDER.glob("*.js"), FOLDER / "page.css")]
    done = run_npx(PRETTIER, "--print-width", "120", "--check", *files)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_scripts_have_the_types_that_they_say(tmp_path):
    for name in SCRIPTS:
        shutil.copy(FOLDER / name, tmp_path)
    (tmp_path / "library.d.ts").write_text("declare const uPlot: any;\n")
    files = [*SCRIPTS, "library.d.ts"]
    options = ["--allowJs", "--checkJs", "--noEmit", "--target", "esnext", "--lib", "esnext,dom,dom.iterable"]
    command = ["--package", TYPESCRIPT, "tsc", *options, "--moduleDetection", "legacy", *files]
    done = run_npx(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_library_is_what_its_command_fetches(tmp_path):
    if shutil.which("npm") is None or shutil.which("make") is None:
        pytest.skip("there is no npm or no make")
    done = subprocess.run(
        ["make", "vendor", f"VENDOR={tmp_path}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=ENVIRONMENT,
    )
    if done.returncode != 0:
        pytest.skip("no package index can be reached")
    assert {file.name for file in tmp_path.iterdir()} == {file.name for file in VENDOR.iterdir()}
    for file in tmp_path.iterdir():
        assert file.read_bytes() == (VENDOR / file.name).read_bytes()
    assert "MIT" in (VENDOR / "uPlot.LICENSE").read_text("utf-8")
    assert LIBRARY in {file.name for file in VENDOR.iterdir()}
