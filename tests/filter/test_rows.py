import pytest

from kwire_cli.facts.columns import BY_NAME, COLUMNS
from kwire_cli.filter.rows import FrameRow


@pytest.fixture(scope="module")
def lines(wire):
    request = wire.request("Metadata", 1, 8, "me", topics=[{"name": "a"}, {"name": "b"}])
    topics = [{"errorCode": code, "name": name, "partitions": []} for name, code in (("a", 3), ("b", 0))]
    return wire.lines((0, request), (1, wire.response("Metadata", 1, 8, topics=topics))) + wire.lines(
        (0, b"SSH-2.0-x\r\n")
    )


def test_columns_of_a_request_and_its_response(lines):
    one, two = (FrameRow(line) for line in lines[:2])
    nothing = {column.name: [] if column.is_list else None for column in COLUMNS}
    wanted = nothing | {
        "frame": 1,
        "packet": 2,
        "stream": 0,
        "time": 1000,
        "src": "10.0.0.1:50000",
        "dst": "10.0.0.2:9092",
        "host": ["10.0.0.1", "10.0.0.2"],
        "port": [50000, 9092],
        "kind": "request",
        "size": one.line.seen.size,
        "api_key": 3,
        "api": "Metadata",
        "api_version": 1,
        "correlation_id": 8,
        "client_id": "me",
        "topics": ["a", "b"],
        "in_flight": 1,
        "source": "capture",
        "missing_bytes": 0,
        "guess": False,
        "is_misread": False,
        "allowed_ms": 0,
        "expects_answer": True,
        "is_read": True,
        "forwarded": False,
    }
    assert {name: one.column(name) for name in nothing} == wanted
    changed = {
        "kind": "response",
        "latency_us": 1000,
        "delayed": False,
        "error_codes": [3],
        "errors": ["UNKNOWN_TOPIC_OR_PARTITION"],
        "request_frame": 1,
        "client_id": "me",
        "correlation_id": 8,
        "in_flight": None,
    }
    assert {name: two.column(name) for name in changed} == changed


def test_no_column_confirms_a_guess_of_bytes():
    assert "digest" not in BY_NAME


def test_other_names(lines):
    for column in COLUMNS:
        for name in column.also:
            assert FrameRow(lines[0]).shown(name) == FrameRow(lines[0]).shown(column.name)


def test_fields_by_the_end_of_their_path(lines):
    row = FrameRow(lines[1])
    assert row.shown("topics.errorCode") == [3, 0]
    assert row.shown("body.topics.name") == ["a", "b"]
    assert row.shown("controllerId") == -1
    assert row.shown("noSuchField") is None
    assert row.shown("errorCode") == [3, 0]


def test_lines_without_frames_have_what_they_have(lines):
    row = FrameRow(lines[2])
    assert (row.column("protocol"), row.column("kind"), row.column("size")) == ("ssh", "not-kafka", 11)
    for column in COLUMNS:
        row.column(column.name)
    assert FrameRow(lines[2]).fields() == {"header": {}, "body": {}}
    assert row.shown("errorCode") is None


def test_times_are_numbers_for_filters_and_shown_as_text(lines):
    row = FrameRow(lines[0])
    assert row.column("time") == 1000
    assert row.shown("time") == "1970-01-01T00:00:00.001000Z"
