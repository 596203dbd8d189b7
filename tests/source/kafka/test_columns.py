import pytest

from kwire_cli.source.kafka.columns import ALIASES, COLUMNS, FilterRow, LineRow


@pytest.fixture(scope="module")
def lines(wire):
    request = wire.request("Metadata", 1, 8, "me", topics=[{"name": "a"}, {"name": "b"}])
    topics = [{"errorCode": code, "name": name, "partitions": []} for name, code in (("a", 3), ("b", 0))]
    return wire.lines((0, request), (1, wire.response("Metadata", 1, 8, topics=topics))) + wire.lines(
        (0, b"SSH-2.0-x\r\n")
    )


def test_columns_of_a_request_and_its_response(lines):
    one, two = (LineRow(line) for line in lines[:2])
    nothing = dict.fromkeys(["latency", "requestFrame", "protocol", "reason", "throttle", "software", "broker"])
    wanted = nothing | {
        "frame": 1,
        "packet": 2,
        "stream": 0,
        "time": "1970-01-01T00:00:00.001000Z",
        "src": "10.0.0.1:50000",
        "dst": "10.0.0.2:9092",
        "host": ["10.0.0.1", "10.0.0.2"],
        "port": [50000, 9092],
        "kind": "request",
        "apiKey": 3,
        "api": "Metadata",
        "apiVersion": 1,
        "correlationId": 8,
        "clientId": "me",
        "topics": ["a", "b"],
        "groups": [],
        "error": [],
        "content": [],
        "anomaly": [],
        "inFlight": 1,
        "capture": None,
        "file": None,
    }
    assert {name: one.column(name) for name in wanted} == wanted
    assert set(wanted) | {"size"} == set(COLUMNS)
    changed = {
        "kind": "response",
        "latency": 0.001,
        "error": ["UNKNOWN_TOPIC_OR_PARTITION"],
        "requestFrame": 1,
        "clientId": "me",
        "correlationId": 8,
    }
    assert {name: two.column(name) for name in changed} == changed


def test_other_names(lines):
    for alias, name in ALIASES.items():
        assert LineRow(lines[0]).column(alias) == LineRow(lines[0]).column(name)


def test_fields_by_the_end_of_their_path(lines):
    row = LineRow(lines[1])
    assert row.value("topics.errorCode") == [3, 0]
    assert row.value("body.topics.name") == ["a", "b"]
    assert row.value("controllerId") == -1
    assert row.value("noSuchField") is None
    assert row.value("errorCode") == [3, 0]


def test_lines_without_frames_have_what_they_have(lines):
    row = LineRow(lines[2])
    assert (row.column("protocol"), row.column("kind"), row.column("size")) == ("ssh", "not-kafka", 11)
    for name in COLUMNS:
        row.column(name)
    assert LineRow(lines[2]).fields() == {"header": {}, "body": {}}
    assert row.value("errorCode") is None


def test_filters_compare_times_as_numbers(lines):
    assert FilterRow(lines[0]).column("time") == lines[0].seen.time == 1_000_000
    assert [FilterRow(lines[0]).column(name) for name in COLUMNS if name != "time"] == [
        LineRow(lines[0]).column(name) for name in COLUMNS if name != "time"
    ]
