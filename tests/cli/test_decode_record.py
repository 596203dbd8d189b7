"""kwire decode --as-topic: a key and a value of an internal topic, pasted without their batch."""

import base64
import json

import pytest
from kit.commands import kwire, refusal_of
from kit.logs import SEGMENTS, keyed

COMMIT = {"offset": 7, "leaderEpoch": 3, "metadata": "", "commitTimestamp": 1758335260726}
KEY, VALUE = keyed(1, "OffsetCommit", {"group": "a", "topic": "t", "partition": 2}, COMMIT, version=4)
OFFSETS = ("decode", "--as-topic", "__consumer_offsets")


def documents(*arguments, **more):
    done = kwire(*arguments, **more)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state", "__cluster_metadata"])
def test_it_shows_records_as_dump_does(topic):
    batches = documents("dump", "--deep", "--show-secrets", "-f", "jsonl", SEGMENTS / f"{topic}-0")
    records = []
    for batch in batches:
        records += [record for record in batch.get("records", ()) if "decoded" in record]
    assert records
    for record in records[:12]:
        parts = [base64.b64decode(record[name]).hex() for name in ("key", "value") if record[name] is not None]
        (document,) = documents("decode", "--show-secrets", "--as-topic", topic, *parts)
        if len(parts) == 2 or topic == "__cluster_metadata":
            assert document["decoded"] == record["decoded"]


def test_one_part_is_a_key_or_a_value():
    (both,) = documents(*OFFSETS, KEY.hex(), VALUE.hex())
    assert both["decoded"]["value"] == {"version": "4", "data": COMMIT}
    assert "candidates" not in both
    (key,) = documents(*OFFSETS, KEY.hex())
    assert key["decoded"] == {"key": both["decoded"]["key"], "value": None}
    assert key["candidates"][0] == "OffsetCommitKey 0"
    (value,) = documents(*OFFSETS, VALUE.hex())
    assert value["decoded"] == {"key": None, "value": both["decoded"]["value"]}
    assert value["candidates"] == ["OffsetCommitValue 4"]


def test_the_tree_shows_both():
    tree = kwire(*OFFSETS, "-f", "tree", KEY.hex(), VALUE.hex()).out
    assert "key: OffsetCommitKey version 0, 10 bytes after its type in 2 bytes" in tree
    assert "value: OffsetCommitValue version 4, 22 bytes after its version in 2 bytes" in tree
    assert "offset: 7" in tree


def test_files_and_standard_input_are_parts_too(tmp_path):
    (tmp_path / "key.bin").write_bytes(KEY)
    assert documents(*OFFSETS, tmp_path / "key.bin", VALUE.hex()) == documents(*OFFSETS, KEY.hex(), VALUE.hex())
    assert documents(*OFFSETS, stdin=VALUE.hex().encode()) == documents(*OFFSETS, VALUE.hex())


def test_secrets_are_hidden():
    data = {"name": "alice", "mechanism": 1, "salt": "c2FsdA==", "storedKey": "c3RvcmVk", "serverKey": "a2V5"}
    data["iterations"] = 4096
    document = {"message": "UserScramCredentialRecord", "version": 0, "versionPrefix": True, "body": data}
    value = kwire("encode", stdin=json.dumps(document).encode()).out.strip()
    shown = kwire("decode", "--as-topic", "__cluster_metadata", value).out
    assert "alice" in shown
    assert "c3RvcmVk" not in shown
    assert "c3RvcmVk" in kwire("decode", "--show-secrets", "--as-topic", "__cluster_metadata", value).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("decode", "--as-topic", "orders", "00"), "--as-topic takes one of Kafka's own topics"),
        ((*OFFSETS, "00", "01", "02"), "not 3 parts"),
        ((*OFFSETS, "0102030405"), "the bytes fit neither a key nor a value of __consumer_offsets"),
        ((*OFFSETS, "--api", "Fetch", "00"), "--api does not go with --as-topic"),
        ((*OFFSETS, "--filter", "error", "00"), "--filter does not go with --as-topic"),
    ],
)
def test_what_it_refuses(arguments, words):
    assert words in refusal_of(*arguments)


def test_strict_counts_anomalies():
    assert kwire(*OFFSETS, "--strict", KEY.hex(), VALUE.hex()).code == 0
    assert kwire(*OFFSETS, "--strict", KEY.hex(), VALUE.hex() + "00").code == 1


def test_a_value_alone_is_read_although_nobody_says_what_it_is():
    done = kwire("decode", "-f", "jsonl", "-", stdin=b"0004000000000021d4a8ffffffff010000019964f2d83600")
    assert json.loads(done.out)["body"]["offset"] == 2217128
    assert "--as-topic __consumer_offsets says it outright" in done.err
