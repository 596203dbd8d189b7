"""kwire dump --state: what it takes and what it leaves out; what it prints is in golden/state.txt."""

import json

import pytest
from kit.commands import kwire, refusal_of
from kit.logs import SEGMENTS, batch, keyed, record, segments

FILE = "00000000000000000000.log"


def tables(*arguments, **more):
    """The rows of each table."""
    done = kwire("dump", "--state", *arguments, **more)
    assert done.code == 0, done.err
    found = {}
    for line in done.out.splitlines():
        row = json.loads(line)
        found.setdefault(row.pop("table"), []).append(row)
    return found


def commit(group, offset):
    value = {"offset": offset, "leaderEpoch": 0, "metadata": "", "commitTimestamp": 1}
    return batch(
        0, [record(*keyed(1, "OffsetCommit", {"group": group, "topic": "t", "partition": 0}, value, version=3))]
    )


def test_segments_are_one_log_and_deleted_ones_are_left_out(tmp_path):
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    (folder / FILE).write_bytes(commit("g", 1))
    later = bytearray(commit("h", 2))
    later[7] = 5
    (folder / "00000000000000000005.log").write_bytes(bytes(later))
    (folder / "00000000000000000009.log.deleted").write_bytes(commit("gone", 3))
    found = tables(folder)
    [log] = found["logs"]
    assert (log["firstOffset"], log["lastOffset"], log["records"]) == (0, 5, 2)
    assert [row["group"] for row in found["groups"]] == ["g", "h"]
    assert [row["group"] for row in tables(folder, "--at", "4")["groups"]] == ["g"]


def test_bootstrap_metadata_is_what_the_log_begins_with(tmp_path):
    """Each log directory of KRaft has this file; its features and users are in the log, too."""
    data = segments()["__cluster_metadata-0"]
    (tmp_path / "bootstrap.checkpoint").write_bytes(data)
    assert len(tables(tmp_path)["scramUsers"]) == 1
    (tmp_path / "__cluster_metadata-0").mkdir()
    (tmp_path / "__cluster_metadata-0" / "00000000000000000000-0000000000.checkpoint").write_bytes(data)
    found = tables(tmp_path)
    assert [len(found[name]) for name in ("logs", "scramUsers")] == [1, 1]


def test_standard_input_with_its_topic():
    data = segments()["__transaction_state-0"]
    found = tables("-", "--as-topic", "__transaction_state", stdin=data)
    [log] = found["logs"]
    assert (log["partition"], log["lastOffset"]) == (None, 86)
    assert found["transactions"] == [
        {name: value for name, value in row.items() if name != "logPartition"}
        for row in tables(SEGMENTS / "__transaction_state-0")["transactions"]
    ]


def test_what_could_not_be_read_is_said_and_strict_fails(tmp_path):
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    (folder / FILE).write_bytes(commit("g", 1) + b"garbage")
    done = kwire("dump", "--state", "--format", "table", folder)
    assert (done.code, "7 bytes are no batch" in done.out) == (0, True)
    assert kwire("dump", "--state", "--strict", folder).code == 1
    assert kwire("dump", "--state", "--strict", SEGMENTS / "__consumer_offsets-0").code == 0


@pytest.mark.parametrize(
    "files", [("2-1.checkpoint",), ("2-1.checkpoint", "0.log.deleted"), ("3.log", "1.log.deleted")]
)
def test_an_offset_before_the_first_file_in_use_is_no_empty_answer(tmp_path, files):
    """At each offset the answer is that of all files, or an error that says where the first one is."""
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    for file in files:
        number, _, rest = file.partition(".")
        base, _, epoch = number.partition("-")
        (folder / f"{int(base):020}{f'-{int(epoch):010}' if epoch else ''}.{rest}").write_bytes(
            segments()["__cluster_metadata-0"]
        )
    first = {"2-1.checkpoint": 1, "3.log": 3}[files[0]]
    for at in range(first):
        error = refusal_of("dump", "--state", "--at", at, folder)
        assert f"the first offset that can be answered is {first}" in error
    assert kwire("dump", "--state", "--at", first, folder).code == 0


@pytest.mark.parametrize("more", [(), ("--diff", "1..2")])
def test_no_batch_is_no_answer(tmp_path, more):
    (tmp_path / "__transaction_state-0").mkdir()
    (tmp_path / "__transaction_state-0" / FILE).write_bytes(b"")
    assert "0 batches in 1 file" in refusal_of("dump", "--state", *more, tmp_path)
    (tmp_path / "__consumer_offsets-0").mkdir()
    (tmp_path / "__consumer_offsets-0" / FILE).write_bytes(commit("g", 1))
    assert kwire("dump", "--state", *more, tmp_path).code == 0
