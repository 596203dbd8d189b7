"""Changes of a state between two offsets."""

import json

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
ID = "AAAAAAAAAAAAAAAAAAAABQ"


def changes(between, path):
    return json_of("dump", "--state", "--diff", between, path)["tables"]


def told(found):
    """Changes without the fields of their rows."""
    names = ("stateTable", "key", "change", "field", "before", "after")
    return [tuple(row[name] for name in names) for row in found["changes"]]


def of_records(topic, *records, between="0..", hide=None, base=0):
    """The changes in a log of records, each in a batch of its own; a record may be (record, producer id, control)."""
    data = b""
    for at, entry in enumerate(records, base):
        payload, producer, control = entry if len(entry) == 3 else (entry, -1, False)
        attributes = (16 if producer >= 0 else 0) | (32 if control else 0)
        data += batch(at, [record(*payload)], attributes=attributes, producerId=producer)
    log = Log(catalog(), topic, None, [LogFile.of(memoryview(data))])
    return answer_document(changes_answer([changed(log, range_of(between))], between, hide=hide))["tables"]


def commit(group, offset):
    value = {"offset": offset, "leaderEpoch": 0, "metadata": "", "commitTimestamp": 1_760_000_000_000}
    return keyed(1, "OffsetCommit", {"group": group, "topic": "t", "partition": 0}, value, version=3)


def tombstone(group):
    return keyed(1, "OffsetCommit", {"group": group, "topic": "t", "partition": 0}, None)


def test_quotas_of_a_default_entity_and_of_a_name_stand_together():
    def quota(name):
        entity = [{"entityType": "user", "entityName": name}]
        return framed("ClientQuotaRecord", {"entity": entity, "key": "rate", "value": 5.0, "remove": False})

    found = of_records("__cluster_metadata", *(quota(name) for name in ("carol", "bob", None, "alice")))
    assert [row["key"] for row in found["changes"]] == ["user <default>, rate", "user alice, rate", "user bob, rate"]


def test_ranges():
    assert [range_of(text) for text in ("3..20", "3..", "..20")] == [(3, 20), (3, None), (None, 20)]
    with pytest.raises(InputError, match=r"3\.\.20, not 20\.\.3"):
        range_of("20..3")
    for text in ("", "..", "3", "3-4", "1..2..3", "a..b", "-1..3", "9" * 20 + ".."):
        with pytest.raises(InputError, match="a range of a state is"):
            range_of(text)


def test_offsets_added_changed_and_removed():
    records = (commit("g", 1), commit("h", 1), commit("g", 5), commit("g", 5), commit("i", 2), tombstone("h"))
    found = of_records("__consumer_offsets", *records, between="1..")
    assert told(found) == [
        ("groups", "h", "removed", "state", "Empty", None),
        ("groups", "i", "added", "state", None, "Empty"),
        ("offsets", "g, t-0", "changed", "offset", 1, 5),
        ("offsets", "h, t-0", "removed", "offset", 1, None),
        ("offsets", "i, t-0", "added", "offset", None, 2),
    ]
    assert [row["row"]["group"] for row in found["changes"]] == ["h", "i", "g", "h", "i"]
    assert found["changes"][2]["row"] == {"group": "g", "topic": "t", "partition": 0}
    assert [(row["afterOffset"], row["uptoOffset"]) for row in found["logs"]] == [(1, 5)]
    assert of_records("__consumer_offsets", *records, between="2..3")["changes"] == []


@pytest.mark.parametrize(
    ("marker", "offsets"), [(COMMIT, [("offsets", "g, t-0", "changed", "offset", 1, 7)]), (ABORT, [])]
)
def test_pending_offsets_and_their_marker(marker, offsets):
    records = (commit("g", 1), (commit("g", 7), 9, False), (marker, 9, True))
    began = of_records("__consumer_offsets", *records, between="0..1")
    assert told(began) == [("pendingOffsets", "g, 9, t-0", "added", "offset", None, 7)]
    found = of_records("__consumer_offsets", *records, between="1..")
    assert told(found) == [*offsets, ("pendingOffsets", "g, 9, t-0", "removed", "offset", 7, None)]


def test_the_cluster_changes():
    partition = {"partitionId": 0, "topicId": ID, "replicas": [1, 2], "isr": [1, 2], "removingReplicas": []}
    partition |= {"addingReplicas": [], "leader": 1, "leaderEpoch": 4, "partitionEpoch": 7}
    config = {"resourceType": 2, "resourceName": "t", "name": "retention.ms"}
    records = [
        framed("TopicRecord", {"name": "t", "topicId": ID}),
        framed("PartitionRecord", partition),
        framed("ConfigRecord", config | {"value": "1"}),
        framed("PartitionChangeRecord", {"partitionId": 0, "topicId": ID, "leader": 2, "isr": [2]}),
        framed("ConfigRecord", config | {"value": "2"}),
        framed("RemoveTopicRecord", {"topicId": ID}),
    ]
    assert told(of_records("__cluster_metadata", *records, between="2..4")) == [
        ("partitions", "t-0", "changed", "leader", 1, 2),
        ("partitions", "t-0", "changed", "leaderEpoch", 4, 5),
        ("partitions", "t-0", "changed", "isr", [1, 2], [2]),
        ("configs", "TOPIC, t, retention.ms", "changed", "value", "1", "2"),
    ]
    assert [row[:3] for row in told(of_records("__cluster_metadata", *records, between="4.."))] == [
        ("topics", "t", "removed"),
        ("partitions", "t-0", "removed"),
        ("configs", "TOPIC, t, retention.ms", "removed"),
    ]


def test_a_secret_that_changed_is_a_change_without_its_value():
    config = {"resourceType": 4, "resourceName": "1", "name": "listener.name.x.ssl.keystore.password"}
    records = [framed("ConfigRecord", config | {"value": value}) for value in ("first", "again")]
    hidden = of_records("__cluster_metadata", *records, hide=RecordRedaction(catalog()))
    [row] = hidden["changes"]
    assert (row["before"], row["after"]) == ("<redacted 5 bytes>", "<redacted 5 bytes>")
    assert "first" not in json.dumps(hidden)
    [row] = of_records("__cluster_metadata", *records)["changes"]
    assert (row["before"], row["after"]) == ("first", "again")


def test_everything_is_added_from_the_begin_on():
    found = changes("..86", SEGMENTS / "__transaction_state-0")
    assert {row["change"] for row in found["changes"]} == {"added"}
    now = json_of("dump", "--state", SEGMENTS / "__transaction_state-0")["tables"]["transactions"]
    assert [row["key"] for row in found["changes"]] == [row["transactionalId"] for row in now]


@pytest.mark.shared
def test_a_metadata_log_that_begins_with_a_snapshot():
    path = REAL / "k44-kraft-c1"
    [log] = changes("..420", path)["logs"]
    assert (log["afterOffset"], log["uptoOffset"]) == (414, 420)
    done = kwire("dump", "--state", "--diff", "390..", path)
    assert (done.code, "the first offset that can be answered is 414" in done.err) == (2, True)


def test_nothing_changed_is_said():
    done = kwire("dump", "--state", "--diff", "500..600", "-f", "table", SEGMENTS / "__transaction_state-0")
    assert done.code == 0
    assert done.out.startswith("nothing changed in 500..600\n")
    assert "the last offset is 86" in done.out


@pytest.mark.parametrize("more", [("--state", "--at", "3"), ("--state", "--deep"), ()])
def test_options_that_do_not_go_with_it(more):
    done = kwire("dump", "--diff", "1..2", *more, SEGMENTS / "__transaction_state-0")
    reason = f"{more[1]} does not go with --state" if more else "--at and --diff need --state"
    assert (done.code, reason in done.err) == (2, True)


def test_compaction_before_the_range_is_noted():
    [log] = of_records("__consumer_offsets", commit("g", 1), commit("g", 2), base=3, between="3..")["logs"]
    assert log["notes"] == [
        "3 records up to offset 3 are gone by compaction: what they said counts as if it had not been there"
    ]
