"""Rules about producers: fenced ones, gaps in sequences, batches that come again, acks=0."""

from functools import partial

import pytest
from kit.calls import diagnose_deformed, exchanges, found_in, log_batch, log_items, rows, subjects
from kit.commands import ROOT

from kwire_cli.analysis.diagnosis.producers import Producers

INCIDENTS = ROOT / "samples" / "incidents"
found = partial(found_in, Producers)


def test_a_broker_that_lost_what_it_acknowledged():
    row = next(row for row in rows(subjects(INCIDENTS / "out-of-order.pcap")) if row["code"] == "SEQUENCE_GAP")
    assert "sequence 6 of producer 0, epoch 0, was refused though 5 was acknowledged" in row["text"]
    assert [place["frame"] for place in row["evidence"]] == [30]


def test_both_instances_of_a_fenced_producer_are_named():
    [row] = [row for row in rows(subjects(INCIDENTS / "fenced-producer.pcap")) if row["code"] == "FENCED_PRODUCER"]
    assert "checkout-0 got 1 Produce INVALID_PRODUCER_EPOCH; 2 clients initialised it" in row["text"]


def test_errors_that_the_broker_got_for_a_producer_are_said_to_be_the_brokers():
    ids = {"transactionalId": "t", "producerId": 7, "producerEpoch": 0}
    asked_for = {"transactions": [{**ids, "verifyOnly": False, "topics": [{"name": "a", "partitions": [0]}]}]}
    refused = [{"name": "a", "resultsByPartition": [{"partitionIndex": 0, "partitionErrorCode": 90}]}]
    answer = {"errorCode": 0, "resultsByTransaction": [{"transactionalId": "t", "topicResults": refused}]}
    given = exchanges(
        ("AddPartitionsToTxn", 5, asked_for, answer, 0), ("EndTxn", 3, {**ids, "committed": True}, {"errorCode": 90}, 1)
    )
    [row] = [row for row in rows(given) if row["code"] == "FENCED_PRODUCER"]
    assert row["text"] == "c got 1 AddPartitionsToTxn PRODUCER_FENCED (asked by the broker), 1 EndTxn PRODUCER_FENCED"


def test_batches_that_come_again_and_acks_0():
    again = found(subjects(INCIDENTS / "not-leader.pcap"))
    assert ("info", "DUPLICATE_BATCH", "client checkout") in again
    assert found(subjects(INCIDENTS / "small-batches.pcap")) == [("info", "ACKS_0", "client probe")]


def sequenced(*spans, producer=4, epoch=0, **fields):
    """Return a log whose batches have these sequences, at offsets that follow each other."""
    offset, batches = 0, []
    for first, count in spans:
        batches.append(
            log_batch(offset, *"x" * count, producerId=producer, producerEpoch=epoch, baseSequence=first, **fields)
        )
        offset += count
    return log_items("a-0", *batches)


def test_sequences_of_a_log():
    assert found(sequenced((0, 2), (2, 1), (3, 4))) == []
    assert found(sequenced((5, 2), (7, 1))) == []
    assert found(sequenced((2147483646, 2), (0, 1))) == []
    assert found(sequenced((0, 2), (4, 1))) == [("error", "SEQUENCE_GAP", "partition a-0")]
    assert found(sequenced((0, 2), (2, 2), (2, 2))) == [("warning", "DUPLICATE_BATCH", "partition a-0")]


def test_a_compacted_log_has_gaps_in_offsets_too():
    items = sequenced((0, 2), (2, 1), (3, 1))
    assert found([items[0], items[2]]) == []


def test_brokers_write_to_their_own_topics_without_sequences():
    fields = {"producerId": 4, "producerEpoch": 0, "baseSequence": 0, "isTransactional": True}
    assert found(log_items("__consumer_offsets-0", log_batch(0, "x", **fields), log_batch(1, "x", **fields))) == []


def test_a_new_epoch_of_a_producer_without_transactions():
    def log(**fields):
        first = log_batch(0, "x", producerId=4, producerEpoch=0, baseSequence=0, **fields)
        return log_items("a-0", first, log_batch(1, "x", producerId=4, producerEpoch=1, baseSequence=0, **fields))

    assert found(log()) == [("warning", "SEQUENCE_GAP", "partition a-0")]
    assert found(log(isTransactional=True)) == []


def test_copies_of_a_log_are_logs_of_their_own():
    items = sequenced((0, 2), (2, 1))
    copies = [item._replace(file=item.file.replace("data/", "other/")) for item in items]
    assert found([*items, *copies]) == []


def produce(error, second=1, acks=-1):
    request = {"transactionalId": None, "acks": acks, "topicData": [
        {"name": "a", "partitionData": [{"index": 0, "recordsSizeInBytes": 80}]}]}  # fmt: skip
    result = {"index": 0, "errorCode": error, "baseOffset": -1}
    return "Produce", 9, request, {"responses": [{"name": "a", "partitionResponses": [result]}]}, second


def test_request_logs_show_errors_without_batches():
    assert found(exchanges(produce(45))) == [("error", "SEQUENCE_GAP", "client c")]
    assert found(exchanges(produce(47))) == [("error", "FENCED_PRODUCER", "client c")]
    assert found(exchanges(produce(0), produce(6))) == []


def test_one_client_alone_may_be_fenced_by_a_timeout():
    ids = {"transactionalId": "t", "producerId": 7, "producerEpoch": 0}
    given = exchanges(
        ("InitProducerId", 4, {"transactionalId": "t"}, {"errorCode": 0, "producerId": 7, "producerEpoch": 0}, 0),
        ("EndTxn", 3, {**ids, "committed": True}, {"errorCode": 90}, 1),
    )
    [row] = [row for row in rows(given) if row["code"] == "FENCED_PRODUCER"]
    assert (row["subject"], "only one client initialised it" in row["text"]) == ("transactional id t", True)


@pytest.mark.parametrize("body", [produce(45), produce(47), produce(0, acks=0)])
def test_bodies_of_any_shape_are_taken(body):
    diagnose_deformed(body)
