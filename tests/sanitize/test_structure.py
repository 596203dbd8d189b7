"""Damaged segments before and after: batches and gaps, their codes and positions, are the same."""

import random

import pytest
from kit.commands import ROOT

import kwire_cli as kwire
from kwire_cli.records.batch import Batch
from kwire_cli.records.reading import read_items, source_of
from kwire_cli.sanitize.fields import Fields
from kwire_cli.sanitize.records import RecordSets
from kwire_cli.sanitize.replacing import Replacement
from kwire_cli.spec.catalog import catalog

SEGMENTS = sorted(
    each for pattern in ("*.log", "*.checkpoint") for each in (ROOT / "samples" / "segments").glob(f"*/{pattern}")
)
OF_HEADS = {"crc", "attributes", "lastOffsetDelta"}
"""Where anomalies lie that have nothing to do with what could be unpacked."""
HEAD = {0: 18, 1: 26, 2: 61}


def sanitized(data, topic):
    return b"".join(RecordSets(Fields(catalog(), Replacement(b"key"))).items(source_of(data, topic=topic)))


def structure(data, topic):
    found = []
    for item in read_items(source_of(data, topic=topic)):
        if isinstance(item, Batch):
            notes = [(note.code, note.path, note.offset) for note in item.notes if note.path in OF_HEADS]
            found.append((item.position, item.size, item.magic, item.crc_valid, notes))
        else:
            found.append((item.position, item.size, item.code, item.batch and item.batch.whole_size))
    return found


def damaged(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(data))
        match rng.randrange(5):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                del data[at + 1 :]
            case 2:
                del data[at + 1 : at + rng.randrange(2, 200)]
            case 3:
                data[at:at] = rng.randbytes(rng.randrange(1, 100))
            case _:
                data[at : at + 8] = bytes(8)
    return bytes(data)


@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: path.parent.name)
def test_a_damaged_segment_keeps_its_structure(path):
    topic, rng = path.parent.name.rpartition("-")[0], random.Random(path.parent.name)
    data = path.read_bytes()[:20_000]
    for _ in range(15):
        before = damaged(rng, data)
        after = sanitized(before, topic)
        assert len(after) == len(before)
        assert structure(after, topic) == structure(before, topic)


@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: path.parent.name)
def test_a_batch_that_is_cut_anywhere_stays_one(path):
    topic, data = path.parent.name.rpartition("-")[0], path.read_bytes()
    batch = next(item for item in kwire.read_records(data) if isinstance(item, Batch))
    for size in range(1, min(batch.size, 120)):
        before = data[batch.position : batch.position + size]
        assert structure(sanitized(before, topic), topic) == structure(before, topic)


PACKED = [(magic, codec) for magic in (0, 1, 2) for codec in ("gzip", "snappy", "lz4")]


@pytest.mark.parametrize(("magic", "codec"), [*PACKED, (2, "none")])
@pytest.mark.parametrize("at", [12, 17, -1])
def test_no_batch_shows_in_a_damaged_one_that_was_packed_in_it(magic, codec, at):
    """What is put into a batch with a wrong checksum is not found as batches, and its anomalies are the same."""
    rng = random.Random(5)
    records = [{"value": {"hex": rng.randbytes(rng.randrange(5, 60)).hex()}} for _ in range(100)]
    data = bytearray(kwire.write_records([{"magic": magic, "compression": codec, "records": records}]))
    at = HEAD[magic] - 1 if at < 0 else at
    if at != 17 or magic == 2:  # in messages the codec is there
        data[at] ^= 1
    before, after = bytes(data), sanitized(bytes(data), "t")
    assert structure(after, "t") == structure(before, "t")
    codes = [
        [(note.code, note.path) for note in item.anomalies]
        for data in (before, after)
        for item in read_items(source_of(data))
        if item.size > 99
    ]
    assert codes[0] == codes[1]
