"""Statistics of the batches of an account: how large they are, what a record costs in them, what compression does, what keys and headers take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Batches:
    """Batches of one size or codec. `overhead` is all but keys, values and headers of records, with compressed ones counted as they decompress.

    `packed` and `unpacked` are the bytes of records as they are on the wire and decompressed, of those that could be read.
    """

    batches: int = 0
    records: int = 0
    bytes: int = 0
    overhead: int = 0
    packed: int = 0
    unpacked: int = 0

    def merge(self, other: Batches) -> None:
        """Count other ones too."""
        self.batches += other.batches
        self.records += other.records
        self.bytes += other.bytes
        self.overhead += other.overhead
        self.packed += other.packed
        self.unpacked += other.unpacked

    def to_json(self) -> dict[str, Any]:
        """All numbers, with what a record costs."""
        out: dict[str, Any] = {"batches": self.batches, "records": self.records, "bytes": self.bytes, "overheadBytes": self.overhead}
        out["overheadPerRecord"] = round(self.overhead / self.records, 3) if self.records else None
        return out | {"packedBytes": self.packed, "unpackedBytes": self.unpacked}


@dataclass(slots=True)
class BatchSizes:
    """Batches by records and by bytes (buckets of powers of two), and by codec; `unread` could not be decompressed, `gaps` are no batches.

    `largest` are the largest key and value, and the most bytes that the headers of one record take, their lengths and count included.
    """

    by_records: dict[int, Batches] = field(default_factory=dict)
    by_bytes: dict[int, Batches] = field(default_factory=dict)
    by_codec: dict[str, Batches] = field(default_factory=dict)
    largest: tuple[int, int, int] = (0, 0, 0)
    unread: int = 0
    gaps: int = 0

    def add(self, codec: str, records: int, size: int, overhead: int, packed: int, unpacked: int) -> None:
        """Count one batch; sizes in bytes."""
        one = Batches(1, records, size, overhead, packed, unpacked)
        places: tuple[tuple[dict[Any, Batches], Any], ...] = (
            (self.by_records, records.bit_length()),
            (self.by_bytes, size.bit_length()),
            (self.by_codec, codec),
        )
        for batches, key in places:
            found = batches.get(key)
            if found is None:
                found = batches[key] = Batches()
            found.merge(one)

    @property
    def total(self) -> Batches:
        """All batches."""
        out = Batches()
        for each in self.by_records.values():
            out.merge(each)
        return out

    @property
    def codecs(self) -> list[tuple[str, Batches]]:
        """The codecs, the one with the most bytes first."""
        return sorted(self.by_codec.items(), key=lambda item: (-item[1].bytes, item[0]))

    def merge(self, other: BatchSizes) -> None:
        """Count what was counted elsewhere too."""
        pairs: tuple[tuple[dict[Any, Batches], dict[Any, Batches]], ...] = (
            (self.by_records, other.by_records),
            (self.by_bytes, other.by_bytes),
            (self.by_codec, other.by_codec),
        )
        for mine, theirs in pairs:
            for key, found in theirs.items():
                mine.setdefault(key, Batches()).merge(found)
        (a, b, c), (x, y, z) = self.largest, other.largest
        self.largest = max(a, x), max(b, y), max(c, z)
        self.unread += other.unread
        self.gaps += other.gaps


def bucket_text(bucket: int) -> str:
    """The numbers in a bucket: 0, 1, 2-3, 4-7, ..."""
    if bucket <= 1:
        return str(bucket)
    return f"{1 << (bucket - 1)}-{(1 << bucket) - 1}"
