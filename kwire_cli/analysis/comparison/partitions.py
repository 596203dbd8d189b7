"""Comparison of two copies of a partition: the first difference, and the kind of each difference.

The log of a follower is a byte for byte copy of its leader's log, with the leader epochs (KIP-101). So each difference
has a cause. The kinds of differences separate the effects of retention, lag and compaction from errors. Both copies are
read batch by batch, and batches that cover the same offsets are compared by their bytes, then by checksum and epoch,
and finally record by record. Memory does not grow with the size of the copies.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.engine.codes import UNREAD
from kwire_cli.records.batch import PADDING, Batch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Record
    from kwire_cli.records.gaps import Gap

MOST = 100
"""Maximum number of differences in a comparison. Further differences are only counted."""
KINDS = {
    "LATER_START": "one copy begins at a later offset: legal after retention, or after records were deleted",
    "LONGER": "one copy goes on where the other ends: legal while a follower lags",
    "COMPACTED": "one copy lacks records, all with keys, or has another delete horizon: legal where the topic is "
    "compacted",
    "MISSING": "one copy lacks records without keys, which nothing but retention removes",
    "RECOMPRESSED": "the same records in other bytes: a batch that was compressed or written anew",
    "EPOCH": "the same offsets were written under different leader epochs: one copy was not truncated after a "
    "change of leader",
    "RECORDS": "the same offsets and leader epoch, other records: the leader's promise was broken, or one copy "
    "was changed",
    "BOUNDARIES": "the same offsets in other batches, with other records",
    "UNREAD": "records of one copy or of both cannot be read, so that they cannot be compared",
    "HEADER": "the same records under a header that differs",
    "CORRUPT": "one copy has a batch with a wrong checksum, or bytes that are no batch",
}
"""The meaning of each kind of difference."""

LEGAL = frozenset({"LATER_START", "LONGER", "COMPACTED"})
"""Kinds that Kafka causes itself."""
_MOST_TOGETHER = 1000
"""Maximum number of batches that are compared as one because no batch of both copies ends at the same offset."""


class Item(NamedTuple):
    """A batch or gap of a copy, and the file that it is in."""

    file: str
    item: Batch | Gap


class Side(NamedTuple):
    """One copy's batch or gap where two copies differ. A gap has no offsets, epoch and CRC."""

    file: str
    position: int
    size: int
    base_offset: int | None = None
    last_offset: int | None = None
    epoch: int | None = None
    crc: int | None = None
    crc_valid: bool | None = None


class Difference(NamedTuple):
    """A difference between two copies, of a kind of KINDS. A side that has nothing at the offset is None."""

    kind: str
    offset: int
    a: Side | None
    b: Side | None
    detail: str = ""

    @property
    def legal(self) -> bool:
        """Return whether Kafka itself causes differences of this kind."""
        return self.kind in LEGAL


@dataclass
class Copy:
    """The totals of a copy: batches, bytes, and its first and last offset (None if there is no batch)."""

    batches: int = 0
    size: int = 0
    first: int | None = None
    last: int | None = None


@dataclass
class Comparison:
    """Two copies compared: the number of equal batches, the first differences, and the number of each kind."""

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
        """`same`, `legal` if all differences are, or `diverges`."""
        if self.divergence:
            return "diverges"
        return "legal" if self.counts else "same"

    def add(self, difference: Difference) -> None:
        """Count a difference. Store it if fewer than MOST differences are stored."""
        self.counts[difference.kind] += 1
        if len(self.differences) < MOST:
            self.differences.append(difference)
        if self.divergence is None and not difference.legal:
            self.divergence = difference


class _Cursor:
    """A reader of one copy, batch by batch. `gaps` contains the gaps directly before the current batch."""

    def __init__(self, name: str, items: Iterable[Item], copy: Copy) -> None:
        self.name = name
        self.copy = copy
        self.batch: Batch | None = None
        self.gaps: list[tuple[int, Side, str]] = []
        """The offset of each gap, the gap, and its code."""
        self._items = iter(items)
        self._file = ""
        self.step()

    def step(self) -> None:
        self.batch = None
        for file, item in self._items:
            self._file = file
            self.copy.size += item.size
            if isinstance(item, Batch):
                self.batch = item
                self.copy.batches += 1
                if self.copy.first is None:
                    self.copy.first = item.head.base_offset
                self.copy.last = item.head.last_offset
                return
            if item.code != PADDING:
                offset = 0 if self.copy.last is None else self.copy.last + 1
                self.gaps.append((offset, Side(self._file, item.position, item.size), item.code))

    def side(self) -> Side | None:
        if self.batch is None:
            return None
        head = self.batch.head
        place = self._file, self.batch.position, self.batch.size
        return Side(*place, head.base_offset, head.last_offset, head.leader_epoch, head.crc, self.batch.crc_valid)

    def difference(
        self, kind: str, offset: int, side: Side | None, detail: str, other: Side | None = None
    ) -> Difference:
        """Return a difference in which this copy has the batch or gap `side`, and the other copy has `other`."""
        sides = (side, other) if self.name == "a" else (other, side)
        return Difference(kind, offset, *sides, detail)


def compare(a: Iterable[Item], b: Iterable[Item]) -> Comparison:
    """Compare two copies of one partition, each given as its batches and gaps in order.

    Corrupt bytes are reported as differences and never raise an error.
    """
    out = Comparison()
    left = _Cursor("a", a, out.a)
    right = _Cursor("b", b, out.b)
    while True:
        _add_gaps(out, left, right)
        _add_gaps(out, right, left)
        x = left.batch
        y = right.batch
        if x is None or y is None:
            break
        if x.head.last_offset < y.head.base_offset:
            _add_lacking(out, left, right)
        elif y.head.last_offset < x.head.base_offset:
            _add_lacking(out, right, left)
        else:
            _add_common(out, left, right, x, y)
    _add_rest(out, left, right)
    _add_rest(out, right, left)
    return out


def _add_gaps(out: Comparison, cursor: _Cursor, other: _Cursor) -> None:
    """Add the gaps of a copy, each with the batch of the other copy at its offset."""
    for offset, side, code in cursor.gaps:
        head = other.batch.head if other.batch else None
        there = other.side() if head and head.base_offset <= offset <= head.last_offset else None
        detail = f"{side.size} bytes that are no batch ({code})"
        out.add(cursor.difference("CORRUPT", offset, side, detail, there))
    cursor.gaps.clear()


def _add_lacking(out: Comparison, has: _Cursor, lacks: _Cursor) -> None:
    """Add the next batch of `has` as a difference. The other copy lacks it, before its first batch or between batches.

    Move `has` to the batch after it.
    """
    batch = has.batch
    if batch is None:
        return
    offset = batch.head.base_offset
    if not batch.crc_valid:
        out.add(_corrupt_alone(has, batch, lacks))
    if lacks.copy.batches == 1:
        if out.counts["LATER_START"]:
            out.counts["LATER_START"] += 1  # the first difference covers all batches before the start
        else:
            out.add(has.difference("LATER_START", offset, has.side(), f"{lacks.name} begins later"))
    else:
        notes: list[Anomaly] = []
        keys = [record.key for record in batch.records(notes)]
        detail = f"{lacks.name} has no batch here"
        if None in keys:
            kind = "MISSING"
        elif _is_unread(notes):
            kind = "UNREAD"
            detail += ", and not all of its records can be read"
        else:
            kind = "COMPACTED"
        out.add(has.difference(kind, offset, has.side(), detail))
    has.step()


def _corrupt_alone(has: _Cursor, batch: Batch, lacks: _Cursor) -> Difference:
    """Return the difference of a batch with a wrong checksum that the other copy lacks."""
    detail = f"the checksum is wrong, and {lacks.name} has no batch here"
    return has.difference("CORRUPT", batch.head.base_offset, has.side(), detail)


def _add_common(out: Comparison, left: _Cursor, right: _Cursor, x: Batch, y: Batch) -> None:
    """Compare the next batches of both copies, up to an offset at which a batch of both copies ends.

    If that takes more than _MOST_TOGETHER batches, the last batch of one copy is compared again with the next batches
    of the other.
    """
    sides = left.side(), right.side()
    mine = [x]
    other = [y]
    while True:
        ends = mine[-1].head.last_offset, other[-1].head.last_offset
        if ends[0] == ends[1] or len(mine) + len(other) >= _MOST_TOGETHER:
            is_aligned = True
            break
        shorter, batches = (right, other) if ends[0] > ends[1] else (left, mine)
        shorter.step()
        if shorter.batch is None or shorter.batch.head.base_offset > max(ends):
            is_aligned = False
            break
        batches.append(shorter.batch)
    ahead, lacks = (left, right) if ends[0] > ends[1] else (right, left)
    is_end = not is_aligned and lacks.batch is None
    last = max(ends) if not is_aligned and not is_end else min(ends)
    if x.size == y.size and len(mine) == len(other) == 1 and _bytes(x) == _bytes(y):
        if x.crc_valid:
            out.equal += 1
        else:
            detail = "both copies have the same batch with a wrong checksum"
            out.add(Difference("CORRUPT", x.head.base_offset, *sides, detail))
    else:
        kind, offset, detail = _kind(mine, other, last)
        out.add(Difference(kind, offset, *sides, detail))
    if is_end:
        detail = f"{lacks.name} ends at offset {last}, within a batch of the other one"
        out.add(ahead.difference("LONGER", last + 1, ahead.side(), detail))
    if not is_aligned:
        ahead.step()
        return
    for cursor, end in ((left, ends[0]), (right, ends[1])):
        if end == last:
            cursor.step()


def _bytes(batch: Batch) -> memoryview:
    return batch.data[batch.position : batch.end]


def _kind(a: list[Batch], b: list[Batch], last: int) -> tuple[str, int, str]:
    """Return the kind, offset and detail of the difference between batches of the same offsets, up to `last`."""
    x = a[0].head
    y = b[0].head
    offset = max(x.base_offset, y.base_offset)
    if damage := _damage_or_epoch(a, b):
        return damage[0], offset, damage[1]
    is_one = len(a) == len(b) == 1 and (x.base_offset, x.last_offset) == (y.base_offset, y.last_offset)
    batches = "" if is_one else f"{len(a)} and {len(b)} batches for offsets {offset} to {last}; "
    notes: dict[str, list[Anomaly]] = {"a": [], "b": []}
    mine = _records(a, offset, last, notes["a"])
    other = _records(b, offset, last, notes["b"])
    same = 0
    is_keyless = False
    changed: int | None = None
    lacking: int | None = None
    lacks = Counter[str]()
    for one, two in _by_offset(mine, other):
        if one and two:
            if (one.timestamp, one.key, one.value, one.headers) == (two.timestamp, two.key, two.value, two.headers):
                same += 1
            elif changed is None:
                changed = one.offset
        elif record := one or two:
            lacks["b" if one else "a"] += 1
            lacking = record.offset if lacking is None else min(lacking, record.offset)
            is_keyless = is_keyless or record.key is None
    unread = [name for name, found in notes.items() if _is_unread(found)]
    if unread and changed is None:
        return "UNREAD", offset, f"{batches}not all records of {' and '.join(unread)} can be read"
    first = min((each for each in (changed, lacking) if each is not None), default=None)
    at = offset if is_one or first is None else first
    if changed is not None or len(lacks) > 1:
        detail = f"the record at offset {first} is the first that differs"
        return "RECORDS" if is_one else "BOUNDARIES", at, batches + detail
    for name, count in lacks.items():
        detail = f"{name} lacks {count} of {same + count} records, the first at offset {lacking}"
        return "MISSING" if is_keyless else "COMPACTED", at, batches + detail
    return _kind_of_header(a[0], b[0]) if is_one else ("RECOMPRESSED", offset, f"{batches}{same} records are the same")


def _damage_or_epoch(a: list[Batch], b: list[Batch]) -> tuple[str, str] | None:
    """Return the kind and detail of an invalid checksum or of different leader epochs, else None.

    Either one explains the difference, so the records need not be read.
    """
    wrong = [name for name, batches in (("a", a), ("b", b)) if not all(batch.crc_valid for batch in batches)]
    if wrong:
        return "CORRUPT", f"the checksum is wrong in {' and '.join(wrong)}"
    x = a[0].head
    y = b[0].head
    if x.leader_epoch == y.leader_epoch or min(x.leader_epoch, y.leader_epoch) < 0:
        return None
    lower = "a" if x.leader_epoch < y.leader_epoch else "b"
    at = min(x.base_offset, y.base_offset)
    same = "the records are the same; " if x.crc == y.crc and a[0].size == b[0].size else ""
    return "EPOCH", f"{same}by the leader epochs, {lower} is the copy that was to be cut off at offset {at} or before"


def _kind_of_header(x: Batch, y: Batch) -> tuple[str, int, str]:
    """Return the difference between two batches with the same offsets and records."""
    offset = x.head.base_offset
    fields = zip(x.head._fields, x.head, y.head, strict=True)
    names = [name for name, one, two in fields if one != two and name not in {"crc", "codec", "attributes"}]
    if "delete_horizon" in names:
        return "COMPACTED", offset, "the delete horizon differs"
    if x.head.codec == y.head.codec and names:
        return "HEADER", offset, f"they differ in {', '.join(names)}"
    return "RECOMPRESSED", offset, f"{x.compression} and {y.compression}, {x.size} and {y.size} bytes"


def _add_rest(out: Comparison, has: _Cursor, ended: _Cursor) -> None:
    """Add the batches and gaps of a copy after the end of the other copy."""
    batch = has.batch
    side = has.side()
    if batch is None:
        return
    count = 0
    last = 0
    corrupt: list[Difference] = []
    while has.batch is not None:
        count += 1
        last = has.batch.head.last_offset
        if not has.batch.crc_valid and len(corrupt) < MOST:
            corrupt.append(_corrupt_alone(has, has.batch, ended))
        has.step()
    ends = "has no batch at all" if ended.copy.last is None else f"ends at offset {ended.copy.last}"
    more = f"{count} batch{'' if count == 1 else 'es'} more, to offset {last}"
    detail = f"{ended.name} {ends}; the other one has {more}"
    for difference in (has.difference("LONGER", batch.head.base_offset, side, detail), *corrupt):
        out.add(difference)
    _add_gaps(out, has, ended)


# Records of the same offsets in two copies.


def _records(batches: Sequence[Batch], first: int, last: int, notes: list[Anomaly]) -> Iterator[Record]:
    for batch in batches:
        for record in batch.records(notes):
            if first <= record.offset <= last:
                yield record


def _by_offset(a: Iterator[Record], b: Iterator[Record]) -> Iterator[tuple[Record | None, Record | None]]:
    """Yield the records of both copies in pairs with the same offset. A record that one copy lacks is None there."""
    one = next(a, None)
    two = next(b, None)
    while one or two:
        takes_one = one is not None and (two is None or one.offset <= two.offset)
        takes_two = two is not None and (one is None or two.offset <= one.offset)
        yield one if takes_one else None, two if takes_two else None
        one = next(a, None) if takes_one else one
        two = next(b, None) if takes_two else two


def _is_unread(notes: Iterable[Anomaly]) -> bool:
    return any(note.code in UNREAD for note in notes)
