"""docs/encode-records.md: its commands print what it says, its code runs, and it names every key."""

import re

from command_line import ROOT, hold_page

from kwire_cli.records.writing import ITEM_KEYS, RECORD_KEYS

FILE = ROOT / "docs" / "encode-records.md"


def test_its_commands_print_what_it_says(updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold_page(FILE, updating)


def test_its_code_runs():
    (code,) = re.findall(r"```python\n(.*?)```", FILE.read_text("utf-8"), re.DOTALL)
    exec(compile(code, "encode-records.md", "exec"), {})


def test_it_names_every_key():
    page = FILE.read_text("utf-8")
    # A line says which file and partition it is of where there are several.
    assert {
        key
        for key in (ITEM_KEYS | RECORD_KEYS) - {"file", "partition"}
        if f"`{key}`" not in page and f'"{key}"' not in page
    } == set()
