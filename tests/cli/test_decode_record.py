"""kwire decode --as-topic: a key and a value of an internal topic, pasted without their batch."""

import base64
import json

import pytest
from kit.commands import kwire
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


def test_a_value_alone_is_read_although_nobody_says_what_it_is():
    done = kwire("decode", "-f", "jsonl", "-", stdin=b"0004000000000021d4a8ffffffff010000019964f2d83600")
    assert json.loads(done.out)["body"]["offset"] == 2217128
    assert "--as-topic __consumer_offsets says it outright" in done.err
