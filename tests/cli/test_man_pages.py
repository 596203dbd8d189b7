"""Manual pages: one for each command, with each of its options, and nothing in them that roff would take for a
command.
"""

import shutil
import subprocess
import sys

import click
import pytest

from kwire_cli.cli.main import COMMANDS, cli
from kwire_cli.cli.man_pages import pages

PAGES = pages()


def test_each_command_has_a_page():
    assert {"kwire.1", *(f"kwire-{name}.1" for name in COMMANDS)} <= set(PAGES)
    assert "kwire-spec-show.1" in PAGES
    names = [name.replace("-", "\\-") for name in COMMANDS]
    assert all(f"kwire\\-{name}(1)" in PAGES["kwire.1"] for name in names)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_has_every_option(name):
    command = cli.get_command(click.Context(cli), name)
    page = PAGES[f"kwire-{name}.1"].replace("\\", "")
    options = [
        option
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
        for option in parameter.opts
    ]
    assert [option for option in options if option not in page] == []
    assert "-h, --help" in page


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            [tool, *arguments],
            marks=pytest.mark.skipif(shutil.which(tool) is None, reason=f"there is no {tool}"),
            id=tool,
        )
        for tool, *arguments in (
            ("groff", "-k", "-ww", "-z", "-man", "-Tutf8"),
            ("mandoc", "-T", "lint", "-W", "warning"),
        )
    ],
)
def test_roff_finds_no_fault(command, tmp_path):
    files = [tmp_path / name for name in PAGES]
    for file in files:
        file.write_text(PAGES[file.name], "utf-8")
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    # Pages have no date, so that the same source gives the same pages.
    assert [line for line in (done.stdout + done.stderr).splitlines() if "missing date" not in line] == []


def test_they_are_written_into_a_folder(tmp_path):
    subprocess.run([sys.executable, "-m", "kwire_cli.cli.man_pages", tmp_path / "man"], check=True)
    assert sorted(file.name for file in (tmp_path / "man").iterdir()) == sorted(PAGES)
