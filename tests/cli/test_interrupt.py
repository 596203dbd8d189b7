"""Ctrl-C ends the reading of reports: what was read so far is shown, and the exit code is 130."""

import json
import re
import shutil
import signal
import time

import pytest
from kit.commands import ROOT, kwire, slow

from kwire_cli.analysis.verify import checks
from kwire_cli.cli.environment import Interrupt
from kwire_cli.cli.progress import Progress
from kwire_cli.source import capture_inputs, log_inputs, request_log_inputs

CAPTURE = ROOT / "samples/captures/ipv6.pcap"
SEGMENTS = ROOT / "samples/segments"
NOTE = re.compile(r"interrupted after [\d,]+ of [\d,]+ bytes; this is what was read so far\n")


@pytest.fixture
def interrupted(monkeypatch):
    """Press Ctrl-C when figures of progress come the given time, of a few lines each. Returns how often it comes."""
    for module in (capture_inputs, log_inputs, request_log_inputs):
        monkeypatch.setattr(module, "EACH", 8)
    tell, times = Progress.tell, []

    def at(number):
        def press(*arguments):
            tell(*arguments)
            times.append(arguments)
            if len(times) == number:
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(Progress, "tell", press)
        return times

    return at


def facts(done):
    return json.loads(done.out)["facts"]


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        (("stats", CAPTURE), "frames"),
        slow(("overhead", CAPTURE), "messages"),
        (("overhead", SEGMENTS), "bytes"),
        slow(("compare", "--advise", CAPTURE), "messages"),
        (("compare", CAPTURE), "messages"),
        slow(("compare", SEGMENTS), "batches"),
    ],
)
def test_a_report_shows_what_was_read_so_far(words, fact, interrupted):
    whole = kwire(*words, "--format", "json")
    times = interrupted(2)
    part = kwire(*words, "--format", "json")
    assert len(times) >= 2
    assert part.code == 130
    assert NOTE.search(part.err), part.err
    assert 0 < count(facts(part)[fact]) < count(facts(whole)[fact])


def count(value):
    return sum(value.values()) if isinstance(value, dict) else value


def test_verification_so_far(interrupted, tmp_path):
    for number in range(3):
        shutil.copytree(SEGMENTS / "__consumer_offsets-0", tmp_path / f"t-{number}")
    interrupted(2)  # at the end of the first segment
    done = kwire("dump", "--verify", tmp_path, "--format", "json")
    assert done.code == 130
    assert NOTE.search(done.err)
    assert facts(done)["files"] == 1
    assert facts(kwire("dump", "--verify", tmp_path, "--format", "json"))["files"] == 3


def test_a_verification_ends_within_a_segment_and_invents_no_fault(interrupted, monkeypatch):
    monkeypatch.setattr(checks, "STEP", 1)
    interrupted(2)
    done = kwire("dump", "--verify", SEGMENTS / "__consumer_offsets-0", "--format", "json")
    assert done.code == 130
    assert facts(done) == {"files": 0, "batches": 0, "faults": 0}


def test_reading_that_never_looks_is_ended():
    def read():
        with Interrupt().watched():
            signal.raise_signal(signal.SIGINT)
            for _ in range(100):
                time.sleep(0.1)

    with pytest.raises(KeyboardInterrupt):
        read()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_run_that_had_ended_is_not_interrupted():
    interrupt = Interrupt()
    with interrupt.watched():
        signal.raise_signal(signal.SIGINT)
    assert interrupt.came
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_who_has_seen_ctrl_c_has_time_to_answer():
    timers = []

    def read():
        interrupt = Interrupt()
        with interrupt.watched():
            signal.raise_signal(signal.SIGINT)
            timers.extend(signal.getitimer(signal.ITIMER_REAL)[0] for _ in range(2) if bool(interrupt))

    with pytest.raises(KeyboardInterrupt):
        read()
    assert timers == [0, 0]


def test_the_answer_goes_to_its_file(interrupted, tmp_path):
    interrupted(2)
    done = kwire("stats", CAPTURE, "-o", tmp_path / "a.json")
    assert done.code == 130
    assert json.loads((tmp_path / "a.json").read_text())["facts"]["frames"]


def test_without_anything_read_there_is_no_answer(interrupted):
    interrupted(1)
    done = kwire("compare", "--advise", CAPTURE, "--filter", "api == Heartbeat")
    assert (done.code, done.out) == (130, "")


def test_lines_that_are_shown_one_by_one_end_at_once(interrupted):
    interrupted(2)
    done = kwire("decode", CAPTURE)
    assert done.code == 130
    assert done.err.endswith("interrupted\n")
    assert 0 < len(done.out.splitlines()) < 148
