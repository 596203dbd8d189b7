"""The pages of the documentation on pages: what they say of limits and keys is so."""

import re

from kit.commands import ROOT, process

from kwire_cli.view.bounded_outline import MOST_BYTES, MOST_NODES
from kwire_cli.view.page import details, report

FOLDER = ROOT / "kwire_cli" / "view" / "page"


def test_commands_print_what_the_page_says(updating):
    file = ROOT / "docs" / "output.md"
    text = file.read_text("utf-8")
    blocks = re.findall(r"```console\n(.*?)```\n", text, re.DOTALL)
    assert blocks
    for block in blocks:
        now = "".join(f"$ {command}\n{process(command)}" for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE))
        if updating:
            text = text.replace(block, now)
            file.write_text(text, "utf-8")
        else:
            assert block == now


def words_of(name):
    return " ".join((ROOT / "docs" / name).read_text("utf-8").split())


def test_the_limits_are_those_of_the_code():
    text = words_of("output.md")
    assert f"first {MOST_NODES:,} fields and no more than {MOST_BYTES >> 10} KiB" in text
    text = words_of("report.md")
    assert f"at most {report.MOST_ROW_BYTES >> 20} MiB of calls, and {details.MOST_BYTES >> 20} MiB of packed" in text
    assert len((ROOT / "docs" / "report.md").read_text("utf-8").splitlines()) <= 100


def test_every_key_is_on_the_page_and_in_the_help():
    script = (FOLDER / "main.js").read_text("utf-8")
    actions = re.search(r"const actions = \{(.*?)\n  \};", script, re.DOTALL)[1]
    keys = re.findall(r'^ +"?([^\s":]+)"?:', actions, re.MULTILINE)
    assert len(keys) >= 9
    text = (ROOT / "docs" / "report.md").read_text("utf-8")
    shown = (FOLDER / "page.html").read_text("utf-8")
    for key in keys:
        assert f"`{key}`" in text or key in text
        assert f"<kbd>{key[:3]}" in shown or key == "?"
