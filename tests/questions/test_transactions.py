"""Rules about transactions that hang, stay open, take long, are aborted or wait, and about fenced producers."""

from dataclasses import replace

import pytest
from kit.calls import exchanges, log_batch, log_items, rows, subjects
from kit.commands import ROOT

from kwire_cli.questions.rule_files import rules

INCIDENTS = ROOT / "samples" / "incidents"
OWN = {
    "ABORTED_TRANSACTIONS",
    "CONCURRENT_TRANSACTIONS_LOOP",
    "HANGING_TRANSACTION",
    "LONG_TRANSACTION",
    "OPEN_TRANSACTION",
}
[LEAST_WAITS] = [rule.parameters["least_requests"] for rule in rules() if rule.code == "CONCURRENT_TRANSACTIONS_LOOP"]
FORGOTTEN = {"forgottenTopicsData": [{"topic": "a", "partitions": [0]}]}
IDS = {"transactionalId": "t", "producerId": 7, "producerEpoch": 0}


def init(second, timeout=60000):
    request = {"transactionalId": "t", "transactionTimeoutMs": timeout}
    return "InitProducerId", 4, request, {"errorCode": 0, "producerId": 7, "producerEpoch": 0}, second


def add(second, error=0):
    request = {"v3AndBelowTransactionalId": "t", "v3AndBelowProducerId": 7, "v3AndBelowProducerEpoch": 0,
               "v3AndBelowTopics": [{"name": "a", "partitions": [0]}]}  # fmt: skip
    result = {"partitionIndex": 0, "partitionErrorCode": error}
    response = {"resultsByTopicV3AndBelow": [{"name": "a", "resultsByPartition": [result]}]}
    return "AddPartitionsToTxn", 3, request, response, second


def end(second, committed=True, error=0):
    return "EndTxn", 3, {**IDS, "committed": committed}, {"errorCode": error}, second


def fetch(second, stable, high, partition=0, isolation=1, session=0, silent=False, **more):
    request = {"isolationLevel": isolation, "sessionId": session, "topics": [], **more}
    told = {"partitionIndex": partition, "errorCode": 0, "highWatermark": high, "lastStableOffset": stable}
    response = {"errorCode": 0, "sessionId": session}
    return (
        "Fetch",
        12,
        request,
        response | {"responses": [] if silent else [{"topic": "a", "partitions": [told]}]},
        second,
    )


def found(given, codes=frozenset(OWN)):
    return [(row["severity"], row["code"], row["subject"]) for row in rows(given, codes)]


def of(*bodies):
    return found(exchanges(*bodies))


def test_without_the_coordinators_log_a_young_transaction_is_open():
    given = subjects(INCIDENTS / "hanging-transaction" / "payments-0")
    assert found(given) == [("info", "OPEN_TRANSACTION", "partition payments-0")]


def test_without_the_coordinators_log_an_old_transaction_hangs():
    open_ = log_batch(0, "x", producerId=4, producerEpoch=0, baseSequence=0, isTransactional=True)
    later = [log_batch(1, "y", time=1_000_000 + minutes * 60_000) for minutes in (14, 15)]
    assert found(log_items("a-0", open_, later[0])) == [("warning", "OPEN_TRANSACTION", "partition a-0")]
    assert found(log_items("a-0", open_, later[1])) == [("error", "HANGING_TRANSACTION", "partition a-0")]


@pytest.mark.parametrize(
    ("seconds", "finding"),
    [
        (4, None),
        (6, ("warning", "LONG_TRANSACTION", "partition a-0")),
        (901, ("error", "HANGING_TRANSACTION", "partition a-0")),
    ],
)
def test_readers_of_committed_records_that_get_nothing(seconds, finding):
    expected = [finding] if finding else []
    assert of(fetch(0, 5, 9), fetch(seconds // 2, 5, 9), fetch(seconds, 5, 12)) == expected


def test_a_fetch_session_does_not_repeat_what_has_not_changed():
    silent = [fetch(second, 5, 9, session=3, silent=True) for second in range(1, 62)]
    assert of(fetch(0, 5, 9, session=3), *silent) == [("warning", "LONG_TRANSACTION", "partition a-0")]
    assert of(fetch(0, 5, 9, session=3), fetch(1, 9, 9, session=3), *silent[1:]) == []
    for more in (FORGOTTEN, {"sessionEpoch": 0}):
        assert of(fetch(0, 5, 9, session=3), fetch(1, 5, 9, session=3, silent=True, **more), *silent[1:]) == []


def on_connections(bodies, count):
    return [
        replace(exchange, connection=f"connection {number % count}")
        for number, exchange in enumerate(exchanges(*bodies))
    ]


def test_readers_on_several_connections_are_held_back_together():
    bodies = [fetch(0, 5, 9), fetch(3, 5, 9), fetch(6, 5, 9)]
    assert found(on_connections(bodies, 3)) == [("warning", "LONG_TRANSACTION", "partition a-0")]
    silent = [fetch(at, 5, 9, session=3, silent=at > 1, sessionEpoch=at // 2) for at in range(9)]
    assert found(on_connections(silent, 2)) == [("warning", "LONG_TRANSACTION", "partition a-0")]
    assert found(on_connections([silent[0], *silent[3::2]], 2)) == []


def test_readers_that_go_on_are_not_held_back():
    assert of(*(fetch(second, second, second + 3) for second in range(120))) == []
    assert of(*(fetch(second, 5, 9, isolation=0) for second in range(120))) == []


def test_a_long_transaction_and_one_that_is_long_for_its_timeout():
    assert of(init(0), add(1), end(48)) == []
    assert of(init(0), add(1), end(49)) == [("warning", "LONG_TRANSACTION", "transactional id t")]
    assert of(init(0, 10_000), add(1), end(8)) == []
    assert of(init(0, 10_000), add(1), end(9)) == [("warning", "LONG_TRANSACTION", "transactional id t")]


@pytest.mark.parametrize(("aborted", "committed", "severity"), [(1, 0, "info"), (5, 20, "warning"), (5, 21, "info")])
def test_aborted_transactions(aborted, committed, severity):
    rounds = [(add(2 * at + 1), end(2 * at + 2, committed=at >= aborted)) for at in range(aborted + committed)]
    expected = [(severity, "ABORTED_TRANSACTIONS", "transactional id t")]
    assert of(init(0), *(body for pair in rounds for body in pair)) == expected


def test_transactions_of_traffic_and_logs_are_counted_separately():
    one, two = (subjects(INCIDENTS / name) for name in ("fenced-producer.pcap", "fenced-producer"))
    assert [row["text"] for row in rows([*one, *two], {"ABORTED_TRANSACTIONS"})] == [
        "1 of 3 transactions aborted",
        "1 of 3 transactions aborted: 1 by InitProducerId of a new instance",
    ]


def test_an_open_transaction_at_the_end():
    assert of(init(0), add(1)) == [("info", "OPEN_TRANSACTION", "transactional id t")]


@pytest.mark.parametrize("number", [LEAST_WAITS - 1, LEAST_WAITS])
def test_a_few_refused_requests_are_no_loop(number):
    waits = [add(2 + at, error=51) for at in range(number)]
    loop = [("warning", "CONCURRENT_TRANSACTIONS_LOOP", "transactional id t")] if number == LEAST_WAITS else []
    given = (init(0), add(1), end(2), *waits, add(30), end(31))
    assert of(*given) == loop
    apart = [add(2 + 2 * at + last, error=0 if last else 51) for at in range(number) for last in (0, 1)]
    assert of(init(0), add(1), end(2), *apart, end(40)) == []


def test_a_transaction_that_is_open_in_several_partitions_is_one_finding():
    open_ = log_batch(0, "x", producerId=4, producerEpoch=0, baseSequence=0, isTransactional=True)
    given = [*log_items("a-0", open_), *log_items("a-1", open_, log_batch(1, "y"))]
    assert found(given) == [("info", "OPEN_TRANSACTION", "partition a-1")]


def fenced(*bodies):
    """Return the text of what is found about fenced producers."""
    return [row["text"] for row in rows(exchanges(*bodies), {"FENCED_PRODUCER"})]


def test_errors_that_the_broker_got_for_a_producer_are_said_to_be_the_brokers():
    results = [{"name": "a", "resultsByPartition": [{"partitionIndex": 0, "partitionErrorCode": 90}]}]
    answer = {"errorCode": 0, "resultsByTransaction": [{"transactionalId": "t", "topicResults": results}]}
    request = {"transactions": [{**IDS, "verifyOnly": True, "topics": [{"name": "a", "partitions": [0]}]}]}
    (text,) = fenced(("AddPartitionsToTxn", 5, request, answer, 1), end(2, error=90))
    assert text == "c got 1 AddPartitionsToTxn PRODUCER_FENCED (asked by the broker), 1 EndTxn PRODUCER_FENCED"


def test_a_producer_without_a_transactional_id_is_named_by_its_client():
    result = {"index": 0, "errorCode": 47, "baseOffset": -1}
    request = {"acks": -1, "topicData": [{"name": "a", "partitionData": [{"index": 0, "recordsSizeInBytes": 80}]}]}
    refused = ("Produce", 9, request, {"responses": [{"name": "a", "partitionResponses": [result]}]}, 1)
    (row,) = rows(exchanges(refused), {"FENCED_PRODUCER"})
    assert (row["subject"], row["text"]) == ("client c", "c got 1 Produce INVALID_PRODUCER_EPOCH")


def test_a_transaction_that_timed_out_is_the_cause():
    for error, name in ((47, "INVALID_PRODUCER_EPOCH"), (48, "INVALID_TXN_STATE")):
        (text,) = fenced(init(0, 2000), add(1), end(6, error=error))
        assert f"c got 1 EndTxn {name}; the transaction was open for 5." in text
        assert ", and its transaction.timeout.ms is 2.0 s; " in text


def test_an_end_in_the_wrong_state_is_no_fence():
    assert fenced(init(0, 9000), add(1), end(6, error=48)) == []
    (text,) = fenced(init(0, 9000), add(1), end(6, error=47))
    assert text.startswith("c got 1 EndTxn INVALID_PRODUCER_EPOCH; 1 client initialised it: c at ")


def test_a_transactional_id_that_expired():
    (text,) = fenced(init(0), end(12, error=49))
    assert text == "c got 1 EndTxn INVALID_PRODUCER_ID_MAPPING; 1 client initialised it: c at 10.0.0.1:50012"


def asked_offsets(second, error=0):
    part = {"partitionIndex": 0, "committedOffset": -1 if error else 5, "errorCode": error}
    groups = [{"groupId": "g", "errorCode": 0, "topics": [{"name": "a", "partitions": [part]}]}]
    return "OffsetFetch", 8, {"groups": [{"groupId": "g", "topics": []}]}, {"groups": groups}, second


def test_offsets_in_a_transaction_that_has_not_ended():
    sent = ("AddOffsetsToTxn", 3, {**IDS, "groupId": "g"}, {"errorCode": 0}, 1)
    waits = [asked_offsets(second, 88) for second in (2, 4, 8)]
    (row,) = rows(exchanges(init(0), sent, *waits), {"OFFSETS_NOT_STABLE"})
    assert (row["severity"], row["subject"]) == ("error", "group g")
    assert row["command"] == "transactions --transactional-id t"
    assert row["text"].startswith(
        "c got UNSTABLE_OFFSET_COMMIT 3 times in 6.0 s; a transaction of t has offsets of the group, began at "
    )
    assert row["text"].endswith(", and its transaction.timeout.ms is 60.0 s")
    (row,) = rows(exchanges(*waits, asked_offsets(9)), {"OFFSETS_NOT_STABLE"})
    assert (row["severity"], row["text"]) == (
        "warning", "c got UNSTABLE_OFFSET_COMMIT 3 times in 6.0 s; the offsets were found afterwards",
    )  # fmt: skip
    assert rows(exchanges(*waits[:2]), {"OFFSETS_NOT_STABLE"}) == []
