"""Batches whose end is missing, cut from all samples: what can be read of them is the beginning of what the whole ones
say.
"""

import pytest
from kit.commands import ROOT

import kwire_cli as kwire
from kwire_cli.records.batch import TRUNCATED, Batch

SEGMENTS = sorted([*(ROOT / "samples").rglob("*.log"), *(ROOT / "samples").rglob("*.checkpoint")])
HEAD = {0: 18, 1: 26, 2: 61}


def whole_batches():
    """A batch of each format and codec in the samples, the largest first."""
    found = {}
    for path in SEGMENTS:
        data = path.read_bytes()
        for item in kwire.read_records(data):
            if isinstance(item, Batch) and item.crc_valid and item.layout.name != "auto":
                key = item.magic, item.compression, item.head.control
                if key not in found or len(found[key]) < item.size:
                    found[key] = data[item.position : item.end]
    return [pytest.param(data, id="-".join(map(str, key))) for key, data in sorted(found.items())]


def cut(data, size):
    (gap,) = kwire.read_records(data[:size])
    assert (gap.position, gap.size, gap.code) == (0, size, TRUNCATED)
    return gap


@pytest.mark.parametrize("data", whole_batches())
def test_a_cut_batch_says_as_much_as_it_holds(data):
    (whole,) = kwire.read_records(data)
    shown, before = whole.to_json(), 0
    names = ("offset", "timestamp", "sequence", "key", "value", "headers")
    records = [{name: record[name] for name in names} for record in shown["records"]]
    for size in sorted({*range(17, min(len(data), 90)), *range(90, len(data), max(len(data) // 97, 1)), len(data) - 1}):
        gap = cut(data, size)
        found = gap.to_json()["batch"]
        assert found["size"] == len(data)
        assert found["anomalies"][0]["code"] == TRUNCATED
        if size < HEAD[whole.magic]:
            assert found["records"] == []
            assert "baseOffset" not in found
            continue
        same = (
            "magic",
            "crc",
            "compression",
            "timestampType",
            "maxTimestamp",
            "producerId",
            "isControl",
            "count",
            "lastOffset",
        )
        assert {name: found[name] for name in same} == {name: shown[name] for name in same}
        assert found["crcValid"] is None
        got = [{name: record[name] for name in names} for record in found["records"]]
        if whole.magic == 1 and whole.head.codec:  # how many messages follow is what relative offsets count from
            assert [record["offset"] for record in got] == list(range(len(got)))
            got = [record | {"offset": records[number]["offset"]} for number, record in enumerate(got)]
        assert got == records[: len(got)]
        assert len(got) >= before
        before = len(got)


def test_a_length_that_no_batch_has_is_no_cut_batch():
    """Bytes that happen to have a magic byte where one would be say nothing."""
    for filler in (b"\xff", b"\x7f"):
        (gap,) = kwire.read_records(filler * 16 + b"\x02" + filler * 100)
        assert gap.to_json() == {"position": 0, "size": 117, "gap": gap.code}
