"""Bodies without a header: the version before them, and the answer of an old broker."""

import random

import pytest
from kit.messages import SHARED, sample, shared

import kwire_cli as kwire
from kwire_cli.message.bodies import likeliest_record
from kwire_cli.message.encode import encode_document
from kwire_cli.records.kafka_topics import has_version_prefix, version_before, version_prefix
from kwire_cli.view.json import message_document

CATALOG = kwire.catalog()
# A value of __consumer_offsets (franz-go#1105): the version 4, and the body.
COMMIT = bytes.fromhex("0004 00000000 0021d4a8 ffffffff 01 0000019964f2d836 00")
TOPIC = bytes.fromhex("010200 04 73617a 71daa2e4b64f4a3da4c9fa2c1b4bf0aa 00")


def check_row(row):
    """Decode a golden message from behind its version, and encode it again."""
    spec = CATALOG.message(row.message)
    own = spec.fields and spec.fields[0].name.lower() == "version"
    data = row.body if own else version_prefix(spec, row.version) + row.body
    prefix = version_before(spec, data)
    if own and (prefix is None or prefix[0] != row.version):
        return False  # the golden value of the field is random
    body = kwire.decode(data, message=row.message, show_secrets=True)
    assert (body.version, body.start) == (row.version, len(data) - len(row.body))
    assert body.value == kwire.decode(row.body, message=row.message, version=row.version).value
    document = message_document(body, records="base64", lossless=False, hidden=frozenset())
    assert encode_document(CATALOG, document) == data
    return True


def prefixed_rows(rows):
    return [row for row in rows if row.kafka == "4.4.0" and has_version_prefix(CATALOG.entry(row.message))]


def test_golden_keys_and_values_need_no_version():
    assert sum(map(check_row, prefixed_rows(sample()))) > 2


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the reference data")
def test_all_golden_keys_and_values_need_no_version():
    rows = prefixed_rows(shared())
    assert {CATALOG.entry(row.message).type for row in rows if check_row(row)} >= {
        "coordinator-key",
        "coordinator-value",
        "metadata",
        "data",
    }


@pytest.mark.parametrize(
    ("data", "message", "version", "size"),
    [(COMMIT, "OffsetCommitValue", 3, "4 in its first 2 bytes"), (TOPIC, "TopicRecord", 0, "0 in its first 3 bytes")],
)
def test_a_version_that_is_given_is_obeyed_and_the_bytes_before_the_body_are_named(data, message, version, size):
    body = kwire.decode(data, message=message, version=version)
    assert (body.version, body.start) == (version, 0)
    assert body.anomalies[0][:1] + body.anomalies[0][3:] == ("FITS_OTHERWISE", f"fits exactly after the version {size}")


@pytest.mark.parametrize(
    ("data", "message", "words"),
    [
        (COMMIT, "FetchResponse", "FetchResponse needs a version: "),
        (COMMIT, "OffsetCommitKey", "the bytes do not begin with a version of OffsetCommitKey"),
        (COMMIT[2:], "TopicRecord", "the bytes do not begin with a version of TopicRecord"),
        (b"\0\7" + COMMIT, "OffsetCommitValue", "the bytes do not begin with a version of OffsetCommitValue"),
        (b"", "OffsetCommitValue", "the bytes do not begin with a version of OffsetCommitValue"),
    ],
)
def test_without_a_version_the_bytes_have_to_begin_with_one(data, message, words):
    with pytest.raises(kwire.InputError, match=words):
        kwire.decode(data, message=message)


def test_a_value_of_a_coordinators_topic_is_found_without_its_name():
    committed = bytes.fromhex("0004000000000021d4a8ffffffff010000019964f2d83600")
    topic, body = likeliest_record(kwire.catalog(), committed)
    assert (topic, body.message, body.version) == ("__consumer_offsets", "OffsetCommitValue", 4)
    assert body.value["commitTimestamp"] == 1758335260726
    assert likeliest_record(kwire.catalog(), committed[:-1]) is None


def test_random_bytes_and_text_are_no_record():
    dice = random.Random(11)
    for alphabet in (range(256), range(32, 127)):
        for size in [*range(1, 60)] * 5:
            assert likeliest_record(kwire.catalog(), bytes(dice.choice(alphabet) for _ in range(size))) is None
