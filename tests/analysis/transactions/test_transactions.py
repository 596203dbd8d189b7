"""Transactions of real captures and logs, and of requests that are made up."""

import base64
import json

import pytest
from kit.calls import CATALOG, asked, deformed_exchanges, exchanges, log_batch, log_items, logged, subjects
from kit.commands import ROOT, kwire
from kit.logs import document

from kwire_cli.analysis.transactions.model import MOST_EVENTS
from kwire_cli.analysis.transactions.transactions import Transactions
from kwire_cli.message.redaction import Redaction
from kwire_cli.view.answers import answer_document

INCIDENTS = ROOT / "samples" / "incidents"
IDS = {"transactionalId": "t", "producerId": 7, "producerEpoch": 0}
INIT = ("InitProducerId", 4, {"transactionalId": "t", "transactionTimeoutMs": 60000},
        {"errorCode": 0, "producerId": 7, "producerEpoch": 0})  # fmt: skip
OLD = {"v3AndBelowTransactionalId": "t", "v3AndBelowProducerId": 7, "v3AndBelowProducerEpoch": 0,
       "v3AndBelowTopics": [{"name": "a", "partitions": [0]}]}  # fmt: skip
ADD = ("AddPartitionsToTxn", 3, OLD, {
    "resultsByTopicV3AndBelow": [{"name": "a", "resultsByPartition": [{"partitionIndex": 0, "partitionErrorCode": 0}]}]
})  # fmt: skip
BATCHED = ("AddPartitionsToTxn", 5, {
    "transactions": [{**IDS, "verifyOnly": False, "topics": [{"name": "a", "partitions": [0, 1]}]}]
}, {"errorCode": 0, "resultsByTransaction": [{"transactionalId": "t", "topicResults": [
    {"name": "a", "resultsByPartition": [{"partitionIndex": 0, "partitionErrorCode": 0},
                                         {"partitionIndex": 1, "partitionErrorCode": 51}]}]}]})  # fmt: skip
OFFSETS = ("AddOffsetsToTxn", 3, {**IDS, "groupId": "g"}, {"errorCode": 0})
SEND = ("TxnOffsetCommit", 3, {**IDS, "groupId": "g", "topics": [
    {"name": "b", "partitions": [{"partitionIndex": 2, "committedOffset": 9}]}]},
    {"topics": [{"name": "b", "partitions": [{"partitionIndex": 2, "errorCode": 0}]}]})  # fmt: skip
PRODUCE = ("Produce", 9, {"transactionalId": "t", "acks": -1, "topicData": [
    {"name": "a", "partitionData": [{"index": 0, "recordsSizeInBytes": 80}]}]},
    {"responses": [{"name": "a", "partitionResponses": [{"index": 0, "errorCode": 0, "baseOffset": 3}]}]})  # fmt: skip
MARKERS = ("WriteTxnMarkers", 1, {"markers": [{"producerId": 7, "producerEpoch": 0, "transactionResult": True,
           "topics": [{"name": "a", "partitionIndexes": [0]}], "coordinatorEpoch": 0}]},
           {"markers": [{"producerId": 7, "topics": [{"name": "a", "partitions": [{"partitionIndex": 0, "errorCode": 0}
           ]}]}]})  # fmt: skip


def test_events_without_a_time_are_in_the_order_of_their_lines():
    keys = {"InitProducerId": 22, "AddPartitionsToTxn": 24, "EndTxn": 26}
    calls = [INIT, ADD, end(), ADD, end(committed=False)]
    lines = [
        json.dumps(document(keys[api], version, request=request, response=response))
        for api, version, request, response in calls
    ]
    done = kwire("transactions", "--format", "json", stdin="\n".join(lines).encode())
    events = json.loads(done.out)["tables"]["events"]
    assert [event["line"] for event in events] == [1, 2, 3, 4, 5]


def end(committed=True, error=0):
    return "EndTxn", 3, {**IDS, "committed": committed}, {"errorCode": error}


def rows(fold, table="transactions", **options):
    return answer_document(fold.answer(**options))["tables"].get(table, [])


def results(fold):
    return [(row["transactionalId"], row["epoch"], row["result"], row["endedBy"]) for row in rows(fold)]


def timeline(*bodies):
    return asked(Transactions(Redaction(CATALOG)), exchanges(*((*body, second) for second, body in enumerate(bodies))))


def test_a_transaction_from_begin_to_end():
    [row] = rows(timeline(INIT, ADD, OFFSETS, SEND, PRODUCE, end(), MARKERS))
    assert row["transactionalId"] == "t"
    assert (row["producerId"], row["epoch"], row["result"], row["endedBy"]) == (7, 0, "committed", "client")
    assert (row["begin"], row["end"]) == ("2026-11-21T10:00:00.997500", "2026-11-21T10:00:05.000000")
    assert (row["durationSeconds"], row["timeoutSeconds"]) == (4.0025, 60.0)
    assert (row["partitions"], row["offsetsGroups"], row["bytes"]) == (["a-0"], ["g"], 80)
    events = [row["event"] for row in rows(timeline(INIT, ADD, OFFSETS, SEND, PRODUCE, end()), "events")]
    assert events == ["initProducerId", "addPartitions", "addOffsets", "commitOffsets", "produce", "endTransaction"]


def test_partitions_that_a_broker_adds_for_its_producer():
    [row] = rows(timeline(BATCHED, end(committed=False)))
    assert (row["partitions"], row["result"], row["errors"]) == (["a-0"], "aborted", {"CONCURRENT_TRANSACTIONS": 1})
    assert row["clients"] == ["c"]  # of EndTxn


def test_the_next_instance_ends_what_is_open():
    assert results(timeline(INIT, ADD, INIT)) == [("t", 0, "aborted", "initProducerId")]


def test_a_transaction_without_an_end_is_open():
    assert results(timeline(INIT, ADD, PRODUCE)) == [("t", 0, "open", None)]
    assert results(timeline(INIT, ADD, end(error=51))) == [("t", 0, "open", None)]


@pytest.mark.parametrize("error", [47, 48, 90])
def test_an_end_that_is_refused_as_the_coordinator_has_aborted(error):
    short = (*INIT[:2], INIT[2] | {"transactionTimeoutMs": 1000}, INIT[3])
    assert results(timeline(short, ADD, PRODUCE, end(error=error))) == [("t", 0, "aborted", "coordinator")]
    assert results(timeline(INIT, ADD, PRODUCE, end(error=error))) == [("t", 0, "aborted", None)]


def test_the_end_of_a_transaction_that_began_before():
    [row] = rows(timeline(end()))
    assert (row["begin"], row["result"], row["durationSeconds"]) == (None, "committed", None)


def test_an_end_that_is_sent_again_is_no_transaction():
    assert len(rows(timeline(INIT, end(), ADD, end(), end(), ADD, end()))) == 2


def test_a_transaction_whose_marker_an_operator_wrote_ends_once():
    assert results(timeline(INIT, ADD, MARKERS, end(), MARKERS)) == [("t", 0, "committed", "client")]


def test_without_the_coordinator_the_result_is_unknown():
    assert results(timeline(PRODUCE)) == [("t", None, "unknown", None)]


@pytest.mark.parametrize("name", ["fenced-producer.pcap", "fenced-producer"])
def test_traffic_and_logs_show_the_same(name):
    fold = asked(Transactions(Redaction(CATALOG)), subjects(INCIDENTS / name))
    assert [row["result"] for row in rows(fold)] == ["committed", "aborted", "committed"]
    assert [row["epoch"] for row in rows(fold)] == [0, 0, 2]
    assert {row["records"] for row in rows(fold)} == {1}


@pytest.mark.parametrize("inputs", [["fenced-producer.pcap", "fenced-producer"], ["fenced-producer", "lag.pcap"]])
def test_traffic_and_logs_are_asked_in_runs_of_their_own(inputs):
    done = kwire("transactions", *(INCIDENTS / name for name in inputs))
    assert (done.code, "ask about each in a run of its own" in done.err) == (2, True)


def test_copies_of_the_coordinators_log_are_one_log():
    log = [*subjects(INCIDENTS / "fenced-producer" / "__transaction_state-0")]
    copies = [item._replace(file=f"other/{item.file}") for item in log]
    once, twice = (asked(Transactions(Redaction(CATALOG)), given) for given in (log, [*log, *copies]))
    assert rows(twice) == rows(once) != []
    assert rows(twice, "events") == rows(once, "events")


def test_a_hanging_transaction_holds_readers_back():
    fold = asked(Transactions(Redaction(CATALOG)), subjects(INCIDENTS / "hanging-transaction"))
    [row] = rows(fold, "heldBack")
    assert (row["partition"], row["producerId"], row["transactionalId"]) == ("payments-0", 1, "settlement-7")
    assert (row["firstOffset"], row["endOffset"], row["behind"]) == (2, 9, 7)
    assert (row["coordinator"], row["hanging"]) == ("Empty", True)
    [own] = rows(fold, only_open=True)
    assert own["transactionalId"] == "settlement-7"
    assert {row["transactionalId"] for row in rows(fold, "events", only_open=True)} == {"settlement-7"}
    assert {row["transactionalId"] for row in rows(fold, ids=["ledger-1"])} == {"ledger-1"}


@pytest.mark.parametrize(
    ("status", "second", "hanging"),
    [(1, 5, False), (0, 5, None), (0, -5, None), (0, 1000, True)],
    ids=["ongoing", "ended since the log was copied", "older than the transaction", "ended long before"],
)
def test_the_coordinators_log_says_whether_an_open_transaction_hangs(status, second, hanging):
    """The times of the coordinator's record, in seconds after the only record of the transaction."""
    value = {"producerId": 4, "producerEpoch": 0, "transactionTimeoutMs": 1, "transactionStatus": status}
    value |= dict.fromkeys(("transactionLastUpdateTimestampMs", "transactionStartTimestampMs"), 1)
    value["transactionPartitions"] = [{"topic": "a", "partitionIds": [0]}] if status else []
    state = logged("__transaction_state", 0, second, 0, "TransactionLog", {"transactionalId": "t"}, value)
    fields = {"producerId": 4, "producerEpoch": 0, "baseSequence": 0, "isTransactional": True}
    log = log_items("a-0", log_batch(0, "x", time=1_760_000_000_000, **fields))
    [row] = rows(asked(Transactions(Redaction(CATALOG)), [*log, state]), "heldBack")
    assert (row["transactionalId"], row["hanging"]) == ("t", hanging)


def test_a_transaction_over_several_partitions_is_one():
    fields = {"producerId": 4, "producerEpoch": 1, "isTransactional": True}
    marker = {"isTransactional": True, "isControl": True, "producerId": 4, "producerEpoch": 1}
    control = [{"timestamp": 1_000_500, "key": "AAAAAQ==", "value": "AAAAAAAA"}]
    logs = [
        item
        for name in ("a-0", "a-1")
        for item in log_items(
            name,
            log_batch(0, "x", "y", baseSequence=0, **fields),
            {"baseOffset": 2, "records": control, **marker},
            log_batch(3, "z", baseSequence=2, time=1_002_000, **fields),
        )
    ]
    copies = [item._replace(file=item.file.replace("data/", "other/")) for item in logs]
    for given in (logs, [*logs, *copies]):
        fold = asked(Transactions(Redaction(CATALOG)), given)
        assert [row["result"] for row in rows(fold)] == ["committed", "open"]
        assert [row["partitions"] for row in rows(fold)] == [["a-0", "a-1"]] * 2
        assert [(row["records"], row["durationSeconds"]) for row in rows(fold)] == [(4, 0.5), (2, None)]


def test_bodies_of_any_shape_are_taken():
    bodies = (INIT, ADD, BATCHED, OFFSETS, SEND, PRODUCE, end(), MARKERS)
    given = [exchange for body in bodies for exchange in deformed_exchanges((*body, 1))]
    for start in range(3):
        fold = asked(Transactions(Redaction(CATALOG)), [*exchanges((*INIT, 0)), *given[start::3]])
        answer_document(fold.answer())


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr("kwire_cli.analysis.transactions.replay.MOST_EVENTS", 5)
    fold = timeline(INIT, *[ADD, PRODUCE, end()] * 4)
    assert len(rows(fold, "events")) == 5
    fold = timeline(INIT, *[ADD, PRODUCE, end()] * 4)
    assert any("8 events were dropped" in note for note in answer_document(fold.answer())["notes"])
    assert MOST_EVENTS >= 1 << 16


def test_requests_that_follow_each_other_are_one_event():
    fold = timeline(INIT, ADD, PRODUCE, PRODUCE, PRODUCE, end())
    assert [row["count"] for row in rows(fold, "events")] == [1, 1, 3, 1]
    assert rows(fold)[0]["batches"] == 3


def test_records_of_any_shape_are_taken():
    state = [b"", b"\0", b"\0\0\0\1t", b"\0\1\0\1t", b"\7\7", b"\0\0\xff\xff"]
    records = [
        {
            "timestamp": 1,
            "key": base64.b64encode(key).decode(),
            "value": None if value is None else base64.b64encode(value).decode(),
        }
        for key in state
        for value in (None, b"", b"\0\0", b"\0\0" + bytes(40), b"\0\1" + bytes(7))
    ]
    marker = {"producerId": 3, "producerEpoch": 0, "isTransactional": True, "isControl": True}
    logs = [
        *log_items("__transaction_state-0", {"baseOffset": 0, "records": records}),
        *log_items("a-0", *({"baseOffset": at, "records": [record], **marker} for at, record in enumerate(records))),
        *log_items("a-1", {"baseOffset": 0, "records": records, "producerId": 3, "isTransactional": True}),
        *log_items("a-2", {"baseOffset": 0, "records": [{"timestamp": -5, "key": None, "value": None}], **marker}),
    ]
    answer_document(asked(Transactions(Redaction(CATALOG)), logs).answer())
