"""Errors that no other finding accounts for: one finding a client."""

import pytest
from kit.calls import CATALOG, MadeCall, found, sample_findings

CODES = {
    "INVALID_TIMESTAMP": 32, "KAFKA_STORAGE_ERROR": 56, "MEMBER_ID_REQUIRED": 79, "OUT_OF_ORDER_SEQUENCE_NUMBER": 45,
    "TOPIC_ALREADY_EXISTS": 36, "UNKNOWN_TOPIC_OR_PARTITION": 3, "UNSUPPORTED_VERSION": 35,
}  # fmt: skip


def produce(at, error=None, topic="events", **call):
    result = {"index": 0, "errorCode": CODES.get(error, 0)}
    body = {"responses": [{"name": topic, "partitionResponses": [result]}]}
    made = MadeCall("Produce", {}, body, at=at, errors=[error] if error else [], **call)
    made.topics = [topic]
    return made


def answered(api, at, error=None, **body):
    return MadeCall(api, {}, {"errorCode": CODES.get(error, 0)} | body, at=at, errors=[error] if error else [])


def test_one_client_has_one_finding():
    calls = [
        produce(0, "INVALID_TIMESTAMP"), produce(1), produce(2, "KAFKA_STORAGE_ERROR", topic="a"),
        produce(3, "KAFKA_STORAGE_ERROR", topic="a"), produce(4, "INVALID_TIMESTAMP", who="other"),
    ]  # fmt: skip
    rows = found("REQUESTS_FAIL", calls)
    assert [row[:3] for row in rows] == [
        ("error", "client billing", "Produce a: 2 of 2 KAFKA_STORAGE_ERROR, Produce events: 1 of 2 INVALID_TIMESTAMP"),
        ("warning", "client other", "Produce events: 1 of 1 INVALID_TIMESTAMP"),
    ]


def test_the_message_of_the_broker_is_part_of_the_finding():
    call = produce(0, "KAFKA_STORAGE_ERROR")
    (result,) = call.response["responses"][0]["partitionResponses"]
    result["errorMessage"] = "The disk is offline."
    others = [{**result, "index": number, "errorMessage": f"{number} is offline."} for number in (1, 2)]
    call.response["responses"][0]["partitionResponses"] += others
    ((_, _, text, _),) = found("REQUESTS_FAIL", [call])
    assert text == "Produce events: 1 of 1 KAFKA_STORAGE_ERROR (1 is offline)"
    result["errorMessage"] = "1 record errors: [RecordError(batchIndex=0, message='It has no key')]"
    del call.response["responses"][0]["partitionResponses"][1:]
    ((_, _, text, _),) = found("REQUESTS_FAIL", [call])
    assert text == "Produce events: 1 of 1 KAFKA_STORAGE_ERROR (It has no key)"


@pytest.mark.parametrize(
    ("error", "pause", "count"),
    [
        ("UNKNOWN_TOPIC_OR_PARTITION", 5, 0),
        ("UNKNOWN_TOPIC_OR_PARTITION", 60, 1),
        ("OUT_OF_ORDER_SEQUENCE_NUMBER", 5, 0),
        ("INVALID_TIMESTAMP", 5, 1),
    ],
)
def test_a_retry_cures_an_error_within_the_patience_of_clients(error, pause, count):
    assert len(found("REQUESTS_FAIL", [produce(0, error), produce(pause)])) == count


def test_a_success_about_another_topic_cures_nothing():
    ((severity, _, text, _),) = found(
        "REQUESTS_FAIL", [produce(0, "UNKNOWN_TOPIC_OR_PARTITION"), produce(1, topic="other")]
    )
    assert (severity, text) == ("warning", "Produce events: 1 of 1 UNKNOWN_TOPIC_OR_PARTITION")


@pytest.mark.parametrize(
    ("api", "error"), [("JoinGroup", "MEMBER_ID_REQUIRED"), ("ApiVersions", "UNSUPPORTED_VERSION")]
)
def test_errors_that_are_a_part_of_the_protocol(api, error):
    assert found("REQUESTS_FAIL", [answered(api, 0, error)]) == []


def test_an_error_that_passes_with_time_is_a_warning():
    calls = [produce(at, "UNKNOWN_TOPIC_OR_PARTITION") for at in range(5)]
    assert [severity for severity, *_ in found("REQUESTS_FAIL", calls)] == ["warning"]


def test_a_topic_that_exists_is_worth_a_note():
    topics = [{"name": "a", "errorCode": CODES["TOPIC_ALREADY_EXISTS"]}]
    calls = [answered("CreateTopics", at, "TOPIC_ALREADY_EXISTS", errorCode=0, topics=topics) for at in range(2)]
    ((severity, _, text, _),) = found("REQUESTS_FAIL", calls)
    assert (severity, text) == ("info", "CreateTopics a: 2 of 2 TOPIC_ALREADY_EXISTS")


def test_requests_of_brokers_are_no_clients():
    assert found("REQUESTS_FAIL", [produce(0, "INVALID_TIMESTAMP", who="broker-1-fetcher-0")]) == []


def test_without_times_a_later_success_is_enough():
    calls = [produce(0, "UNKNOWN_TOPIC_OR_PARTITION"), produce(1)]
    for call in calls:
        call.asked = call.answered = None
    assert found("REQUESTS_FAIL", calls) == []


def test_another_failure_is_no_cure():
    joins = [answered("JoinGroup", 0, "UNKNOWN_TOPIC_OR_PARTITION"), answered("JoinGroup", 1, "MEMBER_ID_REQUIRED")]
    ((_, _, text, _),) = found("REQUESTS_FAIL", joins)
    assert text == "JoinGroup: 1 of 2 UNKNOWN_TOPIC_OR_PARTITION"


def test_a_finding_says_what_the_error_means_and_what_to_do_first():
    """The texts are those of `kwire explain error`."""
    (row,) = sample_findings("incidents/invalid-timestamp.pcapng.gz", "REQUESTS_FAIL")
    meaning = CATALOG.error_meanings["INVALID_TIMESTAMP"]
    assert row["meaning"].endswith(f" INVALID_TIMESTAMP: {meaning.meaning}")
    assert f" INVALID_TIMESTAMP: {meaning.advice}" in row["advice"]
