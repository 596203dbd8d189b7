"""Rules about batches: too small, compressed in vain."""

import pytest
from kit.calls import CATALOG, MadeCall, diagnose_deformed, fill, log_batch, log_items, rows

from kwire_cli.analysis.batch_uses import LEAST_BATCHES, LEAST_SAMPLES, QUERY, BatchReplay, BatchUse
from kwire_cli.facts.memory import Tables
from kwire_cli.message.redaction import Redaction

CODES = {"SMALL_BATCHES", "COMPRESSION_NOT_PAYING"}


def found(items):
    """Return the severity, code and subject of the findings about batches in a log."""
    return [(row["severity"], row["code"], row["subject"]) for row in rows(items, CODES)]


def lonely(number, gap, compression="none", value="v"):
    """Return a log with so many batches of one record each, milliseconds apart."""
    return log_items(
        "a-0", *(log_batch(at, value, time=1_000_000 + gap * at, compression=compression) for at in range(number))
    )


def test_records_that_come_together_could_be_one_batch():
    assert found(lonely(LEAST_BATCHES, 1)) == [("warning", "SMALL_BATCHES", "topic a")]
    assert found(lonely(LEAST_BATCHES - 1, 1)) == []
    assert found(lonely(LEAST_BATCHES, 500)) == []  # no linger would help
    assert found(log_items("a-0", *(log_batch(2 * at, "v", "w") for at in range(LEAST_BATCHES)))) == []
    [row] = [row for row in rows(lonely(100, 1)) if row["code"] == "SMALL_BATCHES"]
    assert "linger.ms=5 would have made 20 of them" in row["text"]


def test_compression_that_does_not_pay():
    assert ("info", "COMPRESSION_NOT_PAYING", "topic a") in found(lonely(10, 500, "gzip"))
    assert found(lonely(10, 500, "gzip", "v" * 500)) == []
    assert found(lonely(7, 500, "gzip")) == []


def test_the_evidence_is_batches_that_did_not_get_smaller():
    helped = [log_batch(at, "v" * 60, time=at, compression="gzip") for at in range(4)]
    in_vain = [log_batch(at, "\0v\1w", "x", time=at, compression="gzip") for at in range(10, 50, 2)]
    [row] = [row for row in rows(log_items("a-0", *helped, *in_vain)) if row["code"] == "COMPRESSION_NOT_PAYING"]
    assert [place["offset"] for place in row["evidence"]] == [10, 12, 14]


def found_in_requests(number, *, gap=0.001, error=0, **batch):
    """Return what so many Produce requests with a batch of one record each, seconds apart, could be found for."""
    result = {"name": "a", "partitionResponses": [{"index": 0, "errorCode": error}]}
    errors = ["MESSAGE_TOO_LARGE"] if error else []
    calls = [
        MadeCall("Produce", {}, {"responses": [result]}, at=gap * at, took=0, errors=errors) for at in range(number)
    ]
    row = {"topic": "a", "partition": 0, "records": 1, "size": 70, "codec": 0} | batch
    tables, replay = Tables(Redaction(CATALOG), [QUERY]), BatchReplay()
    fill(tables, calls, batches=[(at, row) for at in range(number)])
    replay.read(tables)
    tables.close()
    return [(use.linger_ms, use.is_packed_in_vain, use.client, use.places[0].frame) for use in replay.rows()]


def test_batches_in_requests_are_those_of_a_client_that_the_broker_took():
    small = [(5, False, "billing", 1)]
    assert found_in_requests(LEAST_BATCHES) == small
    assert found_in_requests(LEAST_BATCHES - 1) == []
    assert found_in_requests(LEAST_BATCHES, error=10) == []
    assert found_in_requests(LEAST_BATCHES, records=2) == []
    assert found_in_requests(LEAST_BATCHES, gap=0.5) == [(None, False, "billing", 1)]
    in_vain = [(None, True, "billing", 1)]
    assert found_in_requests(LEAST_SAMPLES, codec=1, unpacked_size=9) == in_vain
    assert found_in_requests(LEAST_SAMPLES, codec=1, unpacked_size=10) == []
    assert found_in_requests(LEAST_SAMPLES - 1, codec=1, unpacked_size=9) == []


REFUSED = ("Produce", 9, {"acks": -1, "topicData": [
    {"name": "a", "partitionData": [{"index": 0, "recordsSizeInBytes": 5000}]}]},
    {"responses": [{"name": "a", "partitionResponses": [{"index": 0, "errorCode": 10}]}]}, 1)  # fmt: skip


@pytest.mark.slow
def test_bodies_of_any_shape_are_taken():
    diagnose_deformed(REFUSED)


def test_batches_are_saved_only_by_a_linger_that_helps():
    few = BatchUse("web", "clicks", batches=2, records=2, merged=[1, 1, 1])
    assert (few.linger_ms, few.merged_batches) == (None, None)
