"""Every command in the README, run as a user would, prints what the README says."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"```console\n\$ (?P<command>.*?)\n(?P<output>.*?)```\n", re.DOTALL)


def run(command: str) -> str:
    """The command's output; `kwire` is the one of this Python, standard error stays out."""
    words = command.replace("kwire ", f"{shlex.quote(sys.executable)} -m kwire_cli ")
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(["sh", "-c", words], cwd=ROOT, capture_output=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_readme_shows_what_the_commands_print(updating):
    text = README.read_text(encoding="utf-8")
    blocks = [block for block in BLOCK.finditer(text) if block["command"].startswith("kwire ")]
    assert len(blocks) >= 5
    if not shutil.which("java") and "JAVA_HOME" not in os.environ:
        blocks = [block for block in blocks if not block["command"].startswith("kwire scan")]
    if updating:
        README.write_text(BLOCK.sub(lambda b: f"```console\n$ {b['command']}\n{run(b['command'])}```\n", text), encoding="utf-8")
        return
    for block in blocks:
        assert run(block["command"]) == block["output"], block["command"]


@pytest.mark.parametrize("target", ["demo", "test"])
def test_readme_names_the_two_commands(target):
    assert f"make {target}" in README.read_text(encoding="utf-8")


def test_readme_python_example_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    [example] = re.findall(r"```python\n(.*?)```\n", README.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(example, str(README), "exec"), {})  # the README's own code
    assert capsys.readouterr().out.startswith("CreateTopics 7 ")
