"""Sequences that producers sent: what one connection shows of another, in whatever order parts are merged."""

import itertools
from types import SimpleNamespace

import pytest

from kwire_cli.analysis.call import Evidence
from kwire_cli.analysis.diagnosis import sent
from kwire_cli.analysis.diagnosis.sent import Sender, Sent

SENDER = Sender(4, 0, "a", 0, None, "10.0.0.1")


def part(connection, begin, *sequences, refused=()):
    """Return what one connection shows: a batch each second, the refused ones with an error."""
    own = Sent()
    for second, sequence in enumerate(sequences, begin):
        place = Evidence("Produce request", packet=second)
        call = SimpleNamespace(
            connection=connection,
            asked=second,
            answered=second + 0.1,
            who="c",
            evidence=lambda at=place, **_: at,
        )
        batch = SimpleNamespace(head=SimpleNamespace(base_sequence=sequence), last_sequence=sequence)
        bad = sequence in refused
        own.add(call, SENDER, batch, refused=bad, acknowledged=not bad)
    return own


def in_all_orders(make):
    for order in itertools.permutations(range(len(make()))):
        parts, whole = make(), Sent()
        for number in order:
            whole.merge(parts[number])
        yield whole


def test_a_batch_comes_again_on_the_next_connection():
    for whole in in_all_orders(lambda: [part(1, 0, 1, 2, 3), part(2, 10, 3, 4), part(3, 20, 9)]):
        assert [(client, name, place.packet) for client, name, place in whole.repeats()] == [("c", "a-0", 10)]
        assert whole.batches() == {"c": 6}


def test_a_batch_that_is_too_old_is_none_that_comes_again():
    for whole in in_all_orders(lambda: [part(1, 0, 1, 2, 3, 4, 5, 6), part(2, 10, 1)]):
        assert [*whole.repeats()] == []


def test_a_refusal_is_judged_by_what_earlier_connections_show():
    for whole in in_all_orders(lambda: [part(1, 0, 4, 5), part(2, 10, 6, refused=[6]), part(3, 20, 7)]):
        assert "sequence 6 of producer 4, epoch 0, was refused though 5 was" in whole.refusals()["c", "a-0"]


@pytest.mark.parametrize("name", ["MOST_STRETCHES", "MOST_CONNECTIONS"])
def test_memory_is_bounded_and_batches_count_all_the_same(monkeypatch, name):
    monkeypatch.setattr(sent, name, 3)
    whole = Sent()
    for number in range(10):
        whole.merge(part(number, 10 * number, number, number + 100))
    assert whole.batches() == {"c": 20}
    assert [*whole.repeats()] == []
