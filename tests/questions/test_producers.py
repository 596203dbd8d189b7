"""Producers that are out of sequence, send batches again, do not wait for answers, or prefer a partition."""

import pytest
from kit.calls import MadeCall, found

NOT_LEADER, TOO_LARGE, OUT_OF_ORDER = 6, 10, 45
ERRORS = {
    NOT_LEADER: "NOT_LEADER_OR_FOLLOWER", TOO_LARGE: "MESSAGE_TOO_LARGE", OUT_OF_ORDER: "OUT_OF_ORDER_SEQUENCE_NUMBER",
}  # fmt: skip
IDEMPOTENT = {"topic": "a", "partition": 0, "records": 1, "size": 70, "magic": 2, "producer_id": 4, "producer_epoch": 0}


def produce(at, error=0, *, offset=-1, acks=-1, took=0.001, size=80, index=0, **call):
    part = {"index": index, "recordsSizeInBytes": size}
    request = {"acks": acks, "topicData": [{"name": "a", "partitionData": [part]}]}
    result = {"index": index, "errorCode": error, "baseOffset": offset}
    response = {"responses": [{"name": "a", "partitionResponses": [result]}]} if acks else None
    return MadeCall("Produce", request, response, at=at, took=took, errors=[ERRORS[error]] if error else [], **call)


def batches(*sequences, **known):
    """Return a batch for each call, of an idempotent producer unless `known` says otherwise."""
    return [
        (number, IDEMPOTENT | {"base_sequence": sequence, "last_sequence": sequence, "crc": 1000 + sequence} | known)
        for number, sequence in enumerate(sequences)
    ]


def texts(code, *arguments, **more):
    return [text for _, _, text, _ in found(code, *arguments, **more)]


def test_a_refusal_is_judged_by_what_earlier_connections_show():
    calls = [produce(0, connection="one"), produce(10, OUT_OF_ORDER, connection="two"), produce(20, connection="three")]
    (text,) = texts("SEQUENCE_GAP", calls, batches=batches(5, 6, 8))
    assert "sequence 6 of producer 4, epoch 0, was refused though 5 was acknowledged" in text
    (text,) = texts("SEQUENCE_GAP", calls, batches=batches(4, 6, 8))
    assert text.endswith("was refused; the last one that was acknowledged is 4")


@pytest.mark.parametrize(
    "sequences",
    [(6, 5, 6), (6, 5)],
    ids=["the refused batch is acknowledged later", "the missing batch is acknowledged later"],
)
def test_a_gap_that_is_closed_is_no_finding(sequences):
    calls = [produce(at, 0 if at else OUT_OF_ORDER) for at in range(len(sequences))]
    assert texts("SEQUENCE_GAP", calls, batches=batches(*sequences)) == []


def test_sequences_wrap():
    calls = [produce(0), produce(1, OUT_OF_ORDER)]
    (text,) = texts("SEQUENCE_GAP", calls, batches=batches(2**31 - 1, 0))
    assert "sequence 0 of producer 4, epoch 0, was refused though 2147483647 was acknowledged" in text


def test_request_logs_show_errors_without_batches():
    assert texts("SEQUENCE_GAP", [produce(0, OUT_OF_ORDER)]) == ["a-0 refused 1 batch: OUT_OF_ORDER_SEQUENCE_NUMBER"]


def test_a_batch_that_was_refused_comes_again():
    first = produce(0, NOT_LEADER)
    (text,) = texts("DUPLICATE_BATCH", [first, produce(1)], batches=batches(1, 1))
    assert text == "1 of 2 batches came again, to a-0, after NOT_LEADER_OR_FOLLOWER"
    too_large = [produce(at, TOO_LARGE) for at in range(2)]
    assert texts("DUPLICATE_BATCH", too_large, batches=batches(1, 1)) == []


def test_a_batch_comes_again_on_the_next_connection():
    calls = [produce(at, connection=f"{at // 3}") for at in range(6)]
    assert texts("DUPLICATE_BATCH", calls, batches=batches(1, 2, 3, 3, 4, 9)) == ["1 of 6 batches came again, to a-0"]


def test_a_proxy_does_not_send_again():
    calls = [produce(0), produce(0.01, host="10.0.0.7")]
    assert texts("DUPLICATE_BATCH", calls, batches=batches(1, 1)) == []


def test_many_batches_that_come_again_are_a_warning():
    calls = [produce(at) for at in range(40)]
    ((severity, *_),) = found("DUPLICATE_BATCH", calls, batches=batches(*(number // 2 for number in range(40))))
    assert severity == "warning"


@pytest.mark.parametrize(
    ("pause", "connection", "count"),
    [(0.01, "same", 0), (0.01, "other", 1), (2.0, "same", 1)],
)
def test_equal_records_sent_one_after_the_other_are_two_batches(pause, connection, count):
    calls = [produce(0, offset=1, connection="same"), produce(pause, offset=2, connection=connection)]
    sent = batches(-1, -1, producer_id=-1, max_time_ms=1_000)
    assert len(texts("WRITTEN_TWICE", calls, batches=sent)) == count


@pytest.mark.parametrize(("size", "count"), [(10_000, 1), (100, 0)])
def test_a_partition_is_hot_only_if_others_could_have_had_a_full_batch(size, count):
    calls = [produce(at, size=size, index=0 if at < 30 else at - 29) for at in range(33)]
    assert len(found("HOT_PARTITION", calls)) == count
