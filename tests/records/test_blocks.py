"""Files that are read in blocks give what their bytes in memory give, wherever a block ends."""

import random

import pytest
from kit.commands import ROOT

from kwire_cli.records.batch import Batch
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.reading import Reader, items, source_of
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


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: path.parent.name)
def test_batches_that_are_kept_for_later(tmp_path, path):
    data = path.read_bytes() * 3
    (tmp_path / "a.log").write_bytes(data)
    kept = [item for item in items(source_of(tmp_path / "a.log")) if isinstance(item, Batch)]
    random.Random(1).shuffle(kept)
    expected = {item.position: item.to_json() for item in items(source_of(data))}
    assert all(item.to_json() == expected[item.position] for item in kept)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: path.parent.name)
def test_plain_batches(tmp_path, path):
    data = path.read_bytes() * 3
    (tmp_path / "a.log").write_bytes(data)
    layout = LAYOUTS["v2"]
    readers = [Reader(source_of(each)) for each in (data, tmp_path / "a.log")]
    assert [*readers[0].plain(layout)] == [*readers[1].plain(layout)]
    assert readers[0].at == readers[1].at


@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("seed", [None, 1])
def test_rows(tmp_path, monkeypatch, path, seed):
    from kwire_cli.records import bulk_batches
    from kwire_cli.records.columns import batch_columns, record_columns

    data = path.read_bytes() * 10 if seed is None else damaged(path.read_bytes() * 4, seed)
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
