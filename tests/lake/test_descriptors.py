"""Descriptors that are shuffled packed are the same when they are unpacked, whatever their numbers."""

import numpy as np
from hypothesis import given, strategies as st

from kwire_cli.lake.descriptors import packed, unpacked
from kwire_cli.source.packets.segment_columns import DESCRIPTOR


@given(st.lists(st.binary(min_size=DESCRIPTOR.itemsize, max_size=DESCRIPTOR.itemsize), max_size=20))
def test_any_rows(rows):
    assert unpacked(len(rows), packed(b"".join(rows))) == b"".join(rows)


def test_what_goes_on_evenly_becomes_little():
    rows = np.zeros(10_000, DESCRIPTOR)
    rows["packet"] = np.arange(10_000)
    rows["time"] = 1_760_000_000_000_000_000 + np.arange(10_000) * 20_000
    rows["position"] = np.arange(10_000) * 1514
    assert len(packed(rows.tobytes())) * 100 < rows.nbytes
