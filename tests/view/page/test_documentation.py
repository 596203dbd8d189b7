"""The pages of the documentation on pages: what they say of limits and keys is so."""

import re

from kit.commands import ROOT

from kwire_cli.analysis.report import MOST_BATCHES
from kwire_cli.view.bounded_outline import MOST_BYTES, MOST_NODES
from kwire_cli.view.page import details, report

FOLDER = ROOT / "kwire_cli" / "view" / "page"


def words_of(name):
    return " ".join((ROOT / "docs" / name).read_text("utf-8").split())


def test_the_limits_are_those_of_the_code():
    text = words_of("output.md")
    assert f"first {MOST_NODES:,} fields and no more than {MOST_BYTES >> 10} KiB" in text
    assert f"the first {MOST_BATCHES:,} batches" in text
    assert f"at most {report.MOST_ROW_BYTES >> 20} MiB of calls, and {details.MOST_BYTES >> 20} MiB of packed" in text


def test_every_key_is_on_the_page_and_in_the_help():
    script = (FOLDER / "main.js").read_text("utf-8")
    actions = re.search(r"const actions = \{(.*?)\n  \};", script, re.DOTALL)[1]
    keys = re.findall(r'^ +"?([^\s":]+)"?:', actions, re.MULTILINE)
    assert len(keys) >= 9
    text = (ROOT / "docs" / "output.md").read_text("utf-8")
    shown = (FOLDER / "page.html").read_text("utf-8")
    for key in keys:
        assert f"`{key}`" in text or key in text
        assert f"<kbd>{key[:3]}" in shown or key == "?"
