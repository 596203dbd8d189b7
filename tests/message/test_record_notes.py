"""Anomalies of batches inside messages: --strict, --filter and statistics count those that the tree shows."""

import base64
import json

import pytest
from kit.captures import spoken_capture
from kit.commands import kwire as kwire_command
from kit.logs import batch, committed, record, with_crc
from kit.messages import EARLY_PACKET, early_capture
from kit.traffic import Wire, body_of

import kwire_cli as kwire
from kwire_cli.message.record_notes import decoded_record_notes, is_anomalous_message
from kwire_cli.message.redaction import Redaction
from kwire_cli.message.roles import RecordsAs

CATALOG = kwire.catalog()
SOUND = batch(records=[record(value=b"hello"), record(value=b"world", offset=1)])


def counted_wrong(data):
    """A batch that says that it has one record more, with the checksum that fits."""
    at = 57
    return with_crc(
        "v2", data[:at] + (int.from_bytes(data[at : at + 4], "big") + 1).to_bytes(4, "big") + data[at + 4 :]
    )


DAMAGED = {
    "sound": (SOUND, []),
    "checksum": (SOUND[:-1] + b"\x01", ["CRC_MISMATCH", "NULL_NOT_ALLOWED"]),
    "attributes": (with_crc("v2", SOUND[:21] + b"\x40" + SOUND[22:]), ["ATTRIBUTES_UNKNOWN"]),
    "count": (counted_wrong(SOUND), ["COUNT_MISMATCH"]),
    "second": (SOUND + counted_wrong(SOUND), ["COUNT_MISMATCH"]),
    "nonsense": (b"\x07" * 30, ["CORRUPT"]),
    "zeros": (bytes(30), ["CORRUPT"]),
    "cut": (SOUND + SOUND[:30], ["TRUNCATED"]),
}
IN_HEADERS = {"checksum": ["CRC_MISMATCH"], "count": []}
"""The anomalies of headers and checksums, where the records have others."""


def produced(records, topic="orders"):
    """The body of a Produce request of version 9 with these records."""
    partition = {"index": 0, "records": base64.b64encode(records).decode()}
    body = body_of("ProduceRequest", 9, {"topicData": [{"name": topic, "partitionData": [partition]}]})
    return kwire.encode(body, message="ProduceRequest", version=9)


def fetched(records, topic="orders"):
    """The body of a Fetch response of version 4 with these records."""
    partition = {"partitionIndex": 0, "records": base64.b64encode(records).decode()}
    body = body_of("FetchResponse", 4, {"responses": [{"topic": topic, "partitions": [partition]}]})
    return kwire.encode(body, message="FetchResponse", version=4)


def capture(tmp_path, records, topic="orders"):
    """A capture of one Produce request, unanswered."""
    path = tmp_path / "made.pcap"
    path.write_bytes(spoken_capture((0, Wire.produce(records, topic))))
    return path


@pytest.mark.parametrize("name", DAMAGED)
def test_notes_of_a_body(name):
    records, codes = DAMAGED[name]
    decoded = kwire.decode(produced(records), message="ProduceRequest", version=9)
    notes = [*decoded_record_notes(decoded, RecordsAs(CATALOG))]
    assert [note.code for note in notes] == codes
    assert decoded.anomalies == []
    number = 1 if name in {"second", "cut"} else 0
    assert all(note.path.startswith(f"topicData[0].partitionData[0].records[{number}]") for note in notes)
    assert all(0 <= note.offset <= len(records) for note in notes)


def test_the_last_batch_of_a_fetch_response_may_be_cut():
    """A broker sends as many bytes as were asked for."""
    for name, wanted in (("cut", []), ("checksum", ["CRC_MISMATCH", "NULL_NOT_ALLOWED"])):
        decoded = kwire.decode(fetched(DAMAGED[name][0]), message="FetchResponse", version=4)
        assert [note.code for note in decoded_record_notes(decoded, RecordsAs(CATALOG))] == wanted


@pytest.mark.parametrize("name", ["sound", "checksum", "count"])
def test_commands_see_them(tmp_path, name):
    records, codes = DAMAGED[name]
    path = capture(tmp_path, records)
    text = Wire.produce(records).hex().encode()
    assert kwire_command("decode", "-", "--strict", "-f", "jsonl", stdin=text).code == bool(codes)
    assert kwire_command("decode", path, "--strict", "-f", "jsonl").code == bool(codes)
    shown = kwire_command("decode", path, "--fields", "anomaly", "-f", "jsonl").out
    assert json.loads(shown)["all_anomalies"] == codes
    for code in codes:
        assert kwire_command("decode", path, "--filter", f"anomaly == {code}", "-f", "jsonl").out
    wanted = dict.fromkeys(IN_HEADERS.get(name, codes), 1)
    for command in (("stats",), ("summary",)) if name == "checksum" else (("stats", "--every", "1s"),):
        answer = json.loads(kwire_command(*command, path, "-f", "json").out)
        assert answer["facts"].get("anomalies", {}) == wanted


# Payloads of records in Kafka's own topics.

OFFSETS = "__consumer_offsets"
TRAILING = committed(0) + committed(2, b"xx", count=14)
"""Two batches, of which the second has bytes behind the last value: the tree shows ten records of a batch."""


def test_payloads_of_records_are_looked_at():
    decoded = kwire.decode(fetched(TRAILING, OFFSETS), message="FetchResponse", version=4)
    (note,) = decoded_record_notes(decoded, RecordsAs(CATALOG))
    assert (note.code, note.path) == ("TRAILING_BYTES", "responses[0].partitions[0].records[1].records[13].value")
    assert is_anomalous_message(decoded, Redaction(CATALOG).reading())
    other = kwire.decode(fetched(TRAILING), message="FetchResponse", version=4)
    assert not is_anomalous_message(other, Redaction(CATALOG).reading())


def test_commands_see_payloads(tmp_path):
    path = capture(tmp_path, TRAILING, OFFSETS)
    for records in ("size", "decoded", "base64"):
        assert kwire_command("decode", path, "--strict", "--records", records).code == 1
    assert kwire_command("decode", "-", "--strict", stdin=Wire.produce(TRAILING, OFFSETS).hex().encode()).code == 1
    assert kwire_command("decode", path, "--filter", "anomaly == TRAILING_BYTES", "-f", "jsonl").out
    shown = kwire_command("decode", path, "--fields", "anomaly", "-f", "jsonl").out
    assert json.loads(shown)["all_anomalies"] == ["TRAILING_BYTES"]
    for fmt in ("tree", "hex"):
        assert kwire_command("decode", path, "-f", fmt).out.count("! TRAILING_BYTES records[13].value") == 1
    assert json.loads(kwire_command("stats", path, "-f", "json").out)["facts"]["anomalies"] == {}


def test_payloads_that_kwire_does_not_know_are_no_fault(tmp_path):
    """A newer Kafka may have written them."""
    unknown = batch(records=[record(b"\x7f\xff", b"\0\0")])
    (item,) = kwire.read_records(unknown, topic=OFFSETS)
    assert {note["code"] for note in item.to_json()["anomalies"]} == {"UNKNOWN_TYPE"}
    path = capture(tmp_path, unknown, OFFSETS)
    assert kwire_command("decode", path, "--strict", "-f", "jsonl").code == 0
    assert not kwire_command("decode", path, "--filter", "anomaly", "-f", "jsonl").out


def test_hidden_payloads_are_looked_at(tmp_path):
    """A control record needs a key, which says its type. What has none is hidden."""
    marker = batch(attributes=0x30, producerId=1, producerEpoch=0, records=[record(value=b"secret")])
    path = capture(tmp_path, marker, OFFSETS)
    for shows in ((), ("--show-secrets",)):
        assert kwire_command("decode", path, "--strict", "-f", "jsonl", *shows).code == 1
        assert kwire_command("decode", path, "--filter", "anomaly == NULL_NOT_ALLOWED", "-f", "jsonl", *shows).out
    shown = kwire_command("decode", path, "-f", "jsonl", "--records", "decoded").out
    assert "NULL_NOT_ALLOWED" in shown
    assert base64.b64encode(b"secret").decode() not in shown


def test_strict_does_not_count_an_early_layout(tmp_path):
    path = tmp_path / "early.pcap"
    path.write_bytes(early_capture())
    shown = kwire_command("decode", path, "--strict", "--format", "jsonl")
    assert shown.code == 0
    noted = [line for line in map(json.loads, shown.out.splitlines()) if line["anomalies"]]
    assert [(line["packet"], line["anomalies"][0]["code"]) for line in noted] == [(EARLY_PACKET, "EARLY_LAYOUT")]
