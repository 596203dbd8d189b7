"""What may differ between two copies of one partition, and what is said of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Gap

MOST = 100
"""Differences that are kept; all are counted."""

KINDS = {
    "LATER_START": "one copy begins at a later offset: legal after retention, or after records were deleted",
    "LONGER": "one copy goes on where the other ends: legal while a follower lags",
    "COMPACTED": "one copy lacks records, all with keys, or has another delete horizon: legal where the topic is compacted",
    "MISSING": "one copy lacks records without keys, which nothing but retention removes",
    "RECOMPRESSED": "the same records in other bytes: a batch that was compressed or written anew",
    "EPOCH": "the same offsets were written under different leader epochs: one copy was not truncated after a change of leader",
    "RECORDS": "the same offsets and leader epoch, other records: the leader's promise was broken, or one copy was changed",
    "BOUNDARIES": "the same offsets in other batches, with other records",
    "HEADER": "the same records under a header that differs",
    "CORRUPT": "one copy has a batch with a wrong checksum, or bytes that are no batch",
}
"""What each kind of difference means."""

LEGAL = frozenset({"LATER_START", "LONGER", "COMPACTED"})
"""Kinds that Kafka brings about itself."""


class Item(NamedTuple):
    """A batch or gap of a copy, and the file that it is in."""

    file: str
    item: Batch | Gap


@dataclass(frozen=True)
class Side:
    """What a copy has where the two differ: offsets, epoch, CRC (None for a gap), and the file, position and size in it."""

    file: str
    position: int
    size: int
    base_offset: int | None = None
    last_offset: int | None = None
    epoch: int | None = None
    crc: int | None = None
    crc_valid: bool | None = None

    def to_json(self) -> dict[str, Any]:
        """The same in the keys of a batch."""
        return {
            "file": self.file,
            "position": self.position,
            "size": self.size,
            "baseOffset": self.base_offset,
            "lastOffset": self.last_offset,
            "partitionLeaderEpoch": self.epoch,
            "crc": self.crc,
            "crcValid": self.crc_valid,
        }


@dataclass(frozen=True)
class Difference:
    """Where two copies differ: a kind of KINDS, the offset, what each copy has there (None for nothing), and what there is to say."""

    kind: str
    offset: int
    a: Side | None
    b: Side | None
    detail: str = ""

    @property
    def legal(self) -> bool:
        """Whether Kafka brings such a difference about."""
        return self.kind in LEGAL

    def to_json(self) -> dict[str, Any]:
        """`{"kind","legal","offset","a","b","detail"}`."""
        sides = {name: side.to_json() if side else None for name, side in (("a", self.a), ("b", self.b))}
        return {"kind": self.kind, "legal": self.legal, "offset": self.offset, **sides, "detail": self.detail}


@dataclass
class Copy:
    """What a copy has in all: batches, bytes, its first and last offset (None without a batch)."""

    batches: int = 0
    size: int = 0
    first: int | None = None
    last: int | None = None

    def to_json(self) -> dict[str, Any]:
        """`{"batches","size","firstOffset","lastOffset"}`."""
        return {"batches": self.batches, "size": self.size, "firstOffset": self.first, "lastOffset": self.last}


@dataclass
class Comparison:
    """Two copies compared: batches that are the same to the last bit, the first differences, and how many there are of each kind."""

    a: Copy = field(default_factory=Copy)
    b: Copy = field(default_factory=Copy)
    equal: int = 0
    differences: list[Difference] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    divergence: Difference | None = None
    """The first difference that is not legal."""

    @property
    def first(self) -> Difference | None:
        """The first difference that is not legal; else the first of all."""
        return self.divergence or (self.differences[0] if self.differences else None)

    @property
    def verdict(self) -> str:
        """`same`, `legal` where all differences are, or `diverges`."""
        return "diverges" if self.divergence else "legal" if self.counts else "same"

    def add(self, difference: Difference) -> None:
        """Count a difference, and keep it if it is among the first."""
        self.counts[difference.kind] += 1
        if len(self.differences) < MOST:
            self.differences.append(difference)
        if self.divergence is None and not difference.legal:
            self.divergence = difference

    def to_json(self) -> dict[str, Any]:
        """`{"verdict","a","b","equalBatches","counts","first","differences"}`."""
        return {
            "verdict": self.verdict,
            "a": self.a.to_json(),
            "b": self.b.to_json(),
            "equalBatches": self.equal,
            "counts": dict(self.counts),
            "first": self.first.to_json() if self.first else None,
            "differences": [each.to_json() for each in self.differences],
        }
