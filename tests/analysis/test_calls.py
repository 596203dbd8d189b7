"""Calls: a request with its response, the same from captures and request logs."""

import pytest
from kit.commands import ROOT
from kit.traffic import BROKER_END, CATALOG, CLIENT_END, Wire

from kwire_cli.analysis.call import instant, moment, parts, zone_of
from kwire_cli.analysis.calls import Calls, LoggedCall
from kwire_cli.questions.sentence import duration
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.opening import open_input
from kwire_cli.source.packets.model import Data, End, Start
from kwire_cli.source.reading import Reading
from kwire_cli.spec.catalog import catalog

SAMPLES = ROOT / "samples"


def calls_of(name):
    calls = Calls()
    for line in open_input(SAMPLES / name, Reading(catalog=catalog())).subjects():
        if line.is_frame:
            yield from calls.add(line)
    yield from calls.end()


def test_a_call_has_both_bodies():
    call = next(call for call in calls_of("incidents/sasl.pcap") if call.api == "SaslHandshake" and call.errors)
    assert (call.api_key, call.version, call.client_id, call.who) == (17, 1, "billing", "billing")
    assert (call.client, call.broker) == ("127.0.0.1:52266", "127.0.0.1:29092")
    assert call.request == {"mechanism": "SCRAM-SHA-512"}
    assert call.response == {"errorCode": 33, "mechanisms": ["PLAIN"]}
    assert call.errors == ["UNSUPPORTED_SASL_MECHANISM"]
    assert call.latency == 0.301422
    assert call.sizes == (36, 21)
    assert call.evidence().to_json() == {
        "what": "SaslHandshake response",
        "time": "2026-11-23T15:22:03.164039Z",
        "frame": 10,
        "stream": 1,
        "packet": 27,
    }
    assert call.evidence(of_request=True).frame == 9


def test_requests_without_answers_come_last():
    calls = [*calls_of("incidents/sasl.pcap")]
    unanswered = [call for call in calls if call.response is None]
    assert calls[-len(unanswered) :] == unanswered
    assert len(unanswered) == 14
    assert {call.answered for call in unanswered} == {None}


def test_a_call_for_which_its_connection_waits_is_not_given_up(monkeypatch):
    monkeypatch.setattr("kwire_cli.analysis.calls.MOST_PENDING", 4)
    asked = [(0, Wire.request("Heartbeat", 0, number)) for number in range(40)]
    told = [(1, Wire.response("Heartbeat", 0, number)) for number in range(40)]
    calls = Calls()
    complete = [call for line in Wire.lines(*asked, *told) for call in calls.pair(line)]
    assert [(call.line.number, call.answer.number) for call in complete] == [(at, 40 + at) for at in range(1, 41)]
    assert [*calls.end()] == []


def test_calls_of_connections_that_ended_are_given_up(monkeypatch):
    monkeypatch.setattr("kwire_cli.analysis.calls.MOST_PENDING", 4)
    frame, events = Wire.request("Heartbeat"), []
    for number in range(100):
        events += [Start(number, CLIENT_END, BROKER_END, True, 0, 1), Data(number, 0, frame, 0, 3 * number)]
        events += [End(number, "reset", 0, 3 * number + 1)]
    calls, complete = Calls(), []
    for line in traffic(CATALOG, events):
        complete += calls.pair(line)
        assert calls._count <= 5
    complete += calls.end()
    assert sorted(call.line.number for call in complete) == [*range(1, 101)]


def test_topics_have_names():
    produce = next(call for call in calls_of("incidents/any.pcap") if call.api == "Fetch" and call.response)
    names = {produce.topic(topic) for (topic,) in parts(produce.request, "topics")}
    assert names <= set(produce.topics)


def test_logged_calls_are_as_captured_ones():
    log = open_input(SAMPLES / "request-logs/kafka-request.log", Reading(catalog=catalog()))
    calls = [LoggedCall(exchange, "x.log") for exchange in log.subjects()]
    call = next(call for call in calls if call.api == "Metadata")
    assert call.asked is not None
    assert call.latency == round(call.exchange.total_ms / 1000, 9)
    assert call.response["brokers"][0]["port"]
    assert call.evidence().to_json() == {
        "what": "Metadata", "time": call.exchange.time, "file": "x.log", "line": call.exchange.line,
    }  # fmt: skip


@pytest.mark.parametrize(
    "body", [None, {}, {"topics": None}, {"topics": 1}, {"topics": [None, 1, "x"]}, {"topics": [{"partitions": {}}]}]
)
def test_parts_skip_whatever_is_not_as_it_should_be(body):
    assert [*parts(body, "topics", "partitions")] == []


def test_parts_come_with_what_is_around_them():
    body = {"topics": [{"name": "a", "partitions": [{"p": 0}, {"p": 1}]}, {"name": "b", "partitions": [{"p": 2}]}]}
    assert [(topic["name"], part["p"]) for topic, part in parts(body, "topics", "partitions")] == [
        ("a", 0), ("a", 1), ("b", 2),
    ]  # fmt: skip


def test_times_go_both_ways():
    assert instant(moment("2026-11-23T15:22:03.164039Z")) == "2026-11-23T15:22:03.164039Z"
    assert instant(moment("2026-11-23T15:22:03.164039")) == "2026-11-23T15:22:03.164039"
    assert moment("2026-11-23T15:22:03+01:00") == moment("2026-11-23T14:22:03") == moment("2026-11-23T14:22:03Z")
    assert (zone_of("2026-11-23T14:22:03Z"), zone_of("2026-11-23T14:22:03Z", "2026-11-23T14:22:03")) == (" UTC", "")
    assert moment("no time") is None
    assert moment(None) is instant(None) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"),
        (4e-8, "0.04 µs"),
        (0.00045, "450 µs"),
        (0.012, "12 ms"),
        (0.9999, "1.0 s"),
        (1.94, "1.9 s"),
        (104, "104.0 s"),
        (300, "5 min"),
        (303.4, "5 min 3 s"),
        (3601, "1 h"),
        (7500, "2 h 5 min"),
        (34_560_012, "400 days"),
    ],
)
def test_durations_have_the_unit_that_fits(seconds, text):
    assert duration(seconds) == text
