"""Slow brokers and controllers."""

from kit.calls import MadeCall, findings, first

from kwire_cli.analysis.diagnosis.speed import Speed


def produce(took, broker, count=60, pause=0.1, api="Produce", **call):
    return [MadeCall(api, {}, {}, at=pause * step, took=took, broker=broker, **call) for step in range(count)]


def test_a_broker_slower_than_its_peers():
    calls = [*produce(0.2, "b1:9092", node=1), *produce(0.005, "b2:9092"), *produce(0.006, "b3:9092")]
    (row,) = findings(Speed, calls)
    assert row[:3] == ("SLOW_BROKER", "warning", "broker b1:9092 (node 1)")
    assert row[3].startswith("Produce: 95 % take ")


def test_a_broker_that_stands_still_in_short_turns():
    code, severity, subject, text, frames = first("incidents/slow-broker.pcap")
    assert (code, severity, subject) == ("SLOW_BROKER", "warning", "broker 127.0.0.1:29094")
    assert text == "Produce: 95 % take 66 ms at most (52 calls), at the others 19 ms"
    assert frames[:4] == [6, 30, 60, 84]


def test_brokers_alone_or_with_few_calls_have_no_peers():
    assert findings(Speed, produce(0.2, "b1:9092")) == []
    assert findings(Speed, [*produce(0.2, "b1:9092"), *produce(0.005, "b2:9092", 20)]) == []


def test_a_few_milliseconds_are_no_finding():
    assert findings(Speed, [*produce(0.010, "b1:9092"), *produce(0.001, "b2:9092")]) == []


def test_waiting_on_purpose_is_not_slow():
    calls = [*produce(0.5, "b1:9092", api="Fetch"), *produce(0.001, "b2:9092", api="Fetch")]
    assert findings(Speed, calls) == []
    behind = [*produce(0.5, "b1:9092", api="Metadata"), *produce(0.001, "b2:9092", api="Metadata")]
    assert [code for code, *_ in findings(Speed, behind)] == ["SLOW_BROKER"]
    for call in behind:
        call.values["delayed"] = True
    assert findings(Speed, behind) == []


def test_requests_that_a_quota_holds_back_do_not_count():
    held = [MadeCall("Produce", {}, {}, at=3 * step, took=2.0, broker="b1:9092", throttle=2.5) for step in range(60)]
    told = findings(Speed, [*held, *produce(0.001, "b2:9092")])
    assert told == []


def test_a_controller_that_is_late():
    calls = [MadeCall("BrokerHeartbeat", {}, {}, at=3 * step, took=2.5, broker="c1:9093") for step in range(3)]
    calls += [MadeCall("CreateTopics", {}, {}, at=20, took=1, broker="c1:9093", errors=["REQUEST_TIMED_OUT"])]
    (row,) = findings(Speed, calls)
    assert row == (
        "CONTROLLER_OVERLOAD", "warning", "controller c1:9093",
        "4 requests (BrokerHeartbeat 3, CreateTopics 1) were slow or late, 2.5 s at most; 1 REQUEST_TIMED_OUT",
    )  # fmt: skip


def test_a_controller_that_stands_still():
    code, severity, subject, text, frames = first("incidents/slow-controller.pcap", "CONTROLLER_OVERLOAD")
    assert (code, severity, subject) == ("CONTROLLER_OVERLOAD", "warning", "controller 127.0.0.1:29293")
    assert text == "4 requests (BrokerHeartbeat 4) were slow or late, 5.8 s at most; 2 waited at a time"
    assert frames == [51, 52, 92, 95]


def test_a_broker_that_forwards_is_not_called_a_controller():
    calls = [MadeCall("CreateTopics", {}, {}, at=step, took=20, broker="b1:9092") for step in range(3)]
    assert [row[2] for row in findings(Speed, calls)] == ["broker b1:9092"]
    calls += [MadeCall("Envelope", {}, {}, at=1, took=20, broker="b1:9092")]
    assert [row[2] for row in findings(Speed, calls)] == ["controller b1:9092"]


def test_requests_that_wait_behind_each_other():
    calls = [MadeCall("AlterPartition", {}, {}, at=0.1 * step, took=5, broker="c1:9093") for step in range(30)]
    (row,) = findings(Speed, calls)
    assert row[3] == "30 requests (AlterPartition 30) were slow or late, 5.0 s at most; 30 waited at a time"


def test_topics_may_take_a_while():
    assert findings(Speed, [MadeCall("CreateTopics", {}, {}, at=step, took=3) for step in range(9)]) == []
