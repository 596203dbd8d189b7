"""`kwire watch` on a real pseudo-terminal, over a capture that grows and over a pipe."""

import re
import shutil

import pytest
from kit.commands import ROOT, json_of, on_terminal, refusal_of

CAPTURE = ROOT / "samples" / "incidents" / "rebalancing.pcap"
DRAWN = re.compile(r"\x1b\[H(.*?)(?=\x1b\[H|\x1b\[\?25h)", re.DOTALL)


def screens(out):
    """Return what was drawn, one text for each time."""
    return [text.replace("\x1b[K", "") for text in DRAWN.findall(out)]


def requests_per_second(text):
    """Return the numbers in the table on a screen by the name in its first column."""
    rows = re.findall(r"^(\S.*?)  +[▁-█]+ +([\d.]+)", text, re.MULTILINE)
    return {name: float(number) for name, number in rows}


@pytest.mark.slow
def test_the_last_interval_of_a_capture_that_grows(tmp_path):
    growing = tmp_path / "growing.pcap"
    shutil.copy(CAPTURE, growing)
    rows = json_of("stats", CAPTURE, "--every", "2s", "--by", "api", "--by", "client", "--busiest", "50")["tables"][
        "intervals"
    ]
    last = max(row["start"] for row in rows)
    clock = last[11:19]
    done = on_terminal(
        "watch", growing, keys=[(clock, b"2"), ("worker-", b"s"), ("bytes per s", b" "), ("paused", b"q")], columns=80
    )
    assert done.code == 0
    drawn = screens(done.out)
    [apis, clients, sorted_by_bytes, paused] = [
        next(text for text in drawn if clock in text and word in text)
        for word in ("Fetch", "worker-", "sorted by bytes per s", "paused")
    ]
    for by, text in (("api", apis), ("client", clients)):
        expected = {r["name"]: r["requestsPerSecond"] for r in rows if (r["start"], r["by"]) == (last, by)}
        assert requests_per_second(text) == {name: number for name, number in expected.items() if number}
    assert all(len(line) <= 80 for text in drawn for line in text.splitlines())
    assert all(len(text.splitlines()) == 24 for text in drawn)
    assert "worker-" in sorted_by_bytes
    assert "paused" in paused


def test_a_pipe_that_ends_leaves_its_last_interval():
    done = on_terminal(
        "watch", keys=[("the capture has ended", b"5"), ("payment-workers", b"q")], piped=CAPTURE.read_bytes()
    )
    assert done.code == 0
    assert "payment-workers" in screens(done.out)[-1]


def test_a_terminal_is_needed():
    assert "kwire stats --every writes the intervals as rows" in refusal_of("watch", CAPTURE)
