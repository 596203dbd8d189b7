"""Help: options in sections, rare ones apart, examples that run, and hints for misplaced options."""

import re

import click
import pytest
from click.testing import CliRunner
from kit.commands import ROOT, each_command, kwire, shell, shop, slow

from kwire_cli.cli.command import Command
from kwire_cli.cli.environment import Environment
from kwire_cli.cli.help_topics import shared
from kwire_cli.cli.main import COMMANDS, FIRST, GROUPS, ON_A_FILE, all_commands, cli
from kwire_cli.cli.typed_options import Printing, flag, option, takes

MOST_LINES, WIDTH = 48, 100
LAID_OUT = {"terminal_width": WIDTH, "max_content_width": WIDTH, "help_option_names": ["-h", "--help"]}
"""A context as commands have it, which keep their option --help for the contexts that come."""


EXAMPLES = [(name, example.line) for name, command in each_command() for example in command.examples]


class Options(Printing):
    fields: str | None = option("--fields", section="Output", help="Show these columns.")
    filter: str | None = option("--filter", section="Choose", help="Show only these.")
    records: str | None = option("--records", help="Show records.")
    odd: bool = flag("--odd", rare=True, section="Advanced", help="Do what few want.")


def run(*arguments):
    got = []

    @click.command(cls=Command, examples=[("kwire thing --fields a", "the column a")])
    @takes(Options)
    def command(_, options):
        got.append(options)

    environment = Environment()
    notes = []
    environment.note = notes.append
    result = CliRunner().invoke(command, arguments, obj=environment)
    return got, notes, result.output


def test_help_lists_every_command_once_by_group():
    names = [name for group in GROUPS.values() for name in group]
    assert sorted(names) == [*COMMANDS]
    context = click.Context(cli, info_name="kwire", **LAID_OUT)
    lines = all_commands(context).splitlines()
    assert [line[:-1] for line in lines if line[:-1] in GROUPS] == [*GROUPS]
    assert [line.split()[0] for line in lines if line.strip() and line.split()[0] in COMMANDS] == names
    assert len(lines) <= MOST_LINES


@pytest.mark.parametrize(("width", "lines"), [(60, 15), (80, 15), (WIDTH, 11), (200, 11)])
def test_the_first_help_shows_eight_commands_on_a_small_screen(width, lines):
    text = cli.get_help(click.Context(cli, info_name="kwire", terminal_width=width, max_content_width=width))
    shown = text.splitlines()
    assert len(shown) <= lines
    assert max(map(len, shown)) <= max(width, len(f"  kwire FILE  {ON_A_FILE}"))
    assert all(f"  {name} " in text for name in FIRST)
    assert f"{len(COMMANDS) - 8} more: kwire help." in text


def test_a_shared_option_is_explained_by_its_topic_and_named_by_the_command():
    topics = {topic: kwire("help", topic).out for topic in ("input", "output")}
    for name, command in each_command():
        own = kwire(*name.split(), "--help").out
        for setting in getattr(command, "settings", ()):
            if setting.shared:
                assert setting.opts[-1] in own
                assert setting.help.split("  [")[0] not in " ".join(own.split())
                assert setting.opts[-1] in topics[setting.topic]


def test_a_topic_explains_every_shared_option():
    for topic in ("input", "output"):
        text = " ".join(kwire("help", topic).out.split())
        assert all(setting.help.split("  [")[0] in text for setting in shared.settings if setting.topic == topic)
    assert {setting.topic for setting in shared.settings} == {"input", "output"}


def test_examples_of_the_first_commands_are_a_topic():
    text = kwire("help", "examples").out
    assert re.findall(r"^(\w+):$", text, re.MULTILINE) == ["FILE", *FIRST]
    examples = [line for name, line in EXAMPLES if name in FIRST]
    assert all(f"  {line}" in text for line in examples)


def test_options_stand_in_sections_and_rare_ones_under_help_all():
    _, _, short = run("--help")
    _, _, full = run("--help-all")
    assert re.findall(r"^(\w+):$", short, re.MULTILINE) == ["Examples", "Choose", "Output"]
    assert re.findall(r"^(\w+):$", full, re.MULTILINE) == ["Examples", "Choose", "Output", "Advanced"]
    assert "--odd" not in short
    assert "--odd" in full
    assert "kwire thing --fields a  the column a" in short


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("--topic", "orders"), "there is no --topic; write --filter 'topic == \"orders\"'"),
        (("--client=billing",), "there is no --client; write --filter 'client_id == \"billing\"'"),
        (("--errors",), "there is no --errors; write --filter 'error'"),
        (("--slow", "--fields", "a"), "there is no --slow; write --filter 'latency > 100ms'"),
    ],
)
def test_an_option_that_is_a_filter_gets_that_filter(arguments, hint):
    assert hint in run(*arguments)[2]


@pytest.mark.parametrize("option", ["--topic", "--client", "--group", "--errors", "--slow", "--broker"])
def test_a_hinted_filter_is_one(option):
    done = kwire("decode", option, "1", ROOT / "samples" / "captures" / "ipv6.pcap")
    [text] = re.findall(r"write --filter '(.*)'$", done.err, re.MULTILINE)
    assert done.code == 2
    assert kwire("decode", "--filter", text, ROOT / "samples" / "captures" / "ipv6.pcap").code == 0


@pytest.mark.parametrize("name", [name for name, command in each_command() if command.examples])
def test_help_fits(name):
    command = dict(each_command())[name]
    text = click.Context(command, info_name=f"kwire {name}", **LAID_OUT)
    lines = command.get_help(text).splitlines()
    assert [line for line in lines if len(line) > WIDTH] == []
    assert len(lines) <= MOST_LINES


NOT_RUN = {"report", "tui", "watch"}
"""Commands whose examples need a terminal, a capture that grows or seconds; other tests run these commands."""
LONG = {"compare", "diagnose", "overhead"}
"""Commands whose examples take seconds."""
RUN = [
    slow(name, line) if name in LONG else (name, line)
    for name, line in EXAMPLES
    if name not in NOT_RUN and "spark://" not in line
]


@pytest.mark.parametrize(("name", "line"), RUN)
def test_an_example_runs(name, line, tmp_path, monkeypatch):
    monkeypatch.chdir(shop(tmp_path))
    assert f"kwire {name} " in f"{line} "
    if name == "query":
        shell("kwire export incident.pcap -o lake")
    assert "[exit 2]" not in shell(line)
