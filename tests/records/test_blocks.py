"""Files that are read in blocks give what their bytes in memory give, wherever a block ends."""

import random

import pytest
from kit.commands import ROOT

from kwire_cli.records.reading import items, source_of
from kwire_cli.stores import opening

SEGMENTS = sorted((ROOT / "samples" / "segments").rglob("*.log"))


@pytest.fixture(params=[31, 1_000])
def small_blocks(request, monkeypatch):
    from kwire_cli.records import reading

    monkeypatch.setattr(opening, "BLOCK", request.param)
    monkeypatch.setattr(opening, "KEPT", 3 * request.param)
    monkeypatch.setattr(reading, "BLOCK", request.param)
    monkeypatch.setattr(reading, "_BLOCK", request.param)


def shown(source):
    return [item.to_json() for item in items(source)]


def damaged(data, seed):
    chosen = random.Random(seed)
    out = bytearray(data * 2)
    for _ in range(4):
        at = chosen.randrange(len(out))
        out[at : at + chosen.randrange(40)] = bytes(chosen.randrange(80))
    return bytes(out[: len(out) - chosen.randrange(30)])


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("seed", [None, 1])
def test_batches_and_gaps(tmp_path, path, seed):
    data = path.read_bytes() if seed is None else damaged(path.read_bytes(), seed)
    (tmp_path / "a.log").write_bytes(data)
    assert shown(source_of(tmp_path / "a.log")) == shown(source_of(data))


@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("seed", [None, 1])
def test_rows(tmp_path, monkeypatch, path, seed):
    from kwire_cli.records import bulk_batches
    from kwire_cli.records.columns import batch_columns, record_columns

    data = path.read_bytes() * 4 if seed is None else damaged(path.read_bytes() * 2, seed)
    (tmp_path / "a.log").write_bytes(data)
    found = []
    for source, size in ((data, bulk_batches.CHUNK), (tmp_path / "a.log", 700)):
        monkeypatch.setattr(bulk_batches, "CHUNK", size)
        monkeypatch.setattr(opening, "BLOCK", 1_400)
        monkeypatch.setattr(opening, "KEPT", 2_800)
        rows = []
        for read in (batch_columns, record_columns):
            for batch in read(source_of(source)):
                rows += batch.to_pylist() if hasattr(batch, "to_pylist") else [batch.to_json()]
        found.append(rows)
    assert found[0] == found[1]
