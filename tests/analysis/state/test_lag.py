"""Lag by the logs beside `__consumer_offsets`."""

import json

import pytest
from kit.commands import ROOT, kwire
from kit.logs import Folder, batch, keyed, record

REAL = ROOT.parent / "shared" / "real" / "own" / "segments"
INCIDENTS = ROOT / "samples" / "incidents"
NOW = 1_760_000_000_000


def state(*arguments, code=0):
    """The tables and notes of the answer."""
    done = kwire("dump", "--state", "--format", "json", *arguments)
    assert done.code == code, done.err
    document = json.loads(done.out)
    return document["tables"] | {"notes": document["notes"]}


class LogDirectory:
    """A log directory with what a test puts into it."""

    def __init__(self, path):
        self.path = path
        path.mkdir(exist_ok=True)

    def folder(self, name):
        folder = self.path / name
        folder.mkdir(exist_ok=True)
        return Folder(folder)

    def commits(self, *rows, number=0):
        """Committed offsets: group, topic, partition, offset."""
        batches = []
        for at, (group, topic, partition, offset) in enumerate(rows):
            value = {"offset": offset, "leaderEpoch": 0, "metadata": "", "commitTimestamp": NOW + at * 1000}
            key = {"group": group, "topic": topic, "partition": partition}
            batches.append(
                batch(
                    at,
                    [record(*keyed(1, "OffsetCommit", key, value, version=3))],
                    baseTimestamp=NOW + at * 1000,
                    maxTimestamp=NOW + at * 1000,
                )
            )
        self.folder(f"__consumer_offsets-{number}").put(0, "log", *batches)
        return self

    def checkpoint(self, name, **offsets):
        rows = [f"{topic} {part} {offset}" for topic, parts in offsets.items() for part, offset in parts.items()]
        (self.path / f"{name}-checkpoint").write_text("\n".join(["0", str(len(rows)), *rows, ""]))
        return self

    def records(self, name, count, base=0, **more):
        folder = self.folder(name)
        folder.put(base, "log", folder.batch(base, count, **{"time": NOW, **more}) if count else b"")
        return self


@pytest.fixture
def logs(tmp_path):
    return LogDirectory(tmp_path / "kafka-logs")


def test_lag_of_a_real_consumer():
    """The end is what the producer of the incident wrote, 651 records; the group committed 273."""
    for paths in (["lag"], ["lag/__consumer_offsets-0"], ["lag/__consumer_offsets-0/00000000000000000000.log"]):
        found = state(*(INCIDENTS / path for path in paths))
        [offset] = found["offsets"]
        assert (offset["offset"], offset["logStartOffset"], offset["logEndOffset"], offset["lag"]) == (273, 0, 651, 378)
        assert offset["outOfRange"] is None
        assert [(group["lag"], group["lagUnknown"]) for group in found["groups"]] == [(378, 0)]
        assert found["notes"] == []


def test_an_offset_in_the_past_has_no_lag():
    """The logs are as they are now."""
    found = state("--at", "12", INCIDENTS / "lag")
    assert "lag" not in found["offsets"][0]


def test_without_the_logs_there_is_no_column_and_a_note():
    found = state(ROOT / "samples" / "segments" / "__consumer_offsets-0")
    assert not {"lag", "logEndOffset"} & {*found["offsets"][0]}
    assert "lag" not in found["groups"][0]
    assert found["notes"] == [
        "no lag: the logs of grp-0, grp-none-0, grp09-0 and 2 more are not beside __consumer_offsets, or not readable"
    ]


def test_lag_counts_to_the_high_watermark_where_it_is_known(logs):
    logs.commits(("g", "t", 0, 4), ("g", "t", 1, 4), ("g", "t", 2, 9)).records("t-0", 10).records("t-1", 10)
    logs.records("t-2", 10).checkpoint("replication-offset", t={0: 7, 2: 8})
    found = state(logs.path)
    assert {row["logEndOffset"] for row in found["offsets"]} == {10}
    # The last was committed by somebody who knew more than the checkpoint.
    assert [row["lag"] for row in found["offsets"]] == [3, 6, 0]
    assert found["groups"][0]["lag"] == 9


def test_offsets_out_of_range_are_marked(logs):
    logs.commits(("g", "t", 0, 3), ("g", "t", 0, 19), ("h", "t", 0, 20), ("i", "t", 0, 30), ("j", "t", 0, 31))
    logs.records("t-0", 20, base=10).checkpoint("log-start-offset", t={0: 20})
    found = state(logs.path)
    assert [(row["group"], row["outOfRange"], row["lag"]) for row in found["offsets"]] == [
        ("g", "BELOW_LOG_START", 11),
        ("h", None, 10),
        ("i", None, 0),
        ("j", "BEYOND_LOG_END", 0),
    ]
    assert [(row["group"], row["outOfRange"]) for row in found["groups"]] == [("g", 1), ("h", 0), ("i", 0), ("j", 1)]
    text = kwire("dump", "--state", "--format", "table", logs.path).out
    assert "BELOW_LOG_START" in text


def test_partitions_may_lie_in_several_log_directories(tmp_path, logs):
    other = LogDirectory(tmp_path / "more-logs").records("t-1", 8)
    logs.commits(("g", "t", 0, 1), ("g", "t", 1, 2), ("g", "t", 2, 3)).records("t-0", 5)
    found = state(logs.path, other.path)
    assert [row["lag"] for row in found["offsets"]] == [4, 6, None]
    assert [(row["lag"], row["lagUnknown"]) for row in found["groups"]] == [(10, 1)]
    [note] = found["notes"]
    assert note.startswith("no lag of some offsets: the logs of t-2 are not beside __consumer_offsets")
    # Of two replicas the one that goes further counts.
    other.records("t-0", 7)
    assert [row["lag"] for row in state(logs.path, other.path)["offsets"]] == [6, 6, None]


def test_folders_that_are_going_are_no_logs(logs):
    logs.commits(("g", "t", 0, 1)).records(f"t-0.{'0' * 32}-delete", 5)
    assert "lag" not in state(logs.path)["offsets"][0]


@pytest.mark.shared
def test_a_real_log_directory():
    found = state(REAL / "k44-clean")
    assert {row["outOfRange"] for row in found["offsets"]} == {None}
    lag = {(row["group"], row["topic"], row["partition"]): row["lag"] for row in found["offsets"]}
    assert {key: number for key, number in lag.items() if number} == {("assign-group", "orders", 0): 24}
    assert found["notes"] == []
    old = state(REAL / "k28-zk")
    assert {(row["topic"], row["lag"]) for row in old["offsets"]} == {
        (topic, 0) for topic in ("grp", "grp-none", "grp09", "grp09-gzip", "txn-in")
    }


def test_damage_beside_changes_no_other_lag(logs):
    logs.commits(("g", "t", 0, 1), ("g", "u", 0, 1)).records("t-0", 5).records("u-0", 5)
    path = logs.path / "t-0" / f"{0:020}.log"
    path.write_bytes(path.read_bytes() + b"garbage")
    (logs.path / "replication-offset-checkpoint").write_bytes(b"\xff\n\n\0")
    found = state(logs.path)
    assert [row["lag"] for row in found["offsets"]] == [4, 4]
    assert found["notes"] == []
