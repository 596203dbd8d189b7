"""What record sets cost when many are counted at once: what it is when each is counted on its own."""

from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import given, strategies as st
from kit.commands import examples

from kwire_cli.engine.compiled import octets
from kwire_cli.facts.costs.batch_sizes import BatchSizes
from kwire_cli.facts.costs.ledger import Ledger
from kwire_cli.facts.costs.record_sets import RecordSets
from kwire_cli.lake.line_walks import add_sets

SEGMENTS = sorted((Path(__file__).resolve().parents[2] / "samples" / "segments").rglob("*.log"))
SETS = [path.read_bytes() for path in SEGMENTS]


def one_by_one(sets):
    out = Counter()
    for data in sets:
        exact = RecordSets(Ledger(), Ledger(), BatchSizes())
        exact.add(data, 0, len(data))
        add_up(out, exact.wire)
    return +out


def add_up(out, ledger):
    for row in ledger.rows():
        for name in ("prefix_bytes", "value_bytes", "count"):
            out[row.path, row.kinds, name] += getattr(row, name)


def together(sets):
    stop = np.cumsum([len(data) for data in sets], dtype=np.int64) + 3
    ledger, out = Ledger(), Counter()
    add_sets(ledger, None, "", octets(b"abc" + b"".join(sets)), np.append(3, stop)[:-1], stop)
    add_up(out, ledger)
    return +out


def test_segments_as_sets():
    assert together(SETS) == one_by_one(SETS)
    for data in SETS:
        assert together([data, b"", data]) == one_by_one([data, data])
    assert together([]) == together([b""]) == {}


@examples(25)
@given(st.data())
def test_damaged_sets(data):
    sets = []
    for whole in data.draw(st.lists(st.sampled_from(SETS), min_size=1, max_size=4)):
        start = data.draw(st.integers(0, 1)) * data.draw(st.integers(0, 200))
        own = bytearray(whole[start : start + data.draw(st.integers(0, 2000))])
        for _ in range(data.draw(st.integers(0, 2))):
            if own:
                own[data.draw(st.integers(0, len(own) - 1))] = data.draw(st.integers(0, 255))
        sets.append(bytes(own))
    assert together(sets) == one_by_one(sets)
