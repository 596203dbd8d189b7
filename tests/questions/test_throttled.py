"""Clients that brokers make wait because of a quota."""

from kit.calls import MadeCall, exchanges, found, rows


def test_short_throttles_are_no_warning():
    calls = [MadeCall("Fetch", {}, {}, at=step, throttle=0.01) for step in range(10)]
    assert [row[:2] for row in found("THROTTLED", calls)] == [("info", "client billing")]


def test_a_quota_of_the_controller_accounts_for_its_error():
    topics = [{"name": "orders", "errorCode": 89, "errorMessage": None}]
    refused = ("CreateTopics", 7, {"topics": []}, {"throttleTimeMs": 4000, "topics": topics}, 1)
    found_by = rows(exchanges(refused), {"THROTTLED", "REQUESTS_FAIL"})
    assert [row["code"] for row in found_by] == ["THROTTLED"]
    assert "controller_mutation_rate" in found_by[0]["advice"]
