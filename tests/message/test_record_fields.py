"""Records in the fields of messages."""

import base64
import itertools

import pytest
from kit import logs
from kit.commands import kwire as kwire_command
from kit.logs import b64
from kit.secrets import capture

import kwire_cli as kwire
from kwire_cli.message.redaction import RecordRedaction
from kwire_cli.message.roles import RecordsAs
from kwire_cli.message.secrets import hidden_records
from kwire_cli.spec.kafka import CLUSTER_METADATA_ID

CATALOG = kwire.catalog()
SALT = b"very secret salt"
OTHER_TOPIC = "AAAAAAAAAAAAAAAAAAAABw"


def scram_batch():
    """A batch of the metadata log with a user's SCRAM record."""
    salt = b64(SALT)
    record = {"name": "bob", "mechanism": 1, "salt": salt, "storedKey": salt, "serverKey": salt, "iterations": 4096}
    value = bytes([1, 11, 0]) + kwire.encode(record, message="UserScramCredentialRecord", version=0)
    return logs.batch(5, [logs.record(value=value)])


def asked(wire):
    return wire.request("Fetch", 13, 4, topics=[{"topicId": CLUSTER_METADATA_ID, "partitions": []}])


def fetched(wire, records, topic=CLUSTER_METADATA_ID):
    partition = {"partitionIndex": 0, "records": b64(records)}
    return wire.response("Fetch", 13, 4, responses=[{"topicId": topic, "partitions": [partition]}])


def line_of(wire, records, topic=CLUSTER_METADATA_ID):
    """The line of a Fetch response with these records."""
    return wire.lines((0, asked(wire)), (1, fetched(wire, records, topic)))[1]


def test_records_of_the_metadata_topic_are_decoded_and_their_secrets_hidden(wire):
    line = line_of(wire, scram_batch())

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
    named = []
    reading = RecordsAs(CATALOG, lambda topic: named.append(topic) or "__consumer_offsets")
    line = line_of(wire, scram_batch(), OTHER_TOPIC)
    (batch,) = line.frame.body.to_json(records="decoded", reading=reading)["responses"][0]["partitions"][0]["records"]
    assert named == [OTHER_TOPIC]
    assert "decoded" in batch["records"][0]


def test_as_bytes_records_with_secrets_are_hidden_whole(wire):
    line = line_of(wire, scram_batch())
    hidden = hidden_records(CATALOG, line.frame.body)
    assert len(hidden) == 1
    shown = line.to_json(hidden={"body": hidden})["body"]["responses"][0]["partitions"][0]["records"]
    assert shown == f"<redacted {len(scram_batch())} bytes>"
    # Of another topic nobody knows what they are, and what is no whole batch may be of one.
    for records, topic, many in (
        (scram_batch(), OTHER_TOPIC, 0),
        (scram_batch()[:-1], CLUSTER_METADATA_ID, 1),
        (b"", CLUSTER_METADATA_ID, 0),
    ):
        assert len(hidden_records(CATALOG, line_of(wire, records, topic).frame.body)) == many


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
    talk = capture([(0, asked(wire)), (1, body)])
    shown = [kwire_command("decode", "-f", fmt, *options, "--full", "-", stdin=talk)]
    if "--fields" not in options:
        frame = ("--api", "Fetch", "--message-version", "13", "--kind", "response")
        shown.append(kwire_command("decode", "-f", fmt, *frame, "--full", *options, stdin=body))
    salts = [base64.b64encode(bytes(lead) + SALT).decode()[4:-4] for lead in range(3)] + ["secret salt", SALT.hex(" ")]
    for run in shown:
        assert run.code == 0, run.err
        assert not any(salt in run.out for salt in salts)
