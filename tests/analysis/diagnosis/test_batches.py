"""Rules about batches: too small, compressed in vain, and in logs near the limit."""

from functools import partial

from kit.calls import diagnose_deformed, found_in, log_batch, log_items, rows

from kwire_cli.analysis.diagnosis.batches import LEAST_BATCHES, Batches

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


def test_a_log_near_the_default_limit():
    near = log_items("a-0", log_batch(0, "v" * 1_000_000))
    assert [(row["code"], row["subject"], row["text"]) for row in rows(near)] == [
        (
            "RECORDS_NEAR_LIMIT",
            "topic a",
            "the largest batch has 1000072 bytes; the default of max.message.bytes is 1048588",
        )
    ]
    assert rows(log_items("a-0", log_batch(0, "v" * 900_000))) == []


REFUSED = ("Produce", 9, {"acks": -1, "topicData": [
    {"name": "a", "partitionData": [{"index": 0, "recordsSizeInBytes": 5000}]}]},
    {"responses": [{"name": "a", "partitionResponses": [{"index": 0, "errorCode": 10}]}]}, 1)  # fmt: skip


def test_bodies_of_any_shape_are_taken():
    diagnose_deformed(REFUSED)
