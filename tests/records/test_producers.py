"""The state of a partition's producers: from batches, from snapshots, and beyond what memory holds."""

import pytest
from kit.logs import TIME, batch_at, marker, with_header

from kwire_cli.records import producers
from kwire_cli.records.producers import RESTARTED, Appended, ProducerState, SnapshotEntry
from kwire_cli.records.reading import items, source_of


def appended(state, *parts):
    return [state.append(batch) for batch in items(source_of(b"".join(parts)))]


def begun(state):
    return [(own.producer_id, own.epoch, own.first_offset, own.first_known) for own in state.open.values()]


def data(base, count=1, producer=1, epoch=0, sequence=0, **more):
    return batch_at(base, count, producer=producer, epoch=epoch, sequence=sequence, **more)


def test_a_transaction_from_its_first_batch_to_its_marker():
    state = ProducerState()
    one = data(0, 2, transactional=True, time=TIME + 5)
    two = data(2, 1, sequence=2, transactional=True, time=TIME)
    other = data(3, producer=2, transactional=True)
    first, second, third, ended = appended(state, one, two, other, marker(4, producer=1, epoch=0, commit=False))
    assert [found.began.first_offset if found.began else None for found in (first, second, third)] == [0, None, 3]
    transaction = ended.ended
    assert (transaction.batches, transaction.records, transaction.since) == (2, 3, TIME)
    assert (transaction.marker.commit, transaction.marker.offset) == (False, 4)
    assert transaction.marker.last_stable_offset == 3
    assert begun(state) == [(2, 0, 3, True)]


@pytest.mark.parametrize(
    ("head", "code", "missing", "text"),
    [
        ({"sequence": 3}, "SEQUENCE_GAP", 1, "writes sequence 3, and 2 is next after offset 1"),
        ({"epoch": 1, "leader": 8}, RESTARTED, 0, "the leader epoch went from 7 to 8"),
        ({"epoch": 1, "sequence": 4}, "SEQUENCE_GAP", 4, "begins with sequence 4, not 0"),
    ],
)
def test_problems_of_sequences(head, code, missing, text):
    _, second = appended(ProducerState(), data(0, 2, leader=7), data(2, **head))
    [problem] = second.problems
    assert (problem.code, problem.missing) == (code, missing)
    assert problem.text.endswith(text)


def test_what_was_open_before_missing_offsets_may_have_ended_there():
    state = ProducerState()
    appended(state, data(0, transactional=True), data(7, sequence=3, transactional=True))
    assert begun(state) == [(1, 0, 0, False)]
    assert not state.complete


def test_an_emptied_marker_says_nothing():
    state = ProducerState()
    empty = with_header(marker(1, producer=1, epoch=0, commit=True), recordsCount=0)
    [_, ended] = appended(state, data(0, transactional=True), empty)
    assert (ended, state.complete, begun(state)) == (Appended(), False, [(1, 0, 0, True)])


@pytest.mark.parametrize("control", [(b"\0\0", bytes(6)), (b"\0\0\0\1", b"\0\0"), (b"\0\0\0\x09", bytes(6))])
def test_control_batches_without_a_marker(control):
    [batch] = items(source_of(batch_at(0, producer=1, epoch=0, control=control)))
    assert [problem.code for problem in ProducerState().append(batch).problems] == ["CONTROL_RECORD"]


def test_a_snapshot_replaces_what_the_log_says_and_keeps_what_it_counted():
    state = ProducerState()
    appended(state, data(0, 2, transactional=True))
    entries = [SnapshotEntry(6, 1, 0, 1, 1, 1, TIME, -1, 0), SnapshotEntry(50, 2, 3, 8, 4, 0, TIME, 1, 4)]
    state.take(entries, 9)
    assert begun(state) == [(1, 0, 0, True), (2, 3, 4, True)]
    assert [own.records for own in state.open.values()] == [2, 0]
    [found] = appended(state, data(9, producer=2, epoch=3, sequence=9, transactional=True))
    assert not found.problems


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(producers, "MOST_PRODUCERS", 8)
    state = ProducerState()
    for number in range(40):
        appended(state, data(number, producer=number, transactional=True))
    assert len(state.by_id) <= 8
    assert [own.producer_id for own in state.open.values()] == [*range(8)]
