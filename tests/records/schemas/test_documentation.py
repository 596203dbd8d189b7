"""docs/schemas.md shows what its commands print, and names all formats."""

import re
import shutil
from pathlib import Path

from kit.commands import ROOT, hold_page, seen

from kwire_cli.records.schemas.serdes import FORMATS

PAGE = ROOT / "docs" / "schemas.md"


def test_commands_show_on_a_terminal_what_the_page_says(updating, monkeypatch, tmp_path):
    folder = Path(shutil.copytree(Path(ROOT, "samples", "schemas"), tmp_path / "schemas"))
    monkeypatch.chdir(folder)
    hold_page(PAGE, updating, run=seen)


def test_the_page_names_all_formats():
    (table,) = re.findall(r"## Formats\n(.*?)\n\n`SCHEMA`", PAGE.read_text("utf-8"), re.DOTALL)
    assert {*FORMATS} == {
        name.partition(":")[0]
        for name in re.findall(r"^\| (.*?) \|", table, re.MULTILINE)[2:]
        for name in re.findall(r"`([\w:-]+)`", name)
    }
