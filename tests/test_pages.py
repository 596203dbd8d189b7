"""Pages that no single room owns: their commands print what they say, their code runs, and they leave nothing out."""

import re

import pytest
from command_line import BLOCK, ROOT, hold_page

import kwire_cli
from kwire_cli.cli.main import COMMANDS

DOCS = ROOT / "docs"
CODE = re.compile(r"```python\n(.*?)```\n", re.DOTALL)


@pytest.mark.parametrize("page", ["cookbook", "model"])
def test_commands_print_what_the_page_says(page, updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold_page(DOCS / f"{page}.md", updating, other="kwire scan ")  # that needs Spark, and is held with the rest of what does


@pytest.mark.parametrize("page", ["library", "model"])
def test_code_of_a_page_runs_from_top_to_end(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {}
    for code in CODE.findall((DOCS / f"{page}.md").read_text("utf-8")):
        exec(compile(code, f"{page}.md", "exec"), names)


def test_the_page_on_the_library_uses_every_public_name():
    code = "\n".join(CODE.findall((DOCS / "library.md").read_text("utf-8")))
    assert [name for name in kwire_cli.__all__ if f"kwire.{name}" not in code] == []


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in {"doctor", "scan"}])
def test_commands_print_what_the_page_on_them_says(name, updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold_page(DOCS / "commands.md", updating, only=f"kwire {name} ")


def test_each_command_has_three_examples():
    sections = dict(re.findall(r"^## kwire (\w+)\n(.*?)(?=^## |\Z)", (DOCS / "commands.md").read_text("utf-8"), re.DOTALL | re.MULTILINE))
    assert [*sections] == [*COMMANDS]
    for name, text in sections.items():
        shown = [block["command"] for block in BLOCK.finditer(text)] or text.splitlines()
        assert sum(f"kwire {name} " in f"{command} " for command in shown) >= 3
