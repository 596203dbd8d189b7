"""docs/kip98.md and kip82.md show what their commands print; docs/compare.md names all options and forms of records."""

import inspect
import re

import pytest
from command_line import BLOCK, ROOT, printed_anew, process, shell

import kwire_cli as kwire
from kwire_cli.analysis.costs.header_forms import HEADER_FORMS
from kwire_cli.analysis.costs.record_forms import FORMS
from kwire_cli.analysis.papers.claims import paper
from kwire_cli.cli.compare_records import RecordOptions
from kwire_cli.records.compression import CODECS, library

PAGES = ("kip98", "kip82")
LIBRARY = re.compile(r"^\S+: (\w+ [\w.]+), ", re.MULTILINE)
VERSIONS = {library(codec).split(",")[0] for codec in CODECS}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_the_page_says(page, updating):
    file = ROOT / "docs" / f"{page}.md"
    text = file.read_text("utf-8")
    if updating:
        file.write_text(printed_anew(text, process), "utf-8")
        return
    blocks = [*BLOCK.finditer(text)]
    assert blocks
    for block in blocks:
        # compressed sizes are those of the libraries that are named with them
        if set(LIBRARY.findall(block["output"])) <= VERSIONS:
            assert process(block["command"]) == block["output"], block["command"]


def unrolled(commands):
    """`a; b`, and `for N in 1 2; do a $N; done`, as single commands."""
    loop = re.fullmatch(r"for N in ([\d ]+); do (.*); done", commands)
    return [loop[2].replace("$N", number) for number in loop[1].split()] if loop else commands.split("; ")


@pytest.mark.slow  # more than 20 commands, some over many sizes
def test_the_commands_that_papers_give_run():
    repeats = {claim.repeat for name in ("kip98", "kip82") for claim in paper(name, kwire.catalog()).claims}
    commands = [
        command for repeat in sorted(repeats) if repeat.startswith(("kwire ", "for ")) for command in unrolled(repeat)
    ]
    assert len(commands) >= 20
    for command in commands:
        said = shell(command)
        assert said, command
        assert "[exit" not in said, said


def test_every_form_and_option_is_on_the_page():
    page = (ROOT / "docs" / "compare.md").read_text("utf-8")
    fields = [RecordOptions.__dataclass_fields__.get(name) for name in inspect.get_annotations(RecordOptions)]
    options = {
        name
        for field in fields
        if field and field.metadata
        for declared in field.metadata["kwire"]
        for name in declared.names
    }
    assert {name for name in (*FORMS, *HEADER_FORMS, *CODECS.values()) if f"`{name}`" not in page} == set()
    assert {name for name in options if name not in page} == set()
