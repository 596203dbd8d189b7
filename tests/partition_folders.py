"""A partition's folder written by hand: batches, indexes, snapshots; and damage done to one."""

import base64
import struct

import crc32c

from kwire_cli.engine.fixed import fixed
from kwire_cli.structs.records import v2
from kwire_cli.structs.records.parts import offset_of

HEADER = fixed(v2.HEADER)
CRC_FROM = offset_of(v2.BATCH, v2.CRC_FROM)
TIME = 1_700_000_000_000


def with_header(data, **changes):
    """A batch with some fields of its header changed, and the CRC that fits."""
    values = dict(zip(HEADER.names, HEADER.unpack(data, 0), strict=True)) | changes
    out = v2.HEADER.build(values) + data[HEADER.size :]
    return v2.HEADER.build(values | {"crc": crc32c.crc32c(out[CRC_FROM:])}) + data[HEADER.size :]


def batch(
    base,
    count=1,
    *,
    producer=-1,
    epoch=-1,
    sequence=-1,
    time=TIME,
    leader=0,
    transactional=False,
    control=None,
    kept=None,
):
    """A batch of `count` offsets from `base` on; `control` is key and value of its record, `kept` how many records
    compaction has left.
    """
    record = {"attributes": 0, "timestampDelta": 0, "headers": []}
    records = [
        record | {"offsetDelta": i, "key": None, "value": "dmFsdWU="} for i in range(count if kept is None else kept)
    ]
    if control:
        records = [record | {"offsetDelta": 0, "key": control[0], "value": control[1]}]
    header = {
        "baseOffset": base,
        "partitionLeaderEpoch": leader,
        "magic": 2,
        "crc": 0,
        "attributes": (16 if transactional else 0) | (32 if control else 0),
        "lastOffsetDelta": count - 1,
        "baseTimestamp": time,
        "maxTimestamp": time,
        "producerId": producer,
        "producerEpoch": epoch,
        "baseSequence": sequence,
        "recordsCount": len(records),
    }
    return with_header(v2.BATCH.build(header | {"records": records}))


def marker(base, *, producer, epoch, commit, coordinator=0, time=TIME):
    key, value = ("AAAAAQ==" if commit else "AAAAAA=="), base64.b64encode(struct.pack(">hi", 0, coordinator)).decode()
    return batch(base, producer=producer, epoch=epoch, transactional=True, control=(key, value), time=time)


def snapshot(*rows):
    body = struct.pack(">i", len(rows)) + b"".join(struct.pack(">qhiqiqiq", *row) for row in rows)
    return struct.pack(">hI", 1, crc32c.crc32c(body)) + body


class Folder:
    """A partition's folder with what a test puts into it."""

    batch, marker, snapshot, with_header, time = (
        staticmethod(batch),
        staticmethod(marker),
        staticmethod(snapshot),
        staticmethod(with_header),
        TIME,
    )

    def __init__(self, path):
        self.path = path

    def put(self, base, kind, *parts):
        (self.path / f"{base:020}.{kind}").write_bytes(b"".join(parts))
        return self

    def offsets(self, base, *rows):
        return self.put(base, "index", *(struct.pack(">ii", offset - base, position) for offset, position in rows))

    def times(self, base, *rows):
        return self.put(base, "timeindex", *(struct.pack(">qi", time, offset - base) for time, offset in rows))

    def aborted(self, base, *rows):
        return self.put(base, "txnindex", *(struct.pack(">hqqqq", 0, *row) for row in rows))

    def faults(self, **options):
        from kwire_cli.analysis.verify import verify_partition

        return list(verify_partition(self.path, **options))

    def codes(self):
        return [fault.code for fault in self.faults()]
