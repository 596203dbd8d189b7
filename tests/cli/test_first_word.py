"""The first word of a command line: a command, a file or bytes in its place, or `help`."""

import json
import os
import shutil
import subprocess

import click
import pytest
from kit.commands import ROOT, kwire, run_process

from kwire_cli.cli.main import READING_OPTIONS, cli

pytestmark = pytest.mark.usefixtures("few_rules")

CAPTURE = ROOT / "samples/captures/ipv6.pcap"
LOG = ROOT / "samples/request-logs/kafka-request.log"
FOLDER = ROOT / "samples/logs"
SEGMENT = ROOT / "samples/segments/txn-out-0/00000000000000000000.log"
TLS = ROOT / "samples/incidents/java-tls.pcap"
KEYS = ROOT / "samples/incidents/java-tls.keys"
FRAME = "0000000d00120000000000070003617070"


@pytest.mark.parametrize(
    "words",
    [
        (CAPTURE, "--top", "2"),
        (CAPTURE, CAPTURE, "--top", "2"),
        (FRAME,),
        ("00", "00", "00", "0d", "00", "12", "0000000000070003617070"),
        ("AAAADQASAAAAAAAHAANhcHA=",),
    ],
)
def test_an_input_in_place_of_a_command_is_decoded(words):
    done, decoded = kwire(*words), kwire("decode", *words)
    assert (done.code, done.raw, done.err) == (0, decoded.raw, "")
    assert '"ApiVersions"' in done.out


@pytest.mark.parametrize("words", [(), ("-",)])
def test_a_pipe_and_a_file_on_standard_input_are_decoded_without_a_word(words, tmp_path):
    piped = run_process(*words, input=FRAME.encode())
    assert json.loads(piped.stdout)["api"] == "ApiVersions"
    (tmp_path / "frame.hex").write_text(FRAME)
    with (tmp_path / "frame.hex").open("rb") as file:
        assert run_process(*words, stdin=file).stdout == piped.stdout


def test_without_a_word_and_without_input_there_is_help():
    done = run_process(stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert done.stderr.startswith(b"Usage: kwire ")


OVERVIEWS = [
    (TLS, "--tls-keylog", KEYS),
    (LOG,),
    (FOLDER,),
]
"""Inputs and options without a command of which there is a summary."""
FRAMES = [
    (CAPTURE, "--filter", "api == Fetch"),
    (CAPTURE, "--format", "table"),
    (CAPTURE, "--port", "19092", "--top", "1"),
    (CAPTURE, LOG),
    (SEGMENT,),
    (ROOT / "samples/frames/metadata-v0-request.hex",),
    (CAPTURE, ROOT / "samples/frames/metadata-v0-request.hex"),
    (CAPTURE, "--nosuch"),
]
"""Other inputs, and options about frames, which are decoded."""
CASES = [
    *(pytest.param("summary", words, marks=pytest.mark.slow if words[0] != LOG else ()) for words in OVERVIEWS),
    *(("decode", words) for words in FRAMES),
]


@pytest.mark.parametrize(("command", "words"), CASES)
def test_an_input_in_place_of_a_command_is_summarised_or_decoded(command, words, monkeypatch):
    monkeypatch.chdir(ROOT)
    done = kwire(*words)
    assert done == kwire(command, *words)
    assert command == "decode" or "\nfindings  " in done.out


def test_help_behind_an_input_is_that_of_decode():
    assert kwire(CAPTURE, "--help").out == kwire("decode", "--help").out


def test_options_about_reading_are_those_of_both_commands():
    for name in ("decode", "summary"):
        command = cli.get_command(click.Context(cli), name)
        options = {flag: option for option in command.params for flag in option.opts}
        assert not any(options[flag].is_flag for flag in READING_OPTIONS)


def test_a_named_pipe_is_decoded_as_frames_come(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)  # with a reader of its own, opening waits for nobody
    os.write(writer, bytes.fromhex(FRAME))
    from kwire_cli.source.opening import have_overview

    assert not have_overview([str(pipe)])
    os.close(writer)


def test_a_command_comes_before_a_file_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(CAPTURE, "stats")
    shutil.copy(CAPTURE, "decoed")
    assert kwire("stats", "decoed", "-f", "table").out.startswith("frames")
    assert '"ApiVersions"' in kwire("./stats", "--top", "1").out
    assert '"ApiVersions"' in kwire("decoed", "--top", "1").out


@pytest.mark.parametrize("words", [("decode",), ("spec",), ("spec", "list"), ("explain",), ("dec",)])
def test_help_is_that_of_the_option(words):
    assert kwire("help", *words).out.rstrip("\n") == kwire(*words, "--help").out.rstrip("\n")
