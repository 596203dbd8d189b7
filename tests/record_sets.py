"""Record sets to read: made by the declarations, with right checksums, so that any of them can be made wrong on
purpose.
"""

import base64
import functools
from pathlib import Path

from kwire_cli.records.compression import compress
from kwire_cli.records.formats import RECORD_FORMATS
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.structs.records import v2

RECORD_SETS = {
    name: getattr(record_format.declared, record_format.record_set) for name, record_format in RECORD_FORMATS.items()
}
"""The declaration of a whole record set of each format."""
SEGMENTS = Path(__file__).resolve().parent.parent / "samples" / "segments"
HEAD = {
    "partitionLeaderEpoch": 0,
    "magic": 2,
    "crc": 0,
    "attributes": 0,
    "baseTimestamp": 1_760_000_000_000,
    "maxTimestamp": 1_760_000_000_000,
    "producerId": -1,
    "producerEpoch": -1,
    "baseSequence": -1,
}


def b64(data):
    return None if data is None else base64.b64encode(data).decode()


def with_crc(name, data):
    """The bytes of a batch with the checksum that they should have."""
    layout = LAYOUTS[name]
    right = layout.checksum(data[layout.crc_from :])
    return data[: layout.crc_at] + right.to_bytes(4, "big") + data[layout.crc_at + 4 :]


def record(key=None, value=b"v", offset=0, timestamp=0, headers=()):
    return {
        "attributes": 0,
        "timestampDelta": timestamp,
        "offsetDelta": offset,
        "key": b64(key),
        "value": b64(value),
        "headers": [{"key": name, "value": b64(data)} for name, data in headers],
    }


def batch(base=0, records=(), codec=0, packed=None, **head):
    """A batch of format v2; `packed` stands in place of its records' bytes."""
    area = v2.RECORDS.build({"records": list(records)}) if packed is None else packed
    if codec and packed is None:
        area = compress(codec, area)
    filled = {"baseOffset": base, "lastOffsetDelta": len(records) - 1, "recordsCount": len(records), **HEAD, **head}
    filled["attributes"] |= codec
    layout = LAYOUTS["v2"]
    # The declaration takes records one by one or packed; by its header alone the bytes can be anything.
    start = v2.HEADER.build(filled | {"batchLength": layout.head.size - 12 + len(area)})
    return with_crc("v2", start + area)


def message(name="v1", offset=0, key=None, value=b"v", attributes=0, timestamp=1_760_000_000_000, **more):
    """A message of format v0, v1 or the KIP-82 draft."""
    layout = LAYOUTS[name]
    fields = {
        "offset": offset,
        "crc": 0,
        "magic": layout.magic,
        "attributes": attributes,
        "key": b64(key),
        "value": b64(value),
        **more,
    }
    if name != "v0":
        fields["timestamp"] = timestamp
    return with_crc(name, layout.decl.build(fields))


def wrapper(name="v1", offset=0, inner=b"", codec=1, **more):
    """A compressed wrapper message."""
    magic = LAYOUTS[name].magic
    return message(
        name, offset, None, compress(codec, inner, magic=min(magic, 1)), more.pop("attributes", 0) | codec, **more
    )


@functools.cache
def committed(base, damage=b"", count=2, **head):
    """A batch of commits of group g as `__consumer_offsets` has them, the last one with bytes behind its value."""
    key, value = b"\0\1\0\1g\0\1a\0\0\0", b"\0\3" + bytes(8) + b"\xff" * 4 + bytes(2) + bytes(8)
    records = [record(key + bytes([at]), value + damage * (at == count - 1), at) for at in range(count)]
    return batch(base, records, **head)


def segments():
    """The sample segments, by folder."""
    return {path.parent.name: path.read_bytes() for path in sorted(SEGMENTS.glob("*/*"))}
