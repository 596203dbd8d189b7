"""Sequences of producers in logs: gaps, batches that come again, and producers with a new epoch."""

from kit.calls import log_batch, log_items, rows


def found(items):
    """Return the severity, code and subject of findings about sequences."""
    about = {"SEQUENCE_GAP", "DUPLICATE_BATCH"}
    return [(row["severity"], row["code"], row["subject"]) for row in rows(items) if row["code"] in about]


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
