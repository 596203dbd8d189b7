"""Pages on commands: what they show is what the commands print, and their code runs."""

import re

import pytest
from command_line import ROOT, shell

from kwire_cli.message.comparison.differences import KINDS

BLOCK = re.compile(r"```console\n\$ (?P<command>.*?)\n(?P<output>.*?)```\n", re.DOTALL)


@pytest.mark.parametrize("page", ["compare", "diff", "kafka9927", "kip482", "kip482-draft", "rules"])
def test_commands_print_what_the_page_says(page, updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    file = ROOT / "docs" / f"{page}.md"
    text = file.read_text("utf-8")
    now = BLOCK.sub(lambda block: f"```console\n$ {block['command']}\n{shell(block['command'])}```\n", text)
    if updating:
        file.write_text(now, "utf-8")
    else:
        assert now == text


def test_the_code_of_the_page_on_diff_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "diff.md").read_text("utf-8"), re.DOTALL):
        exec(compile(code, "diff.md", "exec"), {})


def test_the_page_on_diff_has_every_kind():
    text = (ROOT / "docs" / "diff.md").read_text("utf-8")
    for kind, meaning in KINDS.items():
        assert re.search(rf"\| `{kind}` \| [^|]+ \| {re.escape(meaning)} \|", text)
