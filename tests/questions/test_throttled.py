"""Clients that brokers make wait because of a quota."""

from kit.calls import MadeCall, found


def test_short_throttles_are_no_warning():
    calls = [MadeCall("Fetch", {}, {}, at=step, throttle=0.01) for step in range(10)]
    assert [row[:2] for row in found("THROTTLED", calls)] == [("info", "client billing")]
