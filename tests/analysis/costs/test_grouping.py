"""Whose bytes are whose: each grouping against what the messages themselves say."""

import pytest

import kwire_cli as kwire
from kwire_cli.analysis.costs.overhead import Overhead
from kwire_cli.facts.costs.columns import owners_of
from kwire_cli.facts.costs.counting import Costs
from kwire_cli.message.encode import encode
from kwire_cli.view.answers import answer_document

CATALOG = kwire.catalog()
KEY, VALUE = "a2V5", "dmFsdWU="


def costs_of(wire, said, dimensions):
    costs = Costs(CATALOG, owners_of(dimensions))
    for line in wire.lines(*said):
        costs.add(line)
    return costs


def bytes_by(costs, dimensions):
    table = Overhead([dimensions], costs).answer().tables[0]
    number = [column.name for column in table.columns].index("bytes")
    return {row[0] if len(dimensions) == 1 else row[: len(dimensions)]: row[number] for row in table.rows}


def record_set(count=1, **more):
    return [{"magic": 2, "records": [{"key": KEY, "value": VALUE, **more} for _ in range(count)]}]


def produce(*topics, version=9):
    data = [
        {"name": name, "partitionData": [{"index": index, "records": records} for index, records in parts.items()]}
        for name, parts in topics
    ]
    return {"acks": -1, "timeoutMs": 30000, "topicData": data} | ({"transactionalId": None} if version >= 3 else {})


@pytest.fixture
def two_topics():
    return produce(("first", {0: record_set(), 3: record_set(2)}), ("second-topic", {1: record_set(5)}))


@pytest.mark.parametrize("version", [7, 9, 12])
def test_the_bytes_of_a_topic_are_those_that_it_adds_to_a_message(wire, two_topics, version):
    request = wire.request("Produce", version, **two_topics)
    found = bytes_by(costs_of(wire, [(0, request)], ("topic",)), ("topic",))
    without = {"acks": -1, "timeoutMs": 30000, "transactionalId": None, "topicData": []}
    nothing = len(wire.request("Produce", version, **without))
    alone = [
        len(wire.request("Produce", version, **{**without, "topicData": [topic]})) - nothing
        for topic in two_topics["topicData"]
    ]
    assert found == {"first": alone[0], "second-topic": alone[1], "(shared)": nothing}


def test_the_bytes_of_a_partition(wire, two_topics):
    request = wire.request("Produce", 9, **two_topics)
    found = bytes_by(costs_of(wire, [(0, request)], ("topic", "partition")), ("topic", "partition"))
    assert sum(found.values()) == len(request)
    sizes = [len(kwire.write_records(record_set(count))) for count in (1, 2, 5)]
    # A number of 4 bytes, a compact length of 1 or 2, and tags.
    assert found["first", 0] == 4 + 1 + 1 + sizes[0]
    assert found["first", 3] == 4 + 1 + 1 + sizes[1]
    assert found["second-topic", 1] == 4 + 2 + 1 + sizes[2]
    assert found["first", None] == len("first") + 3  # a length, a count, tags


def test_a_message_about_one_topic_is_all_its_own(wire):
    request = wire.request("Produce", 9, **produce(("one", {0: record_set()})))
    assert bytes_by(costs_of(wire, [(0, request)], ("topic",)), ("topic",)) == {"one": len(request)}


def test_topics_by_their_ids(wire):
    ids = ["AAAAAAAAAAAAAAAAAAAAAg", "AAAAAAAAAAAAAAAAAAAAAw"]
    names = wire.response("Metadata", 12, topics=[{"topicId": ids[0], "name": "named"}])
    fetched = wire.response(
        "Fetch",
        13,
        2,
        responses=[{"topicId": each, "partitions": [{"partitionIndex": 0, "records": ""}]} for each in ids],
    )
    said = [(0, wire.request("Metadata", 12)), (1, names), (0, wire.request("Fetch", 13, 2)), (1, fetched)]
    found = bytes_by(costs_of(wire, said, ("api", "topic")), ("api", "topic"))
    assert found["Fetch", "named"] == found["Fetch", ids[1]]
    assert found["Fetch", "named"] + found["Fetch", ids[1]] + found["Fetch", "(shared)"] == len(fetched)


def test_by_api_version_client_and_message(wire):
    said = [
        (0, wire.request("Metadata", 1, 1, client="a")),
        (1, wire.response("Metadata", 1, 1)),
        (0, wire.request("Metadata", 8, 2, client="b")),
    ]
    costs = costs_of(wire, said, ("message", "version", "client"))
    sizes = [len(data) for _, data in said]
    assert bytes_by(costs, ("message",)) == {"MetadataRequest": sizes[0] + sizes[2], "MetadataResponse": sizes[1]}
    assert bytes_by(costs, ("version",)) == {"Metadata 1": sizes[0] + sizes[1], "Metadata 8": sizes[2]}
    assert bytes_by(costs, ("client",)) == {"a": sizes[0] + sizes[1], "b": sizes[2]}
    assert bytes_by(costs, ("client", "message"))["a", "MetadataResponse"] == sizes[1]


def test_kinds_of_a_request(wire):
    request = wire.request(
        "Produce", 9, client="me", **produce(("t", {0: record_set(2, headers=[{"key": "h", "value": "eA=="}])}))
    )
    found = bytes_by(costs_of(wire, [(0, request)], ()), ("kind",))
    assert found == {
        "frame size": 4,
        "message header": 2 + 2 + 4 + 2 + len("me") + 1,
        "value": 2 + 4 + len("t") + 4,  # acks, timeout, name, index
        "length prefix": 1 + 1 + 1,  # transactional id, name, records
        "count": 2,
        "tag count": 3,
        "batch header": 61 - 4,
        "checksum": 4,
        # length, attributes, two deltas, lengths of key and value, count of headers, lengths of both parts of a header
        "record framing": 2 * (4 + 2 + 1 + 2),
        "record key": 2 * 3,
        "record value": 2 * 5,
        "record header": 2 * 2,
    }


def test_what_is_no_request_has_a_row(wire):
    request = wire.request("SaslHandshake", 0, mechanism="PLAIN")
    said = [(0, request), (1, wire.response("SaslHandshake", 0)), (0, wire.raw(b"\0user\0secret"))]
    found = bytes_by(costs_of(wire, said, ("api",)), ("kind",))
    assert found["sasl token"] == len(wire.raw(b"\0user\0secret"))
    by_api = bytes_by(costs_of(wire, said, ("api",)), ("api",))
    assert by_api[None] == found["sasl token"]


def test_unknown_versions_are_a_guess(wire):
    newest = CATALOG.message("HeartbeatRequest").valid_versions.high
    request = bytearray(wire.request("Heartbeat", newest, client="billing"))
    request[6:8] = (newest + 1).to_bytes(2, "big")
    found = bytes_by(costs_of(wire, [(0, bytes(request))], ()), ("kind",))
    assert found["guess"] == len(request) - found["frame size"] - found["message header"]


def test_a_truncated_frame_has_a_gap():
    body = encode(CATALOG, {"topics": [{"name": "abc"}], "allowAutoTopicCreation": True}, "MetadataRequest", 4)
    from kwire_cli.message.decoded import decode

    costs = Costs(CATALOG, ())
    costs.add(decode(CATALOG, body[:-3], "MetadataRequest", 4))
    found = bytes_by(costs, ("kind",))
    assert found["gap"] > 0
    assert sum(found.values()) == len(body) - 3


def test_rows_beyond_the_first_are_in_the_total(wire):
    said = [(0, wire.request(api, 0)) for api in ("Heartbeat", "LeaveGroup", "FindCoordinator", "ListGroups")]
    costs = costs_of(wire, said, ("api",))
    whole, cut = (
        next(table for table in Overhead([("api",)], costs).answer(top=top).tables if table.name == "byApi")
        for top in (None, 2)
    )
    assert cut.rows == whole.rows[:2]
    assert len(whole.rows) == 4
    assert cut.total == whole.total
    assert cut.note == "… and 2 more"


def test_a_table_of_nothing():
    assert bytes_by(Costs(CATALOG, ("api",)), ("api",)) == {}


@pytest.mark.parametrize(
    ("records", "sizes"), [(0, "0"), (1, "1"), (2, "2-3"), (3, "2-3"), (4, "4-7"), (8, "8-15"), (100, "64-127")]
)
def test_steps_of_records(records, sizes):
    costs = Costs(CATALOG, ())
    for _ in costs.records(kwire.write_records(record_set(records)), None, None, "auto"):
        pass
    document = answer_document(Overhead([("kind",)], costs).answer())
    assert [(row["recordsInBatch"], row["batches"]) for row in document["tables"]["byRecordsInBatch"]] == [(sizes, 1)]
