"""Records in messages, given as lists of batches."""

import base64
import copy

import pytest
from kit.messages import sample, shared
from kit.traffic import body_of

import kwire_cli as kwire
from kwire_cli import EncodeError
from kwire_cli.message.decoded import with_bytes
from kwire_cli.records.writing import write
from kwire_cli.spec.model import FieldSpec, MessageSpec, StructSpec, Versions

ITEMS = [{"records": [{"value": {"text": "v"}}]}, {"magic": 1, "records": [{"value": {"json": [1]}}]}]
TEXT = base64.b64encode(write(ITEMS)).decode()


def produce(records, version=13):
    partitions = [{"index": 0, "records": TEXT}, {"index": 1, "records": records}]
    return body_of("ProduceRequest", version, {"acks": 1, "topicData": [{"partitionData": partitions}]})


def snapshot(records):
    topic = {"name": "__cluster_metadata", "partitions": [{"unalignedRecords": records}]}
    return body_of("FetchSnapshotResponse", 0, {"topics": [topic]})


@pytest.mark.parametrize("version", [3, 8, 9, 13])
def test_a_list_is_the_same_as_its_bytes(version):
    given = produce(ITEMS, version)
    before = copy.deepcopy(given)
    expected = kwire.encode(produce(TEXT, version), message="ProduceRequest", version=version)
    assert kwire.encode(given, message="ProduceRequest", version=version) == expected
    assert given == before
    assert kwire.encode(produce([], version), message="ProduceRequest", version=version) == kwire.encode(
        produce("", version), message="ProduceRequest", version=version
    )


def test_nothing_is_copied_where_no_list_is():
    for value in (produce(TEXT), produce(None), {}, 5, None, {"topicData": 5}, {"topicData": [5, None]}):
        assert with_bytes(kwire.catalog().message("ProduceRequest"), value) is value


def test_the_topic_beside_the_records_says_what_they_are():
    change = {
        "value": {"type": "TOPIC_RECORD", "version": 0, "data": {"name": "t", "topicId": "AAAAAAAAAAAAAAAAAAAAAQ"}}
    }
    items = [{"records": [{"decoded": change}]}]
    found = kwire.encode(snapshot(items), message="FetchSnapshotResponse", version=0)
    text = base64.b64encode(write(items, topic="__cluster_metadata")).decode()
    assert found == kwire.encode(snapshot(text), message="FetchSnapshotResponse", version=0)
    offset = {"key": {"type": "2", "data": {"group": "g"}}, "value": None}
    given = produce([{"records": [{"decoded": offset}]}], 9)
    given["topicData"][0]["name"] = "__consumer_offsets"
    assert b"\0\2\0\1g" in kwire.encode(given, message="ProduceRequest", version=9)


@pytest.mark.parametrize(
    ("records", "path"),
    [
        ([5], "[0]"),
        ([{"records": [{}, {"value": 5}]}], "[0].records[1].value"),
        ([{"gap": "CORRUPT", "size": 5}], "[0].data"),
        ({"records": []}, ""),
    ],
)
def test_paths_of_what_does_not_fit(records, path):
    with pytest.raises(EncodeError) as caught:
        kwire.encode(produce(records), message="ProduceRequest", version=13)
    assert caught.value.path == f"topicData[0].partitionData[1].records{path}"


def test_definitions_that_hold_themselves_or_double():
    ever = Versions.parse("0+")

    def field(name, kind):
        return FieldSpec(name, kind, ever)

    structs = [
        StructSpec(f"S{i}", ever, (field(f"A{i}", f"[]S{i + 1}"), field(f"B{i}", f"[]S{i + 1}"))) for i in range(40)
    ]
    structs.append(StructSpec("S40", ever, (field("R", "records"), field("Again", "[]S40"))))
    spec = MessageSpec(
        "Doubles",
        "data",
        Versions.parse("0"),
        Versions.parse("none"),
        (field("Top", "[]S0"),),
        common_structs=tuple(structs),
    )
    value = {"r": ITEMS, "again": []}
    for i in reversed(range(40)):
        value = {f"a{i}": [value], f"b{i}": []}
    found = with_bytes(spec, {"top": [value]})["top"][0]
    for i in range(40):
        (found,) = found[f"a{i}"]
    assert found == {"r": TEXT, "again": []}


def rows_with_records(rows):
    return [row for row in rows if any(size for _, size in row.records)]


@pytest.mark.parametrize("row", rows_with_records(sample()), ids=str)
def test_what_decode_shows_is_encoded_back(row):
    check(row)


@pytest.mark.shared
def test_every_golden_message_with_records():
    rows = rows_with_records(shared())
    for row in rows:
        check(row)
    assert len(rows) > 40


def check(row):
    specs = row.kafka if row.kafka.startswith("3.9") else ()
    options = {"message": row.message, "version": row.version, "specs": specs}
    shown = kwire.decode(row.body, **options, show_secrets=True)
    value = shown.to_json(records="decoded")
    with_data(value, shown.to_json())
    again = kwire.encode(value, **options)
    if all(
        item.get("compression", "none") == "none"
        and (item.get("magic"), item.get("timestampType")) != (2, "LogAppendTime")
        for item in items_of(value)
    ):
        assert again == row.body
    else:
        assert without_sizes(
            kwire.decode(again, **options, show_secrets=True).to_json(records="decoded")
        ) == without_sizes(shown.to_json(records="decoded"))


def items_of(value):
    if isinstance(value, dict):
        if "position" in value and "size" in value:
            yield value
        for part in value.values():
            yield from items_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from items_of(part)


def without_sizes(value):
    """Without what hangs on how well a library compresses, and what is odd, which is written as it should be."""
    for item in items_of(value):
        for key in ("position", "size", "crc", "data", "anomalies"):
            item.pop(key, None)
    return value


def with_data(value, plain):
    """Gaps have no bytes in what decode shows: they are given here."""
    if isinstance(value, dict):
        for key, part in value.items():
            if isinstance(plain[key], str) and isinstance(part, list):
                data = base64.b64decode(plain[key])
                for item in part:
                    if "gap" in item:
                        item["data"] = base64.b64encode(
                            data[item["position"] : item["position"] + item["size"]]
                        ).decode()
            else:
                with_data(part, plain[key])
    elif isinstance(value, list):
        for part, other in zip(value, plain, strict=True):
            with_data(part, other)
