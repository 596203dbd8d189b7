"""docs/compare-records.md, kip98.md and kip82.md: their commands print what they say, and all options and forms are named."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from command_line import ROOT, shell

import kwire_cli as kwire
from kwire_cli.codec.compression import CODECS
from kwire_cli.codec.libraries import library
from kwire_cli.cost.header_forms import HEADER_FORMS
from kwire_cli.cost.papers import paper
from kwire_cli.cost.record_forms import FORMS

PAGES = ("compare-records", "kip98", "kip82")
BLOCK = re.compile(r"```console\n\$ (?P<command>.*?)\n(?P<output>.*?)```\n", re.DOTALL)
LIBRARY = re.compile(r"^\S+: (\w+ [\w.]+), ", re.MULTILINE)
VERSIONS = {library(codec).split(",")[0] for codec in CODECS}


def run(command):
    """What a shell prints for the command; `kwire` is the one of this Python."""
    words = command.replace("kwire ", f"{shlex.quote(sys.executable)} -m kwire_cli ")
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(["sh", "-c", words], cwd=ROOT, capture_output=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_the_page_says(page, updating):
    file = ROOT / "docs" / f"{page}.md"
    text = file.read_text("utf-8")
    if updating:
        file.write_text(BLOCK.sub(lambda block: f"```console\n$ {block['command']}\n{run(block['command'])}```\n", text), "utf-8")
        return
    blocks = [*BLOCK.finditer(text)]
    assert blocks
    for block in blocks:
        # compressed sizes are those of the libraries that are named with them
        if set(LIBRARY.findall(block["output"])) <= VERSIONS:
            assert run(block["command"]) == block["output"], block["command"]


def unrolled(commands):
    """`a; b`, and `for N in 1 2; do a $N; done`, as single commands."""
    loop = re.fullmatch(r"for N in ([\d ]+); do (.*); done", commands)
    return [loop[2].replace("$N", number) for number in loop[1].split()] if loop else commands.split("; ")


def test_the_commands_that_papers_give_run():
    repeats = {claim.repeat for name in ("kip98", "kip82") for claim in paper(name, kwire.catalog()).claims}
    commands = [command for repeat in sorted(repeats) if repeat.startswith(("kwire ", "for ")) for command in unrolled(repeat)]
    assert len(commands) >= 20
    for command in commands:
        said = shell(command)
        assert said, command
        assert "[exit" not in said, said


def test_every_form_and_option_is_on_the_page():
    import click

    from kwire_cli.cli.compare_records import with_record_options

    page = (ROOT / "docs" / "compare-records.md").read_text("utf-8")
    command = click.command()(with_record_options(lambda **_: None))
    options = {name for parameter in command.params for name in parameter.opts}
    assert {name for name in (*FORMS, *HEADER_FORMS, *CODECS.values()) if f"`{name}`" not in page} == set()
    assert {name for name in options if name not in page} == set()
