"""The records field of a message as JSON."""

import pytest
from kit.logs import batch, record, segments

import kwire_cli as kwire
from kwire_cli.message.redaction import RecordRedaction
from kwire_cli.records.codecs import Limits
from kwire_cli.records.reading import items, source_of

CATALOG = kwire.catalog()


class EveryValue(RecordRedaction):
    def __call__(self, payload):
        return {"value": frozenset(range(99))} if payload.value else {}


def field_json(data, *, deep=True, hide=None, **how):
    return [item.to_json(deep=deep, hide=hide) for item in items(source_of(data, catalog=CATALOG, **how))]


FIRST, SECOND = batch(0, [record(b"k", b"v")]), batch(1, [record()])


def test_a_field_is_its_items():
    data = FIRST + SECOND
    assert field_json(data) == [item.to_json() for item in kwire.read_records(data)]
    cut = field_json(data[:-1])[1]
    assert cut.pop("batch")["baseOffset"] == 1
    assert cut == {
        "position": len(batch(0, [record(b"k", b"v")])),
        "size": len(batch(1, [record()])) - 1,
        "gap": "TRUNCATED",
    }
    assert field_json(memoryview(data), deep=False)[0]["count"] == 1
    assert field_json(b"") == []


def test_a_field_that_begins_amid_a_batch():
    first, second = field_json((FIRST + SECOND)[9:])
    assert first == {"position": 0, "size": len(FIRST) - 9, "gap": "CORRUPT"}
    assert second["baseOffset"] == 1


def test_the_topic_says_what_records_mean():
    data = segments()["__consumer_offsets-0"]
    shown = field_json(data, topic="__consumer_offsets")
    assert shown[0]["records"][0]["decoded"]["key"] == {"type": "2", "data": {"group": "txn-group"}}
    assert "decoded" not in field_json(data)[0]["records"][0]
    control = [each["control"] for item in field_json(data) for each in item["records"] if "control" in each]
    assert control[:2] == [{"type": "COMMIT", "coordinatorEpoch": 0}, {"type": "ABORT", "coordinatorEpoch": 0}]


def test_what_is_hidden_is_in_no_form_there():
    data = segments()["__cluster_metadata-0"]
    shown = field_json(data, topic="__cluster_metadata", hide=EveryValue(CATALOG))
    assert {each["value"][:9] for item in shown for each in item["records"] if "decoded" in each} == {"<redacted"}


def test_limits_hold():
    data = batch(0, [record(None, bytes(5000))], codec=4)
    (shown,) = field_json(data, limits=Limits(output=100))
    assert shown["anomalies"][0]["code"] == "DECOMPRESSION_LIMIT"


def test_bytes_are_asked_for():
    with pytest.raises(kwire.InputError):
        field_json(None)
