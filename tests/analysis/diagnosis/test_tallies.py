import pickle

from kwire_cli.analysis.diagnosis.tallies import Recent


def recent(*keys, most=3):
    kept = Recent(most)
    for key in keys:
        assert kept.keep(key, -key) == -key
    return pickle.loads(pickle.dumps(kept))


def test_the_oldest_entries_are_forgotten():
    assert recent(1, 2) == {1: -1, 2: -2}
    assert recent(1, 2, 3, 4, 5) == {3: -3, 4: -4, 5: -5}


def test_what_is_merged_is_bounded_too():
    whole = recent(1, 2)
    whole.merge(recent(3))
    assert [*whole] == [1, 2, 3]
    whole.merge(recent(2, 4, 5))
    assert [*whole] == [3, 4, 5]
