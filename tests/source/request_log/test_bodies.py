"""Bodies of request logs as bytes: those that were on the wire, but for records, of which a log has the sizes."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples
from kit.logs import document
from kit.messages import sample

import kwire_cli as kwire
from kwire_cli.errors import KwireError
from kwire_cli.message.decoded import decode
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.request_log.exchange import Bodies, Exchange, LeftOut, Reader, Unwritten, Written
from kwire_cli.source.request_log.reading import RequestLog

CATALOG = kwire.catalog()
REAL = Path(__file__).parents[4] / "shared" / "real" / "own" / "captures"


def exchange(*given, **more):
    return Reader(CATALOG).exchange(document(*given, **more), 7, None)


@pytest.mark.parametrize("row", [row for row in sample() if row.message.endswith(("Request", "Response"))], ids=str)
def test_what_a_broker_would_log_is_written_as_it_was(row):
    decoded = decode(row.catalog, row.body, row.message, row.version)
    found = Bodies(row.catalog).written(row.message, decoded.to_json(records="size"), row.version)
    assert found.body.size + found.unsaid == len(row.body)
    assert found.unsaid or found.body.raw.data == row.body


@pytest.mark.parametrize(("version", "sizes"), [(3, [0, 5, 300]), (9, [126, 127, 16382, 16383, 2147483646])])
def test_records_count_by_their_size(version, sizes):
    def request(records):
        data = [{"index": at, **each} for at, each in enumerate(records)]
        return {"transactionalId": None, "acks": 1, "timeoutMs": 1, "topicData": [{"name": "t", "partitionData": data}]}

    found = Bodies(CATALOG).written(
        "ProduceRequest", request([{"recordsSizeInBytes": size} for size in sizes]), version
    )
    empty = kwire.encode(request([{"records": ""} for _ in sizes]), message="ProduceRequest", version=version)
    assert found.body.raw.data == empty
    wide = [
        len(kwire.encode(request([{"records": "AAAA" * (size // 3 + 1)}]), message="ProduceRequest", version=version))
        for size in sizes[:-1]
    ]
    assert found.unsaid >= sum(sizes)
    one = [
        Bodies(CATALOG).written("ProduceRequest", request([{"recordsSizeInBytes": size // 3 * 3 + 3}]), version)
        for size in sizes[:-1]
    ]
    assert [each.body.size + each.unsaid for each in one] == wide


def test_what_does_not_fit_is_said_with_its_line_and_path():
    request, response = Bodies(CATALOG).of(
        exchange(12, 4, request={"groupId": 7}, response={"throttleTimeMs": 0, "errorCode": 0})
    )
    assert isinstance(request, Unwritten)
    assert request.line == 7
    assert request.reason.startswith("HeartbeatRequest 4: groupId: ")
    assert isinstance(response, Written)
    assert response.body.raw.data == b"\0\0\0\0\0\0\0"
    (unknown,) = Bodies(CATALOG).of(exchange(9999, 0))
    assert unknown == Unwritten(7, "api key 9999 is not known")
    (newer,) = Bodies(CATALOG).of(exchange(12, 99, response=""))
    assert "HeartbeatRequest has versions" in newer.reason
    left_out = LeftOut()
    assert left_out.text is None
    for each in (request, unknown, newer):
        left_out.add(f"a.log:{each.line}", each)
    assert left_out.text.startswith("a.log:7: HeartbeatRequest 4: groupId: ")
    assert left_out.text.endswith(": it cannot be written as bytes and is left out, as are 2 more")


def test_a_refused_api_versions_is_answered_in_version_0():
    value = {"errorCode": 35, "apiKeys": [{"apiKey": 18, "minVersion": 0, "maxVersion": 4}]}
    _, response = Bodies(CATALOG).of(exchange(18, 5, response=value))
    assert response.body.raw.data == kwire.encode(value, message="ApiVersionsResponse", version=0)


@pytest.mark.parametrize("size", [-1, 1 << 31, True, "5", None])
def test_a_size_that_is_none_is_refused(size):
    value = {"transactionalId": None, "acks": 1, "timeoutMs": 1,
             "topicData": [{"name": "t", "partitionData": [{"index": 0, "recordsSizeInBytes": size}]}]}  # fmt: skip
    with pytest.raises(KwireError):
        Bodies(CATALOG).written("ProduceRequest", value, 9)


ODD = st.sampled_from(
    [None, True, -1, 1 << 40, 1e300, "x", "<redacted 3 bytes>", [], {}, [[[]]], {"recordsSizeInBytes": 5}]
)


def changed(value, path, odd):
    """The value with something else at a path of numbers, as far as that leads."""
    if not path or not value or not isinstance(value, dict | list):
        return odd
    keys = [*value] if isinstance(value, dict) else range(len(value))
    at = keys[path[0] % len(keys)]
    copy = value.copy()
    copy[at] = changed(value[at], path[1:], odd)
    return copy


@given(
    st.sampled_from([row for row in sample() if row.message.endswith(("Request", "Response"))]),
    st.lists(st.integers(0, 20), max_size=6),
    ODD,
)
@examples(180)
def test_whatever_a_log_says_is_written_or_refused(row, path, odd):
    value = changed(decode(row.catalog, row.body, row.message, row.version).to_json(records="size"), path, odd)
    try:
        found = Bodies(row.catalog).written(row.message, value, row.version)
    except KwireError:
        return
    assert found.body.exact
    assert found.unsaid >= 0


@pytest.mark.shared
@pytest.mark.parametrize("name", ["java44-produce-consume", "client-librdkafka", "client-kafkajs"])
def test_what_is_written_was_on_the_wire(name):
    (capture,) = (REAL / name).glob("*.pcap*")
    wire = {}
    for line in traffic(CATALOG, Capture(str(capture))):
        if line.is_frame and line.frame and line.frame.body and not line.guess:
            ends = (line.src, line.dst) if line.kind == "request" else (line.dst, line.src)
            wire[*ends, line.correlation_id, line.frame.body.message] = line.frame.body
    log, bodies, found = RequestLog(REAL / name / "broker-request-log.jsonl.gz", CATALOG), Bodies(CATALOG), 0
    for each in log:
        assert isinstance(each, Exchange)
        for written in bodies.of(each):
            if not isinstance(written, Written):
                continue
            body = wire.get((each.client, each.broker, each.correlation_id, written.body.message))
            if body is not None:
                assert written.body.size + written.unsaid == body.size
                assert written.unsaid or written.body.raw.data == bytes(body.raw.data[body.start : body.stop])
                found += 1
    assert found > 20
