"""Sequences, epochs and transactions: what is a fault, and what compaction, retention and epoch bumps make legal."""

import pytest


def batches(folder, *rows):
    """Batches one after the other, from rows of producer, epoch, first sequence, records; None for offsets that are
    gone.
    """
    out, offset = [], 0
    for row in rows:
        if row is None:
            offset += 5
            continue
        producer, epoch, sequence, count = row
        out.append(folder.batch(offset, count, producer=producer, epoch=epoch, sequence=sequence))
        offset += count
    return out


SEQUENCES = {
    "in order": ([(1, 0, 0, 2), (2, 0, 0, 1), (1, 0, 2, 1), (2, 0, 1, 1)], []),
    "a gap": ([(1, 0, 0, 2), (1, 0, 3, 1)], ["SEQUENCE_GAP"]),
    "the same again": ([(1, 0, 0, 2), (1, 0, 0, 2)], ["SEQUENCE_DUPLICATE"]),
    "overlapping": ([(1, 0, 0, 2), (1, 0, 1, 2)], ["SEQUENCE_DUPLICATE"]),
    "the wrap within a batch": ([(1, 0, 2147483646, 3), (1, 0, 1, 1)], []),
    "the wrap between batches": ([(1, 0, 2147483646, 2), (1, 0, 0, 1)], []),
    "a gap at the wrap": ([(1, 0, 2147483646, 2), (1, 0, 1, 1)], ["SEQUENCE_GAP"]),
    "a new epoch": ([(1, 0, 0, 2), (1, 1, 0, 2), (1, 1, 2, 1)], []),
    "a new epoch in the middle": ([(1, 0, 0, 2), (1, 1, 2, 2)], ["SEQUENCE_GAP"]),
    "an older epoch": ([(1, 1, 0, 2), (1, 0, 2, 1)], ["PRODUCER_EPOCH"]),
    "a gap over offsets that are gone": ([(1, 0, 0, 2), None, (1, 0, 7, 1), (1, 0, 8, 1)], []),
    "a gap after offsets that were gone before": ([(1, 0, 0, 2), None, (1, 0, 7, 1), (1, 0, 9, 1)], ["SEQUENCE_GAP"]),
    "back over offsets that are gone": ([(1, 0, 7, 2), None, (1, 0, 0, 1)], ["SEQUENCE_DUPLICATE"]),
    "an epoch begun in offsets that are gone": ([(1, 0, 0, 2), None, (1, 1, 3, 1)], []),
    "first seen in the middle": ([(1, 0, 17, 2)], []),
    "no sequence": ([(1, 0, -1, 2)], ["SEQUENCE_MISSING"]),
    "no producer": ([(-1, -1, -1, 2), (-1, -1, -1, 2)], []),
}


@pytest.mark.parametrize(("rows", "found"), SEQUENCES.values(), ids=SEQUENCES)
def test_sequences(folder, rows, found):
    assert folder.put(0, "log", *batches(folder, *rows)).codes() == found


def test_a_broker_forgets_a_producer_after_a_day(folder):
    later = folder.time + 86_400_000
    parts = [
        folder.batch(0, producer=1, epoch=0, sequence=0),
        folder.batch(1, producer=1, epoch=0, sequence=9, time=later),
    ]
    assert folder.put(0, "log", *parts).codes() == []
    parts[1] = folder.batch(1, producer=1, epoch=0, sequence=9, time=later - 1)
    assert folder.put(0, "log", *parts).codes() == ["SEQUENCE_GAP"]


def test_sequences_of_a_coordinator_are_not_checked(tmp_path, folder_at):
    path = tmp_path / "__consumer_offsets-0"
    path.mkdir()
    folder = folder_at(path)
    codes = folder.put(0, "log", *batches(folder, (1, 0, 0, 1), (1, 0, 0, 1), (1, 0, -1, 1))).codes()
    assert not any(code.startswith("SEQUENCE") for code in codes)  # the records are none of a coordinator


def test_the_state_of_a_log_that_begins_later_is_that_of_its_snapshot(folder):
    # producer, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch, first offset of the open
    # transaction
    folder.put(100, "log", folder.batch(100, producer=1, epoch=0, sequence=41))
    assert folder.codes() == []
    folder.put(100, "snapshot", folder.snapshot((1, 0, 39, 99, 0, folder.time, -1, -1)))
    assert folder.codes() == ["SEQUENCE_GAP"]
    folder.put(100, "snapshot", folder.snapshot((1, 0, 40, 99, 0, folder.time, -1, -1)))
    assert folder.codes() == []


def transaction(folder, *, start=0, commit=False, coordinator=0, epoch=0):
    return [
        folder.batch(start, 2, producer=1, epoch=epoch, sequence=0, transactional=True),
        folder.marker(start + 2, producer=1, epoch=epoch, commit=commit, coordinator=coordinator),
    ]


def test_aborted_transactions_are_in_the_index(folder):
    folder.put(0, "log", *transaction(folder)).aborted(0, (1, 0, 2, 3))
    assert folder.codes() == []
    (folder.path / f"{0:020}.txnindex").unlink()
    assert folder.codes() == ["ABORTED_NOT_INDEXED"]


INDEXED = {
    "right": ((1, 0, 2, 3), []),
    "another first offset": ((1, 1, 2, 3), ["ABORTED_DIFFERS"]),
    "another last stable offset": ((1, 0, 2, 2), ["ABORTED_DIFFERS"]),
    "another producer": ((2, 0, 2, 3), ["ABORTED_NOT_IN_LOG"]),
    "no marker there": ((1, 0, 1, 3), ["ABORTED_NOT_INDEXED", "ABORTED_NOT_IN_LOG"]),
}


@pytest.mark.parametrize(("row", "found"), INDEXED.values(), ids=INDEXED)
def test_entries_of_the_index(folder, row, found):
    assert folder.put(0, "log", *transaction(folder)).aborted(0, row).codes() == found


def test_the_last_stable_offset_is_that_of_what_is_still_open(folder):
    other = folder.batch(0, producer=2, epoch=0, sequence=0, transactional=True)
    folder.put(0, "log", other, *transaction(folder, start=1)).aborted(0, (1, 1, 3, 0))
    assert folder.codes() == []
    assert folder.aborted(0, (1, 1, 3, 4)).codes() == ["ABORTED_DIFFERS"]


def test_a_follower_may_count_a_later_transaction_as_open(folder):
    later = folder.batch(4, producer=2, epoch=0, sequence=0, transactional=True)
    folder.put(0, "log", *transaction(folder), folder.batch(3), later)
    assert [folder.aborted(0, (1, 0, 2, stable)).codes() for stable in (3, 4, 5)] == [[], [], ["ABORTED_DIFFERS"]]


def test_what_compaction_leaves_of_transactions(folder):
    # The data of an aborted transaction goes first, its marker and its entry stay a while, together or alone.
    marker = folder.marker(2, producer=1, epoch=0, commit=False)
    folder.put(0, "log", marker)
    assert folder.codes() == []
    assert folder.aborted(0, (1, 0, 2, 3)).codes() == []
    folder.put(0, "log", folder.batch(3))
    assert folder.codes() == []
    # An emptied control batch proves nothing.
    emptied = folder.with_header(folder.marker(2, producer=1, epoch=0, commit=False), recordsCount=0)
    assert folder.put(0, "log", emptied).aborted(0, (1, 0, 2, 3)).codes() == []
    (folder.path / f"{0:020}.txnindex").unlink()
    # The last batch of a producer stays, emptied.
    folder.put(
        0, "log", folder.batch(0, 2, producer=1, epoch=0, sequence=0, transactional=True, kept=0), folder.batch(3)
    )
    assert folder.codes() == []


def test_a_segment_that_begins_in_the_middle_of_a_transaction(folder):
    end = [
        folder.batch(50, producer=1, epoch=0, sequence=9, transactional=True),
        folder.marker(51, producer=1, epoch=0, commit=False),
    ]
    folder.put(50, "log", *end).aborted(50, (1, 42, 51, 52))
    assert folder.codes() == []
    folder.put(50, "snapshot", folder.snapshot((1, 0, 8, 49, 0, folder.time, -1, 42)))
    assert folder.codes() == []
    folder.put(50, "snapshot", folder.snapshot((1, 0, 8, 49, 0, folder.time, -1, 43)))
    assert folder.codes() == ["ABORTED_DIFFERS"]


def test_markers(folder):
    assert (
        folder.put(0, "log", folder.marker(0, producer=1, epoch=0, commit=False)).codes() == []
    )  # not each partition of a transaction gets data
    parts = transaction(folder, commit=True, coordinator=3) + transaction(
        folder, start=3, commit=True, coordinator=2, epoch=1
    )
    assert folder.put(0, "log", *parts).codes() == ["COORDINATOR_EPOCH"]
    parts = [*transaction(folder, epoch=4)[:1], folder.marker(2, producer=1, epoch=3, commit=True)]
    assert folder.put(0, "log", *parts).codes() == ["PRODUCER_EPOCH"]
    parts = [
        *transaction(folder)[:1],
        folder.marker(2, producer=1, epoch=1, commit=True),
        folder.batch(3, producer=1, epoch=1, sequence=0),
    ]
    assert folder.put(0, "log", *parts).codes() == []
    parts[2] = folder.batch(3, producer=1, epoch=1, sequence=2)
    assert folder.put(0, "log", *parts).codes() == ["SEQUENCE_GAP"]


def test_a_batch_outside_of_the_open_transaction(folder):
    parts = [*transaction(folder)[:1], folder.batch(2, producer=1, epoch=0, sequence=2)]
    assert folder.put(0, "log", *parts).codes() == ["TRANSACTION_MIXED"]


SNAPSHOTS = {
    "right": ([(1, 0, 1, 1, 1, 0, -1, -1), (2, 0, 0, 2, 0, 0, -1, 2)], []),
    "another epoch": ([(1, 3, 1, 1, 1, 0, -1, -1), (2, 0, 0, 2, 0, 0, -1, 2)], ["epoch 3 where the log has 0"]),
    "another sequence": (
        [(1, 0, 5, 1, 1, 0, -1, -1), (2, 0, 0, 2, 0, 0, -1, 2)],
        ["lastSequence 5 where the log has 1"],
    ),
    "another offset": (
        [(1, 0, 1, 0, 0, 0, -1, -1), (2, 0, 0, 2, 0, 0, -1, 2)],
        ["lastOffset 0 where the log has 1"],
    ),
    "another transaction": (
        [(1, 0, 1, 1, 1, 0, -1, -1), (2, 0, 0, 2, 0, 0, -1, -1)],
        ["currentTxnFirstOffset -1 where the log has 2"],
    ),
    "one too many": (
        [(1, 0, 1, 1, 1, 0, -1, -1), (2, 0, 0, 2, 0, 0, -1, 2), (3, 0, 0, 0, 0, 0, -1, -1)],
        ["the log has no batch of producer 3 before offset 3"],
    ),
    "an open transaction missing": (
        [(1, 0, 1, 1, 1, 0, -1, -1)],
        ["producer 2 is not in it, which has a transaction open since offset 2"],
    ),
    "a forgotten producer": ([(2, 0, 0, 2, 0, 0, -1, 2)], []),
}


@pytest.mark.parametrize(("rows", "found"), SNAPSHOTS.values(), ids=SNAPSHOTS)
def test_snapshots(folder, rows, found):
    parts = [
        folder.batch(0, 2, producer=1, epoch=0, sequence=0),
        folder.batch(2, producer=2, epoch=0, sequence=0, transactional=True),
    ]
    folder.put(0, "log", *parts).put(
        3, "snapshot", folder.snapshot(*[(*row[:5], folder.time + row[5], *row[6:]) for row in rows])
    )
    faults = folder.faults()
    assert [fault.code for fault in faults] == ["SNAPSHOT_PRODUCER"] * len(found)
    assert all(text in fault.text for text, fault in zip(found, faults, strict=True))


def test_a_snapshot_knows_more_than_a_compacted_log(folder):
    row = (1, 2, 30, 8, 0, folder.time, 4, -1)
    folder.put(0, "log", folder.batch(0, producer=1, epoch=0, sequence=0), folder.batch(9)).put(
        10, "snapshot", folder.snapshot(row)
    )
    assert folder.codes() == []
    folder.put(10, "log", folder.batch(10, producer=1, epoch=2, sequence=32))
    assert folder.codes() == ["SEQUENCE_GAP"]  # 31 follows what the snapshot says


def test_a_snapshot_beyond_the_log(folder):
    folder.put(0, "log", folder.batch(0)).put(5, "snapshot", folder.snapshot())
    assert folder.codes() == ["SNAPSHOT_BEYOND_LOG"]
