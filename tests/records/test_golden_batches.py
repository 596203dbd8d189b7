"""Record sets that Kafka's own code wrote: what is compressed in them becomes just the records that Kafka read back."""

import gzip
import json
import struct
from collections import Counter

import pytest
from kit.messages import SHARED

from kwire_cli.records.codecs import Limits, crc32, crc32c
from kwire_cli.records.compression import CODECS, compress, decompress

LOG = struct.Struct(">qi")  # offset, size
BATCH = struct.Struct(">qiibIhiqqqhii")
MESSAGE = struct.Struct(">qiIbb")


def sets():
    with gzip.open(SHARED / "golden" / "kafka-releases.batches.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
    with (SHARED / "golden" / "kafka-trunk-2024-10.batches.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def batches(data):
    """(magic, codec, record bytes, bytes of the CRC, CRC) of each whole batch or message."""
    at = 0
    while at + BATCH.size <= len(data) or at + MESSAGE.size <= len(data):
        _, size = LOG.unpack_from(data, at)
        end = at + LOG.size + size
        if end > len(data):
            return
        _, _, crc, magic, attributes = MESSAGE.unpack_from(data, at)
        if magic == 2:
            _, _, _, _, crc, attributes, *_ = BATCH.unpack_from(data, at)
            yield magic, attributes & 7, data[at + BATCH.size : end], data[at + BATCH.size - 40 : end], crc
        else:
            start = at + MESSAGE.size + (8 if magic else 0)
            (key,) = struct.unpack_from(">i", data, start)
            value = start + 4 + max(key, 0)
            (length,) = struct.unpack_from(">i", data, value)
            yield (
                magic,
                attributes & 7,
                data[value + 4 : value + 4 + max(length, 0)],
                data[at + MESSAGE.size - 2 : end],
                crc,
            )
        at = end


def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number >> 1 ^ -(number & 1), at


def count(magic, data):
    """How many records or messages these bytes hold, to the last one."""
    at = found = 0
    while at < len(data):
        size, at = varint(data, at) if magic == 2 else (LOG.unpack_from(data, at)[1], at + LOG.size)
        at, found = at + size, found + 1
    assert at == len(data)
    return found


@pytest.mark.shared
def test_compressed_by_kafka():
    seen = Counter()
    for row in sets():
        # Kafka's decode has a batch for each message of magic 0 and 1, and each batch of magic 2.
        for (magic, codec, data, under, crc), batch in zip(
            batches(bytes.fromhex(row["hex"])), row["batches"], strict=True
        ):
            assert (magic, CODECS[codec]) == (batch["magic"], batch["compression"])
            assert (crc32c if magic == 2 else crc32)(under) == crc
            if not codec or not data:
                continue
            got = decompress(codec, data, Limits(), magic=magic)
            assert (got.code, got.used) == (None, len(data)), (row["name"], got.detail)
            assert count(magic, got.data) == len(batch["records"])
            for record in batch["records"]:
                assert bytes.fromhex(record["value"] or "") in got.data
            again = compress(codec, got.data, magic=magic)
            assert decompress(codec, again, Limits(), magic=magic).data == got.data
            seen[magic, CODECS[codec]] += 1
            # The framing is the same to the byte; what is inside depends on the level, the library and its version.
            framing = {1: 8, 2: 16, 3: 7, 4: 5}[codec]
            assert again[:framing] == data[:framing]
            if codec == 4:
                assert again[-3:] == data[-3:]
    assert set(seen) == {(magic, codec) for magic in (0, 1, 2) for codec in ("gzip", "snappy", "lz4")} | {(2, "zstd")}
