"""Coordinators that are not found."""

import pytest
from kit.calls import MadeCall, findings, first

from kwire_cli.analysis.diagnosis.coordinators import Coordinators


def lost(at, api="FindCoordinator", error="COORDINATOR_NOT_AVAILABLE", **request):
    return MadeCall(api, request or {"coordinatorKeys": ["billing"]}, {}, at=at, errors=[error])


@pytest.mark.parametrize(
    ("pause", "count", "expected"),
    [
        (0.1, 5, [("COORDINATOR_LATE", "info")]),
        (1.0, 5, [("COORDINATOR_NOT_FOUND", "warning")]),
        (10.0, 5, [("COORDINATOR_NOT_FOUND", "error")]),
    ],
)
def test_loops(pause, count, expected):
    told = findings(Coordinators, [lost(pause * step) for step in range(count)])
    assert [(code, level) for code, level, *_ in told] == expected


def test_a_coordinator_that_came_late():
    calls = [lost(step * 10) for step in range(5)]
    calls.append(MadeCall("JoinGroup", {"groupId": "billing"}, {"errorCode": 0}, at=50))
    (row,) = findings(Coordinators, calls)
    assert row[:2] == ("COORDINATOR_NOT_FOUND", "warning")
    assert row[3] == (
        "5 answers (FindCoordinator) for billing in 40.0 s: COORDINATOR_NOT_AVAILABLE; "
        "the coordinator answered afterwards"
    )


@pytest.mark.parametrize(
    "request_",
    [{"key": "billing"}, {"groupId": "billing"}, {"groups": [{"groupId": "billing"}]}, {"transactionalId": "billing"}],
)
def test_names_of_what_is_asked_for(request_):
    calls = [lost(step, "OffsetFetch", "NOT_COORDINATOR", **request_) for step in range(5)]
    (row,) = findings(Coordinators, calls)
    assert row[3] == "5 answers (OffsetFetch) for billing in 4.0 s: NOT_COORDINATOR"


def test_a_coordinator_topic_that_cannot_be_made():
    """A cluster of one broker with offsets.topic.replication.factor=3."""
    code, severity, subject, text, frames = first("incidents/no-coordinator.pcap")
    assert (code, severity, subject) == ("COORDINATOR_NOT_FOUND", "error", "client worker-1")
    assert text == "36 answers (FindCoordinator) for payment-workers in 34.0 s: COORDINATOR_NOT_AVAILABLE"
    assert frames[:3] == [6, 12, 14]


def test_the_first_request_of_a_new_cluster():
    code, severity, subject, text, _ = first("incidents/strimzi-broker.log")
    assert (code, severity, subject) == ("COORDINATOR_LATE", "info", "client packing")
    assert text == (
        "1 answer (FindCoordinator) for packing: COORDINATOR_NOT_AVAILABLE; the coordinator answered afterwards"
    )
