"""`decode --follow` and live pipes: a real process, a file or pipe that really grows. Frames are awaited while the
writer is still at it.
"""

import gzip
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
from kit import traffic as make
from kit.commands import ROOT, kwire, refusal_of, slow

from kwire_cli.errors import InputError
from kwire_cli.source.packets.files import packets

PROCESS = [sys.executable, "-m", "kwire_cli", "decode"]
PATIENCE = 60
"""Seconds after which a line that has not come will not; a passing test never waits for so long."""


SARAMA = list(packets(ROOT / "samples" / "captures" / "sarama-0.8.2.0-3.9.2.pcapng"))
MIDSTREAM = list(packets(ROOT / "samples" / "captures" / "midstream.pcap"))
LINK = SARAMA[0].link


def pcap(some, link=LINK):
    return make.pcap_file(some, link=link)


def records(some):
    """Packets without the file's header: what is added to a file that grows."""
    return pcap(some)[len(pcap([])) :]


def expected(content, *options):
    return kwire("decode", *options, "-", stdin=content).out.splitlines()


class Running:
    """A process whose lines are read while it runs."""

    def __init__(self, *arguments, stdin=subprocess.DEVNULL):
        command = [*PROCESS, *map(str, arguments)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.out, self.err = queue.Queue(), queue.Queue()
        self.threads = [
            threading.Thread(target=self.read, args=pair)
            for pair in ((self.process.stdout, self.out), (self.process.stderr, self.err))
        ]
        for thread in self.threads:
            thread.start()

    @staticmethod
    def read(stream, lines):
        for line in stream:
            lines.put(line.rstrip("\n"))

    def lines(self, count):
        """The next lines, as soon as they are there."""
        return [self.out.get(timeout=PATIENCE) for _ in range(count)]

    def note(self):
        return self.err.get(timeout=PATIENCE)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def rest(self):
        """Exit code, and what is left of output and notes, once it has ended."""
        code = self.process.wait(timeout=PATIENCE)
        for thread in self.threads:
            thread.join()
        return code, list(self.out.queue), list(self.err.queue)


@contextmanager
def running(*arguments, stdin=subprocess.DEVNULL):
    run = Running(*arguments, stdin=stdin)
    try:
        yield run
    finally:
        run.process.kill()
        run.process.wait()
        for thread in run.threads:
            thread.join()
        for stream in (run.process.stdin, run.process.stdout, run.process.stderr):
            if stream:
                stream.close()


def add(path, data):
    with path.open("ab") as file:
        file.write(data)


@pytest.mark.parametrize("fmt", ["jsonl", "table", slow("tree"), slow("csv")])
def test_frames_appear_while_the_file_grows(tmp_path, fmt):
    path = tmp_path / "growing.pcap"
    half = len(SARAMA) // 2
    path.write_bytes(pcap(SARAMA[:half]))
    first, whole = expected(pcap(SARAMA[:half]), "-f", fmt), expected(pcap(SARAMA), "-f", fmt)
    assert whole[: len(first)] == first != whole
    with running("--follow", "-f", fmt, path) as run:
        assert run.lines(len(first)) == first
        add(path, records(SARAMA[half:]))
        assert run.lines(len(whole) - len(first)) == whole[len(first) :]
        run.interrupt()
        assert run.rest() == (130, [], ["", "interrupted"])


def test_a_file_may_begin_empty_and_stop_in_mid_packet(tmp_path):
    path = tmp_path / "growing.pcap"
    path.touch()
    content = pcap(SARAMA)
    whole = expected(content)
    with running("--follow", path) as run:
        for at in range(0, len(content), 1000):
            add(path, content[at : at + 1000])
        assert run.lines(len(whole)) == whole
        add(path, records(SARAMA)[:20])
        run.interrupt()
        assert run.rest() == (130, [], ["", "interrupted"])


def test_what_only_time_decides_is_shown_when_nothing_comes(tmp_path):
    path = tmp_path / "growing.pcap"
    some = MIDSTREAM[:20]
    path.write_bytes(pcap(some, link=some[0].link))
    whole = expected(path.read_bytes(), "-f", "table", "--fields", "frame,kind,api,size")
    assert len(whole) > 3
    with running("--follow", "-f", "table", "--fields", "frame,kind,api,size", path) as run:
        assert run.lines(3) == whole[:3]
        assert run.process.poll() is None


def test_a_file_that_becomes_shorter_is_an_error(tmp_path):
    path = tmp_path / "growing.pcap"
    path.write_bytes(pcap(SARAMA))
    with running("--follow", path) as run:
        run.lines(len(expected(pcap(SARAMA))))
        path.write_bytes(b"")
        code, out, notes = run.rest()
    assert (code, out) == (2, [])
    assert "the file became shorter while it was followed" in notes[0]


@pytest.mark.parametrize("options", [slow(["--follow", "-"]), ["-"], ["--follow", "/dev/stdin"], slow(["/dev/stdin"])])
def test_frames_appear_while_a_pipe_is_written(options):
    whole = expected(pcap(SARAMA))
    with running(*options, stdin=subprocess.PIPE) as run:
        raw = run.process.stdin.buffer
        raw.write(pcap([]))
        raw.flush()
        found = []
        for number, each in enumerate(SARAMA, 1):
            raw.write(records([each]))
            raw.flush()
            due = [line for line in whole[len(found) :] if json.loads(line)["packet"] <= number]
            found += run.lines(len(due))
        assert found == whole
        raw.close()
        assert run.rest() == (0, [], [])


def test_rows_of_a_pipe_wait_for_no_others():
    fields = ("-f", "table", "--fields", "frame,kind,clientId")
    whole = expected(pcap(SARAMA), *fields)
    with running(*fields, "-", stdin=subprocess.PIPE) as run:
        run.process.stdin.buffer.write(pcap(SARAMA))
        run.process.stdin.buffer.flush()
        assert run.lines(len(whole)) == whole
        run.process.stdin.buffer.close()
        assert run.rest() == (0, [], [])


def test_rows_that_wait_are_printed_where_reading_fails(monkeypatch):
    from kwire_cli.source import capture_inputs

    real, file = capture_inputs.traffic, "samples/captures/kafka-python-4.4.0.pcapng"

    def failing(*arguments, **options):
        for number, line in enumerate(real(*arguments, **options)):
            if number == 5:
                raise InputError("the disk is gone", file=file)
            yield line

    monkeypatch.chdir(ROOT)
    whole = kwire("decode", "-f", "table", "--fields", "frame,kind", "--top", "5", file).out
    monkeypatch.setattr(capture_inputs, "traffic", failing)
    done = kwire("decode", "-f", "table", "--fields", "frame,kind", file)
    assert (done.code, done.out) == (2, whole)
    assert "the disk is gone" in done.err


@pytest.mark.parametrize("options", [["--follow"], []])
def test_a_pipe_with_a_name(tmp_path, options):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    whole = expected(pcap(SARAMA))
    with running(*options, path) as run:
        with path.open("wb", buffering=0) as writer:
            writer.write(pcap(SARAMA))
            assert run.lines(len(whole)) == whole
        assert run.rest() == (0, [], [])


def test_a_pipe_that_ends_in_mid_packet_says_so():
    done = kwire("decode", "--follow", "-", stdin=pcap(SARAMA)[:-5])
    assert (done.code, done.err.count("\n")) == (0, 1)
    assert "the file ends in the middle of a packet" in done.err


def test_standard_input_may_be_a_file_that_grows(tmp_path):
    path = tmp_path / "growing.pcap"
    path.write_bytes(pcap(SARAMA[:30]))
    whole = expected(pcap(SARAMA))
    with path.open("rb") as file, running("--follow", "-", stdin=file) as run:
        run.lines(2)
        add(path, records(SARAMA[30:]))
        run.lines(len(whole) - 2)


@pytest.mark.parametrize("options", [["--top", "3"], ["--frames", "1-3"], ["--top", "0", "--filter", "frame > 0"]])
def test_it_ends_with_the_last_line_that_was_asked_for(tmp_path, options):
    path = tmp_path / "growing.pcap"
    path.write_bytes(pcap(SARAMA))
    with running("--follow", *options, path) as run:
        code, out, notes = run.rest()
    assert (code, len(out), notes) == (0, 0 if "0" in options else 3, [])


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (gzip.compress(pcap(SARAMA)), "a packed file cannot be followed; unpack it into a pipe"),
        (b"\x28\xb5\x2f\xfd....", "a packed file cannot be followed"),
        (b"text, not packets", "neither pcap nor pcapng: it begins with 74 65 78 74"),
    ],
)
def test_what_can_not_be_followed(tmp_path, content, error):
    path = tmp_path / "growing"
    path.write_bytes(content)
    refused = refusal_of("decode", "--follow", path)
    assert str(path) in refused
    assert error in refused
