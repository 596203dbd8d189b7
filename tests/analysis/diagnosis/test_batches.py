"""Rules about batches: too small, compressed in vain."""

from functools import partial

import pytest
from kit.calls import CATALOG, MadeCall, diagnose_deformed, fill, found_in, log_batch, log_items, rows

from kwire_cli.analysis.diagnosis.batches import LEAST_BATCHES, LEAST_SAMPLES, QUERY, Batches
from kwire_cli.facts.memory import Tables
from kwire_cli.message.redaction import Redaction

found = partial(found_in, Batches)


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


def found_in_requests(number, *, gap=0.001, error=0, **batch):
    """Return the findings in so many Produce requests with a batch of one record each, seconds apart."""
    result = {"name": "a", "partitionResponses": [{"index": 0, "errorCode": error}]}
    errors = ["MESSAGE_TOO_LARGE"] if error else []
    calls = [
        MadeCall("Produce", {}, {"responses": [result]}, at=gap * at, took=0, errors=errors) for at in range(number)
    ]
    row = {"topic": "a", "partition": 0, "records": 1, "size": 70, "codec": 0} | batch
    tables, rule = Tables(Redaction(CATALOG), [QUERY]), Batches()
    fill(tables, calls, batches=[(at, row) for at in range(number)])
    rule.ask(tables)
    tables.close()
    return [(finding.kind.code, finding.subject, finding.evidence[0].frame) for finding in rule.findings()]


def test_batches_in_requests_are_those_of_a_client_that_the_broker_took():
    small = [("SMALL_BATCHES", "topic a, client billing", 1)]
    assert found_in_requests(LEAST_BATCHES) == small
    assert found_in_requests(LEAST_BATCHES - 1) == []
    assert found_in_requests(LEAST_BATCHES, error=10) == []
    assert found_in_requests(LEAST_BATCHES, records=2) == []
    assert found_in_requests(LEAST_BATCHES, gap=0.5) == []
    in_vain = [("COMPRESSION_NOT_PAYING", "topic a, client billing", 1)]
    assert found_in_requests(LEAST_SAMPLES, codec=1, unpacked_size=9) == in_vain
    assert found_in_requests(LEAST_SAMPLES, codec=1, unpacked_size=10) == []
    assert found_in_requests(LEAST_SAMPLES - 1, codec=1, unpacked_size=9) == []


REFUSED = ("Produce", 9, {"acks": -1, "topicData": [
    {"name": "a", "partitionData": [{"index": 0, "recordsSizeInBytes": 5000}]}]},
    {"responses": [{"name": "a", "partitionResponses": [{"index": 0, "errorCode": 10}]}]}, 1)  # fmt: skip


@pytest.mark.slow
def test_bodies_of_any_shape_are_taken():
    diagnose_deformed(REFUSED)
