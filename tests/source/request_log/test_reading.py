import gzip
import io
import json
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, strategies as st
from kit.logs import UNKNOWN, document, line

import kwire_cli
from kwire_cli.errors import InputError
from kwire_cli.source.request_log.exchange import Exchange, OddExchangeError, Reader, ends
from kwire_cli.source.request_log.lines import is_request_log
from kwire_cli.source.request_log.reading import LineFault, RequestLog

CATALOG = kwire_cli.catalog()
OWN = Path(__file__).parents[4] / "shared" / "real" / "own" / "captures"
METADATA = {
    "throttleTimeMs": 0,
    "topics": [
        {
            "errorCode": 0,
            "name": "orders",
            "topicId": "lLV6r4uOTnKlQwXY7rCQ6g",
            "partitions": [{"errorCode": 5}, {"errorCode": 5}],
        },
        {"errorCode": 3, "name": "lost", "topicId": "AAAAAAAAAAAAAAAAAAAAAA", "partitions": []},
        {"errorCode": 777, "name": None, "topicId": "Wg6nBlB7TIOaMoA5IIT1cA"},
    ],
}


def read(data):
    log = RequestLog(io.BytesIO(data), CATALOG)
    return log, [*log]


def exchange(**options):
    return Reader(CATALOG).exchange(document(**options), 1, None)


def test_an_exchange_says_who_asked_what_and_how_long_it_took():
    _, [found] = read(line(response=METADATA))
    assert (found.line, found.time) == (1, "2026-11-21T10:00:00.123000")
    assert (found.client, found.broker, found.client_id, found.software) == (
        "10.0.0.1:50012",
        "10.0.0.2:9092",
        "c",
        "apache-kafka-java 3.7.2",
    )
    assert (found.api, found.api_key, found.api_version, found.correlation_id) == ("Metadata", 3, 12, 1)
    assert found.total_ms == sum(found.stages.values()) == 2.5
    assert found.errors == ["LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PARTITION", 777]
    assert found.topics == ["orders", "lost", "Wg6nBlB7TIOaMoA5IIT1cA"]
    assert found.named == {"lLV6r4uOTnKlQwXY7rCQ6g": "orders"}


def test_errors_are_looked_for_in_responses_and_where_the_definition_has_them():
    assert (
        exchange(
            request={"errorCode": 3},
            response={"topics": [{"partitions": [{"other": [{"errorCode": 9}], "errorCode": True}]}]},
        ).errors
        == []
    )
    assert exchange(response={"topics": [{"errorCode": "3"}, 5, None, [{"errorCode": 4}]]}).errors == [
        "INVALID_FETCH_SIZE"
    ]


@pytest.mark.parametrize(
    ("told", "request_", "software"),
    [
        (UNKNOWN, {}, None),
        (None, {}, None),
        (UNKNOWN, {"clientSoftwareName": "sarama", "clientSoftwareVersion": "1"}, "sarama 1"),
        ({"softwareName": "x", "softwareVersion": 3}, {}, "x"),
    ],
)
def test_software_is_what_the_client_says(told, request_, software):
    assert exchange(told=told, request=request_).software == software


@pytest.mark.parametrize("response", [None, ""])
def test_no_response_where_the_client_wants_none(response):
    """4.4 writes null, 3.9 an empty text."""
    given = document(0, 9) | {"response": response}
    assert Reader(CATALOG).exchange(given, 1, None).response is None


@pytest.mark.parametrize(
    ("name", "broker", "client"),
    [
        ("127.0.0.1:9092-127.0.0.1:50012-5", "127.0.0.1:9092", "127.0.0.1:50012"),
        ("0:0:0:0:0:0:0:1:9092-fe80:0:0:0:0:0:0:1%br-1:50012-2-0", "[::1]:9092", "[fe80::1%br-1]:50012"),
        ("", None, None),
        ("1:" * 150 + "1-1:1-0", None, None),
        ("127.0.0.1:9092", None, None),
    ],
)
def test_the_ends_of_a_connection(name, broker, client):
    assert ends(name) == (broker, client)


@pytest.mark.parametrize("header", [None, [], {}, {"requestApiKey": 1}, {"requestApiKey": "1", "requestApiVersion": 0}])
def test_json_that_is_no_request_is_odd(header):
    with pytest.raises(OddExchangeError):
        Reader(CATALOG).exchange(document() | {"requestHeader": header}, 1, None)


def test_damaged_lines_are_faults_with_their_number():
    good = line()
    text = (
        b"[t] TRACE Completed request:RequestHeader(apiKey=METADATA, apiVersion=8) -- {topics=[]} "
        b"(kafka.request.logger)\n"
    )
    log, found = read(b"INFO started\n" + good[:300] + b"\n" + good + text + b"Completed request:{}\n\n" + good[:-1])
    assert [each.line for each in found] == [2, 3, 4, 5, 7]
    assert [getattr(each, "code", None) for each in found] == ["DAMAGED_LINE", None, "TEXT_FORM", "DAMAGED_LINE", None]
    assert (log.exchanges, log.faults, log.others) == (2, 3, 1)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_plain_and_packed(pack):
    data = pack(b"INFO x\n" * 1000 + line() * 3)
    assert is_request_log(data)
    assert len(read(data)[1]) == 3


def test_a_packed_log_that_was_cut_gives_what_is_there():
    lines = b"".join(line(correlation=number, client=f"c{number * 7919}") for number in range(500))
    log, found = read(gzip.compress(lines)[:-100])
    assert 300 < log.exchanges < 500
    assert found[-1].code == "DAMAGED_FILE"


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        [*RequestLog(tmp_path / "none.log", CATALOG)]


@pytest.mark.parametrize("data", [b"", b"0000002b0012", b'{"kind":"request"}', b"\x1f\x8bxx", b"\n"])
def test_what_is_no_request_log(data):
    assert not is_request_log(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["topics", "errorCode", "name", "topicId", "partitions"]), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*document()]), JSON), JSON)
def test_whatever_json_a_line_is_it_is_an_exchange_or_odd(changed, response):
    try:
        assert isinstance(Reader(CATALOG).exchange(document(response=response) | changed, 1, None), Exchange)
    except OddExchangeError:
        return


@given(st.integers(0, 1000), st.binary(max_size=4))
def test_whatever_was_damaged_nothing_breaks(at, put):
    whole = line(response=METADATA)
    for found in read(whole[:at] + put + whole[at + len(put) :])[1]:
        assert isinstance(found, Exchange | LineFault)


@pytest.mark.shared
def test_real_logs_hold_nothing_else():
    known = 0
    for file in sorted(OWN.glob("*/broker-request-log*.gz")):
        log = RequestLog(file, CATALOG)
        for found in log:
            assert isinstance(found, Exchange), (file, found)
            assert (found.broker, found.client, found.api, found.total_ms) > ("", "", "", -1.0)
        with gzip.open(file, "rt") as lines:
            assert log.exchanges == sum(1 for _ in map(json.loads, lines))
        known += log.exchanges
    assert known > 2000
