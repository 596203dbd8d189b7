"""Traffic of two sides: apis, versions, settings, fields and groups of real clients, and of hostile bodies."""

import json

import pytest
from kit.captures import CHOSEN
from kit.commands import ROOT, slow
from kit.logs import document
from kit.traffic import Wire

import kwire_cli
from kwire_cli.analysis.comparison.profiles import Profiles
from kwire_cli.analysis.comparison.traffic import traffic_answer
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.request_log.exchange import Reader
from kwire_cli.source.request_log.reading import RequestLog
from kwire_cli.spec.kafka import API_VERSIONS, FETCH, METADATA
from kwire_cli.view.answers import answer_document

CATALOG = kwire_cli.catalog()
SAMPLES = ROOT / "samples"
REBALANCING = SAMPLES / "incidents" / "rebalancing.pcap"
SLOW = SAMPLES / "incidents" / "slow-fetch.pcap"
SARAMA = SAMPLES / "captures" / "sarama-0.8.2.0-3.9.2.pcapng"
PYTHON = SAMPLES / "captures" / "kafka-python-4.4.0.pcapng"
LOG = SAMPLES / "request-logs" / "kafka-request.log"
JOIN_GROUP, CREATE_TOPICS, ADD_PARTITIONS_TO_TXN, WRITE_TXN_MARKERS, BROKER_HEARTBEAT = 11, 19, 24, 27, 63
AGAINST_ALL = "no client name is on both sides: all clients of A are compared with all clients of B"


def lines(path):
    return traffic(CATALOG, Capture(path))


def profiles_of(subjects):
    found = Profiles(Redaction(CATALOG))
    for subject in subjects:
        found.add(subject)
    found.finish()
    return found


def compared(a, b, by="software"):
    """Return the document of the comparison of two sides, and whether it differs."""
    answer = traffic_answer(a, b, ("a", "b"), by)
    return answer_document(answer), answer.found


def logged(api_key=FETCH, version=12, request=None, time="2026-01-01T00:00:00Z", **more):
    return Reader(CATALOG).exchange(document(api_key, version, request=request or {}, **more), 1, time)


def settings(found):
    return {row["setting"]: (row["a"], row["b"]) for row in found["tables"]["settings"] if row["differs"]}


@pytest.mark.parametrize(
    "path",
    [CHOSEN[0], *(slow(path) for path in CHOSEN[1::2])],
    ids=lambda path: path.name,
)
def test_a_capture_does_not_differ_from_itself(path):
    own = profiles_of(lines(path))
    for by in ("software", "client"):
        document, differs = compared(own, own, by)
        assert not differs
        assert all(count == 0 for count in document["facts"]["differences"].values())
        apis = document["tables"]["apis"]
        assert document["facts"]["compared"]["apis"] == len(apis)
        assert bool(apis) == bool(own.clients("all"))


def test_one_client_with_another_configuration():
    found, differs = compared(profiles_of(lines(REBALANCING)), profiles_of(lines(SLOW)))
    assert differs
    both = settings(found)
    assert {name: both[name] for name in ("Fetch.maxWaitMs", "Fetch.minBytes", "JoinGroup.sessionTimeoutMs")} == {
        "Fetch.maxWaitMs": (["1000"], ["200", "2500"]),
        "Fetch.minBytes": (["1"], ["1", "1000000"]),
        "JoinGroup.sessionTimeoutMs": (["10000"], []),
    }
    apis = {row["api"]: row for row in found["tables"]["apis"]}
    assert (apis["Fetch"]["aVersions"], apis["Fetch"]["bRequests"], apis["Fetch"]["differs"]) == ([12], 37, False)
    assert (apis["JoinGroup"]["aRequests"], apis["JoinGroup"]["bVersions"], apis["JoinGroup"]["differs"]) == (
        16,
        None,
        True,
    )
    assert {row["path"] for row in found["tables"]["fields"]} == {
        "forgottenTopicsData[].topic",
        "forgottenTopicsData[].partitions",
    }
    errors = {(row["api"], row["error"]): (row["aCount"], row["bCount"]) for row in found["tables"]["errors"]}
    assert errors["Heartbeat", "REBALANCE_IN_PROGRESS"] == (6, 0)


def test_all_clients_are_compared_if_no_name_is_on_both_sides():
    found, _ = compared(profiles_of(lines(SARAMA)), profiles_of(lines(PYTHON)))
    assert {row["client"] for row in found["tables"]["apis"]} == {"all clients"}
    assert found["facts"]["differences"]["clients"] == 2
    assert found["notes"] == [AGAINST_ALL]
    assert settings(found)["Produce.acks"] == (["1"], ["-1"])
    assert settings(found)["Produce.timeoutMs"] == (["10000"], ["30000"])
    assert [row["clientIds"] for row in found["tables"]["sides"]] == [
        ["sarama-lab"],
        ["kp-admin", "kp-consumer", "kp-producer"],
    ]


def test_a_log_does_not_differ_from_itself_and_has_no_sizes():
    found, differs = compared(profiles_of(RequestLog(LOG, CATALOG)), profiles_of(RequestLog(LOG, CATALOG)))
    assert not differs
    assert all(row["aRequestBytes"] is None for row in found["tables"]["costs"])
    assert any(row["aLatencyP50Seconds"] for row in found["tables"]["costs"])


@pytest.mark.slow
@pytest.mark.shared
def test_a_capture_and_a_log_of_the_same_traffic_agree_but_for_batches_and_sizes():
    folder = ROOT.parent / "shared" / "real" / "own" / "captures" / "client-franz-go"
    capture, log = (
        profiles_of(lines(folder / "capture.pcapng")),
        RequestLog(folder / "broker-request-log.jsonl.gz", CATALOG),
    )
    found, differs = compared(capture, profiles_of(log))
    assert found["facts"]["differences"]["apis"] == found["facts"]["differences"]["settings"] == 0
    assert {row["setting"] for row in found["tables"]["settings"] if row["differs"] is None} == {
        "Produce.compression",
        "Produce.idempotence",
    }
    assert not differs


def test_a_request_without_a_response_is_counted_once(wire):
    found = profiles_of(wire.lines((0, wire.request("Metadata", 4, topics=None))))
    assert [row["requests"] for row in found.clients("software").values()] == [1]


# Clients of both sides that belong together.


def side(*clients):
    exchanges = []
    for port, (software, client_id) in enumerate(clients, 50000):
        told = {"softwareName": software, "softwareVersion": "1"} if software else None
        exchanges.append(logged(client=client_id, told=told, port=port))
    return profiles_of(exchanges)


def names(a, b, by="software"):
    rows = compared(side(*a), side(*b), by)[0]["tables"]["sides"]
    return {
        name: "".join(row["side"] for row in rows if row["client"] == name) for name in [row["client"] for row in rows]
    }


@pytest.mark.slow
def test_pairs():
    assert names([("java", "a")], [("java", "b")]) == {"java": "ab"}
    everyone = {"all clients": "ab"}
    assert names([("java", "a")], [("kgo", "b")]) == everyone
    assert names([("java", "a"), (None, "x")], [("kgo", "b"), (None, "y")]) == everyone
    assert names([(None, "a")], [(None, "a")]) == everyone
    assert names([("java", "a"), (None, "x")], [("java", "b"), (None, "y"), ("kgo", "z")]) == {
        "(no name)": "ab",
        "java": "ab",
        "kgo": "b",
    }
    assert names([("java", "a"), ("java", "b")], [("kgo", "b"), ("kgo", "c")], "client") == {
        "b": "ab",
        "a": "a",
        "c": "b",
    }


def test_software_is_compared_without_its_version():
    told = [{"softwareName": "java", "softwareVersion": version} for version in ("1", "2")]
    found, _ = compared(*(profiles_of([logged(told=each)]) for each in told))
    assert [(row["client"], row["software"]) for row in found["tables"]["sides"]] == [
        ("java", ["java 1"]),
        ("java", ["java 2"]),
    ]


def test_what_a_client_asks_before_it_says_its_software_is_its_own():
    found = side((None, "a"), ("java", "a")).clients("software")
    assert {name: row["requests"] for name, row in found.items()} == {"java": 2}


def test_a_client_on_one_side_is_a_difference():
    found, differs = compared(side(("java", "a"), ("kgo", "b")), side(("java", "a")))
    assert differs
    assert found["facts"]["differences"] == {"clients": 1, "apis": 0, "settings": 0, "fields": 0}
    assert found["facts"]["notCompared"] == {"clients": 1}
    assert found["notes"] == ["not compared: 1 client that only one side has"]


# Connections of brokers and controllers.


@pytest.mark.parametrize(
    ("api_key", "client", "body"),
    [
        slow(WRITE_TXN_MARKERS, "broker-1-txn-marker-sender", {}),
        slow(BROKER_HEARTBEAT, "1", {}),
        (FETCH, "x", {"replicaId": 1}),
        slow(FETCH, "x", {"replicaState": {"replicaId": 1}}),
        slow(ADD_PARTITIONS_TO_TXN, "AddPartitionsManager-client-1", {}),
        (METADATA, "broker-1-fetcher-0", {}),
    ],
)
def test_connections_of_brokers_are_counted_apart(api_key, client, body):
    told = {"softwareName": "apache-kafka-java", "softwareVersion": "4.4.0"}
    found = profiles_of(
        [
            logged(API_VERSIONS, 4, client=client, told=told, port=1),
            logged(API_VERSIONS, 4, client="app", told=told, port=2),
            logged(api_key, 0, body, client=client, told=told, port=1),
            logged(METADATA, 12, client=client, told=told, port=1),
            logged(FETCH, 12, {"replicaId": -1}, client="app", told=told, port=2),
        ]
    )
    assert found.broker_requests == 3
    assert [row["requests"] for row in found.clients("client").values()] == [2]
    document, differs = compared(found, side(("apache-kafka-java", "app")))
    assert differs  # in ApiVersions
    assert document["facts"]["notCompared"]["requests of brokers"] == 3
    assert document["notes"][-1] == "left out: 3 requests of brokers and controllers (3 of A, 0 of B)"


def test_an_application_that_ends_a_transaction_is_no_broker():
    found = profiles_of([logged(WRITE_TXN_MARKERS, 1, client="admin-1"), logged(METADATA, 12, client="admin-1")])
    assert (found.broker_requests, [*found.clients("client")]) == (0, ["admin-1"])


def test_all_connections_are_a_brokers_if_its_node_id_is_the_client_id():
    exchanges = [logged(CREATE_TOPICS, 7, client="2", port=1), logged(BROKER_HEARTBEAT, 1, client="2", port=2)]
    found = profiles_of(exchanges)
    assert (found.broker_requests, found.clients("all")) == (2, {})


@pytest.mark.slow
@pytest.mark.shared
def test_clients_that_say_no_software_are_compared_with_those_of_another_one():
    folder = ROOT.parent / "shared" / "defects" / "questions"
    found, differs = compared(*(profiles_of(lines(folder / name)) for name in ("a-rdk.pcapng", "b-kafkajs.pcapng")))
    assert differs
    assert found["facts"]["differences"] == {"clients": 2, "apis": 3, "settings": 5, "fields": 2}
    assert [(row["api"], row["aVersions"], row["bVersions"]) for row in found["tables"]["apis"]] == [
        ("Produce", None, [7]),
        ("ApiVersions", [3], [2]),
        ("AddPartitionsToTxn", [0], [1]),
    ]
    assert found["notes"] == [AGAINST_ALL, "left out: 40 requests of brokers and controllers (30 of A, 10 of B)"]


# Settings and fields.


def shown(*exchanges):
    """Return the settings that requests show, with their values."""
    found = profiles_of(exchanges)
    rows = compared(found, found)[0]["tables"]["settings"]
    return {row["setting"]: row["a"] for row in rows}


def test_the_end_of_a_fetch_session_says_nothing_of_configuration():
    body = {"maxWaitMs": 1, "sessionId": 7, "sessionEpoch": -1}
    assert shown(logged(request=body)).get("Fetch.maxWaitMs") is None
    assert shown(logged(request=body | {"sessionId": 0}))["Fetch.maxWaitMs"] == ["1"]


def test_settings_in_arrays_and_of_presence():
    partitions = [{"partitionMaxBytes": 5}, {"partitionMaxBytes": 5}, {}]
    body = {"topics": [{"partitions": partitions}], "rackId": "r1"}
    assert shown(logged(request=body)) == {
        "Fetch.topics[].partitions[].partitionMaxBytes": ["5"],
        "Fetch.rackId": ["yes"],
    }
    assert shown(logged(version=10, request={"maxWaitMs": 7})) == {"Fetch.maxWaitMs": ["7"]}
    join = {"protocols": [{"name": "range"}, {"name": "sticky"}, {}], "groupInstanceId": None}
    assert shown(logged(JOIN_GROUP, 7, join)) == {
        "JoinGroup.groupInstanceId": ["no"],
        "JoinGroup.protocols[].name": ["range, sticky"],
    }


def test_texts_are_not_told():
    found = profiles_of([logged(request={"rackId": "secret", "topics": [{"topic": "t-secret"}]})])
    document, _ = compared(found, side(("apache-kafka-java", "c")))
    assert {row["path"] for row in document["tables"]["fields"]} == {"rackId", "topics[].topic"}
    assert "secret" not in json.dumps(document)


HOSTILE = [
    {},
    {"topics": None, "topicData": 7, "protocols": "x", "groupId": [], "memberId": {}},
    {"topics": [None, 1, {"partitions": [[], {"partitionMaxBytes": {}}]}], "acks": [], "maxWaitMs": {"a": 1}},
    {"topicData": [{"name": [], "partitionData": [{"index": "x"}, None]}], "memberEpoch": "x", "acks": True},
    {"protocols": [{"name": None}, {}], "rackId": [], "sessionId": {}, "sessionEpoch": [], "isolationLevel": 1e400},
    {f"key{number}": number for number in range(1000)},
]


@pytest.mark.parametrize("body", [HOSTILE[2], *(slow(each) for each in HOSTILE if each is not HOSTILE[2])])
def test_hostile_bodies(body):
    exchanges = [
        logged(key, 0, request=body, response=response)
        for key in (*range(14), 68, 76, 78, 88, 999)
        for response in (body, None, {"generationId": "x", "memberEpoch": []})
    ]
    document, _ = compared(profiles_of(exchanges), side(("java", "a")))
    assert json.dumps(document)


def test_forwarded_requests_are_no_clients():
    assert not profiles_of([logged(forwarded=True)]).clients("all")


def test_members_of_groups_of_the_newer_protocol():
    exchanges = []
    for second, epoch in ((1, 0), (2, 1), (4, 1), (5, -1)):
        body = {
            "groupId": "g",
            "memberId": "m",
            "memberEpoch": epoch,
            "rebalanceTimeoutMs": 300000 if epoch == 0 else -1,
        }
        response = {"errorCode": 0, "memberEpoch": 1}
        exchanges.append(logged(68, 1, body, f"2026-01-01T00:00:0{second}Z", response=response))
    own = profiles_of(exchanges)
    found, _ = compared(own, own)
    rows = {row["setting"]: row["a"] for row in found["tables"]["settings"]}
    assert rows["ConsumerGroupHeartbeat.rebalanceTimeoutMs"] == ["300000"]


def notes(a, b):
    return compared(a, b)[0]["notes"]


def test_requests_that_cannot_be_read_are_not_compared():
    same = "the same clients, apis, versions, set fields and configuration"
    whole = Wire.request("Metadata", 12)
    cut = (len(whole) - 6).to_bytes(4, "big") + whole[4:-2]
    assert notes(*(profiles_of(Wire.lines((0, whole))) for _ in range(2))) == [AGAINST_ALL, same]
    unread = "2 requests could not be read: fields and settings in them are not compared"
    assert notes(*(profiles_of(Wire.lines((0, cut))) for _ in range(2))) == [AGAINST_ALL, unread]
    found, differs = compared(*(profiles_of(Wire.lines((0, data))) for data in (whole, cut)))
    assert not differs  # what the cut request says nobody knows
    assert found["facts"]["compared"]["settings"] == 0
    assert found["facts"]["notCompared"] == {"settings": 1, "unread requests": 1}


def test_settings_with_many_values_are_not_compared():
    sides = [profiles_of(logged(request={"maxWaitMs": wait + side}) for wait in range(20)) for side in (0, 50)]
    assert notes(*sides) == ["not compared (more than 8 values, or a side that cannot show all): 1 setting"]
