"""What holds for every command: exit codes, streams, colours, help, the closed pipe and Ctrl-C of a real process."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from kit.commands import ROOT, each_command, kwire, refusal_of, run_process

from kwire_cli.cli.command import Setting
from kwire_cli.cli.main import COMMANDS, cli

HEARTBEAT = ("-m", "HeartbeatRequest", "--message-version", 4, "076f72646572730000000102610000")
PROCESS = [sys.executable, "-m", "kwire_cli"]
FULL = Path("/dev/full")


@pytest.mark.parametrize(("name", "command"), [("kwire", cli), *each_command()])
def test_help_explains_every_option(name, command):
    rare = any(isinstance(one, Setting) and (one.rare or one.shared) for one in command.params)
    done = kwire("help") if command is cli else kwire(*name.split(), "--help-all" if rare else "--help")
    assert done.code == 0
    assert done.err == ""
    text = " ".join(done.out.split())
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help
            assert all(option in text for option in parameter.opts)
            assert " ".join(parameter.help.split())[:30] in text


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_found_by_the_beginning_of_its_name(name):
    starts = [name[:length] for length in range(2, len(name) + 1)]
    short = next(start for start in starts if start == name or sum(one.startswith(start) for one in COMMANDS) == 1)
    assert len(short) == 2 or name.startswith(("comp", "dia", "dif", "exp", "sca"))
    assert kwire(short, "--help").out == kwire(name, "--help").out


def test_summary_is_a_hidden_name():
    assert "summary" not in kwire("--help").out
    assert kwire("summary", "--help").out.startswith("Usage: kwire summary ")
    assert kwire("summar").code == 2


def test_a_beginning_of_several_names_is_of_none():
    assert "compare or completion" in refusal_of("comp")


@pytest.mark.parametrize(
    ("variables", "terminal", "coloured"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, True),
    ],
)
def test_colours_come_where_they_are_wanted(variables, terminal, coloured):
    assert (
        "\x1b[" in kwire("decode", "-f", "tree", *HEARTBEAT, terminal=terminal, variables=variables).out
    ) is coloured


def test_without_input_on_a_terminal_it_says_what_to_give():
    assert "no input: give files" in refusal_of("decode", stdin=None)
    assert "the JSON itself" in kwire("encode", stdin=None).err


def test_a_process_gives_results_notes_and_exit_code():
    done = run_process("decode", "--strict", "0000000a00120000000000010000aa")
    assert done.returncode == 1
    assert done.stderr == b""
    assert [json.loads(line)["kind"] for line in done.stdout.splitlines()] == ["request", "gap"]
    done = run_process("decode", "zz")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"kwire: ")


@pytest.mark.parametrize("fmt", ["tree", "jsonl"])
def test_a_closed_pipe_is_no_error(fmt):
    frames = bytes.fromhex("0000000a00120000000000010000") * 1500
    command = [*PROCESS, "decode", "-f", fmt, "-"]
    writer = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    writer.stdin.write(frames)
    writer.stdin.close()
    assert b"rame" in writer.stdout.readline()
    writer.stdout.close()
    assert writer.stderr.read() == b""
    writer.stderr.close()
    assert writer.wait() == 0


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("repeat", [1, 4_000])
def test_results_that_cannot_be_written_are_an_error(repeat):
    frames = bytes.fromhex("0000000a00120000000000010000") * repeat
    with FULL.open("wb", buffering=0) as full:
        done = run_process("decode", "-f", "hex", "-", input=frames, stdout=full)
    assert (done.returncode, done.stderr) == (2, b"kwire: the results cannot be written: No space left on device\n")


HELP = [["--version"], ["spec", "list", "--help"]]


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_help_that_cannot_be_written_is_an_error(words):
    with FULL.open("wb", buffering=0) as full:
        done = run_process(*words, stdout=full)
    assert (done.returncode, done.stderr) == (2, b"kwire: the results cannot be written: No space left on device\n")


@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_help_that_nobody_reads_ends_quietly(words):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = run_process(*words, stdout=closed)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(("closed", "code"), [(0, 2), (1, 0), (2, 2)])
def test_a_process_runs_with_a_standard_stream_closed(closed, code):
    arguments = {0: "", 1: "0000000a00120000000000010000", 2: "zz"}[closed]
    command = f"{sys.executable} -m kwire_cli decode {arguments} {closed}>&-"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, check=False, text=True)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_ctrl_c_gives_130():
    command = [*PROCESS, "decode", "samples/frames/metadata-v0-request.hex", "-"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # The first input's result is out: from here on it waits for the second, which never ends.
    assert json.loads(process.stdout.readline())["api"] == "Metadata"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"\ninterrupted\n")
