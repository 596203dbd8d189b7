"""The folds made for one layout against the general ones, and shapes against the kernel."""

import random

import pytest
from golden_rows import sample, shared
from hypothesis import given, strategies as st

import kwire_cli as kwire
from kwire_cli.engine.folds import OddError, fold_of
from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.shapes import LARGEST, MOST_PLACES, Shape, Shapes
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import ABSENT, Form, anomalies, value

CATALOG = kwire.catalog()


def entry_of(row):
    return entry_for(row.catalog.message(row.message), row.version)


def general(entry, spans, records):
    tree = build(entry, spans)
    found = value(tree.root, tree, Form(records))
    return {} if found is ABSENT else found, anomalies(tree)


def compare(entry, spans):
    """Whether the message is calm; then its fold is what the general way gives, and there is no anomaly."""
    for records in ("base64", "size"):
        try:
            found = fold_of(entry, records)(spans)
        except OddError:
            return False
        expected, odd = general(entry, spans, records)
        assert repr(found) == repr(expected)  # the order of keys too
        assert not odd
    return True


def test_folds_give_what_the_general_way_gives():
    calm = [compare(entry_of(row), walk(entry_of(row), row.body)) for row in sample()]
    assert sum(calm) > 0.8 * len(calm)


@pytest.mark.shared
def test_folds_of_all_golden_bodies():
    calm = [compare(entry_of(row), walk(entry_of(row), row.body)) for row in shared()]
    assert sum(calm) > 0.8 * len(calm)


ROWS = sample()


@given(st.sampled_from(range(len(ROWS))), st.data())
def test_folds_of_damaged_bytes_say_nothing_that_is_not_so(number, data):
    row = ROWS[number]
    body = bytearray(row.body)
    for _ in range(data.draw(st.integers(1, 3))):
        if body:
            body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    body = bytes(body)[: data.draw(st.integers(0, len(body)))] if data.draw(st.booleans()) else bytes(body)
    compare(entry_of(row), walk(entry_of(row), body))


def changed(body, rng):
    """Bodies of one length: some with other values, some with other lengths and counts."""
    out = [body]
    for _ in range(20):
        other = bytearray(body)
        for _ in range(rng.randrange(1, 4)):
            if other:
                other[rng.randrange(len(other))] = rng.choice((0, 1, 2, 255, rng.randrange(256)))
        out.append(bytes(other))
    return out


def test_shapes_give_the_spans_of_the_kernel():
    rng = random.Random(7)
    hits = 0
    for row in ROWS:
        entry = entry_of(row)
        shapes = Shapes(entry, {leaf.id for leaf in entry.program.leaves})
        for body in changed(row.body, rng):
            for start in (0, 3):
                data = bytes(start) + body
                expected = walk(entry, data, start)
                found = shapes.walk(data, start)
                if isinstance(found, Shape):
                    hits += 1
                    assert found.marked == list(zip(expected.node, expected.value, expected.end, strict=True))
                    found = found.of(data)
                assert found == expected
    assert hits > len(ROWS)


def test_shapes_are_bounded():
    entry = entry_for(CATALOG.message("HeartbeatRequest"), 0)
    shapes = Shapes(entry)
    body = kwire.encode(
        {"groupId": "", "generationId": 1, "memberId": "m" * LARGEST}, message="HeartbeatRequest", version=0
    )
    for _ in range(3):
        assert not isinstance(shapes.walk(body, 0), Shape)
    for size in range(3 * MOST_PLACES):
        small = kwire.encode(
            {"groupId": "g" * (size % 900), "generationId": 1, "memberId": ""}, message="HeartbeatRequest", version=0
        )
        shapes.walk(small, 0)
        assert len(shapes._places) <= MOST_PLACES
