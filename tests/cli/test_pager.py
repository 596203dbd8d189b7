"""Results that are longer than the screen go through a pager, on a real pseudo-terminal."""

import os
import shutil
import stat
from pathlib import Path

import pytest
from kit.commands import ROOT, kwire, on_terminal, refusal_of

from kwire_cli.cli.outputs import ResultFile, pager_of

CAPTURE = ROOT / "samples/captures/sarama-0.8.2.0-3.9.2.pcapng"
FRAME = "000000140012000000000007000a6f72646572732d617070"
needs_less = pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")


@pytest.fixture
def pager(tmp_path):
    """A function that makes a pager of a shell script, and returns its path."""

    def made(text):
        path = tmp_path / "pager"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return made


def test_results_on_a_terminal_go_through_the_pager(pager, tmp_path):
    paged = tmp_path / "paged"
    script = pager(f'echo "LESS=$LESS"; cat > {paged}; echo the end')
    done = on_terminal("decode", CAPTURE, variables={"KWIRE_PAGER": script, "PAGER": "false"})
    assert done.code == 0
    assert done.out == "LESS=FRX\nthe end\n"
    assert paged.read_text().split()[:2] == ["frame", "time"]  # a capture is a table


def test_colours_and_settings_of_a_person_stay(pager, tmp_path):
    paged = tmp_path / "paged"
    script = pager(f'echo "LESS=$LESS"; cat > {paged}')
    done = on_terminal("decode", FRAME, variables={"PAGER": script, "LESS": "R", "NO_COLOR": ""})
    assert done.out == "LESS=R\n"
    assert "\x1b[" in paged.read_text()


@pytest.mark.parametrize(
    ("words", "variables"),
    [
        ((), {"TERM": "dumb"}),
        ((), {"KWIRE_PAGER": ""}),
        ((), {"PAGER": "cat", "KWIRE_PAGER": "cat"}),
        (("--follow", "--top", "2"), {}),
    ],
)
def test_there_is_no_pager(words, variables, pager):
    done = on_terminal("decode", CAPTURE, *words, variables={"KWIRE_PAGER": pager("echo paged"), **variables})
    assert done.code == 0
    assert "ApiVersions" in done.out
    assert "paged" not in done.out


def test_without_the_pager_results_go_straight_to_the_terminal():
    done = on_terminal("decode", FRAME, variables={"PAGER": "no-such-pager"})
    assert done.code == 0
    assert "ApiVersions request" in done.out


def test_a_shell_that_cannot_run_the_pager_is_an_error():
    done = on_terminal("decode", FRAME, variables={"PAGER": "no-such-pager '-x'"})
    assert done.code == 2
    assert done.out.endswith("kwire: the results cannot be written: the pager cannot be run: no-such-pager '-x'\n")


def test_leaving_the_pager_early_ends_kwire_quietly(pager):
    capture = ROOT / "samples/captures/kafka-python-4.4.0.pcapng"
    done = on_terminal("decode", capture, "--format", "tree", variables={"PAGER": pager("head -n 1; exit 3")})
    assert done.code == 0
    assert len(done.out.splitlines()) == 1


def test_remarks_wait_for_the_end_of_the_pager(pager, tmp_path):
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(CAPTURE.read_bytes()[:9000])
    done = on_terminal(
        "decode", cut, "--format", "jsonl", variables={"PAGER": pager("cat > /dev/null; sleep 0.3; echo left")}
    )
    left, *remark = done.out.splitlines()
    assert left == "left"
    assert "cut.pcapng:afterpacket" in "".join("".join(remark).split())


def test_ctrl_c_is_for_the_pager(pager):
    script = pager("trap '' INT; cat > /dev/null; echo ready; read key < /dev/tty; echo left")
    done = on_terminal("decode", FRAME, keys=[("ready", b"\x03"), ("^C", b"q\n")], variables={"PAGER": script})
    assert done.code == 0
    assert done.out.endswith("left\n")


@needs_less
def test_less_leaves_at_once_what_fits_on_the_screen():
    done = on_terminal("decode", FRAME, rows=40)
    assert done.code == 0
    assert "ApiVersions request" in done.out


@needs_less
def test_less_stays_with_what_is_longer_until_it_is_left():
    done = on_terminal("decode", CAPTURE, keys=[("\n:", b"\x03"), ("\n:", b"q")])
    assert done.code == 0
    assert "ApiVersions" in done.out
    assert "Traceback" not in done.out


@pytest.mark.parametrize(
    ("variables", "command"),
    [
        ({}, ["less"]),
        ({"PAGER": "most -s"}, ["most", "-s"]),
        ({"PAGER": "less | cat"}, ["sh", "-c", "less | cat"]),
        ({"PAGER": "more", "KWIRE_PAGER": "less -S"}, ["less", "-S"]),
        ({"PAGER": "more", "KWIRE_PAGER": ""}, None),
        ({"TERM": "dumb"}, None),
    ],
)
def test_the_pager_is_that_of_git(variables, command):
    assert pager_of(variables) == command


# What is shown on a terminal by default.


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("decode", CAPTURE), "frame  time"),
        (("decode", CAPTURE, "--full", "--top", "1"), "2026-"),
        (("decode", FRAME), "frame 1: ApiVersions request"),
        (("decode", FRAME, FRAME), "frame 1: ApiVersions request"),
        (("dump", "samples/segments/__consumer_offsets-0"), "position"),
        (("dump", "samples/segments/__consumer_offsets-0", "--deep", "--full"), "at 0: batch"),
    ],
)
def test_many_lines_are_a_table_and_one_message_is_a_tree(words, first, monkeypatch):
    monkeypatch.chdir(ROOT)
    out = kwire(*words, terminal=True, variables={"NO_COLOR": "1"}).out
    assert next(line for line in out.splitlines() if not line.endswith(".log:")).startswith(first)
    assert kwire(*words).out.startswith("{")


# Results in a file.


@pytest.mark.parametrize(
    ("words", "name", "start"),
    [
        (("decode", FRAME), "a.jsonl", b'{"frame":1'),
        (("encode", "-m", "HeartbeatResponse", "--message-version", "0", '{"errorCode":0}'), "a.bin", b"\0\0"),
        (("explain", "varint", "7"), "a.json", b"{"),
        (("spec", "show", "HeartbeatRequest"), "a.json", b'{\n  "apiKey": 12'),
        (("dump", ROOT / "samples/segments/__consumer_offsets-0"), "a.csv", b"file,position"),
    ],
)
def test_results_go_to_a_file_in_the_format_of_its_suffix(words, name, start, tmp_path):
    file = tmp_path / name
    done = kwire(*words, "-o", file)
    assert (done.code, done.raw) == (0, b"")
    assert file.read_bytes().startswith(start)
    assert [*tmp_path.iterdir()] == [file]


@pytest.mark.parametrize(
    "words", [("decode", FRAME), ("decode", CAPTURE), ("dump", ROOT / "samples/segments/__consumer_offsets-0")]
)
def test_a_format_of_a_suffix_that_the_command_lacks_is_refused(words, tmp_path):
    done = kwire(*words, "-o", tmp_path / "a.md")
    assert (done.code, done.raw, [*tmp_path.iterdir()]) == (2, b"", [])
    assert "a.md: this has the formats tree, " in done.err
    assert done.err.endswith(", not markdown\n")


@pytest.mark.parametrize("inputs", [("no-such.pcap",), (CAPTURE, "no-such.pcap")])
def test_a_file_is_complete_or_stays_as_it_was(inputs, tmp_path):
    file = tmp_path / "a.json"
    file.write_text("before")
    assert kwire("decode", *inputs, "-o", file).code == 2
    assert file.read_text() == "before"
    assert [*tmp_path.iterdir()] == [file]


def test_results_may_take_the_place_of_an_input(tmp_path):
    file = tmp_path / "a.pcapng"
    shutil.copy(CAPTURE, file)
    expected = kwire("decode", file).raw
    assert kwire("decode", file, "-f", "jsonl", "-o", file).code == 0
    assert file.read_bytes() == expected


def test_a_file_without_results_is_empty_and_keeps_its_permissions(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("before")
    path.chmod(0o640)
    file = ResultFile(str(path))
    file.finish()
    file.close()
    assert path.read_bytes() == b""
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_pipe_is_written_to_as_it_is(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert kwire("spec", "errors", "22", "--format", "csv", "-o", pipe).code == 0
        assert os.read(reader, 100).startswith(b"code,name")
    finally:
        os.close(reader)


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    assert "a.csv: No such file or directory" in refusal_of("spec", "errors", "22", "-o", tmp_path / "none" / "a.csv")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is full")
def test_nothing_is_left_of_a_file_that_cannot_be_written(tmp_path):
    """What is buffered is written at the end, when a full disk fails again."""
    file = ResultFile(str(tmp_path / "out.jsonl"))
    with Path("/dev/full").open("wb") as full:
        os.dup2(full.fileno(), file._file.fileno())
    file.write(b"results")
    with pytest.raises(OSError, match="No space"):
        file.close()
    assert [*tmp_path.iterdir()] == []
