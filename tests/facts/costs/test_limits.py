"""What limits count, by the sizes that Kafka itself would compare with them."""

import pytest

import kwire_cli as kwire
from kwire_cli.analysis.costs.overhead import Overhead
from kwire_cli.facts.costs.counting import Costs
from kwire_cli.facts.costs.limits import LIMITS, PLACES
from kwire_cli.view.answers import answer_document

CATALOG = kwire.catalog()


def counted(wire, *said, file=None):
    costs = Costs(CATALOG, (), file=file)
    for line in wire.lines(*said):
        costs.add(line)
    return distances(costs)


def distances(costs, given=None):
    """The rows of limits by their keys."""
    keys = {limit.short: limit.key for limit in LIMITS}
    rows = answer_document(Overhead([("kind",)], costs).answer(limits=given or {}))["tables"]["limits"]
    return {keys[row["counts"]]: row for row in rows}


def records(*values, compression="none", **more):
    return {
        "magic": 2,
        "compression": compression,
        "records": [{"key": None, "value": value, **more} for value in values],
    }


def produce(**partitions):
    data = [
        {
            "name": "t",
            "partitionData": [{"index": int(name[1:]), "records": batches} for name, batches in partitions.items()],
        }
    ]
    return {"acks": -1, "timeoutMs": 30000, "topicData": data}


def where(row):
    return {name: row[name] for name in PLACES if row[name] is not None}


BIG = "YWJj" * 1000  # 3000 bytes


def test_a_produce_request(wire):
    small, big = [records("YQ==")], [records("YQ=="), records(BIG, "YQ==")]
    request = wire.request("Produce", 8, **produce(p0=small, p7=big))
    found = counted(wire, (0, request))
    sets = [len(kwire.write_records(each)) for each in (small, big)]
    largest = len(kwire.write_records(big[1:]))
    assert found["batch"]["largest"] == largest
    assert where(found["batch"]) == {"frame": 1, "topic": "t", "partition": 7}
    assert found["append"]["largest"] == sets[1]
    assert found["request-batches"]["largest"] == sum(sets)
    assert found["request"]["largest"] == len(request) - 4
    # AbstractRecords.estimateSizeInBytesUpperBound: a batch header, 21 bytes, a null key, the length and bytes of the
    # value, no headers
    assert found["record"]["largest"] == 61 + 21 + 1 + 2 + 3000 + 1
    assert not any(each["over"] for each in found.values())


def test_a_record_counts_as_it_is_before_compression(wire):
    batches = [records(BIG, compression="gzip")]
    found = counted(wire, (0, wire.request("Produce", 8, **produce(p0=batches))))
    assert found["record"]["largest"] == 61 + 21 + 1 + 2 + 3000 + 1
    assert found["batch"]["largest"] == len(kwire.write_records(batches)) < 200


def test_headers_count_for_a_record(wire):
    batches = [records("YQ==", headers=[{"key": "hh", "value": "AAA="}])]
    found = counted(wire, (0, wire.request("Produce", 8, **produce(p0=batches))))
    assert found["record"]["largest"] == 61 + 21 + 1 + 2 + 1 + (1 + 2) + (1 + 2)


@pytest.mark.parametrize(("magic", "overhead"), [(0, 14), (1, 22)])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_message_of_an_old_format(wire, magic, overhead, compression):
    batches = [{"magic": magic, "compression": compression, "records": [{"key": "YQ==", "value": BIG}]}]
    found = counted(
        wire, (0, wire.request("Produce", 1, acks=1, timeoutMs=1, topicData=produce(p0=batches)["topicData"]))
    )
    # LOG_OVERHEAD and LegacyRecord.recordSize; for a compressed one the overhead of its wrapper too
    alone = 12 + overhead + 1 + 3000
    assert found["record"]["largest"] == alone + (overhead if compression == "gzip" else 0)


def fetch(wire, version=11, replica=-1, **asked):
    body = {
        "maxBytes": 5000,
        "topics": [{"topic": "t", "partitions": [{"partition": n, "partitionMaxBytes": 100 + n} for n in (0, 1)]}],
    }
    identity = (
        {"replicaId": replica}
        if version < 15
        else {"replicaState": {"replicaId": replica, "replicaEpoch": 1}}
        if replica >= 0
        else {}
    )
    if version >= 13:
        body["topics"] = [{"topicId": "AAAAAAAAAAAAAAAAAAAAAg", "partitions": body["topics"][0]["partitions"]}]
    name = {"topic": "t"} if version < 13 else {"topicId": "AAAAAAAAAAAAAAAAAAAAAg"}
    sets = [[records("YQ==")], [records(BIG)]]
    found = [{"partitionIndex": n, "records": each} for n, each in enumerate(sets)]
    response = wire.response("Fetch", version, responses=[{**name, "partitions": found}])
    return [(0, wire.request("Fetch", version, **body, **identity, **asked)), (1, response)], [
        len(kwire.write_records(each)) for each in sets
    ]


@pytest.mark.parametrize("version", [4, 11, 12, 13, 17])
def test_what_a_consumer_fetches(wire, version):
    said, sizes = fetch(wire, version)
    found = counted(wire, *said)
    assert found["fetched"]["largest"] == sum(sizes)
    assert found["fetched-partition"]["largest"] == max(sizes)
    assert (found["fetched"]["bytes"], found["fetched"]["source"]) == (5000, "asked")
    assert (found["fetched-partition"]["bytes"], found["fetched-partition"]["source"]) == (101, "asked")
    assert found["fetched-partition"]["over"]
    assert not found["fetched-partition"]["hard"]
    assert "replicated" not in found
    assert "record" not in found  # what a consumer gets is no measure of what a producer may send


@pytest.mark.parametrize("version", [4, 11, 13, 15, 17])
def test_what_a_follower_fetches(wire, version):
    said, sizes = fetch(wire, version, replica=3)
    found = counted(wire, *said)
    assert found["replicated"]["largest"] == sum(sizes)
    assert found["replicated-partition"]["largest"] == max(sizes)
    assert "fetched" not in found


def test_limits_that_are_given_count_before_all(wire):
    costs = Costs(CATALOG, ())
    for line in wire.lines(*fetch(wire)[0]):
        costs.add(line)
    given = {"fetch.max.bytes": 10, "max.message.bytes": 77}
    found = distances(costs, given)
    assert (found["fetched"]["bytes"], found["fetched"]["source"], found["fetched"]["over"]) == (10, "given", True)
    assert (found["batch"]["bytes"], found["batch"]["source"]) == (77, "given")
    assert found["batch"]["over"]


def test_a_segment():
    data = kwire.write_records([records("YQ=="), records(BIG)])
    costs = Costs(CATALOG, (), file="some.log")
    assert [*costs.records(memoryview(data), "t", 1, "auto")][-1] == len(data)
    found = distances(costs)
    first = len(kwire.write_records([records("YQ==")]))
    assert where(found["batch"]) == {"file": "some.log", "position": first}
    assert found["append"]["largest"] == len(data)
    assert found["record"]["largest"] == 61 + 21 + 1 + 2 + 3000 + 1


def test_limits_have_kafkas_defaults():
    assert {limit.names[0]: limit.default for limit in LIMITS} == {
        "message.max.bytes": 1024 * 1024 + 12,
        "max.request.size": 1024 * 1024,
        "log.segment.bytes": 1 << 30,
        "socket.request.max.bytes": 100 * 1024 * 1024,
        "max.partition.fetch.bytes": 1024 * 1024,
        "fetch.max.bytes": 50 * 1024 * 1024,
        "replica.fetch.max.bytes": 1024 * 1024,
        "replica.fetch.response.max.bytes": 10 * 1024 * 1024,
    }
