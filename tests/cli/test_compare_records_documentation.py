"""docs/compare-records.md: its commands print what it says, and all options and forms are named."""

import inspect
import re

import pytest
from command_line import BLOCK, ROOT, printed_anew, process

from kwire_cli.analysis.costs.header_forms import HEADER_FORMS
from kwire_cli.analysis.costs.record_forms import FORMS
from kwire_cli.cli.compare_records import Options
from kwire_cli.records.compression import CODECS, library

PAGE = ROOT / "docs" / "compare-records.md"
LIBRARY = re.compile(r"^\S+: (\w+ [\w.]+), ", re.MULTILINE)
VERSIONS = {library(codec).split(",")[0] for codec in CODECS}


@pytest.mark.slow
def test_commands_print_what_the_page_says(updating):
    text = PAGE.read_text("utf-8")
    if updating:
        PAGE.write_text(printed_anew(text, process), "utf-8")
        return
    blocks = [*BLOCK.finditer(text)]
    assert blocks
    for block in blocks:
        # compressed sizes are those of the libraries that are named with them
        if set(LIBRARY.findall(block["output"])) <= VERSIONS:
            assert process(block["command"]) == block["output"], block["command"]


def test_every_form_and_option_is_on_the_page():
    page = PAGE.read_text("utf-8")
    fields = [Options.__dataclass_fields__.get(name) for name in inspect.get_annotations(Options)]
    options = {
        name
        for field in fields
        if field and field.metadata
        for declared in field.metadata["kwire"]
        for name in declared.names
    }
    assert {name for name in (*FORMS, *HEADER_FORMS, *CODECS.values()) if f"`{name}`" not in page} == set()
    assert {name for name in options if name not in page} == set()
