"""Whole partitions: real logs against Kafka's own snapshots and dumps, offsets to stop at, damage."""

import json
import re

import pytest
from conftest import ROOT
from kit.logs import COMMIT, batch, catalog, keyed, record, tables_of

from kwire_cli.analysis.state.topics import STATES, Log
from kwire_cli.source.log_inputs import LogFile, log_file
from kwire_cli.source.logs.model import BATCH_KINDS

REAL = ROOT.parent / "shared" / "real" / "own" / "segments"


def folded(folder, at=None, wanted=lambda _: True):
    files = [log_file(path) for path in sorted(folder.iterdir()) if wanted(path.name)]
    used = [file for file in files if file.name.kind in BATCH_KINDS and not file.name.suffix]
    return Log(catalog(), folder.name.rsplit("-", 1)[0], 0, used).folded(at)


def image(folder, at, wanted):
    """Return the tables of the cluster without its leader, which a snapshot does not have."""
    rows = tables_of(folded(folder, at, wanted))
    [cluster] = rows["cluster"]
    cluster |= {"leaderId": None, "leaderEpoch": None}
    return {name: table for name, table in rows.items() if name != "logs"}


@pytest.mark.shared
@pytest.mark.parametrize("end", [112, 196, 279, 377])
def test_the_metadata_log_says_what_the_snapshot_at_its_offset_does(end):
    """The snapshot is what Kafka's own image wrote; the log is folded from its first record on."""
    folder = REAL / "k44-clean" / "__cluster_metadata-0"
    log = image(folder, end - 1, lambda name: name.endswith(".log") or name.startswith(f"{0:020d}-"))
    snapshot = image(folder, end - 1, lambda name: name.startswith(f"{end:020d}-"))
    assert log == snapshot
    assert len(log["topics"]) > 10


@pytest.mark.shared
def test_a_log_that_begins_later_starts_with_its_newest_snapshot():
    folder = REAL / "k44-kraft-c1" / "__cluster_metadata-0"
    found = folded(folder)
    assert (found.snapshot, found.passed.first, found.passed.last) == (
        "00000000000000000415-0000000003.checkpoint",
        415,
        427,
    )
    assert found.passed.notes == []
    assert [voter["voterId"] for voter in tables_of(found)["voters"]] == [102, 103]
    alone = folded(folder, wanted=lambda name: name.endswith(".log"))
    assert alone.snapshot is None
    assert f"begins at offset {alone.passed.first}" in alone.passed.notes[0]


@pytest.mark.shared
@pytest.mark.parametrize("cluster", ["k44-clean", "k28-zk"])
def test_transactions_are_the_last_of_what_dump_log_segments_prints(cluster):
    """Kafka prints keys and values as `transactional_id=…::producerId:…` or as JSON; the last line of an id counts."""
    folder = REAL / cluster / "__transaction_state-0"
    text = "\n".join(path.read_text("utf-8") for path in sorted(folder.glob("*.log.dump.txt")))
    last = {}
    for line in text.splitlines():
        if found := re.search(
            r"transactional_?[iI]d\"?[=:]\"?([\w.-]+).*?producer_?Id\"?[:=](\d+).*?producer_?Epoch\"?[:=](\d+)", line
        ):
            last[found[1]] = int(found[2]), int(found[3])
    rows = tables_of(folded(folder))["transactions"]
    assert {row["transactionalId"]: (row["producerId"], row["producerEpoch"]) for row in rows} == last
    assert last


@pytest.mark.shared
@pytest.mark.parametrize("cluster", ["k44-clean", "k28-zk"])
def test_no_record_of_a_real_log_is_unknown(cluster):
    for folder in [REAL / cluster / f"{topic}-0" for topic in STATES if (REAL / cluster / f"{topic}-0").is_dir()]:
        found = folded(folder)
        [log] = tables_of(found)["logs"]
        assert (log["unknown"], log["notes"], log["undecoded"], log["unapplied"]) == ({}, [], None, None), folder


def commits(base, offset, **head):
    key, value = keyed(
        1,
        "OffsetCommit",
        {"group": "g", "topic": "t", "partition": 0},
        {"offset": offset, "leaderEpoch": 0, "metadata": "", "commitTimestamp": 1},
        version=3,
    )
    return batch(base, [record(key, value)], **head)


def marker(base, kind, producer):
    return batch(base, [record(*kind)], attributes=0x30, producerId=producer, producerEpoch=0)


def read(data, topic="__consumer_offsets", at=None):
    return Log(catalog(), topic, 3, [LogFile.of(memoryview(data))]).folded(at)


def offset_of(found):
    return [row["offset"] for row in tables_of(found)["offsets"]]


def test_batches_of_transactions_wait_for_their_marker():
    data = (
        commits(0, 5)
        + commits(1, 9, attributes=0x10, producerId=4, producerEpoch=0, baseSequence=0)
        + marker(2, COMMIT, 4)
    )
    assert [offset_of(read(data, at=at)) for at in range(3)] == [[5], [5], [9]]


def test_a_corrupt_batch_is_passed_over_and_said():
    wrong = bytearray(commits(1, 9))
    wrong[-1] ^= 1
    found = read(commits(0, 5) + bytes(wrong) + b"garbage")
    assert offset_of(found) == [5]
    assert found.passed.notes == ["1 batches with a wrong checksum were passed over", "7 bytes are no batch"]


def test_partitions_are_one_answer():
    parts = [read(commits(0, 5)), read(b"")]
    parts[1].partition = 4
    tables = tables_of(*parts)
    [row] = tables["groups"]
    assert (row["group"], row["offsets"], row["logPartition"]) == ("g", 1, 3)
    [row] = tables["offsets"]
    assert (row["group"], row["offset"], row["logPartition"]) == ("g", 5, 3)
    assert [(log["partition"], log["firstOffset"]) for log in tables["logs"]] == [(3, 0), (4, None)]


@pytest.mark.shared
def test_committed_offsets_are_those_of_what_dump_log_segments_prints():
    """The same rule over Kafka's own text: the last commit of a partition counts, those of a transaction with its
    COMMIT marker.
    """
    folder = REAL / "k44-clean" / "__consumer_offsets-0"
    last, pending, producer = {}, {}, -1
    for line in (folder / f"{0:020d}.log.dump.txt").read_text("utf-8").splitlines():
        if found := re.match(r"baseOffset: .* producerId: (-?\d+) ", line):
            producer = int(found[1])
        elif found := re.search(r"endTxnMarker: (\w+)", line):
            ended = pending.pop(producer, {})
            last |= ended if found[1] == "COMMIT" else {}
        elif found := re.search(r'key: (\{"type":"1".*\}) payload: (.*)$', line):
            key = tuple(json.loads(found[1])["data"].values())
            if found[2] == "<DELETE>":
                last.pop(key, None)
            else:
                (last if producer < 0 else pending.setdefault(producer, {}))[key] = json.loads(found[2])["data"][
                    "offset"
                ]
    rows = tables_of(folded(folder))["offsets"]
    assert {(row["group"], row["topic"], row["partition"]): row["offset"] for row in rows} == last
    assert len(last) > 20
    assert not any(pending.values())
