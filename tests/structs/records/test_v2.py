"""Record batches, by hand from DefaultRecordBatch and DefaultRecord."""

import pytest

from kwire_cli import EncodeError
from kwire_cli.engine.fixed import fixed
from kwire_cli.structs.composites import offset_of
from kwire_cli.structs.records import v2

HEADER = (
    "0000000000000007 {length} ffffffff 02 01020304 {attributes} 00000001 0000000000000064 "
    "0000000000000065 ffffffffffffffff ffff ffffffff {count}"
)
FIRST = {
    "length": 14, "attributes": 0, "timestampDelta": 0, "offsetDelta": 0, "key": "aw==", "value": "dmFs",
    "headers": [{"key": "h", "value": "/w=="}],
}  # fmt: skip
SECOND = {
    "length": 8, "attributes": 0, "timestampDelta": 1, "offsetDelta": 1, "key": None, "value": None,
    "headers": [{"key": "", "value": None}],
}  # fmt: skip
BYTES = "1c 00 00 00 02 6b 06 76616c 02 02 68 02 ff" + "10 00 02 02 01 01 02 00 01"


def header(records, attributes=0, count=2):
    length = (49 + len(bytes.fromhex(records))).to_bytes(4, "big").hex()
    return HEADER.format(length=length, attributes=f"{attributes:04x}", count=f"{count:08x}")


def test_records(check):
    found = check(v2.RECORDS, BYTES, {"records": [FIRST, SECOND]})
    assert [(leaf.path, leaf.kind, leaf.start, leaf.value, leaf.end) for leaf in found.leaves][:9] == [
        ("records[0].length", "int32", 0, 1, 1),
        ("records[0].attributes", "int8", 1, 1, 2),
        ("records[0].timestampDelta", "int64", 2, 2, 3),
        ("records[0].offsetDelta", "int32", 3, 3, 4),
        ("records[0].key", "bytes", 4, 5, 6),
        ("records[0].value", "bytes", 6, 7, 10),
        ("records[0].headers", "count", 10, 11, 11),
        ("records[0].headers[0].key", "string", 11, 12, 13),
        ("records[0].headers[0].value", "bytes", 13, 14, 15),
    ]


def test_a_batch(check):
    value = {
        "baseOffset": 7, "batchLength": 49 + 24, "partitionLeaderEpoch": -1, "magic": 2, "crc": 0x01020304,
        "attributes": 0x28, "lastOffsetDelta": 1,
        "baseTimestamp": 100, "maxTimestamp": 101, "producerId": -1, "producerEpoch": -1, "baseSequence": -1,
        "recordsCount": 2,
        "records": [FIRST, SECOND],
    }  # fmt: skip
    check(v2.BATCHES, header(BYTES, 0x28) + BYTES, {"batches": [value]})
    check(v2.BATCHES, 3 * (header(BYTES, 0x28) + BYTES), {"batches": [value] * 3})
    assert [bits.read(0x28) for bits in v2.ATTRIBUTES] == [0, 1, 0, 1, 0]
    assert fixed(v2.HEADER).unpack(bytes.fromhex(header(BYTES, 0x28))) == tuple(value.values())[:-1]


@pytest.mark.parametrize("attributes", [1, 2, 3, 4, 5, 7])
def test_compressed_records_are_one_piece_of_bytes(check, attributes):
    found = check(v2.BATCHES, header("ff0102", attributes) + "ff0102", {"batches": [as_value(attributes, 52, "/wEC")]})
    assert (found.leaves[-1].path, found.leaves[-1].kind) == ("batches[0].records", "records")
    check(v2.BATCHES, header("", attributes) + "", {"batches": [as_value(attributes, 49, "")]})


def as_value(attributes, length, records):
    numbers = fixed(v2.HEADER)
    return dict(zip(numbers.names, numbers.unpack(bytes.fromhex(header("", attributes))), strict=True)) | {
        "batchLength": length,
        "records": records,
    }


def test_places_in_a_batch_are_those_of_kafka():
    assert v2.HEADER.sizeof() == 61
    places = {
        "batchLength": 8,
        "partitionLeaderEpoch": 12,
        "magic": 16,
        "crc": 17,
        "attributes": 21,
        "baseTimestamp": 27,
        "recordsCount": 57,
    }
    assert {name: offset_of(v2.HEADER, name) for name in places} == places
    assert offset_of(v2.BATCH, "records") == 61
    assert offset_of(v2.BATCH, v2.CRC_FROM) == 21
    with pytest.raises(KeyError):
        offset_of(v2.HEADER, "nothing")


def test_the_least_record_has_7_bytes():
    empty = {"attributes": 0, "timestampDelta": 0, "offsetDelta": 0, "key": None, "value": None, "headers": []}
    assert v2.RECORD.build(empty).hex() == "0c000000010100"
    most = {"timestampDelta": -(1 << 63), "offsetDelta": -(1 << 31)}
    assert v2.RECORD.build(empty | most).hex() == "2600" + "ff" * 9 + "01" + "ff" * 4 + "0f" + "010100"
    assert v2.RECORDS.parse(v2.RECORD.build(empty | most))["records"][0] == {"length": 19} | empty | most


RECORD_FAULTS = [
    # bytes, then codes with paths and offsets; from Kafka's reader every one of them gets an exception
    ("0e 00 00 00 01 01 00", [("RECORD_SIZE_MISMATCH", "records[0].length", 0)]),
    ("0a 00 00 00 01 01 00", [("RECORD_SIZE_MISMATCH", "records[0].length", 0)]),
    ("01 00 00 00 01 01 00", [("RECORD_SIZE_MISMATCH", "records[0].length", 0)]),
    ("feffffff0f 00 00 00 01 01 00", [("RECORD_SIZE_MISMATCH", "records[0].length", 0)]),
    ("0c 00 00 00 03 01 00", [("NEGATIVE_LENGTH", "records[0].key", 4)]),
    ("0c 00 00 00 01 05 00", [("NEGATIVE_LENGTH", "records[0].value", 5)]),
    ("0c 00 00 00 01 01 01", [("NULL_NOT_ALLOWED", "records[0].headers", 6)]),
    ("10 00 00 00 01 01 02 01 01", [("NULL_NOT_ALLOWED", "records[0].headers[0].key", 7)]),
    ("12 00 00 00 01 01 02 02 ff 01", [("INVALID_UTF8", "records[0].headers[0].key", 8)]),
    ("0e 00 00 00 8100 01 00", [("OVERLONG_VARINT", "records[0].key", 4)]),
    ("0e 00 8200 00 01 01 00", [("OVERLONG_VARINT", "records[0].timestampDelta", 2)]),
    ("8c80808070 00 00 00 01 01 00", [("VARINT_EXCESS_BITS", "records[0].length", 0)]),
    (
        "0c 00 00 00 01 01 7e",
        [("COUNT_MISMATCH", "records[0].headers", 6), ("TRUNCATED", "records[0].headers[0].key", 7)],
    ),
    (
        "0c 00 00 00 01 01 feffffff0f",
        [("COUNT_MISMATCH", "records[0].headers", 6), ("TRUNCATED", "records[0].headers[0].key", 11)],
    ),
    ("0c 00 00 00 feffffff0f 01 00", [("TRUNCATED", "records[0].key", 4)]),
    ("0c 00 00 00 01 08 00", [("TRUNCATED", "records[0].value", 5)]),
    ("0c 00 ffffffffffffffffffffff 00 01 01 00", [("VARINT_TOO_LONG", "records[0].timestampDelta", 2)]),
    ("0c 00 00 ffffffffff 01 01 00", [("VARINT_TOO_LONG", "records[0].offsetDelta", 3)]),
    ("0c 00 00 00 01 01 00 0c", [("TRUNCATED", "records[1].attributes", 8)]),
    ("0c 00 00 00 01 01 00 8c", [("TRUNCATED", "records[1].length", 7)]),
]


@pytest.mark.parametrize(("data", "found"), RECORD_FAULTS)
def test_a_fault_is_named_and_the_others_are_read(read, data, found):
    data = bytes.fromhex(data)
    assert read(v2.RECORDS, data).anomalies == found
    before = bytes.fromhex(BYTES)
    shifted = [
        (code, path.replace("records[1]", "records[3]").replace("records[0]", "records[2]"), at + len(before))
        for code, path, at in found
    ]
    amid = read(v2.RECORDS, before + data)
    assert amid.anomalies == shifted
    assert amid.value["records"][:2] == [FIRST, SECOND]
    if not {"TRUNCATED", "VARINT_TOO_LONG"} & {code for code, _, _ in found}:
        assert [record["length"] for record in read(v2.RECORDS, data + before).value["records"][1:]] == [14, 8]


def test_a_batch_whose_length_lies(read):
    good = header(BYTES) + BYTES
    for length in (60, 49 + 23):  # amid the second record, which is read all the same
        data = bytes.fromhex(HEADER.format(length=f"{length:08x}", attributes="0000", count="00000002") + BYTES + good)
        found = read(v2.BATCHES, data)
        assert ("RECORD_SIZE_MISMATCH", "batches[0].batchLength", 8) in found.anomalies
        assert len(found.value["batches"][0]["records"]) == 1 + (length > 60 + 4)
    cut = read(v2.BATCHES, bytes.fromhex(good)[:-1])
    assert cut.anomalies == [("TRUNCATED", "batches[0].records[1].headers[0].value", 61 + 23)]


def test_what_attributes_do_not_allow():
    value = as_value(0, 49, [])
    assert v2.BATCH.build(value)
    with pytest.raises(EncodeError, match="takes a list") as caught:
        v2.BATCH.build(value | {"records": "AA=="})
    assert caught.value.path == "records"
    with pytest.raises(EncodeError, match="takes base64 text"):
        v2.BATCH.build(value | {"records": [], "attributes": 1})
