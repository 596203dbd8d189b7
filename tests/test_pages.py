"""Pages that no single room owns: their commands print what they say, their code runs, and they leave nothing out."""

import re

import pytest
from command_line import ROOT, hold_page

import kwire_cli

DOCS = ROOT / "docs"
CODE = re.compile(r"```python\n(.*?)```\n", re.DOTALL)


@pytest.mark.parametrize("page", ["cookbook", "model"])
def test_commands_print_what_the_page_says(page, updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold_page(DOCS / f"{page}.md", updating)


@pytest.mark.parametrize("page", ["library", "model"])
def test_code_of_a_page_runs_from_top_to_end(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {}
    for code in CODE.findall((DOCS / f"{page}.md").read_text("utf-8")):
        exec(compile(code, f"{page}.md", "exec"), names)


def test_the_page_on_the_library_uses_every_public_name():
    code = "\n".join(CODE.findall((DOCS / "library.md").read_text("utf-8")))
    assert [name for name in kwire_cli.__all__ if f"kwire.{name}" not in code] == []
