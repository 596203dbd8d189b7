"""Bombs, and batches that are huge: what they cost."""

import tracemalloc

import pytest
from kit.logs import batch, record, wrapper

import kwire_cli as kwire
from kwire_cli.records import v2
from kwire_cli.records.compression import compress
from kwire_cli.view.batch_json import line_pieces


@pytest.mark.slow
@pytest.mark.parametrize("codec", [1, 3, 4])
def test_a_bomb_is_an_anomaly_and_the_rest_is_read(codec):
    bomb = batch(0, (), packed=compress(codec, bytes(4 << 20)), attributes=codec, recordsCount=1, lastOffsetDelta=0)
    last = batch(1, [record()])
    tracemalloc.start()
    first, second = kwire.read_records(bomb + last, max_decompressed=10_000)
    found = first.anomalies
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found[0].code == "DECOMPRESSION_LIMIT"
    assert most < 8 << 20
    assert [each.value for each in second.records()] == [b"v"]


def test_a_bomb_in_a_wrapper():
    first = next(iter(kwire.read_records(wrapper("v1", 0, bytes(4 << 20), 1), max_decompressed=10_000)))
    assert first.anomalies[0].code == "DECOMPRESSION_LIMIT"


def test_odd_records_of_a_packed_batch_are_not_read_for_ever(monkeypatch):
    monkeypatch.setattr(v2, "MAX_ODD", 1_000)
    bomb = batch(0, (), packed=compress(1, bytes(1 << 16)), attributes=1, recordsCount=1 << 15, lastOffsetDelta=0)
    last = batch(1, [record()])
    first, second = kwire.read_records(bomb + last)
    found = first.anomalies
    assert 1_000 <= len(list(first.records())) < 10_000
    assert [note.code for note in found if note.code in {"DECOMPRESSION_LIMIT", "COUNT_MISMATCH"}] == [
        "DECOMPRESSION_LIMIT"
    ]
    assert "bytes that follow are not" in found[-1].detail
    assert [each.value for each in second.records()] == [b"v"]


@pytest.mark.slow
def test_odd_records_are_all_read_where_they_are_not_packed():
    (found,) = kwire.read_records(batch(0, (), packed=bytes(75_000), recordsCount=50_000))
    assert len(list(found.records())) > 10_000
    assert "DECOMPRESSION_LIMIT" not in {note.code for note in found.anomalies}


def test_a_line_of_many_records_takes_little_memory():
    records = [record(None, None, i) for i in range(200)]
    area = batch(0, records)[61:] * 60
    (found,) = kwire.read_records(
        batch(0, (), packed=compress(4, area), attributes=4, recordsCount=12_000, lastOffsetDelta=199)
    )
    tracemalloc.start()
    size = sum(map(len, line_pieces(found, label={}, deep=True)))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 1 << 20
    assert most < 3 << 20
