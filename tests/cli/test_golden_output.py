"""Golden output: every file in golden/ is a row of commands with what they print. `pytest --update` writes the output
anew; add a command as a line that begins with `$ `, and read the difference before committing it.
"""

import re
from pathlib import Path

import pytest
from kit.commands import ROOT, shell

FILES = sorted(Path(__file__).parent.glob("golden/*.txt"))
COMMAND = re.compile(r"^\$ .*$", re.MULTILINE)


def parts(text):
    """The text before the first command, and each command with what follows it; remarks (## …) and empty lines stand
    before a command.
    """
    at = [match.start() for match in COMMAND.finditer(text)]
    return text[: at[0]], [text[a:b] for a, b in zip(at, [*at[1:], len(text)], strict=True)]


@pytest.mark.parametrize(
    "file",
    [pytest.param(file, marks=pytest.mark.slow if file.stem == "breaking" else ()) for file in FILES],
    ids=lambda file: file.stem,
)
def test_commands_print_what_the_golden_file_says(file, updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = file.read_text("utf-8")
    head, blocks = parts(text)
    out = [head]
    for block in blocks:
        command = block.split("\n", 1)[0]
        remarks = re.search(r"(?:\n(?:## [^\n]*)?)*\Z", block[len(command) :]).group() or "\n"
        out.append(f"{command}\n{shell(command[2:])}{remarks[1:]}")
    if updating:
        file.write_text("".join(out), "utf-8")
        return
    for block, now in zip([head, *blocks], out, strict=True):
        assert now == block


def test_there_are_golden_files():
    assert len(FILES) >= 10
