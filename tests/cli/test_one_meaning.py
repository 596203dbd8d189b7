"""An option means the same in every command: it has one text in all of them, or the table in CONTRIBUTING.md says what
it means.
"""

import re

import click
import pytest
from kit.commands import ROOT, each_command, kwire, slow

PAGE = ROOT / "CONTRIBUTING.md"
ROW = re.compile(r"^\| `(?P<option>--[\w-]+)`(?:, `-\w`)? \| (?P<meaning>.+?) \| (?P<commands>.*?) \|$", re.MULTILINE)


def options():
    """The options of all commands, each with the name of its command; those of a group stand under its name."""
    for name, command in each_command():
        yield from ((name.split()[0], option) for option in command.params if isinstance(option, click.Option))


def long_names(option):
    return [name for name in (*option.opts, *option.secondary_opts) if name.startswith("--")]


def texts():
    """The texts of each option by the command that has it, without defaults."""
    found = {}
    for command, option in options():
        for name in long_names(option):
            text = option.help.split("  [")[0]
            found.setdefault(name, {}).setdefault(command, set()).add(text)
    return found


TEXTS = texts()


def rows():
    return {row["option"]: row for row in ROW.finditer(PAGE.read_text("utf-8"))}


def test_an_option_with_several_texts_has_its_meaning_in_the_table():
    assert {name for name, by in TEXTS.items() if len(set().union(*by.values())) > 1} <= rows().keys()


def test_the_table_names_the_commands_that_have_an_option(updating):
    text = PAGE.read_text("utf-8")

    def row(match):
        commands = ", ".join(TEXTS.get(match["option"], {}))
        return match[0].replace(f"| {match['commands']} |", f"| {commands} |")

    now = ROW.sub(row, text)
    if updating:
        PAGE.write_text(now, "utf-8")
    else:
        assert now == text


def test_each_row_of_the_table_is_of_several_commands():
    assert [name for name in rows() if len(TEXTS.get(name, {})) < 2] == []
    assert [*rows()] == sorted(rows())


def test_a_text_has_at_most_twelve_words_and_ends_with_a_full_stop():
    texts = {text for by in TEXTS.values() for some in by.values() for text in some}
    assert {text for text in texts if len(text.split()) > 12 or not text.endswith(".")} == set()


def test_a_short_option_is_short_for_one_option():
    found = {}
    for _, option in options():
        for name in option.opts:
            if not name.startswith("--"):
                found.setdefault(name, set()).add(long_names(option)[0])
    assert {name: longs for name, longs in found.items() if len(longs) > 1} == {}


@pytest.mark.parametrize("command", ["decode", "stats", "overhead", "sequence", slow("compare"), slow("diagnose")])
def test_port_names_the_broker_and_chooses_no_frames(command):
    capture = ROOT / "samples/captures/sarama-0.8.2.0-3.9.2.pcapng"
    named = kwire(command, capture, "--port", "9", "--format", "json")
    assert named.out == kwire(command, capture, "--format", "json").out != ""


def test_no_page_says_that_port_chooses_frames():
    lines = [line for page in (ROOT / "docs").glob("*.md") for line in page.read_text("utf-8").splitlines()]
    assert [line for line in lines if re.match(r"\| `--filter`[^|]*`--port", line)] == []
    assert [line for line in lines if re.search(r"`--port`[^;.]* choose ", line)] == []
