"""Pages on commands: what they show is what the commands print."""

import re

import pytest
from command_line import ROOT, hold_page

from kwire_cli.analysis.comparison.differences import KINDS


@pytest.mark.parametrize("page", ["compare", "diff", "explain"])
def test_commands_print_what_the_page_says(page, updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold_page(ROOT / "docs" / f"{page}.md", updating)


def test_the_page_on_diff_has_every_kind():
    text = (ROOT / "docs" / "diff.md").read_text("utf-8")
    for kind, meaning in KINDS.items():
        assert re.search(rf"\| `{kind}` \| [^|]+ \| {re.escape(meaning)} \|", text)
