"""Ladders: the order of arrows, their labels and participants, and which frames are chosen."""

import pytest
from kit.captures import spoken_capture
from kit.commands import json_of
from kit.traffic import BROKER_END, MILLISECOND, Wire

import kwire_cli
from kwire_cli.analysis.ladder import LONGEST, Ladder
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.model import Data, Endpoint, Start
from kwire_cli.source.request_log.exchange import Reader
from kwire_cli.view.answers import answer_document

CATALOG = kwire_cli.catalog()


def answer_of(subjects, *arguments, **options):
    ladder = Ladder(Redaction(CATALOG), *arguments, **options)
    for subject in subjects:
        ladder.add(subject)
    return ladder.answer()


def labels(*said, **options):
    return [arrow.label for arrow in answer_of(Wire.lines(*said), **options).ladder.arrows]


def connection(number, *said, host=1, at=0):
    """Return the events of a connection on which this is said, one thing a millisecond."""
    end = Endpoint(bytes([10, 0, 0, host]), 50000 + number)
    events = [Start(number, end, BROKER_END, True, at, 1)]
    events += [Data(number, side, data, at + step * MILLISECOND, step) for step, (side, data) in enumerate(said, 1)]
    return events


def beats(count):
    """Return heartbeats and their responses, one after the other."""
    pairs = [((0, Wire.heartbeat(number)), (1, Wire.beat(number))) for number in range(count)]
    return [each for pair in pairs for each in pair]


@pytest.mark.parametrize(
    ("api", "version", "body", "label"),
    [
        ("Metadata", 9, {"topics": [{"name": name} for name in "abc"]}, "Metadata v9 a, b, +1"),
        ("DeleteTopics", 5, {"topicNames": ["a"]}, "DeleteTopics v5 a"),
        ("JoinGroup", 7, {"groupId": "billing"}, "JoinGroup v7 billing"),
        ("SyncGroup", 5, {"groupId": "billing", "generationId": 3}, "SyncGroup v5 billing, generation 3"),
        ("FindCoordinator", 4, {"keyType": 0, "coordinatorKeys": ["a", "b", "c"]}, "FindCoordinator v4 a, b, +1"),
        ("FindCoordinator", 2, {"keyType": 1, "key": "tx"}, "FindCoordinator v2 tx"),
        ("OffsetFetch", 8, {"groups": [{"groupId": "a"}, {"groupId": "b"}]}, "OffsetFetch v8 a, b"),
        ("EndTxn", 3, {"transactionalId": "tx", "committed": False}, "EndTxn v3 tx, abort"),
        ("EndTxn", 3, {"transactionalId": "tx", "committed": True}, "EndTxn v3 tx, commit"),
        ("ConsumerGroupHeartbeat", 0, {"groupId": "g", "memberEpoch": 0}, "ConsumerGroupHeartbeat v0 g, joins"),
        ("ShareGroupHeartbeat", 1, {"groupId": "g", "memberEpoch": -1}, "ShareGroupHeartbeat v1 g, leaves"),
        ("StreamsGroupHeartbeat", 0, {"groupId": "g", "memberEpoch": 4}, "StreamsGroupHeartbeat v0 g, epoch 4"),
        ("SaslHandshake", 1, {"mechanism": "PLAIN"}, "SaslHandshake v1 PLAIN"),
        ("LeaveGroup", 5, {"groupId": "g", "members": [{"reason": "closed"}]}, 'LeaveGroup v5 g, "closed"'),
        ("ApiVersions", 3, {"clientSoftwareName": "java", "clientSoftwareVersion": "4"}, "ApiVersions v3 java 4"),
        ("JoinGroup", 7, {"groupId": "g" * 99}, f"JoinGroup v7 {'g' * (LONGEST - 1)}…"),
    ],
)
def test_a_request_says_what_it_is_about(api, version, body, label):
    assert labels((0, Wire.request(api, version, **body))) == [label]


@pytest.mark.parametrize(
    ("api", "version", "body", "label"),
    [
        ("Heartbeat", 3, {}, "Heartbeat v3"),
        ("Heartbeat", 3, {"errorCode": 27}, "Heartbeat v3 -> REBALANCE_IN_PROGRESS"),
        ("JoinGroup", 7, {"generationId": 3, "memberId": "b", "leader": "a"}, "JoinGroup v7 -> generation 3"),
        (
            "JoinGroup",
            7,
            {"generationId": 3, "memberId": "a", "leader": "a", "members": [{"memberId": "a"}, {"memberId": "b"}]},
            "JoinGroup v7 -> generation 3, leader of 2",
        ),
        ("InitProducerId", 4, {"producerId": 7, "producerEpoch": 0}, "InitProducerId v4 -> producer 7, epoch 0"),
        (
            "Produce",
            9,
            {"throttleTimeMs": 250, "responses": [{"name": "t", "partitionResponses": [{"baseOffset": 41}]}]},
            "Produce v9 -> offset 41, throttled 250 ms",
        ),
        ("FindCoordinator", 2, {"nodeId": 1, "host": "b", "port": 9}, "FindCoordinator v2 -> node 1 b:9"),
        (
            "FindCoordinator",
            4,
            {"coordinators": [{"key": "g", "nodeId": 2, "host": "b", "port": 9}]},
            "FindCoordinator v4 -> node 2 b:9",
        ),
        (
            "SaslHandshake",
            1,
            {"errorCode": 33, "mechanisms": ["PLAIN"]},
            "SaslHandshake v1 -> UNSUPPORTED_SASL_MECHANISM, has PLAIN",
        ),
        (
            "ConsumerGroupHeartbeat",
            0,
            {"memberEpoch": 2, "assignment": {"topicPartitions": [{"partitions": [0, 1]}, {"partitions": [5]}]}},
            "ConsumerGroupHeartbeat v0 -> epoch 2, assigned 3 partitions",
        ),
        ("Metadata", 9, {"brokers": [{"nodeId": 1, "host": "b", "port": 9}]}, "Metadata v9 -> 1 broker"),
    ],
)
def test_a_response_says_what_came_of_it(api, version, body, label):
    request = Wire.request(api, version, **({"acks": 1} if api == "Produce" else {}))
    assert labels((0, request), (1, Wire.response(api, version, **body)))[1] == label


def test_arrows_come_in_the_order_of_time():
    late = connection(0, (0, Wire.heartbeat(1, "late")), (1, Wire.beat(1)), at=5 * MILLISECOND)
    early = connection(1, (0, Wire.heartbeat(1, "early")), (1, Wire.beat(1)))
    arrows = answer_of(traffic(CATALOG, [*late, *early])).ladder.arrows
    assert [arrow.time for arrow in arrows] == sorted(arrow.time for arrow in arrows)
    assert [(arrow.source, arrow.reply) for arrow in arrows[::2]] == [("early", False), ("late", False)]


def test_the_first_arrows_are_shown_and_the_others_counted():
    every = answer_of(Wire.lines(*beats(50)), most=None).ladder
    first = answer_of(Wire.lines(*beats(50)), most=20).ladder
    assert (len(every.arrows), every.note) == (100, "")
    assert first.arrows == every.arrows[:20]
    assert first.note == "… and 80 more; --top 100 shows all"
    nothing = answer_of(Wire.lines(*beats(5)), most=0).ladder
    assert (nothing.arrows, nothing.participants, nothing.note) == ([], [], "… and 10 more; --top 10 shows all")


def test_a_broker_has_its_node_id_also_if_a_later_response_tells_it():
    brokers = [{"nodeId": 3, "host": "10.0.0.2", "port": BROKER_END.port}]
    said = [*beats(1), (0, Wire.request("Metadata", 9, 7)), (1, Wire.response("Metadata", 9, 7, brokers=brokers))]
    assert [person.name for person in answer_of(Wire.lines(*said), most=2).ladder.participants] == ["c", "node 3"]


def test_names_alike_are_told_apart():
    events = [each for at in (1, 2) for each in connection(at, (0, Wire.heartbeat()), host=2 + at)]
    names = [person.name for person in answer_of(traffic(CATALOG, events)).ladder.participants]
    assert names[:2] == ["c 10.0.0.3", "c 10.0.0.4"]
    same = answer_of(Wire.lines((0, Wire.heartbeat(client=str(BROKER_END))))).ladder.participants
    assert len({person.name for person in same}) == 2


def test_a_request_without_an_answer_is_marked_if_its_connection_was_closed(tmp_path):
    said = [(0, Wire.heartbeat(1)), (1, Wire.beat(1)), (0, Wire.heartbeat(2))]
    assert [arrow.level for arrow in answer_of(Wire.lines(*said)).ladder.arrows] == ["", "", ""]  # it is open
    path = tmp_path / "closed.pcap"
    path.write_bytes(spoken_capture(*said))
    last = kwire_cli.sequence(path).ladder.arrows[-1]
    assert (last.label, last.level) == ("Heartbeat v0 g, generation 1 (no answer)", "warning")
    requests = json_of("sequence", path, "--filter", "kind == request")["tables"]["arrows"]
    assert [row["answered"] for row in requests] == [True, False]  # also if the response is not chosen


def test_groups_and_transactional_ids_choose_requests_and_their_responses():
    said = [*beats(1), (0, Wire.request("InitProducerId", 4, 8, transactionalId="tx"))]
    said += [(1, Wire.response("InitProducerId", 4, 8)), (0, Wire.request("Metadata", 9, 9))]

    def apis(*arguments, **options):
        table = answer_of(Wire.lines(*said), *arguments, **options).tables[0]
        return [row["api"] for row in table.to_dicts()]

    assert apis(["g"]) == ["Heartbeat", "Heartbeat"]
    assert apis((), ["tx"]) == ["InitProducerId", "InitProducerId"]
    assert apis(["g"], ["tx"]) == ["Heartbeat", "Heartbeat", "InitProducerId", "InitProducerId"]
    assert apis(["nobody"]) == []
    assert len(apis()) == 5


def test_request_logs_have_arrows_with_their_lines_and_names_of_topics():
    document = {
        "requestHeader": {"requestApiKey": 3, "requestApiVersion": 12, "correlationId": 1, "clientId": "app"},
        "request": {"topics": [{"name": "orders", "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}]},
        "response": {"topics": [], "brokers": []},
        "connection": "10.0.0.2:9092-10.0.0.1:50000-0",
        "totalTimeMs": 5,
    }
    exchange = Reader(CATALOG).exchange(document, 7, None)
    request, response = answer_of([exchange]).tables[0].to_dicts()
    assert (request["line"], request["frame"], request["label"]) == (7, None, "Metadata v12 orders")
    assert (response["from"], response["toAddress"]) == ("10.0.0.2:9092", "10.0.0.1")


def test_programs_get_the_arrows_as_a_table():
    said = [(0, Wire.heartbeat()), (1, Wire.response("Heartbeat", 0, errorCode=27))]
    document = answer_document(answer_of(Wire.lines(*said)))
    request, response = document["tables"]["arrows"]
    assert document["facts"] == {"arrows": 2, "allArrows": 2}
    assert (request["kind"], request["from"], request["toAddress"]) == ("request", "c", str(BROKER_END))
    assert (response["errors"], response["latencySeconds"]) == (["REBALANCE_IN_PROGRESS"], 0.001)
