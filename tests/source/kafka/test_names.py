import base64

import pytest

from kwire_cli.source.kafka import captured as known
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.model import Data, Endpoint, Start

ORDERS, PAYMENTS = (base64.urlsafe_b64encode(bytes(15) + bytes([n])).decode()[:-2] for n in (2, 3))
METADATA_LOG = base64.urlsafe_b64encode(bytes(15) + b"\x01").decode()[:-2]


def fetch(wire, correlation, session=0, epoch=0, topics=(), forgotten=(), version=13):
    key = "topicId" if version >= 13 else "topic"
    asked = [{key: topic, "partitions": [{"partition": 0}]} for topic in topics]
    left = [{key: topic, "partitions": [0]} for topic in forgotten]
    body = {"sessionId": session, "sessionEpoch": epoch, "topics": asked, "forgottenTopicsData": left}
    return 0, wire.request("Fetch", version, correlation, **body)


def fetched(wire, correlation, session=0, version=13):
    return 1, wire.response("Fetch", version, correlation, sessionId=session, responses=[])


def named(wire, correlation, *topics):
    found = [{"name": name, "topicId": topic, "partitions": []} for topic, name in topics]
    brokers = [{"nodeId": 1, "host": "broker.example", "port": 9092, "rack": None}]
    answer = wire.response("Metadata", 12, correlation, clusterId=None, brokers=brokers, topics=found)
    return [(0, wire.request("Metadata", 12, correlation, topics=None)), (1, answer)]


def events(said):
    yield Start(0, Endpoint(bytes(4), 1), Endpoint(bytes(4), 2), True, 0, 1)
    for number, (side, data) in enumerate(said, 2):
        yield Data(0, side, data, number, number)


def topics(lines):
    return [line.topics for line in lines]


def test_the_id_that_is_always_the_same_needs_no_message_that_tells_it(wire):
    assert topics(wire.lines(fetch(wire, 1, topics=[METADATA_LOG]), fetched(wire, 1))) == [["__cluster_metadata"]] * 2


def test_a_topic_id_keeps_its_name_whatever_a_wrong_request_calls_it(wire):
    asked = wire.request("DeleteTopics", 6, 2, topics=[{"name": "other", "topicId": ORDERS}], timeoutMs=1)
    refused = [{"name": "other", "topicId": ORDERS, "errorCode": 42, "errorMessage": "not both name and id"}]
    answered = wire.response("DeleteTopics", 6, 2, responses=refused)
    lines = wire.lines(*named(wire, 1, (ORDERS, "orders")), (0, asked), (1, answered), fetch(wire, 3, topics=[ORDERS]))
    assert topics(lines)[-1] == ["orders"]


def test_a_topic_id_is_looked_for_ahead_where_the_capture_can_be_read_again(wire):
    said = [fetch(wire, 1, topics=[ORDERS]), fetched(wire, 1), *named(wire, 2, (ORDERS, "orders"))]

    def shown(again):
        return [line.topics for line in traffic(wire.catalog, events(said), again=again)]

    assert shown(None) == [[ORDERS], [ORDERS], [], ["orders"]]
    read = []
    assert shown(lambda: read.append(1) or events(said)) == [["orders"], ["orders"], [], ["orders"]]
    assert read == [1]


def test_software_brokers_throttling_and_requests_in_flight(wire):
    hello = wire.request("ApiVersions", 3, 1, clientSoftwareName="librdkafka", clientSoftwareVersion="2.6.0")
    brokers = [{"nodeId": 7, "host": "10.0.0.2", "port": 9092, "rack": None}]
    lines = wire.lines(
        (0, hello),
        (0, wire.request("Metadata", 12, 2, topics=None)),
        (0, wire.request("Heartbeat", 3, 3, groupId="g", memberId="m")),
        (1, wire.response("ApiVersions", 3, 1)),
        (1, wire.response("Metadata", 12, 2, clusterId=None, brokers=brokers)),
        (1, wire.response("Heartbeat", 3, 3, throttleTimeMs=250)),
    )
    assert [line.seen.in_flight for line in lines] == [1, 2, 3, None, None, None]
    assert {line.software for line in lines} == {"librdkafka 2.6.0"}
    assert lines[-1].broker == 7
    assert [line.throttle for line in lines] == [None, None, None, 0, 0, 250]


@pytest.mark.parametrize("version", [12, 13])
def test_an_empty_fetch_counts_for_the_topics_of_its_session(wire, version):
    one, two = (ORDERS, PAYMENTS) if version >= 13 else ("orders", "payments")
    know = named(wire, 1, (ORDERS, "orders"), (PAYMENTS, "payments"))
    said = [fetch(wire, 2, 0, 0, [one], version=version), fetched(wire, 2, 77, version)]  # makes the session
    said += [fetch(wire, 3, 77, 1, version=version), fetched(wire, 3, 77, version)]  # all as before
    said += [fetch(wire, 4, 77, 2, [two], version=version), fetched(wire, 4, 77, version)]  # adds a topic
    said += [fetch(wire, 5, 77, 3, forgotten=[one], version=version), fetched(wire, 5, 77, version)]  # forgets one
    said += [fetch(wire, 6, 77, 4, version=version), fetched(wire, 6, 77, version)]
    seen = [set(found) for found in topics(wire.lines(*know, *said))[2:]]
    assert seen[:4] == [{"orders"}] * 4
    assert seen[4:6] == [{"orders", "payments"}] * 2
    assert seen[8:] == [{"payments"}] * 2


def test_of_many_fetch_sessions_the_oldest_are_forgotten(wire, monkeypatch):
    monkeypatch.setattr(known, "MOST_SESSIONS", 2)
    said = []
    for session in (1, 2, 1, 3):  # 1 is in use when 3 begins, so 2 is the oldest
        begun = any(each[0] == session for each in said)
        how = {"session": session, "epoch": 1} if begun else {"topics": [f"topic-{session}"]}
        said.append((session, fetch(wire, session, **how, version=7)))
        said.append((session, fetched(wire, session, session, version=7)))
    said += [(session, fetch(wire, 10 + session, session, 5, version=7)) for session in (1, 2, 3)]
    assert topics(wire.lines(*(each for _, each in said)))[-3:] == [["topic-1"], [], ["topic-3"]]


def test_of_many_names_the_oldest_are_forgotten(wire, monkeypatch):
    monkeypatch.setattr(known, "MOST_NAMES", 2)
    said = named(wire, 1, (ORDERS, "orders")) + named(wire, 2, (PAYMENTS, "payments"))
    lines = wire.lines(*said, fetch(wire, 3, topics=[PAYMENTS, METADATA_LOG]))
    assert topics(lines)[-1] == ["payments", METADATA_LOG]
    assert len(lines[-1].names.topics) == 2
