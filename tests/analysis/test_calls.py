"""Calls that replays see: a request with its response from the tables, the same from captures and request logs."""

from itertools import groupby

import pytest
from kit.calls import CATALOG, asked, exchanges, subjects
from kit.commands import ROOT

from kwire_cli.analysis.call import instant, parts, zone_of
from kwire_cli.analysis.calls import calls_in, calls_query
from kwire_cli.facts.memory import Tables
from kwire_cli.message.redaction import Redaction
from kwire_cli.questions.sentence import duration
from kwire_cli.spec.catalog import catalog

INCIDENTS = ROOT / "samples" / "incidents"


def calls(apis, given, where="true", definitions=CATALOG):
    query = calls_query(apis, where)
    tables = asked(Tables(Redaction(definitions), [query]), given)
    tables.finish()
    found = [*calls_in(tables, query)]
    tables.close()
    return found


def test_a_call_has_both_bodies():
    found = calls({"SaslHandshake"}, subjects(INCIDENTS / "sasl.pcap"))
    call = next(call for call in found if call.errors)
    assert (call.api, call.version, call.who) == ("SaslHandshake", 1, "billing")
    assert (call.host, call.broker, call.node) == ("127.0.0.1", "127.0.0.1:29092", None)
    assert call.request == {"mechanism": "SCRAM-SHA-512"}
    assert call.response == {"errorCode": 33, "mechanisms": ["PLAIN"]}
    assert call.errors == ["UNSUPPORTED_SASL_MECHANISM"]
    assert call.answered - call.asked == pytest.approx(0.301422, abs=2e-6)
    assert call.place == call.response_place
    assert call.place.to_json() == {
        "what": "SaslHandshake response",
        "time": "2026-11-23T15:22:03.164039Z",
        "frame": 10,
        "stream": 1,
        "file": str(INCIDENTS / "sasl.pcap"),
        "packet": 27,
    }
    assert call.request_place.frame == 9


def test_calls_come_when_they_are_complete():
    found = calls({"ApiVersions", "SaslHandshake"}, subjects(INCIDENTS / "sasl.pcap"))
    times = [call.answered or call.asked for call in found]
    assert times == sorted(times)
    unanswered = [call for call in found if call.response is None]
    assert {(call.answered, call.place) for call in unanswered} == {(None, call.request_place) for call in unanswered}


def test_a_condition_chooses_calls():
    found = calls({"SaslHandshake", "ApiVersions"}, subjects(INCIDENTS / "sasl.pcap"), "len(c.errors) > 0")
    assert {(call.api, *call.errors) for call in found} == {("SaslHandshake", "UNSUPPORTED_SASL_MECHANISM")}


def test_topics_have_names():
    found = calls({"Fetch"}, subjects(INCIDENTS / "any.pcap"))
    names = {call.topic(topic) for call in found for (topic,) in parts(call.request, "topics")}
    assert names == {"orders"}


def test_a_produce_request_has_its_batches():
    found = calls({"Produce"}, subjects(INCIDENTS / "out-of-order.pcap"))
    batches = [batch for call in found for batch in call.batches]
    assert {(batch["topic"], batch["partition"], batch["records"], batch["size"]) for batch in batches} == {
        ("meters", 0, 1, 77)
    }
    epochs = [batch["producer_epoch"] for batch in batches]
    assert [(epoch, len([*of_one])) for epoch, of_one in groupby(epochs)] == [(0, 7), (1, 3)]
    (logged,) = calls({"Produce"}, exchanges(("Produce", 9, {"topicData": []}, {}, 0)))
    assert logged.batches == []


def test_calls_of_a_request_log_have_the_time_that_the_broker_took():
    path = ROOT / "samples/request-logs/kafka-request.log"
    call = next(call for call in calls({"Metadata"}, subjects(path)) if call.response)
    assert call.answered - call.asked == pytest.approx(0.086912, abs=2e-6)
    assert call.response["brokers"][0]["port"]
    assert (call.place.frame, call.place.stream, call.place.line > 0) == (None, None, True)


def test_times_of_a_clock_without_a_zone_are_shown_without_one():
    (call,) = calls({"Heartbeat"}, exchanges(("Heartbeat", 4, {"groupId": "g"}, {"errorCode": 0}, 0)))
    assert instant(call.answered, is_local=True) == call.place.time == "2026-11-21T10:00:00.000000"


def test_definitions_that_lack_an_api_have_no_calls_of_it():
    found = calls({"Heartbeat", "ShareFetch"}, subjects(INCIDENTS / "commits.pcap"), definitions=catalog("3.6"))
    assert {call.api for call in found} == {"Heartbeat"}


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


def test_a_time_without_a_zone_has_no_z():
    assert instant(1795447323.164039) == "2026-11-23T15:22:03.164039Z"
    assert instant(1795447323.164039, is_local=True) == "2026-11-23T15:22:03.164039"
    assert instant(None) is None
    assert (zone_of("2026-11-23T14:22:03Z"), zone_of("2026-11-23T14:22:03Z", "2026-11-23T14:22:03")) == (" UTC", "")


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
