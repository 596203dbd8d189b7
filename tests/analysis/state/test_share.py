import json
from pathlib import Path

from kit.logs import Log, keyed

from kwire_cli.analysis.state.share import StateBatch, combined

KEY = {"groupId": "s", "topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partition": 1}


def batches(*rows):
    return [
        dict(zip(("firstOffset", "lastOffset", "deliveryState", "deliveryCount"), row, strict=True)) for row in rows
    ]


def snapshot(*rows, start=0, leader=1):
    head = {
        "snapshotEpoch": 4,
        "stateEpoch": 2,
        "leaderEpoch": leader,
        "startOffset": start,
        "createTimestamp": 5,
        "writeTimestamp": 6,
    }
    return keyed(0, "ShareSnapshot", KEY, head | {"stateBatches": batches(*rows)})


def update(*rows, start=-1, leader=-1, version=0):
    number, value = keyed(
        1,
        "ShareUpdate",
        KEY,
        {"snapshotEpoch": 4, "leaderEpoch": leader, "startOffset": start, "stateBatches": batches(*rows)},
    )
    return number, version.to_bytes(2, "big") + value[2:]


def shown(log):
    [row] = log.rows("sharePartitions")
    batches = [(each["firstOffset"], each["lastOffset"], each["deliveryState"]) for each in log.rows("shareBatches")]
    return row["startOffset"], row["leaderEpoch"], batches


def test_batches_are_combined_as_kafka_does():
    """Made by org.apache.kafka.coordinator.share.PersisterStateBatchCombiner 4.4.0 from random batches."""
    rows = [json.loads(line) for line in (Path(__file__).parent / "combined.jsonl").read_text().splitlines()]
    assert len(rows) == 150
    for row in rows:
        found = combined([StateBatch(*each) for each in row["known"] + row["more"]], row["start"])
        assert [list(each) for each in found] == row["combined"], row


def test_batches_together_are_batches_one_after_the_other():
    rows = [json.loads(line) for line in (Path(__file__).parent / "combined.jsonl").read_text().splitlines()]
    for some in zip(*[iter(rows)] * 5, strict=True):
        every = [StateBatch(*each) for row in some for each in row["known"] + row["more"]]
        step = []
        for batch in every:
            step = combined([*step, batch], 10)
        assert combined(every, 10) == step


def test_updates_are_merged_into_the_snapshot():
    log = Log("__share_group_state").add(snapshot((0, 9, 0, 1))).add(update((3, 4, 2, 1)))
    assert shown(log) == (0, 1, [(0, 2, 0), (3, 4, 2), (5, 9, 0)])
    log.add(update(start=4, leader=3))
    assert shown(log) == (4, 3, [(4, 4, 2), (5, 9, 0)])
    row = log.rows("sharePartitions")[0]
    assert (row["groupId"], row["partition"], row["snapshotEpoch"], row["stateEpoch"], row["offset"]) == (
        "s",
        1,
        4,
        2,
        2,
    )
    assert log.rows("shareBatches")[0]["state"] == "Acknowledged"


def test_a_snapshot_replaces_and_a_tombstone_removes():
    log = Log("__share_group_state").add(snapshot((0, 9, 0, 1))).add(snapshot((20, 21, 4, 1), start=20))
    assert shown(log) == (20, 1, [(20, 21, 4)])
    assert log.add(keyed(0, "ShareSnapshot", KEY, None)).rows("sharePartitions") == []
    assert log.add(keyed(0, "ShareSnapshot", KEY, None)).rows("sharePartitions") == []


def test_an_update_whose_snapshot_was_not_seen_stands_for_itself_and_the_old_version_number_is_read():
    log = Log("__share_group_state").add(update((3, 4, 2, 1), start=3, version=1))
    assert shown(log)[0] == 3
    assert log.rows("sharePartitions")[0]["stateEpoch"] == 0


def test_what_is_not_known_is_counted():
    log = Log("__share_group_state").add((b"\0\5", b"")).add((b"\0\0\0", b""))
    assert dict(log.state.unknown) == {"5": 1}
    assert log.state.undecoded == 1
