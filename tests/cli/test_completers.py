"""Completion of files and names."""

import re

import click
import pytest
from click.shell_completion import BashComplete
from kit.commands import each_command

from kwire_cli.cli.main import COMMANDS, cli

PATHS = re.compile(r"(INPUT|OUTPUT|PATH|FILE|DIR|FOLDER|A B|NEW|CAPTURE)\b(?!=)")
NO_PATH = {"--fields", "--paths", "--except", "--histogram"}
"""Options whose paths are those of fields."""


def offered(*words):
    *typed, incomplete = words
    return BashComplete(cli, {}, "kwire", "_KWIRE_COMPLETE").get_completions(typed, incomplete)


def names(*words):
    return [item.value for item in offered(*words) if item.type == "plain"]


TAKE_PATHS = [
    (name.split(), parameter)
    for name, command in each_command()
    for parameter in command.params
    if parameter.metavar and PATHS.search(parameter.metavar) and parameter.opts[0] not in NO_PATH
]


def test_files_complete_wherever_one_may_stand():
    for words, parameter in TAKE_PATHS:
        typed = [parameter.opts[0]] if isinstance(parameter, click.Option) else []
        # Bash drops what stands before the mark for files, so it is the first.
        first = offered(*words, *typed, "samples/fra")[0]
        assert (first.type, first.value) == ("file", "samples/fra"), (words, parameter.opts)


def test_there_are_paths_in_most_commands():
    assert {words[0] for words, _ in TAKE_PATHS} | {"completion", "doctor"} == {*COMMANDS}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["explain", "error", "unsupported_v"], ["UNSUPPORTED_VERSION"]),
        (["explain", "anomaly", "tag_o"], ["TAG_ORDER"]),
        (["explain", "finding", "throt"], ["THROTTLED"]),
        (["spec", "errors", "unsupported_v"], ["UNSUPPORTED_VERSION"]),
        (["explain", "er"], ["error"]),
        (["explain", "samples/frames/a.hex", "er"], []),
        (["overhead", "--by", "api,cl"], ["api,client"]),
        (["spec", "list", "heart"], ["HeartbeatRequest", "HeartbeatResponse"]),
        (["decode", "--api", "heart"], ["Heartbeat"]),
        (["decode", "--message", "HeartbeatRequest", "--message-version", ""], ["0", "1", "2", "3", "4"]),
        (["decode", "--api", "ApiVersions", "--message-version", "5"], ["5"]),
        (["decode", "--specs", "tests/cli/definitions", "--message", "Echo"], ["EchoRequest", "EchoResponse"]),
        (["decode", "--specs", "9.9", "--api", "heart"], []),
        (["encode", "--api", "ListOff"], ["ListOffsets"]),
        (["spec", "show", "HeartbeatRequest", ""], ["0", "1", "2", "3", "4"]),
        (["diff", "MetadataR"], ["MetadataRequest", "MetadataResponse"]),
        (["diff", "MetadataResponse", "1"], ["1", "10", "11", "12", "13"]),
        (["diff", "nothing", "1"], []),
        (["decode", "--message", "nothing", "--message-version", "1"], []),
        (["decode", "--specs", "nosuch", "--api", "heart"], []),
        (["decode", "--specs", "all-up"], ["all-upacked"]),
        (["decode", "--filter", "thrott"], ["throttle_ms"]),
        (["decode", "--filter", "error and laten"], ["error and latency_us"]),
        (["dump", "--filter", "compr"], ["compression"]),
        (["decode", "--fields", "api,laten"], ["api,latency_us"]),
        (["decode", "--sort", "laten"], ["latency_us"]),
        (["dump", "--sort", "baseO"], ["baseOffset"]),
        (["dump", "--deep", "--sort", "keyS"], ["keySize"]),
        (["clients", "--to", "4.1"], ["4.1"]),
        (["compare", "--form", "all-t"], ["all-tagged", "all-three"]),
        (["compare", "--paths", "throttleT"], ["throttleTimeMs"]),
        (["decode", "--frames", ""], []),
        (["completion", "z"], ["zsh"]),
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
    assert names("samples/captures/ipv6.pcap", "--filter", "laten") == ["latency_us"]
