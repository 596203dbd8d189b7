"""The records of real segments of internal topics, and what Kafka's own DumpLogSegments printed of them."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import construct as c

ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = ROOT.parent / "shared"
SEGMENTS = SHARED / "real" / "own" / "segments"

# A second, independent declaration of format v2, in construct alone, which takes only what is not compressed.
ZIGZAG = c.ExprAdapter(c.VarInt, lambda n, _: (n >> 1) ^ -(n & 1), None)
BYTES = c.Struct("size" / ZIGZAG, "data" / c.If(c.this.size >= 0, c.Bytes(c.this.size)))
HEADER = c.Struct("name" / BYTES, "value" / BYTES)
RECORD = c.Struct(
    "size" / ZIGZAG,
    "attributes" / c.Int8sb,
    "timestamp" / ZIGZAG,
    "offset" / ZIGZAG,
    "key" / BYTES,
    "value" / BYTES,
    "headers" / c.PrefixedArray(ZIGZAG, HEADER),
)
BATCH = c.Struct(
    "offset" / c.Int64sb,
    "size" / c.Int32sb,
    "epoch" / c.Int32sb,
    "magic" / c.Const(2, c.Int8sb),
    "crc" / c.Int32ub,
    "attributes" / c.Int16sb,
    "rest" / c.Bytes(34),
    "count" / c.Int32sb,
    "records" / c.FixedSized(c.this.size - 49, c.Array(c.this.count, RECORD)),
)


@dataclass(frozen=True)
class Printed:
    topic: str
    where: str
    is_control: bool
    key: bytes | None
    value: bytes | None
    line: str


def records(path):
    """(control, key, value) of each record in a segment; its batches are not compressed, and its tail may be zeros or
    cut.
    """
    data = path.read_bytes()
    at = 0
    while at + 61 <= len(data) and any(data[at : at + 61]):
        batch = BATCH.parse(data[at:])
        assert not batch.attributes & 7
        for record in batch.records:
            yield bool(batch.attributes & 0x20), record.key.data, record.value.data
        at += batch.size + 12


def captures():
    """The real captures but for the sweeps, whose messages are filled with text."""
    found = sorted((SHARED / "real" / "own" / "captures").glob("*/capture.pcap*"))
    return [path for path in found if not path.parent.name.startswith("sweep")]


@cache
def printed():
    """Every record of an internal topic with the line that Kafka printed of it; a record goes on over lines that are no
    record.
    """
    found = []
    for folder in sorted(SEGMENTS.glob("*/__*")):
        topic = re.sub(r"-\d+$", "", folder.name)
        for dump in sorted(folder.glob("*.dump.txt")):
            path = dump.with_name(dump.name.removesuffix(".dump.txt"))
            if path.suffix not in {".log", ".checkpoint"} or not path.exists():
                continue
            lines = [line for line in dump.read_text("utf-8").split("\n") if line.startswith("| ")]
            pairs = list(records(path))
            assert len(lines) == len(pairs), path
            found += [
                Printed(topic, f"{folder.parent.name}/{path.name}", *pair, line)
                for pair, line in zip(pairs, lines, strict=True)
            ]
    return tuple(found)


STATUSES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
"""The states of transactions by their number, as DumpLogSegments 4.4.0 names them."""


def json_after(line, label):
    """The JSON that a line shows after this label, if there is some. Before 4.4.0, states of transactions are
    numbers.
    """
    at = line.find(label + "{")
    if at < 0:
        return None
    printed = json.JSONDecoder().raw_decode(line[at + len(label) :])[0]
    data = printed.get("data")
    if isinstance(data, dict) and isinstance(data.get("transactionStatus"), int):
        data["transactionStatus"] = STATUSES[data["transactionStatus"]]
    return printed
