"""Record batches for the blocks `records` and `logs`: JSON values like a web shop's, keys, one header each; made once
in a folder, with a fixed seed.

Bodies of a few hundred batches are different and then come again; headers go on (offsets, sequences, timestamps,
checksums), so that neither `kwire dump --verify` nor Kafka's tools have anything to say about a file.
"""

from __future__ import annotations

import base64
import json
import random
from typing import TYPE_CHECKING, Any

from kwire_cli.records.building import sealed
from kwire_cli.records.compression import compress
from kwire_cli.records.layouts import LAYOUTS, OVERHEAD
from kwire_cli.structs.records import v2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SEED, START = 20261121, 1_760_000_000_000
MB = 1_000_000
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
SMALL, LARGE = "records of 100 bytes", "records of 1 kB"
DIFFERENT = 256
"""Bodies that are made; the rest of a file repeats them."""
BATCH_TIME = 200
"""Milliseconds from one batch to the next."""
WORDS = (
    "order",
    "checkout",
    "basket",
    "invoice",
    "retry",
    "timeout",
    "region",
    "primary",
    "leader",
    "offset",
    "commit",
    "session",
    "refund",
    "payment",
)


def small_value(rng: random.Random, number: int) -> bytes:
    """100 bytes."""
    start = (
        f'{{"seq":{number},"user":{rng.randrange(5_000_000)},"type":"{rng.choice(WORDS)}'
        f'","amount":{rng.randrange(10**7) / 100:.2f},"h":"'
    )
    return f"{start}{rng.getrandbits(256):064x}"[:98].encode() + b'"}'


def large_value(rng: random.Random, number: int) -> bytes:
    """950 to 1050 bytes, of which a quarter is random."""
    items = [
        {"sku": f"SKU-{rng.randrange(10**6):06d}", "qty": rng.randrange(1, 5), "price": rng.randrange(100, 99999) / 100}
        for _ in range(4)
    ]
    value: dict[str, Any] = {
        "event_id": f"{rng.getrandbits(128):032x}",
        "seq": number,
        "type": rng.choice(WORDS),
        "user": {
            "id": rng.randrange(5_000_000),
            "session": f"{rng.getrandbits(96):024x}",
            "agent": "Mozilla/5.0 (X11; Linux x86_64)",
        },
        "url": f"https://shop.example.com/{rng.choice(WORDS)}/{rng.choice(WORDS)}?ref={rng.getrandbits(32):08x}",
        "items": items,
        "token": f"{rng.getrandbits(512):0128x}",
    }
    note = " ".join(rng.choice(WORDS) for _ in range(120))
    size = rng.randrange(950, 1051) - len(json.dumps(value, separators=(",", ":"))) - len(',"note":""')
    return json.dumps(value | {"note": note[:size]}, separators=(",", ":")).encode()


def _bodies(value: Callable[[random.Random, int], bytes], records: int, codec: str) -> list[bytes]:
    rng = random.Random(SEED)
    out = []
    for i in range(DIFFERENT):
        rows = [_record(rng, value(rng, i * records + delta), delta) for delta in range(records)]
        body = v2.RECORDS.build({"records": rows})
        out.append(compress(CODECS[codec], body) if CODECS[codec] else body)
    return out


def _record(rng: random.Random, value: bytes, delta: int) -> dict[str, Any]:
    key, trace = f"user-{rng.randrange(5_000_000):011d}".encode(), f"{rng.getrandbits(128):032x}".encode()
    data = {"key": base64.b64encode(key).decode(), "value": base64.b64encode(value).decode()}
    headers = [{"key": "trace-id", "value": base64.b64encode(trace).decode()}]
    return {
        "attributes": 0,
        "timestampDelta": delta * BATCH_TIME // 1000,
        "offsetDelta": delta,
        **data,
        "headers": headers,
    }


def batches(
    value: Callable[[random.Random, int], bytes], records: int, size: int, codec: str = "none"
) -> Iterator[bytes]:
    """Batches of so many records until there are `size` bytes."""
    bodies = _bodies(value, records, codec)
    layout = LAYOUTS["v2"]
    done = number = 0
    while done < size:
        base, time, body = number * records, START + number * BATCH_TIME, bodies[number % DIFFERENT]
        header = {
            "baseOffset": base,
            "batchLength": layout.head.size - OVERHEAD + len(body),
            "partitionLeaderEpoch": 7,
            "magic": layout.magic,
            "crc": 0,
            "attributes": CODECS[codec],
            "lastOffsetDelta": records - 1,
            "baseTimestamp": time,
            "maxTimestamp": time + (records - 1) * BATCH_TIME // 1000,
            "producerId": 4001,
            "producerEpoch": 0,
            "baseSequence": base & 0x7FFFFFFF,
            "recordsCount": records,
        }
        batch = sealed(v2.HEADER.build(header) + body, layout, None)
        yield batch
        done += len(batch)
        number += 1


def _write(
    path: Path, value: Callable[[random.Random, int], bytes], records: int, size: int, codec: str = "none"
) -> Path:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(".part")
        with scratch.open("wb") as file:
            file.writelines(batches(value, records, size, codec))
        scratch.rename(path)
    return path


def in_memory(folder: Path) -> dict[str, Path]:
    """32 MB each, without compression: what readers in process are given."""
    small = _write(folder / "records-100.bin", small_value, 100, 32 * MB)
    return {SMALL: small, LARGE: _write(folder / "records-1k.bin", large_value, 16, 32 * MB)}


def segments(folder: Path) -> dict[str, Path]:
    """Segments of records of 1 kB in folders of partitions: 300 MB in batches of 16 without compression, 60 MB in
    batches of 48 of each codec.
    """
    out = {"none": segment(folder, "none", 300)}
    return out | {codec: segment(folder, codec, 60) for codec in CODECS if codec != "none"}


def segment(folder: Path, codec: str, size: int, partition: int = 0) -> Path:
    """A segment of so many MB."""
    name = f"orders-{codec}-{size}"
    return _write(
        folder / f"{name}-{partition}" / "00000000000000000000.log",
        large_value,
        48 if CODECS[codec] else 16,
        size * MB,
        codec,
    )
