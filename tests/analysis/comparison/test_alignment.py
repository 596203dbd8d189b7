"""Alignment: pairs cover both lists once."""

from itertools import combinations

from hypothesis import given, strategies as st

from kwire_cli.analysis.comparison.differences import InOrder, Pair, by_key

KEYS = st.lists(st.integers(0, 12), unique=True, max_size=10)
ROWS = st.lists(st.integers(0, 3), max_size=7)


def covers(pairs, a, b):
    return [sorted(p[side] for p in pairs if p[side] is not None) for side in (0, 1)] == [
        list(range(len(a))),
        list(range(len(b))),
    ]


@given(KEYS, KEYS)
def test_equal_keys_belong_together(a, b):
    pairs = by_key(a, b)
    assert covers(pairs, a, b)
    assert {a[p.a] for p in pairs if p.a is not None and p.b is not None} == {*a} & {*b}
    assert all(a[p.a] == b[p.b] for p in pairs if p.a is not None and p.b is not None)
    kept = [p.a for p in pairs if p.a is not None and p.b is not None and not p.moved]
    assert kept == sorted(kept)


@given(KEYS.flatmap(lambda a: st.tuples(st.just(a), st.permutations(a))))
def test_the_fewest_are_moved(lists):
    a, b = lists
    moved = sum(pair.moved for pair in by_key(a, b))
    order = [a.index(key) for key in b]
    longest = (
        max(n for n in range(len(a) + 1) for some in combinations(order, n) if [*some] == sorted(some))
        if len(a) < 9
        else len(a) - moved
    )
    assert moved == len(a) - longest


@given(ROWS, ROWS)
def test_pairs_in_order_cover_both_lists(a, b):
    pairs = InOrder().pairs(a, b)
    assert covers(pairs, a, b)
    both = [p for p in pairs if p.a is not None and p.b is not None]
    assert both == sorted(both)


@given(st.lists(st.integers(), unique=True, min_size=1, max_size=8), st.data())
def test_a_missing_element_is_the_only_difference(a, data):
    at = data.draw(st.integers(0, len(a) - 1))
    pairs = InOrder().pairs(a, a[:at] + a[at + 1 :])
    assert [p for p in pairs if p.b is None] == [Pair(at, None)]
    assert all(a[p.a] == (a[:at] + a[at + 1 :])[p.b] for p in pairs if p.b is not None)


def test_what_it_may_take_is_bounded_over_all_lists():
    a, b = [1, 2, 3, 9], [2, 3, 1, 4]
    order = InOrder(20)
    assert Pair(1, 0) in order.pairs(a, b)
    assert order.pairs(a, b) == [Pair(n, n) for n in range(4)]
