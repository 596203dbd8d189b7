"""Record sets from JSON: vectors of the drafts and of wrappers that were made by hand, and what Kafka wrote. What
hypothesis thinks of is in test_writing_generated.py.
"""

import base64
import gzip
import json
import zlib

import crc32c
import pytest
from kit.logs import b64, segments
from kit.messages import record_sets

import kwire_cli as kwire
from kwire_cli import EncodeError, InputError
from kwire_cli.records.codecs import Limits
from kwire_cli.records.compression import decompress
from kwire_cli.records.writing import with_new_checksums, without_gaps, write, write_each
from kwire_cli.structs.records import v0, v1, v2


def bytes_of(text):
    return bytes.fromhex(text)


def crc(text):
    return zlib.crc32(bytes_of(text)).to_bytes(4, "big").hex()


def size(text):
    return len(bytes_of(text)).to_bytes(4, "big").hex()


def legacy(offset, rest):
    """A message of v0 or v1: offset, size, CRC, and what follows from the magic on."""
    return f"{offset:016x} {size(crc(rest) + rest)} {crc(rest)} {rest}"


TEXT = {"key": {"text": "k1"}, "value": {"text": "value"}}
KV = "00000002 6b31 00000005 76616c7565"
STAMP = "0000018bcfe56800"
T = 1_700_000_000_000


FIRST = {"timestamp": T, "key": "aw==", "value": {"text": "val"}, "headers": [{"key": "h", "value": "/w=="}]}


@pytest.mark.parametrize(
    ("item", "wrapper", "inner"),
    [
        ({"magic": 1}, 12, [0, 2]),
        ({"magic": 0}, 12, [10, 12]),
        ({"magic": 1, "innerOffsets": "absolute"}, 12, [10, 12]),
        ({"magic": 0, "innerOffsets": "relative"}, 12, [0, 2]),
        ({"magic": 1, "lastOffset": 0}, 0, [10, 12]),  # as a producer sends it
        ({"magic": 1, "lastOffset": 11}, 11, [10, 12]),  # readers take these as they are
        ({"magic": 1, "lastOffset": 99, "innerOffsets": "relative"}, 99, [0, 2]),
        ({"magic": 0, "lastOffset": 99}, 99, [10, 12]),
    ],
)
def test_inner_offsets_of_a_wrapper(item, wrapper, inner):
    data = write([{**item, "compression": "gzip", "records": [{"offset": 10, **TEXT}, {"offset": 12, **TEXT}]}])
    assert int.from_bytes(data[:8], "big") == wrapper
    start = 26 if item["magic"] == 0 else 34
    assert data[start - 8 : start - 4] == b"\xff" * 4  # no key
    rest = f"{item['magic']:02x} 00 {'ff' * 8 * item['magic']} {KV}"
    assert gzip.decompress(data[start:]).hex() == bytes_of("".join(legacy(offset, rest) for offset in inner)).hex()


def test_the_draft_of_kip_98():
    stamp = "0000000000000001"
    body = "00" + stamp + "00 01 6b 76"  # key and value
    null = "03" + stamp + "01"  # neither
    marker = "06" + stamp + "02 00000001"  # a control message: its key is what is left
    rows = "".join(f"{len(bytes_of(text)) + 4:02x} {text} {crc(text)}" for text in (body, null, marker))
    rest = f"02 0010 00000002 {stamp} 0000000000000009 0002 00000005 {rows}"
    expected = f"0000000000000064 {size('00000000' + rest)} {crc(rest)} {rest}"
    item = {
        "baseOffset": 100, "producerId": 9, "producerEpoch": 2, "baseSequence": 5, "isTransactional": True,
        "records": [{"timestamp": 1, "key": {"text": "k"}, "value": {"text": "v"}}, {"timestamp": 1},
        {"timestamp": 1, "control": {"type": "ABORT"}}],
    }  # fmt: skip
    data = write([item], form="kip98-draft")
    assert data.hex() == bytes_of(expected).hex()
    (found,) = kwire.read_records(data, format="kip98-draft")
    assert found.anomalies == []
    assert [record.control for record in found.records()] == [None, None, 1]
    packed = write([{**item, "compression": "zstd"}], form="kip98-draft")
    assert decompress(4, packed[45:], Limits()).data.hex() == bytes_of(rows).hex()


def test_the_draft_of_kip_82():
    headers = "00000001 00000001 ff 00110000 00000000"
    rest = f"02 10 {STAMP} 00000001 6b {size(headers)} {headers} 00000001 76"
    item = {
        "records": [
            {
                "timestamp": T,
                "key": "aw==",
                "value": "dg==",
                "headers": [{"key": 1, "value": "/w=="}, {"key": 0x110000, "value": ""}],
            },
            {"timestamp": T},
        ]
    }
    expected = legacy(0, rest) + legacy(1, f"02 00 {STAMP} {'ff' * 8}")
    assert write([item], form="kip82-draft").hex() == bytes_of(expected).hex()


def test_damage_by_hand():
    right = write([{"records": [FIRST]}])
    wrong = write([{"crc": 5, "crcValid": False, "records": [FIRST]}])
    assert wrong == right[:17] + (5).to_bytes(4, "big") + right[21:]
    assert (
        write([{"crc": 5, "crcValid": True, "records": [FIRST]}, {"crc": 6, "records": [FIRST]}])[: len(right)] == right
    )
    said = write(
        [
            {
                "fields": {"recordsCount": 9, "batchLength": 1000, "attributes": 0x80},
                "records": [{**FIRST, "fields": {"length": 1}}],
            }
        ]
    )
    assert (said[8:12].hex(), said[21:23].hex(), said[57:61].hex(), said[61]) == ("000003e8", "0080", "00000009", 2)
    assert int.from_bytes(said[17:21], "big") == crc32c.crc32c(said[21:])
    assert write([{"fields": {"crc": 7}, "records": []}])[17:21] == b"\0\0\0\7"
    assert write([{"magic": 1, "records": [TEXT, {**TEXT, "fields": {"crc": 1}}]}])[41 + 12 : 41 + 16] == b"\0\0\0\1"
    assert write([{"magic": 0, "crc": 3, "crcValid": False, "records": [TEXT]}])[12:16] == b"\0\0\0\3"
    packed = write([{"compression": "gzip", "fields": {"records": "3q2+7w=="}, "records": [FIRST]}])
    assert packed[61:].hex() == "deadbeef"


def test_forms_of_bytes():
    forms = [{"text": "ü"}, {"json": {"a": [1, None, "ü"]}}, {"hex": "00 ff"}, "/w==", None]
    data = write([{"records": [{"value": value} for value in forms]}])
    (found,) = kwire.read_records(data, show_secrets=True)
    assert [record.value for record in found.records()] == [
        "ü".encode(),
        '{"a":[1,null,"ü"]}'.encode(),
        b"\0\xff",
        b"\xff",
        None,
    ]


def test_batches_come_as_they_are_taken():
    taken = []

    def items():
        for offset in range(3):
            taken.append(offset)
            yield {"records": [{}]}

    written = write_each(items())
    first = next(written)
    assert taken == [0]
    rest = [next(written), next(written)]
    assert [int.from_bytes(data[:8], "big") for data in (first, *rest)] == [0, 1, 2]


# What Kafka wrote.


def without_sizes(item):
    return {key: value for key, value in item.items() if key not in {"position", "size", "crc"}}


FRAMING = {"gzip": (8, 0), "snappy": (16, 0), "lz4": (7, 0), "zstd": (5, 3)}
"""How many bytes at the beginning and at the end are the same whoever compresses."""


def packed_records(data):
    """The compressed records of a batch or message."""
    if data[16] == 2:
        return data[v2.HEADER.sizeof() :]
    return base64.b64decode((v0, v1)[data[16]].MESSAGE.parse(data)["value"])


def own_times(data, shown):
    """LogAppendTime shows one time for all: what the records themselves say is said in the fields of the
    declaration.
    """
    value = v2.BATCH.parse(data)
    shown["fields"] = {"baseTimestamp": value["baseTimestamp"]}
    for record, row in zip(shown["records"], value["records"], strict=True):
        record["fields"] = {"timestampDelta": row["timestampDelta"]}


@pytest.mark.shared
def test_what_kafka_wrote_is_written_again():
    seen = {}
    for row in record_sets():
        data = bytes.fromhex(row["hex"])
        shown, plain = [], True
        for item in kwire.read_records(data, show_secrets=True):
            document = item.to_json()
            mine = data[item.position : item.position + item.size]
            if "gap" in document:
                document["data"] = b64(mine)
            elif document["compression"] != "none":
                plain = False
                written = write([document])
                (again,) = kwire.read_records(written)
                assert without_sizes(again.to_json()) == without_sizes(document), row["name"]
                # The framing is the same to the byte; what is inside depends on the level, the library and its version.
                start, end = FRAMING[document["compression"]]
                packed, kafkas = packed_records(written), packed_records(mine)
                assert (packed[:start], packed[len(packed) - end :]) == (kafkas[:start], kafkas[len(kafkas) - end :])
            else:
                if document["magic"] == 2 and document["timestampType"] == "LogAppendTime":
                    (again,) = kwire.read_records(write([document]))
                    assert without_sizes(again.to_json()) == without_sizes(document), row["name"]
                    own_times(mine, document)
                assert write([document]) == mine, row["name"]
            kind = document.get("magic", "gap"), document.get("compression", "")
            seen[kind] = seen.get(kind, 0) + 1
            shown.append(document)
        if plain:
            assert write(json.loads(json.dumps(shown))) == data
    assert set(seen) == {
        ("gap", ""), (0, "none"), (1, "none"), (2, "none"), *((1, codec) for codec in ("gzip", "snappy", "lz4")),
        *((0, codec) for codec in ("gzip", "snappy", "lz4")),
        *((2, codec) for codec in ("gzip", "snappy", "lz4", "zstd")),
    }  # fmt: skip
    assert sum(seen.values()) > 350


def test_sample_segments_are_written_again():
    exact = 0
    for name, data in segments().items():
        items = list(kwire.read_records(data, topic=name.rpartition("-")[0], show_secrets=True))
        documents = [item.to_json() for item in items]
        for item, document in zip(items, documents, strict=True):
            if "gap" in document:
                document["data"] = b64(data[item.position : item.position + item.size])
        written = write(json.loads(json.dumps(documents)))
        again = [
            item.to_json() for item in kwire.read_records(written, topic=name.rpartition("-")[0], show_secrets=True)
        ]
        assert [without_sizes(item) for item in again if "gap" not in item] == [
            without_sizes(item) for item in documents if "gap" not in item
        ], name
        exact += written == data
    assert exact >= 5


# What does not fit.


@pytest.mark.parametrize(
    ("items", "path", "reason"),
    [
        ({}, "", "a record set takes a list of items"),
        ([5], "[0]", "it is an object, not 5"),
        ([{"baseOfset": 1, "records": []}], "[0].baseOfset", "no such key"),
        ([{}], "[0].records", "dump with --deep"),
        ([{"records": 5}], "[0].records", "it is a list"),
        ([{"records": [5]}], "[0].records[0]", "it is an object"),
        ([{"records": [{"offset": "1"}]}], "[0].records[0].offset", "it is an integer (int64), not '1'"),
        ([{"baseOffset": 1 << 63, "records": []}], "[0].baseOffset", "does not fit int64"),
        ([{"baseOffset": 0, "records": [{"offset": 1 << 31}]}], "[0].records[0].offset", "does not fit int32"),
        ([{"magic": 3, "records": []}], "[0].magic", "it is 0 or 1 or 2, not 3"),
        ([{"compression": "zip", "records": []}], "[0].compression",
        "it is one of none, gzip, snappy, lz4, zstd, not 'zip'"),
        ([{"compression": 5, "records": []}], "[0].compression", "it is a text"),
        ([{"compression": "gzip", "compressionLevel": 99, "records": []}], "[0].compressionLevel",
        "gzip has -1 to 9, not 99"),
        ([{"compression": "snappy", "compressionLevel": 1, "records": []}], "[0].compressionLevel",
        "snappy has no levels"),
        ([{"isControl": "yes", "records": []}], "[0].isControl", "it is true or false"),
        ([{"crcValid": False, "records": []}], "[0].crc", "it is missing"),
        ([{"fields": {"crc": "x"}, "records": []}], "[0].crc", "uint32 takes an integer, not text"),
        ([{"fields": {"bogus": 1}, "records": []}], "[0].bogus", "no such field"),
        ([{"records": [{"value": "%"}]}], "[0].records[0].value", "it takes base64 text"),
        ([{"records": [{"value": {"hex": "0"}}]}], "[0].records[0].value", "hex has two digits for each byte"),
        ([{"records": [{"value": {"text": "\ud800"}}]}], "[0].records[0].value", "lone surrogate"),
        ([{"records": [{"value": {"json": float("nan")}}]}], "[0].records[0].value", "it takes base64 text"),
        ([{"records": [{"value": "<redacted 9 bytes>"}]}], "[0].records[0].value", "--show-secrets"),
        ([{"records": [{"headers": [{"value": ""}]}]}], "[0].records[0].headers[0].key", "a header has a name"),
        ([{"records": [{"headers": [{"key": 5}]}]}], "[0].records[0].headers[0].key", "it is a text"),
        ([{"magic": 1, "records": [{"headers": [{"key": "a"}]}]}], "[0].records[0].headers",
        "format v1 has no headers"),
        ([{"magic": 1, "records": []}], "[0].records", "there is none to write"),
        ([{"magic": 1, "producerId": 5, "records": [{}]}], "[0].producerId", "format v1 has no such thing"),
        ([{"magic": 1, "records": [{"control": {"type": "COMMIT"}}]}], "[0].records[0].control", "no control records"),
        ([{"magic": 1, "lastOffset": 5, "records": [{}]}], "[0].lastOffset", "it is the offset of the last message, 0"),
        ([{"magic": 1, "compression": "gzip", "lastOffset": 5, "records": [{}]}], "[0].lastOffset",
        "has the offset of its last message, 0"),
        ([{"magic": 1, "crc": 5, "crcValid": False, "records": [{}, {}]}], "[0].crc", "say it of each record"),
        ([{"magic": 1, "fields": {}, "records": [{}, {}]}], "[0].fields", "say it of each record"),
        ([{"magic": 0, "records": [{"timestamp": 5}]}], "[0].records[0].timestamp", "format v0 has no such thing"),
        ([{"magic": 0, "timestampType": "CreateTime", "records": [{}]}], "[0].timestampType",
        "format v0 has no such thing"),
        ([{"timestampType": "NoTimestampType", "records": [{}]}], "[0].timestampType",
        "it is one of CreateTime, LogAppendTime"),
        ([{"isControl": False, "records": [{"control": {"type": "ABORT"}}]}], "[0].records[0].control",
        "not a control batch"),
        ([{"gap": "CORRUPT", "size": 4}], "[0].data", "a gap needs its bytes"),
        ([{"records": []}, {"records": [{}, {"key": []}]}], "[1].records[1].key", "it takes base64 text"),
    ],
)  # fmt: skip
def test_what_does_not_fit(items, path, reason):
    with pytest.raises(EncodeError) as caught:
        write(items)
    assert caught.value.path == path
    assert reason in caught.value.reason


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_gaps_are_left_out_and_checksums_made_right(magic):
    item = {"magic": magic, "baseOffset": 7, "records": [TEXT]}
    right = write([item])
    damaged = [{"gap": "CORRUPT", "size": 4}, {**item, "crc": 5, "crcValid": False}, {"gap": "PADDING", "size": 9}]
    assert write(with_new_checksums(without_gaps(damaged))) == right
    assert write(without_gaps(damaged)) == write([damaged[1]]) != right
    assert [*with_new_checksums(without_gaps([5, "a"]))] == [5, "a"]


@pytest.mark.parametrize(
    ("form", "item", "path"),
    [
        ("kip98-draft", {"partitionLeaderEpoch": 0, "records": []}, "[0].partitionLeaderEpoch"),
        ("kip98-draft", {"deleteHorizonMs": 0, "records": []}, "[0].deleteHorizonMs"),
        ("kip98-draft", {"records": [{"headers": [{"key": "a"}]}]}, "[0].records[0].headers"),
        ("kip98-draft", {"baseOffset": 5, "records": [{"offset": 4}]}, "[0].records[0].offset"),
        ("kip98-draft", {"records": [{"control": {"type": "X"}}]}, "[0].records[0].control.type"),
        ("kip98-draft", {"magic": 1, "records": []}, "[0].magic"),
        ("kip82-draft", {"records": [{"headers": [{"key": "a", "value": ""}]}]}, "[0].records[0].headers[0].key"),
        ("kip82-draft", {"records": [{"headers": [{"key": -1, "value": ""}]}]}, "[0].records[0].headers[0].key"),
        ("kip82-draft", {"records": [{"headers": [{"key": 1, "value": None}]}]}, "[0].records[0].headers[0].value"),
        ("v1", {"magic": 2, "records": []}, "[0].magic"),
    ],
)
def test_what_does_not_fit_a_format(form, item, path):
    with pytest.raises(EncodeError) as caught:
        write([item], form=form)
    assert caught.value.path == path


def test_a_format_is_that_of_all_items():
    for form, magic in (("v0", 0), ("v1", 1), ("v2", 2)):
        assert write([{"records": [{}]}], form=form)[16] == magic
    with pytest.raises(InputError, match="kip98-draft"):
        write([], form="v3")


def test_the_public_name():
    assert kwire.write_records([{"records": [{}]}], "v0") == write([{"records": [{}]}], form="v0")
    body = {"version": 0, "voters": [], "leaderId": 1, "grantingVoters": []}
    item = {"records": [{"control": {"type": "LeaderChange", "value": body}}]}
    assert kwire.write_records([item], specs="3.9")[61:] == kwire.write_records([item])[61:]
    assert kwire.write_records([item])[66:70] == b"\0\0\0\2"
