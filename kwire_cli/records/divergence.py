"""Two copies of one partition, batch by batch and aligned by offset: where they first differ, and in what way.

A follower's log is a byte for byte copy of its leader's, the leader epoch in it included (KIP-101), so that whatever differs has a cause. What
retention, lag and compaction bring about is told from what nothing should.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.records.batch import Batch
from kwire_cli.records.differences import Comparison, Copy, Difference, Item, Side
from kwire_cli.records.model import PADDING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.records.model import Record


class _Cursor:
    """A copy that is read batch by batch; gaps on the way are told as they come."""

    def __init__(self, items: Iterable[Item], copy: Copy, *, right: bool) -> None:
        self._items: Iterator[Item] = iter(items)
        self._copy, self._right = copy, right
        self.file = ""
        self.batch: Batch | None = None  # what comes next
        self.gaps: list[Difference] = []
        self.step()

    def step(self) -> None:
        for file, item in self._items:
            self.file = file
            self._copy.size += item.size
            if isinstance(item, Batch):
                self._copy.batches += 1
                self._copy.first = item.head.base_offset if self._copy.first is None else self._copy.first
                self._copy.last = item.head.last_offset
                self.batch = item
                return
            if item.code != PADDING:
                side = Side(self.file, item.position, item.size)
                offset = 0 if self._copy.last is None else self._copy.last + 1
                detail = f"{item.size} bytes that are no batch ({item.code})"
                sides = _sides(side, "a" if self._right else "b")
                self.gaps.append(Difference("CORRUPT", offset, *sides, detail))
        self.batch = None

    def side(self) -> Side | None:
        return side_of(self.file, self.batch) if self.batch else None


def _sides(side: Side | None, lacks: str) -> tuple[Side | None, Side | None]:
    """What both copies have where the copy `lacks`, "a" or "b", has nothing."""
    return (side, None) if lacks == "b" else (None, side)


def side_of(file: str, batch: Batch) -> Side:
    """What there is to say of a batch."""
    head = batch.head
    return Side(file, batch.position, batch.size, head.base_offset, head.last_offset, head.leader_epoch, head.crc, batch.crc_valid)


def compare(a: Iterable[Item], b: Iterable[Item]) -> Comparison:
    """Two copies of one partition, each its batches and gaps in order. Memory does not grow with them. Never raises, whatever their bytes."""
    out = Comparison()
    left, right = _Cursor(a, out.a, right=False), _Cursor(b, out.b, right=True)
    while True:
        for cursor in (left, right):
            for gap in cursor.gaps:
                out.add(gap)
            cursor.gaps.clear()
        x, y = left.batch, right.batch
        if x is None or y is None:
            break
        if x.head.last_offset < y.head.base_offset:
            _lacking(out, left, "b", before=out.b.batches == 1)
            left.step()
        elif y.head.last_offset < x.head.base_offset:
            _lacking(out, right, "a", before=out.a.batches == 1)
            right.step()
        else:
            _both(out, left, right)
            # Where they overlap without being the same, the one that ends first makes room.
            ends = x.head.last_offset - y.head.last_offset
            if ends <= 0:
                left.step()
            if ends >= 0:
                right.step()
    _rest(out, left, right)
    return out


def _lacking(out: Comparison, has: _Cursor, lacks: str, *, before: bool) -> None:
    """A batch that the other copy lacks: `before` its begin, or between batches of it."""
    batch = has.batch
    if batch is None:
        return
    if before and out.counts["LATER_START"]:
        out.counts["LATER_START"] += 1  # one is told, for all batches before the begin
        return
    sides = _sides(has.side(), lacks)
    kind = "LATER_START" if before else "COMPACTED" if all(record.key is not None for record in batch.records()) else "MISSING"
    detail = f"{lacks} begins later" if before else f"{lacks} has no batch here"
    out.add(Difference(kind, batch.head.base_offset, *sides, detail))


def _both(out: Comparison, left: _Cursor, right: _Cursor) -> None:
    x, y = left.batch, right.batch
    if x is None or y is None:
        return
    if x.size == y.size and _bytes(x) == _bytes(y):
        if x.crc_valid:
            out.equal += 1
        else:
            out.add(Difference("CORRUPT", x.head.base_offset, left.side(), right.side(), "both copies have the same batch with a wrong checksum"))
        return
    kind, detail = _kind(x, y)
    out.add(Difference(kind, max(x.head.base_offset, y.head.base_offset), left.side(), right.side(), detail))


def _bytes(batch: Batch) -> memoryview:
    return batch.source.data[batch.position : batch.end]


def _kind(x: Batch, y: Batch) -> tuple[str, str]:
    """What differs between two batches with offsets in common whose bytes are not the same."""
    p, q = x.head, y.head
    if not (x.crc_valid and y.crc_valid):
        wrong = " and ".join(name for name, batch in (("a", x), ("b", y)) if not batch.crc_valid)
        return "CORRUPT", f"the checksum is wrong in {wrong}"
    if p.leader_epoch != q.leader_epoch:
        lower = "a" if p.leader_epoch < q.leader_epoch else "b"
        at = min(p.base_offset, q.base_offset)
        same = "the records are the same; " if p.crc == q.crc and x.size == y.size else ""
        return "EPOCH", f"{same}by the leader epochs, {lower} is the copy that was to be cut off at offset {at} or before"
    found = _compared(x, y)
    if (p.base_offset, p.last_offset) != (q.base_offset, q.last_offset):
        detail = f"offsets {p.base_offset} to {p.last_offset} and {q.base_offset} to {q.last_offset}"
        if found.changed is not None:
            return "BOUNDARIES", f"{detail}; the record at offset {found.changed} is the first that differs"
        return "RECOMPRESSED", f"{detail}; {found.same} records are the same"
    if found.changed is not None or (found.only_a and found.only_b):
        at = min(each for each in (found.changed, found.lacking) if each is not None)
        return "RECORDS", f"the record at offset {at} is the first that differs"
    if found.only_a or found.only_b:
        lacks, count = ("b", found.only_a) if found.only_a else ("a", found.only_b)
        return (
            "MISSING" if found.keyless else "COMPACTED",
            f"{lacks} lacks {count} of {found.same + count} records, the first at offset {found.lacking}",
        )
    names = [name for name, one, two in zip(p._fields, p, q, strict=True) if one != two and name not in {"crc", "codec", "attributes"}]
    if "delete_horizon" in names:
        return "COMPACTED", "the delete horizon differs"
    if p.codec == q.codec and names:
        return "HEADER", f"they differ in {', '.join(names)}"
    return "RECOMPRESSED", f"{x.compression} and {y.compression}, {x.size} and {y.size} bytes"


@dataclass
class _Records:
    """The records of two batches by offset: how many are the same, the first that is not, and what one of them lacks."""

    same: int = 0
    changed: int | None = None
    only_a: int = 0
    only_b: int = 0
    lacking: int | None = None
    keyless: bool = False

    def lack(self, record: Record) -> None:
        self.lacking = record.offset if self.lacking is None else min(self.lacking, record.offset)
        self.keyless = self.keyless or record.key is None


def _compared(x: Batch, y: Batch) -> _Records:
    """Both are read side by side, so that memory does not grow with what they decompress to."""
    out = _Records()
    mine, other = x.records(), y.records()
    a, b = next(mine, None), next(other, None)
    while a or b:
        if b is None or (a is not None and a.offset < b.offset):
            if a is not None:
                out.only_a += 1
                out.lack(a)
            a = next(mine, None)
        elif a is None or b.offset < a.offset:
            out.only_b += 1
            out.lack(b)
            b = next(other, None)
        else:
            if (a.timestamp, a.key, a.value, a.headers) == (b.timestamp, b.key, b.value, b.headers):
                out.same += 1
            elif out.changed is None:
                out.changed = a.offset
            a, b = next(mine, None), next(other, None)
    return out


def _rest(out: Comparison, left: _Cursor, right: _Cursor) -> None:
    """What one copy has behind the end of the other."""
    for cursor, other, lacks in ((left, out.b, "b"), (right, out.a, "a")):
        batch = cursor.batch
        if batch is None:
            continue
        side, count, end = cursor.side(), 0, batch.head.last_offset
        while cursor.batch is not None:
            count, end = count + 1, cursor.batch.head.last_offset
            cursor.step()
        ends = "has no batch at all" if other.last is None else f"ends at offset {other.last}"
        sides = _sides(side, lacks)
        more = f"{count} batch{'' if count == 1 else 'es'} more, to offset {end}"
        out.add(Difference("LONGER", batch.head.base_offset, *sides, f"{lacks} {ends}; the other one has {more}"))
        for gap in cursor.gaps:
            out.add(gap)
        cursor.gaps.clear()
