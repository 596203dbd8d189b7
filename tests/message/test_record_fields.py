"""Records in the fields of messages."""

import base64
import itertools

import pytest
from kit.commands import kwire as kwire_command
from kit.logs import with_crc
from kit.messages import sample, shared
from kit.traffic import Talk, ethernet, ipv4, packet, pcap_file, tcp

import kwire_cli as kwire
from kwire_cli.message.redaction import RecordRedaction
from kwire_cli.message.roles import RecordsAs
from kwire_cli.message.secrets import hidden_records
from kwire_cli.spec.kafka import CLUSTER_METADATA_ID

CATALOG = kwire.catalog()
SALT = b"very secret salt"


def scram_batch():
    """A batch of the metadata log with a user's SCRAM record, as a document to encode."""
    record = {"name": "bob", "mechanism": 1, "salt": SALT, "storedKey": SALT, "serverKey": SALT, "iterations": 4096}
    body = {
        key: base64.b64encode(value).decode() if isinstance(value, bytes) else value for key, value in record.items()
    }
    value = bytes([1, 11, 0]) + kwire.encode(body, message="UserScramCredentialRecord", version=0)
    from kwire_cli.structs.records import v2

    record = {
        "attributes": 0,
        "timestampDelta": 0,
        "offsetDelta": 0,
        "key": None,
        "value": base64.b64encode(value).decode(),
        "headers": [],
    }
    header = {
        "baseOffset": 5,
        "partitionLeaderEpoch": 1,
        "magic": 2,
        "crc": 0,
        "attributes": 0,
        "lastOffsetDelta": 0,
        "baseTimestamp": 1,
    }
    header |= {
        "maxTimestamp": 1,
        "producerId": -1,
        "producerEpoch": -1,
        "baseSequence": -1,
        "recordsCount": 1,
        "batchLength": 0,
    }
    records = v2.RECORDS.build({"records": [record]})
    return with_crc("v2", v2.HEADER.build(header | {"batchLength": v2.HEADER.sizeof() + len(records) - 12}) + records)


def fetched(wire, records, topic=CLUSTER_METADATA_ID):
    partition = {
        "partitionIndex": 0,
        "errorCode": 0,
        "highWatermark": 1,
        "records": base64.b64encode(records).decode(),
        "abortedTransactions": None,
    }
    return wire.response("Fetch", 13, 4, responses=[{"topicId": topic, "partitions": [partition]}])


def test_records_are_batches_with_records():
    rows = [row for row in sample() if any(size for _, size in row.records)]
    assert rows
    for row in rows:
        decoded = kwire.decode(
            row.body,
            message=row.message,
            version=row.version,
            kafka=row.kafka if row.kafka.startswith("3.9") else None,
            show_secrets=True,
        )
        check(decoded.to_json(), decoded.to_json(records="decoded"))


def check(plain, shown):
    """Everything but records is the same; the items of these cover the bytes."""
    if isinstance(plain, dict):
        assert plain.keys() == shown.keys()
        for key, value in plain.items():
            if key in {"records", "unalignedRecords"} and isinstance(value, str):
                assert sum(item["size"] for item in shown[key]) == len(base64.b64decode(value))
            else:
                check(value, shown[key])
    elif isinstance(plain, list):
        assert len(plain) == len(shown)
        for one, other in zip(plain, shown, strict=True):
            check(one, other)
    else:
        assert plain == shown


@pytest.mark.shared
def test_records_of_all_golden_bodies():
    for row in shared():
        if any(size for _, size in row.records):
            decoded = kwire.decode(row.body, message=row.message, version=row.version, show_secrets=True)
            check(decoded.to_json(), decoded.to_json(records="decoded"))


def test_records_of_the_metadata_topic_are_decoded_and_their_secrets_hidden(wire):
    ask = wire.request(
        "Fetch", 13, 4, topics=[{"topicId": CLUSTER_METADATA_ID, "partitions": []}], forgottenTopicsData=[]
    )
    line = wire.lines((0, ask), (1, fetched(wire, scram_batch())))[1]

    def record(hide):
        ((batch,),) = [
            each["records"] for each in line.to_json(records="decoded", hide=hide)["body"]["responses"][0]["partitions"]
        ]
        return batch["records"][0]

    open_one, hidden = record(None), record(RecordRedaction(CATALOG))
    assert open_one["decoded"]["value"]["type"] == "USER_SCRAM_CREDENTIAL_RECORD"
    assert base64.b64decode(open_one["decoded"]["value"]["data"]["salt"]) == SALT
    assert hidden["decoded"]["value"]["data"]["name"] == "bob"
    assert hidden["decoded"]["value"]["data"]["salt"] == "<redacted 16 bytes>"
    assert hidden["value"].startswith("<redacted")
    # The API says the same without a capture: the topic's id is always this one.
    body = kwire.decode(
        line.frame.data[line.frame.body.start :], message="FetchResponse", version=13, show_secrets=True
    )
    (batch,) = body.to_json(records="decoded")["responses"][0]["partitions"][0]["records"]
    assert batch["records"][0] == open_one


def test_topic_ids_are_named_by_the_capture(wire):
    asked = []
    reading = RecordsAs(CATALOG, lambda topic: asked.append(topic) or "__consumer_offsets")
    ask = wire.request("Fetch", 13, 4, topics=[], forgottenTopicsData=[])
    topic = base64.urlsafe_b64encode(bytes(15) + b"\7").decode()[:-2]
    line = wire.lines((0, ask), (1, fetched(wire, scram_batch(), topic)))[1]
    (batch,) = line.frame.body.to_json(records="decoded", reading=reading)["responses"][0]["partitions"][0]["records"]
    assert asked == [topic]
    assert "decoded" in batch["records"][0]


def test_as_bytes_records_with_secrets_are_hidden_whole(wire):
    ask = wire.request(
        "Fetch", 13, 4, topics=[{"topicId": CLUSTER_METADATA_ID, "partitions": []}], forgottenTopicsData=[]
    )
    line = wire.lines((0, ask), (1, fetched(wire, scram_batch())))[1]
    hidden = hidden_records(CATALOG, line.frame.body)
    assert len(hidden) == 1
    shown = line.to_json(hidden={"body": hidden})["body"]["responses"][0]["partitions"][0]["records"]
    assert shown == f"<redacted {len(scram_batch())} bytes>"
    # Of another topic nobody knows what they are, and what is no whole batch may be of one.
    other = base64.urlsafe_b64encode(bytes(15) + b"\7").decode()[:-2]
    for records, topic, many in (
        (scram_batch(), other, 0),
        (scram_batch()[:-1], CLUSTER_METADATA_ID, 1),
        (b"", CLUSTER_METADATA_ID, 0),
    ):
        line = wire.lines((0, ask), (1, fetched(wire, records, topic)))[1]
        assert len(hidden_records(CATALOG, line.frame.body)) == many


SHOWN_AS = [(), ("--records", "base64"), ("--records", "decoded")]


@pytest.mark.parametrize(
    ("options", "fmt"),
    [
        *itertools.product(SHOWN_AS, ["json", "jsonl", "tree", "hex"]),
        *((("--fields", "frame,records,value"), fmt) for fmt in ("json", "jsonl", "csv")),
    ],
)
def test_no_view_of_a_fetch_shows_them(wire, fmt, options):
    body = fetched(wire, scram_batch())
    frame = (
        "decode",
        "-f",
        fmt,
        "--api",
        "Fetch",
        "--message-version",
        "13",
        "--response",
        "--full",
    )
    shown = [] if options[:1] == ("--fields",) else [kwire_command(*frame, *options, stdin=body)]
    talk, out = Talk(), []
    ask = wire.request(
        "Fetch", 13, 4, topics=[{"topicId": CLUSTER_METADATA_ID, "partitions": []}], forgottenTopicsData=[]
    )
    for side, data in ((0, ask), (1, body)):
        each = talk.segment(side, data)
        ports = (
            {"source_port": 50000, "destination_port": 9092}
            if side == 0
            else {"source_port": 9092, "destination_port": 50000}
        )
        ends = {} if side == 0 else {"source": bytes([10, 0, 0, 2]), "destination": bytes([10, 0, 0, 1])}
        out.append(
            packet(
                ethernet(ipv4(tcp(data, each.sequence, each.acknowledgment, each.flags, **ports), **ends)), each.packet
            )
        )
    shown.append(kwire_command("decode", "-f", fmt, *options, "--full", "-", stdin=pcap_file(out)))
    salts = [base64.b64encode(bytes(lead) + SALT).decode()[4:-4] for lead in range(3)] + ["secret salt", SALT.hex(" ")]
    for run in shown:
        assert run.code == 0, run.err
        assert not any(salt in run.out for salt in salts)
