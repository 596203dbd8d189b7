"""Clients that brokers make wait because of a quota."""

from kit.calls import MadeCall, first
from kit.rules import found


def test_a_quota_is_the_cause():
    code, severity, subject, text, frames = first("incidents/throttled.pcap")
    assert (code, severity, subject) == ("THROTTLED", "warning", "client importer")
    assert text == "127.0.0.1:29092 throttled 4 requests (Produce 4) for 11.1 s in all, 5.6 s at most"
    assert frames == [40, 44, 48, 52]


def test_short_throttles_are_no_warning():
    calls = [MadeCall("Fetch", {}, {}, at=step, throttle=0.01) for step in range(10)]
    assert [row[:2] for row in found("THROTTLED", calls)] == [("info", "client billing")]
