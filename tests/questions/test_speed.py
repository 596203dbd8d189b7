"""Slow brokers and controllers."""

from kit.calls import MadeCall, found


def produce(took, broker, count=60, pause=0.3, api="Produce", **call):
    return [MadeCall(api, {}, {}, at=pause * step, took=took, broker=broker, **call) for step in range(count)]


def test_a_broker_slower_than_its_peers():
    calls = [*produce(0.2, "b1:9092", node=1), *produce(0.005, "b2:9092"), *produce(0.006, "b3:9092")]
    calls += [*produce(0.1, "b1:9092", api="Metadata", node=1), *produce(0.001, "b2:9092", api="Metadata")]
    (row,) = found("SLOW_BROKER", calls)
    assert row[:3] == (
        "warning", "broker b1:9092 (node 1)",
        "Metadata: it takes up to 100 ms for 95 % of 60 calls, the others 1 ms; also slower at Produce",
    )  # fmt: skip


def test_brokers_alone_or_with_few_calls_have_no_peers():
    assert found("SLOW_BROKER", produce(0.2, "b1:9092")) == []
    assert found("SLOW_BROKER", [*produce(0.2, "b1:9092"), *produce(0.005, "b2:9092", 20)]) == []


def test_a_few_milliseconds_are_no_finding():
    assert found("SLOW_BROKER", [*produce(0.010, "b1:9092"), *produce(0.001, "b2:9092")]) == []


def test_waiting_on_purpose_is_not_slow():
    calls = [*produce(0.25, "b1:9092", api="Metadata"), *produce(0.001, "b2:9092", api="Metadata")]
    assert len(found("SLOW_BROKER", calls)) == 1
    for call in calls:
        call.delayed = True
    assert found("SLOW_BROKER", calls) == []


def test_the_time_behind_other_requests_does_not_count():
    behind = produce(6, "b1:9092", pause=0.01)
    for number, call in enumerate(behind):
        call.answered = behind[0].answered + 0.001 * number
    assert found("SLOW_BROKER", [*behind, *produce(0.001, "b2:9092")]) == []


def test_the_time_that_a_quota_takes_does_not_count():
    held = [MadeCall("Produce", {}, {}, at=3 * step, took=2.0, broker="b1:9092", throttle=2.995) for step in range(60)]
    assert found("SLOW_BROKER", [*held, *produce(0.001, "b2:9092")]) == []
