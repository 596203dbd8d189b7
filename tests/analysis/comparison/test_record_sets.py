"""Records in the fields of two messages: compared by record, and as bytes only where the records are the same."""

import base64
import gzip

import crc32c
import pytest
from kit.logs import segments

import kwire_cli as kwire
from kwire_cli.analysis.comparison.messages import Operand, compare
from kwire_cli.message.decoded import decode
from kwire_cli.message.redaction import RecordRedaction
from kwire_cli.message.roles import RecordsAs
from kwire_cli.message.secrets import hidden_spans

CATALOG = kwire.catalog()
AT = 'topicData[name="t"].partitionData[index=0].records'


def text(value):
    return base64.b64encode(value.encode()).decode()


def record(offset, value, **keys):
    return {
        "offset": offset,
        "timestamp": 1700000000000,
        "key": text(f"k{offset}"),
        "value": text(value),
        "headers": [],
    } | keys


def batch(*records, **keys):
    return {"magic": 2, "baseOffset": records[0]["offset"], "records": [*records]} | keys


def produce(*batches, records=None, topic="t"):
    data = kwire.write_records([*batches]) if records is None else records
    partition = {"index": 0, "records": base64.b64encode(data).decode()}
    value = {
        "transactionalId": None,
        "acks": -1,
        "timeoutMs": 1,
        "topicData": [{"name": topic, "partitionData": [partition]}],
    }
    return kwire.encode(value, message="ProduceRequest", version=9)


def compared(a, b, message="ProduceRequest", version=9, *, shown=True):
    reading = RecordsAs(CATALOG, hide=None if shown else RecordRedaction(CATALOG))
    sides = []
    for data in (a, b):
        decoded = decode(CATALOG, data, message, version)
        hidden = frozenset() if shown else hidden_spans(CATALOG, decoded)
        sides.append(Operand(decoded, hidden, reading))
    return compare(*sides).differences


def told(found, at=AT):
    return [(each.kind, each.path.removeprefix(at)) for each in found]


def test_records_belong_together_by_offset():
    a = produce(batch(record(0, "a"), record(1, "b"), record(2, "c")))
    b = produce(batch(record(0, "a"), record(2, "C"), record(3, "d"), compression="none"))
    found = compared(a, b)
    assert told(found) == [
        ("changed", "[baseOffset=0].lastOffset"),
        ("removed", "[baseOffset=0].records[offset=1]"),
        ("changed", "[baseOffset=0].records[offset=2].value"),
        ("added", "[baseOffset=0].records[offset=3]"),
    ]
    value = found[2]
    assert (value.a.value, value.b.value, value.a.is_bytes) == (text("c"), text("C"), True)
    assert (value.a.path, value.b.path) == (
        "topicData[0].partitionData[0].records[0].records[2].value",
        "topicData[0].partitionData[0].records[0].records[1].value",
    )


def test_headers_and_the_batch_itself():
    a = produce(batch(record(0, "a", headers=[{"key": "h", "value": text("x")}])))
    b = produce(
        batch(record(0, "a", headers=[{"key": "h", "value": text("y")}]), producerId=7, producerEpoch=0, baseSequence=0)
    )
    assert told(compared(a, b)) == [
        ("changed", "[baseOffset=0].producerId"),
        ("changed", "[baseOffset=0].producerEpoch"),
        ("changed", "[baseOffset=0].baseSequence"),
        ("changed", '[baseOffset=0].records[offset=0].headers[key="h"].value'),
    ]


def test_another_codec_is_all_that_differs():
    rows = [record(0, "a"), record(1, "b")]
    assert told(compared(produce(batch(*rows)), produce(batch(*rows, compression="gzip")))) == [
        ("changed", "[baseOffset=0].compression")
    ]


def test_the_same_records_in_other_bytes():
    records = kwire.write_records([batch(*(record(n, "value" * n) for n in range(9)), compression="gzip")])
    packed = gzip.compress(gzip.decompress(records[61:]), 1, mtime=9)
    covered = records[21:61] + packed
    other = (
        records[:8]
        + (len(covered) + 9).to_bytes(4, "big")
        + records[12:17]
        + crc32c.crc32c(covered).to_bytes(4, "big")
        + covered
    )
    [found] = compared(produce(records=records), produce(records=other))
    assert (found.kind, found.path, found.detail) == ("bytes", AT, "the same records, written in another way")
    assert found.a.raw != found.b.raw


def test_bytes_that_are_no_batch():
    records = kwire.write_records([batch(record(0, "a"))])
    [found] = compared(produce(records=records), produce(records=records + bytes(7)))
    assert (found.kind, found.path, found.b.value["gap"]) == ("added", f"{AT}[1]", "TRUNCATED")


def test_a_checksum_that_is_wrong():
    records = bytearray(kwire.write_records([batch(record(0, "a"))]))
    records[17] ^= 1
    found = compared(produce(batch(record(0, "a"))), produce(records=bytes(records)))
    assert told(found) == [("changed", "[baseOffset=0].crcValid")]


def test_null_and_empty_records():
    def fetched(records):
        partition = {
            "partitionIndex": 0, "errorCode": 0, "highWatermark": 0, "lastStableOffset": 0, "logStartOffset": 0,
            "abortedTransactions": None,
            "preferredReadReplica": -1, "records": records,
        }  # fmt: skip
        value = {
            "throttleTimeMs": 0,
            "errorCode": 0,
            "sessionId": 0,
            "responses": [{"topic": "t", "partitions": [partition]}],
        }
        return kwire.encode(value, message="FetchResponse", version=12)

    found = compared(fetched(None), fetched(""), "FetchResponse", 12)
    assert [(each.kind, each.a.value, each.b.value) for each in found] == [("changed", None, [])]


def metadata_log(records):
    partition = {
        "index": 0,
        "errorCode": 0,
        "snapshotId": {"endOffset": 0, "epoch": 0},
        "currentLeader": None,
        "size": 1,
        "position": 0,
    }
    partition |= {"unalignedRecords": base64.b64encode(records).decode()}
    del partition["currentLeader"]
    value = {"throttleTimeMs": 0, "errorCode": 0, "topics": [{"name": "__cluster_metadata", "partitions": [partition]}]}
    return kwire.encode(value, message="FetchSnapshotResponse", version=0)


@pytest.mark.parametrize("shown", [True, False])
def test_what_records_mean_is_compared_and_their_secrets_are_not_told(shown):
    snapshot = next(data for name, data in segments().items() if name.startswith("__cluster_metadata"))
    items = [item.to_json() for item in kwire.read_records(snapshot, topic="__cluster_metadata", show_secrets=True)]
    changed = [item | {"records": [one(row) for row in item["records"]]} for item in items]
    other = kwire.write_records(changed, topic="__cluster_metadata")
    found = compared(metadata_log(snapshot), metadata_log(other), "FetchSnapshotResponse", 0, shown=shown)
    salts = [each for each in found if each.path.endswith("decoded.value.data.salt")]
    assert len(salts) == 1
    assert salts[0].a.value.startswith("<redacted ") != shown
    assert all(each.path.endswith(("salt", "crcValid")) for each in found)


def one(row):
    """A record of a snapshot with another salt, where it has one."""
    value = (row.get("decoded") or {}).get("value") or {}
    if value.get("type") != "USER_SCRAM_CREDENTIAL_RECORD":
        return {key: part for key, part in row.items() if key != "decoded"}
    row["decoded"]["value"]["data"]["salt"] = text("other")
    return {key: part for key, part in row.items() if key not in {"key", "value"}}


def damaged(data):
    """Return a batch whose compressed records cannot be read and whose checksum is right."""
    at = 61
    body = bytearray(data[:at] + bytes(byte ^ 0x5A for byte in data[at:]))
    body[17:21] = crc32c.crc32c(bytes(body[21:])).to_bytes(4, "big")
    return bytes(body)


@pytest.mark.parametrize(
    "sets",
    [
        [b"A" * 60, b"B" * 63],
        [damaged(kwire.write_records([batch(record(0, value * 90), compression="gzip")])) for value in "ab"],
        [kwire.write_records([batch(record(0, "a"))])[:-4] + b"", b"B" * 70],
    ],
    ids=["no batch", "damaged", "cut"],
)
def test_records_that_cannot_be_read_are_not_the_same(sets):
    found = compared(*(produce(records=data) for data in sets))
    assert {difference.kind for difference in found} & {"changed", "added", "removed"}
    assert not any("the same records" in difference.detail for difference in found)
