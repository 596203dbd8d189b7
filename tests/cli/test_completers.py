"""Completion of files wherever a file may stand, and of names that kwire knows."""

import re

import click
import pytest
from click.shell_completion import BashComplete

from kwire_cli.cli.main import COMMANDS, cli

PATHS = re.compile(r"(INPUT|OUTPUT|PATH|FILE|DIR|FOLDER|A B|NEW|CAPTURE)\b(?!=)")
NO_PATH = {"--fields", "--paths", "--except"}
"""Options whose paths are those of fields."""


def offered(*words):
    *typed, incomplete = words
    return BashComplete(cli, {}, "kwire", "_KWIRE_COMPLETE").get_completions(typed, incomplete)


def names(*words):
    return [item.value for item in offered(*words) if item.type == "plain"]


def commands(command, words=()):
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*words, name))
    else:
        yield words, command


TAKE_PATHS = [
    (words, parameter)
    for words, command in commands(cli)
    for parameter in command.params
    if parameter.metavar and PATHS.search(parameter.metavar) and parameter.opts[0] not in NO_PATH
]


@pytest.mark.parametrize(
    ("words", "parameter"),
    TAKE_PATHS,
    ids=lambda given: given.opts[0] if isinstance(given, click.Parameter) else " ".join(given),
)
def test_files_complete_wherever_one_may_stand(words, parameter):
    typed = [parameter.opts[0]] if isinstance(parameter, click.Option) else []
    # Bash drops what stands before the mark for files, so it is the first.
    assert [(item.type, item.value) for item in offered(*words, *typed, "samples/fra")][:1] == [("file", "samples/fra")]


def test_there_are_paths_in_most_commands():
    assert {words[0] for words, _ in TAKE_PATHS} | {"completion", "doctor"} == {*COMMANDS}


BEHIND = ("==", "!=", "<", "<=", ">", ">=", "in (", "not in (", "and", "or")
"""Words that may stand behind a duration."""


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["spec", "errors", "unsupported_v"], ["UNSUPPORTED_VERSION"]),
        (["explain", "error", "UNSUPPORTED_V"], ["UNSUPPORTED_VERSION"]),
        (["explain", "anomaly", "tag-o"], ["TAG_ORDER"]),
        (["explain", "cr"], ["crc"]),
        (["explain", "samples/frames/a.hex", "cr"], []),
        (["overhead", "--by", "t"], ["topic"]),
        (["overhead", "--by", "topic,client,t"], []),
        (["overhead", "--by", "api,cl"], ["api,client"]),
        (["scan", "--by", "api,cl"], ["api,client"]),
        (["spec", "list", "heart"], ["HeartbeatRequest", "HeartbeatResponse"]),
        (["decode", "--overlay", "nosuch"], []),
        (["spec", "show", "heart"], ["HeartbeatRequest", "HeartbeatResponse"]),
        (["decode", "--filter", "api == heart"], ["api == Heartbeat"]),
        (["decode", "--filter", "kind == re"], ["kind == request", "kind == response"]),
        (["decode", "--filter", "error == UNKNOWN_TOPIC_O"], ["error == UNKNOWN_TOPIC_OR_PARTITION"]),
        (["decode", "--filter", "anomaly == tag_o"], ["anomaly == TAG_ORDER"]),
        (["decode", "--filter", "thrott"], ["throttle", "throttleTimeMs"]),
        (
            ["decode", "--specs", "nosuch", "--filter", "thrott"],
            [f"throttle {word}" for word in BEHIND],
        ),
        (["dump", "--filter", "kind == g"], ["kind == gap"]),
        (["dump", "--filter", "compr"], ["compression", "compressionType"]),
        (["decode", "--fields", "api,laten"], ["api,latency"]),
        (["decode", "--fields", "latency,laten"], []),
        (["decode", "--fields", "api,throttle"], ["api,throttle", "api,throttleTimeMs"]),
        (["compare", "--paths", "throttle"], ["throttleTimeMs"]),
        (["decode", "--sort", "laten"], ["latency"]),
        (["decode", "--sort", "latency:"], ["latency:asc", "latency:desc"]),
        (["decode", "--sort", "api,laten"], []),
        (["dump", "--sort", "baseO"], ["baseOffset"]),
        (["dump", "--deep", "--sort", "keyS"], ["keySize"]),
        (["spec", "errors", "--sort", "retr"], ["retriable"]),
        (["decode", "--frames", ""], []),
        (["completion", "install", "z"], ["zsh"]),
        (["help", "ex"], ["explain", "export", "examples"]),
        (["help", "spec", "e"], ["errors"]),
    ],
)
def test_names_complete(words, found):
    assert names(*words) == found


def test_files_complete_where_topics_do():
    assert [(item.type, item.value) for item in offered("explain", "samples/x")] == [("file", "samples/x")]
    assert [item.type for item in offered("explain", "")][:2] == ["file", "plain"]


def test_commands_complete_with_their_texts_and_none_is_imported(monkeypatch):
    monkeypatch.setattr(cli, "get_command", None)
    file, decode = offered("dec")
    assert (file.type, decode.value, decode.help) == ("file", "decode", COMMANDS["decode"])
    assert names("") == [*COMMANDS, "help"]
    assert names("--ver") == ["--version"]
    assert names("help", "dec") == ["decode"]


def test_help_goes_on_with_commands_of_groups():
    assert names("help", "spec", "o") == ["overlays"]
    assert names("help", "decode", "o") == []


def test_options_complete_behind_an_input_too():
    assert names("samples/captures/ipv6.pcap", "--filter", "api == heart") == ["api == Heartbeat"]
