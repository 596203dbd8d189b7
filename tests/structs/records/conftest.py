from types import SimpleNamespace

import pytest

from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build, leaves
from kwire_cli.engine.values import anomalies, value


def read_records(decl, data):
    """What the kernel and the folds make of bytes; every byte is in one leaf."""
    spans = walk(records_entry(decl), data)
    tree = build(records_entry(decl), spans)
    rows = list(leaves(tree))
    assert b"".join(data[row.start : row.end] for row in rows) == data
    assert [row.end for row in rows] == list(spans.end)
    return SimpleNamespace(
        spans=spans,
        value=value(tree.root, tree),
        anomalies=[(a.code, a.path, a.offset) for a in anomalies(tree)],
        leaves=rows,
    )


@pytest.fixture
def read():
    return read_records


@pytest.fixture
def check(read):
    """Bytes that a declaration reads and writes, in construct's own way too."""

    def check(decl, data, value):
        data = bytes.fromhex(data) if isinstance(data, str) else data
        found = read(decl, data)
        assert found.value == value
        assert found.anomalies == []
        assert decl.parse(data) == value
        assert decl.build(value) == data
        return found

    return check
