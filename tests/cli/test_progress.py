"""The progress of long runs, on a terminal that shows nothing else."""

import io
import re

import pytest
from kit.commands import ROOT, Terminal, on_terminal

from kwire_cli.cli import progress
from kwire_cli.cli.environment import Environment
from kwire_cli.cli.progress import Progress

CAPTURE = ROOT / "samples/captures/ipv6.pcap"
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def told(monkeypatch):
    """A progress whose bar is shown at once, and a function that returns what was written since the last call."""
    monkeypatch.setattr(progress, "AFTER", 0)
    monkeypatch.setattr(progress, "EVERY", 0)
    stderr = io.BytesIO()

    def read():
        text = COLOURS.sub("", stderr.getvalue().decode())
        stderr.seek(0)
        stderr.truncate()
        return text

    return Progress(stderr, lambda: True), read


def test_the_bar_is_of_all_inputs(told, tmp_path):
    bar, read = told
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(bytes(1 << 20))
    bar.expect((str(tmp_path / "a"), str(tmp_path / "b")))
    bar.tell("a", 1 << 19, 1 << 20)
    assert "a " in (text := read())
    assert "0.5/2.0 MiB" in text
    bar.done()
    bar.tell("b", 1 << 19, 1 << 20)
    assert "1.5/2.0 MiB" in read()
    assert (bar.passed, bar.total) == (3 << 19, 2 << 20)


def test_folders_count_with_all_of_their_files(told, tmp_path):
    bar, read = told
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "a.log").write_bytes(bytes(1000))
    (tmp_path / "t-0" / "b.log").write_bytes(bytes(24))
    bar.expect((str(tmp_path),))
    bar.tell("a.log", 512, 1000)
    assert "0.5/1.0 KiB" in read()


def test_log_directories_count_with_what_is_read(told, tmp_path):
    bar, read = told
    (tmp_path / f"{0:020}.log").write_bytes(bytes(1024))
    (tmp_path / f"{0:020}.index").write_bytes(bytes(10 << 20))  # allocated in advance
    bar.expect((str(tmp_path),))
    bar.tell("a.log", 512, 1024)
    assert "0.5/1.0 KiB" in read()


@pytest.mark.parametrize("inputs", [("-",), ("0000002b",), ("http://a/b",), ()])
def test_without_sizes_the_bytes_are_shown_alone(inputs, told):
    bar, read = told
    bar.expect(inputs)
    bar.tell("standard input", 2048, 0)
    assert "2.0/? KiB" in read()


def test_counts_of_other_things_are_no_bytes(told):
    bar, read = told
    bar.tell("stage 3", 4, 9, "tasks")
    assert "4 of 9 tasks" in read()
    assert bar.passed == 0


def test_a_short_run_shows_nothing():
    stderr = Terminal()
    environment = Environment(stdin=Terminal(), stdout=io.BytesIO(), stderr=stderr, variables={})
    environment.progress.tell("a", 1, 2)
    environment.close()
    assert stderr.getvalue() == b""


def test_results_on_the_terminal_leave_no_room_for_a_bar(monkeypatch):
    monkeypatch.setattr(progress, "AFTER", 0)
    monkeypatch.setattr(progress, "EVERY", 0)
    stderr = Terminal()
    environment = Environment(stdin=Terminal(), stdout=Terminal(), stderr=stderr, variables={})
    environment.use_terminal(paged=False)
    environment.progress.tell("a", 1, 2)
    assert stderr.getvalue() != b""
    environment.write("a result")
    stderr.seek(0)
    stderr.truncate()
    environment.progress.tell("a", 2, 2)
    assert stderr.getvalue() == b""


def test_the_terminal_is_as_before_in_the_end(tmp_path):
    out = tmp_path / "out.jsonl"
    done = on_terminal("decode", CAPTURE, "-o", out)
    assert (done.code, done.out) == (0, "")
