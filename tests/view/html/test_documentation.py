"""The page on pages: what it shows is what the commands print, and what it says of keys, limits and commands is so."""

import re

from kit.commands import ROOT, process

from kwire_cli.cli.pages import MOST
from kwire_cli.view.bounded_outline import MOST_BYTES, MOST_NODES
from kwire_cli.view.html.page import MOST_TEXT, script

PAGE = ROOT / "docs" / "output.md"


def test_commands_print_what_the_page_says(updating):
    text = PAGE.read_text("utf-8")
    for block in re.findall(r"```console\n(.*?)```\n", text, re.DOTALL):
        now = "".join(f"$ {command}\n{process(command)}" for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE))
        if updating:
            text = text.replace(block, now)
            PAGE.write_text(text, "utf-8")
        else:
            assert block == now


def test_the_limits_are_those_of_the_code():
    text = " ".join(PAGE.read_text("utf-8").split())
    assert f"A page has {MOST} frames" in text
    assert f"({MOST_TEXT >> 20} MB of data)" in text
    assert f"first {MOST_NODES:,} fields and no more than {MOST_BYTES >> 10} KiB" in text


def test_every_key_is_on_the_page():
    keys = re.findall(r'^  \["([^"]+)", "', script(), re.MULTILINE)
    text = PAGE.read_text("utf-8")
    assert len(keys) >= 7
    for key in (each for row in keys for each in re.split(r",? ", row)):
        assert key in text or key in "↑↓←→"
