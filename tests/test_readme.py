"""Every command in the README, run as a user would, prints what the README says."""

import os
import re
import shutil
import tomllib

import pytest
from command_line import BLOCK, ROOT, printed_anew, process

README = ROOT / "README.md"


@pytest.mark.slow
def test_readme_shows_what_the_commands_print(updating):
    text = README.read_text(encoding="utf-8")
    blocks = [block for block in BLOCK.finditer(text) if block["command"].startswith("kwire ")]
    assert len(blocks) >= 5
    if not shutil.which("java") and "JAVA_HOME" not in os.environ:
        blocks = [block for block in blocks if not block["command"].startswith("kwire scan")]
    if updating:
        README.write_text(printed_anew(text, process), encoding="utf-8")
        return
    for block in blocks:
        assert process(block["command"]) == block["output"], block["command"]


@pytest.mark.parametrize("target", ["demo", "test"])
def test_readme_names_the_two_commands(target):
    assert f"make {target}" in README.read_text(encoding="utf-8")


def test_readme_python_example_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    [example] = re.findall(r"```python\n(.*?)```\n", README.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(example, str(README), "exec"), {})  # the README's own code
    assert capsys.readouterr().out.startswith("CreateTopics 7 ")


def test_readme_names_every_extra():
    text = README.read_text(encoding="utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert sorted(re.findall(r"^\| `(\w+)` \| ", text, re.MULTILINE)) == sorted(extras)
    assert {*extras} >= {*re.search(r"pip install '\.\[(.*?)\]'", text)[1].split(",")}
