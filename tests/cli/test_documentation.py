"""Pages on commands: what they show is what the commands print, and they leave no option out."""

import re

import click
import pytest
from kit.commands import EVERYWHERE, ROOT, hold_page, slow

from kwire_cli.analysis.costs.header_forms import HEADER_FORMS
from kwire_cli.analysis.costs.record_forms import FORMS
from kwire_cli.cli.main import cli
from kwire_cli.records.compression import CODECS

DOCS = ROOT / "docs"


@pytest.mark.parametrize(
    "page",
    [slow(page) for page in ("diff", "groups", "stats")],
)
def test_commands_print_what_the_page_says(page, updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold_page(DOCS / f"{page}.md", updating)


@pytest.mark.parametrize(("command", "pages"), [("compare", "costs kafka9927 proposals"), ("dump", "dump")])
def test_every_option_is_on_the_page(command, pages):
    text = "".join((DOCS / f"{page}.md").read_text("utf-8") for page in pages.split())
    parameters = cli.get_command(click.Context(cli), command).params
    options = {name for each in parameters for name in (*each.opts, *each.secondary_opts) if name.startswith("--")}
    assert {name for name in options - EVERYWHERE - {"--unframed"} if name not in text} == set()


def test_the_page_on_compare_has_every_form_of_records():
    text = (DOCS / "costs.md").read_text("utf-8")
    assert {name for name in (*FORMS, *HEADER_FORMS, *CODECS.values()) if f"`{name}`" not in text} == set()


def test_the_page_on_diff_has_every_kind():
    text = (DOCS / "diff.md").read_text("utf-8")
    for kind in ("changed", "removed", "added", "moved", "bytes"):
        assert re.search(rf"\| `{kind}` \| [^|]+ \| [^|]+ \|", text)
