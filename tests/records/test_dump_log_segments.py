"""Batches and records as kwire reads them, compared with the lines that Kafka's own DumpLogSegments printed.

The payloads of control records and of Kafka's own topics are compared in test_control.py and test_payload_records.py,
indexes and producer snapshots in tests/source/logs/test_real.py.
"""

import json
import re
from dataclasses import dataclass, field

import pytest
from records import real_records

import kwire_cli as kwire
from kwire_cli.records.batch import Batch
from kwire_cli.records.gaps import Gap
from kwire_cli.records.legacy import inner_messages

COMPARED = {
    "k28-zk": (44, 216, 578),
    "k44-clean": (68, 561, 4886),
    "k44-clients": (15, 31, 600),
    "k44-kraft-c1": (4, 20, 125),
    "synthetic-torn": (4, 531, 731),
}
"""The number of segments and snapshots, of their batches, and of the printed records of each cluster."""
PAIR = re.compile(r"(\w+): (\[.*?\](?= |$)|\S+)", re.DOTALL)
BATCH = re.compile(r"(?:baseOffset|offset): \d")
INVALID = re.compile(r"Found (\d+) invalid bytes at the end of ")
AFTER_THE_RECORDS = re.compile(r"(?:Found |Mismatches in |Non-consecutive offsets in )")


@dataclass
class PrintedBatch:
    """A line about a batch, and the lines about its records. A record continues over lines that begin none."""

    line: str
    records: list[str] = field(default_factory=list)


def printed_batches(text):
    """Return the printed batches, and the number of bytes after the last one."""
    batches = []
    invalid = 0
    for line in text.split("\n"):
        if line.startswith("| "):
            batches[-1].records.append(line)
        elif BATCH.match(line):
            batches.append(PrintedBatch(line))
        elif found := INVALID.match(line):
            invalid = int(found[1])
        elif AFTER_THE_RECORDS.match(line):
            break
        elif batches and batches[-1].records:
            batches[-1].records[-1] += f"\n{line}"
    return batches, invalid


def text_of(value):
    """Return a value as Java prints it."""
    if value is None:
        return "OptionalLong.empty"
    return str(value).lower() if isinstance(value, bool) else str(value)


def batch_facts(batch):
    head = batch.head
    facts = {
        "position": batch.position,
        batch.timestamp_type: head.max_timestamp,
        "size": batch.size,
        "magic": batch.magic,
        "compresscodec": batch.compression,
        "crc": head.crc,
        "isvalid": batch.crc_valid,
    }
    if batch.layout.is_message:
        return facts | {"offset": head.last_offset}
    return facts | {
        "baseOffset": head.base_offset,
        "lastOffset": head.last_offset,
        "count": head.records_count,
        "baseSequence": head.base_sequence,
        "lastSequence": batch.last_sequence,
        "producerId": head.producer_id,
        "producerEpoch": head.producer_epoch,
        "partitionLeaderEpoch": head.leader_epoch,
        "isTransactional": head.transactional,
        "isControl": head.control,
        "deleteHorizonMs": None if head.delete_horizon is None else f"OptionalLong[{head.delete_horizon}]",
    }


def record_facts(batch, record, message):
    """Return the facts about a record; `message` is the inner message of formats v0 and v1 that holds it."""
    facts = {
        "offset": record.offset,
        batch.timestamp_type: record.timestamp,
        "keySize": -1 if record.key is None else len(record.key),
        "valueSize": -1 if record.value is None else len(record.value),
    }
    if message:
        return facts | {"isValid": message.crc_valid, "crc": message.head.crc}
    names = ",".join(str(name) for name, _ in record.headers or ())
    return facts | {"sequence": record.sequence, "headerKeys": f"[{names}]"}


def inner(batch):
    """Yield the message of each record in formats v0 and v1; None for records of format v2."""
    if not batch.layout.is_message:
        return [None] * batch.head.records_count
    return [item for item in inner_messages(batch) if isinstance(item, Batch)] if batch.head.codec else [batch]


def check_batch(printed, batch, *, is_own):
    facts = {name: text_of(value) for name, value in batch_facts(batch).items()}
    want = dict(PAIR.findall(printed.line))
    want["compresscodec"] = want["compresscodec"].lower()  # 2.8 prints capitals
    assert {"deleteHorizonMs": "OptionalLong.empty"} | want == {"deleteHorizonMs": "OptionalLong.empty"} | facts
    records = list(batch.records())
    assert len(records) == len(printed.records)
    for line, record, message in zip(printed.records, records, inner(batch), strict=True):
        facts = {name: text_of(value) for name, value in record_facts(batch, record, message).items()}
        head, payload = re.fullmatch(r"\| (.*?)((?: key: .*| payload: .*)?)", line, re.DOTALL).groups()
        want = dict(PAIR.findall(head))
        if "batchSize" in want and message:
            want["crc"] = re.search(r"isValid: \w+ crc: (\d+)", head)[1]  # 2.8 also prints the CRC of the batch
        assert {name: want[name] for name in facts} == facts
        if not (is_own or batch.head.control):
            key = "" if record.key is None else f" key: {record.key.decode('utf-8', 'replace')}"
            value = "" if record.value is None else f" payload: {record.value.decode('utf-8', 'replace')}"
            assert payload == key + value


def check_file(dump):
    """Compare a file with its printed lines. Return the numbers of batches and of records."""
    batches, invalid = printed_batches(dump.read_text("utf-8").removesuffix("\n"))
    path = dump.with_name(dump.name.removesuffix(".dump.txt"))
    items = list(kwire.read_records(path))
    gaps = [item.position for item in items if isinstance(item, Gap)]
    end = gaps[0] if gaps else path.stat().st_size
    read = [item for item in items if item.position < end]
    assert (len(read), path.stat().st_size - end) == (len(batches), invalid)
    for printed, batch in zip(batches, read, strict=True):
        check_batch(printed, batch, is_own=path.parent.name.startswith("__"))
    return len(batches), sum(len(printed.records) for printed in batches)


@pytest.mark.shared
@pytest.mark.parametrize("cluster", COMPARED)
def test_batches_and_records_are_what_kafka_prints(cluster):
    folder = real_records.SEGMENTS / cluster
    counts = [check_file(dump) for end in ("log", "checkpoint") for dump in sorted(folder.rglob(f"*.{end}.dump.txt"))]
    batches, records = map(sum, zip(*counts, strict=True))
    assert (len(counts), batches, records) == COMPARED[cluster]


PREPARE_COMMIT = bytes.fromhex(
    "00000000000000060000009500000000024d5bf003000000000000000001a2220a3cba000001a2220a3cbaffffffffffffffffffffffffffff"
    "00000001c4010000001a0000000962616e6b2d74782d329c0100010000000000000003000100000fa002030562616e6b030000000100000000"
    "000861756469742d61020000000000000001a2220a3cba000001a2220a3b3a02000800000000000000030202000200"
)
PRINTED_BY_4_4_0 = """\
baseOffset: 6 lastOffset: 6 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 \
partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 \
CreateTime: 1795867425978 size: 161 magic: 2 compresscodec: none crc: 1297870851 isvalid: true
| offset: 6 CreateTime: 1795867425978 keySize: 13 valueSize: 78 sequence: -1 headerKeys: [] \
key: {"type":"0","data":{"transactionalId":"bank-tx-2"}} payload: {"version":"1","data":{"producerId":3,\
"previousProducerId":3,"producerEpoch":1,"transactionTimeoutMs":4000,"transactionStatus":"PrepareCommit",\
"transactionPartitions":[{"topic":"bank","partitionIds":[1,0]},{"topic":"audit-a","partitionIds":[0]}],\
"transactionLastUpdateTimestampMs":1795867425978,"transactionStartTimestampMs":1795867425594,\
"clientTransactionVersion":2}}"""
"""A batch of `__transaction_state`, which a broker of Kafka 4.4.0 wrote, and the lines of its DumpLogSegments."""


def test_the_state_of_a_transaction_is_what_kafka_4_4_names():
    [batch] = kwire.read_records(PREPARE_COMMIT, topic="__transaction_state")
    [printed], _ = printed_batches(PRINTED_BY_4_4_0)
    check_batch(printed, batch, is_own=True)
    want = real_records.json_after(printed.records[0], " payload: ")
    [record] = json.loads(json.dumps(batch.to_json()))["records"]
    assert record["decoded"] == {
        "key": real_records.json_after(printed.records[0], " key: "),
        "value": want,
    }
