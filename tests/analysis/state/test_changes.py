"""Changes of a state between two offsets or times."""

import json
from datetime import UTC, datetime

import pytest
from kit.commands import ROOT, json_of, kwire
from kit.logs import ABORT, COMMIT, SEGMENTS, batch, catalog, framed, keyed, record

from kwire_cli.analysis.state.changes import changed, changes_answer, range_of
from kwire_cli.analysis.state.topics import Log
from kwire_cli.errors import InputError
from kwire_cli.message.redaction import RecordRedaction
from kwire_cli.source.log_inputs import LogFile
from kwire_cli.view.answers import answer_document

REAL = ROOT.parent / "shared" / "real" / "own" / "segments"
NOW = 1_760_000_000_000
ID = "AAAAAAAAAAAAAAAAAAAABQ"


def changes(between, *paths, code=0):
    done = kwire("dump", "--state", "--diff", between, "--format", "json", *paths)
    assert done.code == code, done.err
    return json.loads(done.out)["tables"]


def told(rows):
    """Changes without the fields of their rows."""
    return [(row["stateTable"], row["key"], row["change"], row["field"], row["before"], row["after"]) for row in rows]


def of_records(topic, *records, between="0..", hide=None):
    """The changes in a log of records, each in a batch of its own; a record may be (record, producer id, control)."""
    data = b""
    for at, entry in enumerate(records):
        payload, producer, control = entry if len(entry) == 3 else (entry, -1, False)
        attributes = (16 if producer >= 0 else 0) | (32 if control else 0)
        data += batch(
            at,
            [record(*payload)],
            attributes=attributes,
            producerId=producer,
            baseTimestamp=NOW + at * 1000,
            maxTimestamp=NOW + at * 1000,
        )
    file = LogFile.of(memoryview(data))
    return tables_of(file, topic, between, hide)


def tables_of(file, topic, between, hide=None):
    parts = [changed(Log(catalog(), topic, None, [file]), range_of(between))]
    return answer_document(changes_answer(parts, between, hide=hide))["tables"]


def commit(group, offset, partition=0):
    value = {"offset": offset, "leaderEpoch": 0, "metadata": "", "commitTimestamp": NOW}
    return keyed(1, "OffsetCommit", {"group": group, "topic": "t", "partition": partition}, value, version=3)


def tombstone(group):
    return keyed(1, "OffsetCommit", {"group": group, "topic": "t", "partition": 0}, None)


def test_quotas_of_a_default_entity_and_of_a_name_stand_together():
    def quota(name):
        entity = [{"entityType": "user", "entityName": name}]
        return framed(
            "ClientQuotaRecord", {"entity": entity, "key": "producer_byte_rate", "value": 5.0, "remove": False}
        )

    rows = of_records("__cluster_metadata", *(quota(name) for name in ("carol", "bob", None, "alice")))["changes"]
    assert [row["key"] for row in rows if row["change"] == "added"] == [
        "user <default>, producer_byte_rate",
        "user alice, producer_byte_rate",
        "user bob, producer_byte_rate",
    ]


# Ranges.


def test_ranges():
    assert range_of("3..20") == (3, 20)
    assert range_of("3..") == (3, None)
    assert range_of("..20") == (None, 20)
    hour = (datetime(2026, 11, 21, 11, tzinfo=UTC), datetime(2026, 11, 21, 12, tzinfo=UTC))
    assert range_of("2026-11-21T11:00:00Z..2026-11-21T12:00:00Z") == hour
    assert range_of("2026-11-21T11:00:00..2026-11-21 13:00:00+01:00") == hour
    assert range_of("3..2026-11-21T12:00:00Z")[1] == hour[1]


@pytest.mark.parametrize("text", ["", "..", "3", "3-4", "1..2..3", "a..b", "-1..3", "3..20261121T99", "9" * 20 + ".."])
def test_texts_that_are_no_ranges(text):
    with pytest.raises(InputError, match="ranges of a state are"):
        range_of(text)


def test_a_range_that_goes_backwards():
    with pytest.raises(InputError, match=r"3\.\.20, not 20\.\.3"):
        range_of("20..3")


# What changed.


def test_offsets_added_changed_and_removed():
    found = of_records(
        "__consumer_offsets",
        commit("g", 1),
        commit("h", 1),
        commit("g", 5),
        commit("i", 2),
        tombstone("h"),
        between="1..",
    )
    assert told(found["changes"]) == [
        ("groups", "h", "removed", "state", "Empty", None),
        ("groups", "i", "added", "state", None, "Empty"),
        ("offsets", "g, t-0", "changed", "offset", 1, 5),
        ("offsets", "h, t-0", "removed", "offset", 1, None),
        ("offsets", "i, t-0", "added", "offset", None, 2),
    ]
    assert [row["row"]["group"] for row in found["changes"]] == ["h", "i", "g", "h", "i"]
    assert found["changes"][2]["row"] == {"group": "g", "topic": "t", "partition": 0}
    assert [(row["afterOffset"], row["uptoOffset"], row["records"]) for row in found["logs"]] == [(1, 4, 3)]


def test_the_same_offset_again_is_no_change():
    found = of_records("__consumer_offsets", commit("g", 1), commit("g", 1))
    assert found["changes"] == []


@pytest.mark.parametrize(
    ("marker", "offsets"), [(COMMIT, [("offsets", "g, t-0", "changed", "offset", 1, 7)]), (ABORT, [])]
)
def test_pending_offsets_and_their_marker(marker, offsets):
    records = (commit("g", 1), (commit("g", 7), 9, False), (marker, 9, True))
    began = of_records("__consumer_offsets", *records, between="0..1")
    assert told(began["changes"]) == [("pendingOffsets", "g, 9, t-0", "added", "offset", None, 7)]
    found = of_records("__consumer_offsets", *records, between="1..")
    assert told(found["changes"]) == [*offsets, ("pendingOffsets", "g, 9, t-0", "removed", "offset", 7, None)]


def test_the_cluster_changes():
    partition = {
        "partitionId": 0,
        "topicId": ID,
        "replicas": [1, 2],
        "isr": [1, 2],
        "removingReplicas": [],
        "addingReplicas": [],
        "leader": 1,
        "leaderEpoch": 4,
        "partitionEpoch": 7,
    }
    records = [
        framed("TopicRecord", {"name": "t", "topicId": ID}),
        framed("PartitionRecord", partition),
        framed("ConfigRecord", {"resourceType": 2, "resourceName": "t", "name": "retention.ms", "value": "1"}),
        framed("PartitionChangeRecord", {"partitionId": 0, "topicId": ID, "leader": 2, "isr": [2]}),
        framed("ConfigRecord", {"resourceType": 2, "resourceName": "t", "name": "retention.ms", "value": "2"}),
        framed("RemoveTopicRecord", {"topicId": ID}),
    ]
    found = of_records("__cluster_metadata", *records, between="2..4")
    assert told(found["changes"]) == [
        ("partitions", "t-0", "changed", "leader", 1, 2),
        ("partitions", "t-0", "changed", "leaderEpoch", 4, 5),
        ("partitions", "t-0", "changed", "isr", [1, 2], [2]),
        ("configs", "TOPIC, t, retention.ms", "changed", "value", "1", "2"),
    ]
    found = of_records("__cluster_metadata", *records, between="4..")
    assert [row[:3] for row in told(found["changes"])] == [
        ("topics", "t", "removed"),
        ("partitions", "t-0", "removed"),
        ("configs", "TOPIC, t, retention.ms", "removed"),
    ]


def test_a_secret_that_changed_is_a_change_without_its_value():
    name = "listener.name.x.ssl.keystore.password"
    records = [
        framed("ConfigRecord", {"resourceType": 4, "resourceName": "1", "name": name, "value": value})
        for value in ("first", "again")
    ]
    hidden = of_records("__cluster_metadata", *records, hide=RecordRedaction(catalog()))
    [row] = hidden["changes"]
    assert (row["before"], row["after"]) == ("<redacted 5 bytes>", "<redacted 5 bytes>")
    assert "first" not in json.dumps(hidden)
    [row] = of_records("__cluster_metadata", *records)["changes"]
    assert (row["before"], row["after"]) == ("first", "again")


@pytest.mark.shared
@pytest.mark.parametrize("name", ["__cluster_metadata-0", "__consumer_offsets-0", "__transaction_state-0"])
def test_two_halves_of_a_range_make_the_whole(name):
    """What the whole adds and removes, its halves do too, unless the second takes back what the first did."""
    path = REAL / "k44-clean" / name
    middle = {"__cluster_metadata-0": 200, "__consumer_offsets-0": 120, "__transaction_state-0": 40}[name]
    whole, *halves = (
        changes(text, path)["changes"]
        for text in (f"..{2 * middle - 20}", f"..{middle}", f"{middle}..{2 * middle - 20}")
    )

    def rows(found, kind):
        return {(row["stateTable"], row["key"]) for row in found if row["change"] == kind}

    first, second = halves
    added = (rows(first, "added") - rows(second, "removed")) | rows(second, "added")
    assert rows(whole, "added") == added - (rows(second, "added") & rows(first, "removed"))


def test_everything_is_added_from_the_begin_on():
    found = changes("..86", SEGMENTS / "__transaction_state-0")
    assert {row["change"] for row in found["changes"]} == {"added"}
    now = json_of("dump", "--state", SEGMENTS / "__transaction_state-0")["tables"]["transactions"]
    assert [row["key"] for row in found["changes"]] == [row["transactionalId"] for row in now]


# Times.


def test_times_are_those_of_records():
    path = SEGMENTS / "__consumer_offsets-0"
    by_time = changes("2026-11-21T11:22:06Z..2026-11-21T11:22:09Z", path)
    [log] = by_time["logs"]
    assert (log["afterOffset"], log["uptoOffset"]) == (4, 5)
    assert by_time["changes"] == changes("4..5", path)["changes"]
    assert changes("2020-01-01..", path)["changes"] == changes("..13", path)["changes"]
    assert changes("2030-01-01..2031-01-01", path)["changes"] == []
    assert changes("2020-01-01..2020-01-02", path)["changes"] == []


@pytest.mark.shared
def test_times_of_partitions_and_topics_that_differ():
    found = changes("2026-11-21T11:16:00Z..2026-11-21T11:16:20Z", REAL / "k44-clean")
    assert {row["topic"]: (row["afterOffset"], row["uptoOffset"]) for row in found["logs"]} == {
        "__consumer_offsets": (180, 203),
        "__transaction_state": (41, 65),
        "__share_group_state": (1, 6),
        "__cluster_metadata": (194, 239),
    }
    tables = {row["stateTable"] for row in found["changes"]}
    assert tables >= {"groups", "members", "offsets", "transactions", "sharePartitions", "topics", "partitions"}


@pytest.mark.shared
def test_a_metadata_log_that_begins_with_a_snapshot():
    path = REAL / "k44-kraft-c1"
    [log] = changes("..420", path)["logs"]
    assert (log["afterOffset"], log["uptoOffset"]) == (414, 420)
    done = kwire("dump", "--state", "--diff", "2026-11-20..", path)
    assert (done.code, "there is no state of that time" in done.err) == (2, True)
    done = kwire("dump", "--state", "--diff", "390..", path)
    assert (done.code, "the first offset that can be answered is 414" in done.err) == (2, True)


# The command.


def test_nothing_changed_is_said():
    done = kwire("dump", "--state", "--diff", "500..600", "-f", "table", SEGMENTS / "__transaction_state-0")
    assert done.code == 0
    assert done.out.startswith("nothing changed in 500..600\n")
    assert "the last offset is 86" in done.out


@pytest.mark.parametrize("more", [("--at", "3"), ("--deep",), ("--verify",), ("--offsets", "1-2")])
def test_options_that_do_not_go_with_it(more):
    done = kwire("dump", "--state", "--diff", "1..2", *more, SEGMENTS / "__transaction_state-0")
    assert (done.code, f"{more[0]} does not go with --state --diff" in done.err) == (2, True)


def test_it_needs_the_state():
    done = kwire("dump", "--diff", "1..2", SEGMENTS / "__transaction_state-0")
    assert (done.code, "--diff needs --state" in done.err) == (2, True)


def test_a_log_without_a_batch(tmp_path):
    (tmp_path / "__transaction_state-0").mkdir()
    (tmp_path / "__transaction_state-0" / f"{0:020}.log").write_bytes(b"")
    done = kwire("dump", "--state", "--diff", "1..2", tmp_path)
    assert (done.code, done.out, "0 batches in 1 file" in done.err) == (2, "", True)


def test_compaction_before_the_range_is_noted():
    data = batch(3, [record(*commit("g", 1))]) + batch(4, [record(*commit("g", 2))])
    [log] = tables_of(LogFile.of(memoryview(data)), "__consumer_offsets", "3..")["logs"]
    assert log["notes"] == [
        "3 records up to offset 3 are gone by compaction: what they said counts as if it had not been there"
    ]
