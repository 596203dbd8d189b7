"""docs/clients.md: its commands print what it says, its code runs, and it names every verdict and fault."""

import re

from kit.commands import BLOCK, EVERYWHERE, ROOT, hold_page

from kwire_cli.analysis.clients import VERDICTS
from kwire_cli.cli.clients import command

PAGE = ROOT / "docs" / "clients.md"


def test_commands_print_what_the_page_says(monkeypatch, updating):
    monkeypatch.chdir(ROOT)
    hold_page(PAGE, updating)
    assert len(BLOCK.findall(PAGE.read_text("utf-8"))) == 3


def test_the_python_example_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    [example] = re.findall(r"```python\n(.*?)```\n", PAGE.read_text("utf-8"), re.DOTALL)
    exec(compile(example, str(PAGE), "exec"), {})  # the page's own code
    assert "legacy-billing refused" in capsys.readouterr().out.splitlines()


def test_every_verdict_and_fault_is_named():
    text = PAGE.read_text("utf-8")
    source = "".join(file.read_text("utf-8") for file in (ROOT / "kwire_cli/source/request_log").glob("*.py"))
    faults = re.findall(r'LineFault\([^,]*,\s*"([A-Z_]+)"', source)
    assert len({*faults}) == 4
    assert [name for name in (*VERDICTS, *faults) if f"`{name}`" not in text] == []


def test_every_option_is_on_the_page():
    text = PAGE.read_text("utf-8")
    options = {name for parameter in command.params for name in parameter.opts if name.startswith("-")} - EVERYWHERE
    assert options == {name for name in options if name in text}
    assert options
