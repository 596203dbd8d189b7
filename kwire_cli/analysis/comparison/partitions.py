"""Two copies of a partition compared, batch by batch."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.comparison.decoded_records import differing_fields
from kwire_cli.engine.codes import UNREAD
from kwire_cli.records.batch import PADDING, Batch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Record
    from kwire_cli.records.gaps import Gap


# What may differ between two copies of one partition, and what is said of it.

MOST = 100
"""Differences that are kept; all are counted."""
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
"""Kinds that Kafka brings about itself."""


class Item(NamedTuple):
    """A batch or gap of a copy, and the file that it is in."""

    file: str
    item: Batch | Gap


@dataclass(frozen=True)
class Side:
    """One copy's batch or gap where two copies differ: file, position, size, offsets, epoch and CRC.

    The offsets, the epoch and the CRC are None for a gap.
    """

    file: str
    position: int
    size: int
    base_offset: int | None = None
    last_offset: int | None = None
    epoch: int | None = None
    crc: int | None = None
    crc_valid: bool | None = None


@dataclass(frozen=True)
class Difference:
    """A difference between two copies: a kind of KINDS, the offset, both sides and a description.

    `a` and `b` are what each copy has at the offset, or None if the copy has nothing there.
    """

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
    """Two copies compared: batches that are the same to the last bit, the first differences, and how many there are of
    each kind.
    """

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


# The records of two copies of the same offsets, side by side: what is the same, what differs and what one of
# them lacks.


@dataclass
class Found:
    """The result of a comparison of records: how many are the same, and which ones differ.

    `changed` is the offset of the first record that differs. `only_a` and `only_b` count the records that only one
    copy has, and `lacking` is the first offset of these records. `keyless` tells whether any of these records has no
    key, so that compaction can't have removed it from the other copy.
    """

    same: int = 0
    changed: int | None = None
    only_a: int = 0
    only_b: int = 0
    lacking: int | None = None
    keyless: bool = False
    fields: str = ""
    unread: tuple[str, ...] = ()

    @property
    def not_compared(self) -> str:
        """The copies of which not all records can be read."""
        return f"not all records of {' and '.join(self.unread)} can be read"

    @property
    def differs(self) -> str:
        """The first record that differs, with its fields that do if they are known."""
        fields = f": {self.fields}" if self.fields else ""
        return f"the record at offset {self.first} is the first that differs{fields}"

    @property
    def first(self) -> int | None:
        """The first offset at which they differ; None where they do not."""
        return min(
            (record_offset for record_offset in (self.changed, self.lacking) if record_offset is not None), default=None
        )


def side_by_side(a: Sequence[Batch], b: Sequence[Batch], last: int) -> Found:
    """Batches of two copies, from the first offset that both cover to `last`. Memory does not grow with what they
    decompress to.
    """
    out = Found()
    first = max(batches[0].head.base_offset for batches in (a, b))
    notes: dict[str, list[Anomaly]] = {"a": [], "b": []}
    mine, other = _records(a, first, last, notes["a"]), _records(b, first, last, notes["b"])
    one, two = next(mine, None), next(other, None)
    while one or two:
        if one and (two is None or one.offset < two.offset):
            out.only_a += 1
            _lack(out, one)
            one = next(mine, None)
        elif two and (one is None or two.offset < one.offset):
            out.only_b += 1
            _lack(out, two)
            two = next(other, None)
        elif one and two:
            if (one.timestamp, one.key, one.value, one.headers) == (two.timestamp, two.key, two.value, two.headers):
                out.same += 1
            elif out.changed is None:
                out.changed, out.fields = one.offset, differing_fields(a[0].source, one, two)
            one, two = next(mine, None), next(other, None)
    out.unread = tuple(name for name, found in notes.items() if _is_unread(found))
    return out


def _records(batches: Sequence[Batch], first: int, last: int, notes: list[Anomaly]) -> Iterator[Record]:
    return (record for batch in batches for record in batch.records(notes) if first <= record.offset <= last)


def _is_unread(notes: Iterable[Anomaly]) -> bool:
    return any(note.code in UNREAD for note in notes)


def _lack(out: Found, record: Record) -> None:
    out.lacking = record.offset if out.lacking is None else min(out.lacking, record.offset)
    out.keyless = out.keyless or record.key is None


# Two copies of one partition, batch by batch and aligned by offset: where they first differ, and in what way.
#
# A follower's log is a byte for byte copy of its leader's, the leader epoch in it included (KIP-101), so that
# whatever differs has a cause. What retention, lag and compaction bring about is told from what nothing
# should.

_MOST_TOGETHER = 1000
"""Batches that are compared as one where the boundaries of two copies never meet."""


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
    """Return both sides of a difference where the copy `lacks`, "a" or "b", has nothing."""
    return (side, None) if lacks == "b" else (None, side)


def side_of(file: str, batch: Batch) -> Side:
    """Return the description of a batch as one side of a difference."""
    head = batch.head
    return Side(
        file,
        batch.position,
        batch.size,
        head.base_offset,
        head.last_offset,
        head.leader_epoch,
        head.crc,
        batch.crc_valid,
    )


def compare(a: Iterable[Item], b: Iterable[Item]) -> Comparison:
    """Two copies of one partition, each its batches and gaps in order. Memory does not grow with them. Never raises,
    whatever their bytes.
    """
    out = Comparison()
    left, right = _Cursor(a, out.a, right=False), _Cursor(b, out.b, right=True)
    while True:
        _tell_gaps(out, left, right)
        _tell_gaps(out, right, left)
        x, y = left.batch, right.batch
        if x is None or y is None:
            break
        if x.head.last_offset < y.head.base_offset:
            _lacking(out, left, "b", before=out.b.batches == 1)
            left.step()
        elif y.head.last_offset < x.head.base_offset:
            _lacking(out, right, "a", before=out.a.batches == 1)
            right.step()
        elif (x.head.base_offset, x.head.last_offset) == (y.head.base_offset, y.head.last_offset):
            _both(out, left, right)
            left.step()
            right.step()
        else:
            _overlapping(out, left, right)
    _rest(out, left, right)
    return out


def _tell_gaps(out: Comparison, cursor: _Cursor, other: _Cursor) -> None:
    """Say what the one has that is no batch, and what the other one has instead, if that is what it comes to next."""
    for gap in cursor.gaps:
        head = other.batch.head if other.batch else None
        there = other.side() if head and head.base_offset <= gap.offset <= head.last_offset else None
        out.add(replace(gap, a=there) if gap.a is None else replace(gap, b=there))
    cursor.gaps.clear()


def _lacking(out: Comparison, has: _Cursor, lacks: str, *, before: bool) -> None:
    """A batch that the other copy lacks: `before` its begin, or between batches of it."""
    batch = has.batch
    if batch is None:
        return
    if not batch.crc_valid:
        out.add(_alone_and_corrupt(has, lacks))
    if before and out.counts["LATER_START"]:
        out.counts["LATER_START"] += 1  # one is told, for all batches before the begin
        return
    sides = _sides(has.side(), lacks)
    if before:
        out.add(Difference("LATER_START", batch.head.base_offset, *sides, f"{lacks} begins later"))
        return
    notes: list[Anomaly] = []
    keyless = any([record.key is None for record in batch.records(notes)])  # noqa: C419 - reads all, for the notes
    detail = f"{lacks} has no batch here"
    kind = "MISSING" if keyless else "COMPACTED"
    if _is_unread(notes) and not keyless:
        kind, detail = "UNREAD", f"{detail}, and not all of its records can be read"
    out.add(Difference(kind, batch.head.base_offset, *sides, detail))


def _alone_and_corrupt(has: _Cursor, lacks: str) -> Difference:
    """A batch with a wrong checksum that the other copy lacks, which no retention or lag explains."""
    side = has.side()
    offset = side.base_offset if side and side.base_offset is not None else 0
    return Difference("CORRUPT", offset, *_sides(side, lacks), f"the checksum is wrong, and {lacks} has no batch here")


def _both(out: Comparison, left: _Cursor, right: _Cursor) -> None:
    x, y = left.batch, right.batch
    if x is None or y is None:
        return
    if x.size == y.size and _bytes(x) == _bytes(y):
        if x.crc_valid:
            out.equal += 1
        else:
            out.add(
                Difference(
                    "CORRUPT",
                    x.head.base_offset,
                    left.side(),
                    right.side(),
                    "both copies have the same batch with a wrong checksum",
                )
            )
        return
    kind, detail = _kind(x, y)
    out.add(Difference(kind, max(x.head.base_offset, y.head.base_offset), left.side(), right.side(), detail))


def _bytes(batch: Batch) -> memoryview:
    return batch.data[batch.position : batch.end]


def _kind(x: Batch, y: Batch) -> tuple[str, str]:
    """Return the kind and detail of the difference between two batches of the same offsets.

    The bytes of the two batches must differ.
    """
    p, q = x.head, y.head
    if told := _wrong_or_other_epoch([x], [y]):
        return told
    record_diff = side_by_side([x], [y], p.last_offset)
    if record_diff.changed is not None:
        return "RECORDS", record_diff.differs
    if record_diff.unread:
        return "UNREAD", record_diff.not_compared
    if record_diff.only_a and record_diff.only_b:
        return "RECORDS", record_diff.differs
    if record_diff.only_a or record_diff.only_b:
        return _lacks(record_diff)
    names = [
        name
        for name, one, two in zip(p._fields, p, q, strict=True)
        if one != two and name not in {"crc", "codec", "attributes"}
    ]
    if "delete_horizon" in names:
        return "COMPACTED", "the delete horizon differs"
    if p.codec == q.codec and names:
        return "HEADER", f"they differ in {', '.join(names)}"
    return "RECOMPRESSED", f"{x.compression} and {y.compression}, {x.size} and {y.size} bytes"


def _wrong_or_other_epoch(a: list[Batch], b: list[Batch]) -> tuple[str, str] | None:
    """Return a difference that makes reading the records needless, or None.

    The difference is an invalid checksum (CORRUPT) or another leader epoch (EPOCH).
    """
    wrong = [name for name, batches in (("a", a), ("b", b)) if not all(batch.crc_valid for batch in batches)]
    if wrong:
        return "CORRUPT", f"the checksum is wrong in {' and '.join(wrong)}"
    x, y = a[0], b[0]
    epochs = x.head.leader_epoch, y.head.leader_epoch
    if epochs[0] == epochs[1] or min(epochs) < 0:
        return None
    lower, at = "a" if epochs[0] < epochs[1] else "b", min(x.head.base_offset, y.head.base_offset)
    same = "the records are the same; " if x.head.crc == y.head.crc and x.size == y.size else ""
    return "EPOCH", f"{same}by the leader epochs, {lower} is the copy that was to be cut off at offset {at} or before"


def _lacks(found: Found) -> tuple[str, str]:
    """Return the kind and detail of a difference where one copy has records that the other lacks."""
    lacks, count = ("b", found.only_a) if found.only_a else ("a", found.only_b)
    detail = f"{lacks} lacks {count} of {found.same + count} records, the first at offset {found.lacking}"
    return "MISSING" if found.keyless else "COMPACTED", detail


def _overlapping(out: Comparison, left: _Cursor, right: _Cursor) -> None:
    """Batches with other boundaries, up to where both copies have one, told as one difference; `_MOST_TOGETHER` of them
    at a time.
    """
    x, y = left.batch, right.batch
    if x is None or y is None:
        return
    sides, a, b = (left.side(), right.side()), [x], [y]
    through = ended = False
    while not through and len(a) + len(b) < _MOST_TOGETHER:
        ends = a[-1].head.last_offset, b[-1].head.last_offset
        behind, row = (right, b) if ends[0] > ends[1] else (left, a)
        if ends[0] == ends[1]:
            break
        behind.step()
        if behind.batch is None or behind.batch.head.base_offset > max(ends):
            through, ended = True, behind.batch is None
        else:
            row.append(behind.batch)
    ends = a[-1].head.last_offset, b[-1].head.last_offset
    last = max(ends) if through and not ended else min(ends)
    kind, offset, detail = _kind_of_overlap(a, b, last)
    out.add(Difference(kind, offset, *sides, detail))
    ahead, lacks = (left, "b") if ends[0] > ends[1] else (right, "a")
    if ended:
        out.add(
            Difference(
                "LONGER",
                last + 1,
                *_sides(ahead.side(), lacks),
                f"{lacks} ends at offset {last}, within a batch of the other one",
            )
        )
    if through:
        ahead.step()
        return
    for cursor, end in ((left, ends[0]), (right, ends[1])):
        if end == last:
            cursor.step()


def _kind_of_overlap(a: list[Batch], b: list[Batch], last: int) -> tuple[str, int, str]:
    offset = max(a[0].head.base_offset, b[0].head.base_offset)
    if told := _wrong_or_other_epoch(a, b):
        return told[0], offset, told[1]
    record_diff = side_by_side(a, b, last)
    detail = f"{len(a)} and {len(b)} batches for offsets {offset} to {last}"
    if record_diff.unread and record_diff.changed is None:
        return "UNREAD", offset, f"{detail}; {record_diff.not_compared}"
    if record_diff.first is None:
        return "RECOMPRESSED", offset, f"{detail}; {record_diff.same} records are the same"
    if record_diff.changed is not None or (record_diff.only_a and record_diff.only_b):
        return "BOUNDARIES", record_diff.first, f"{detail}; {record_diff.differs}"
    kind, lacks = _lacks(record_diff)
    return kind, record_diff.first, f"{detail}; {lacks}"


def _rest(out: Comparison, left: _Cursor, right: _Cursor) -> None:
    """Add the differences for what one copy has after the end of the other."""
    for cursor, other, lacks in ((left, out.b, "b"), (right, out.a, "a")):
        batch = cursor.batch
        if batch is None:
            continue
        side, count, end = cursor.side(), 0, batch.head.last_offset
        corrupt: list[Difference] = []
        while cursor.batch is not None:
            count, end = count + 1, cursor.batch.head.last_offset
            if not cursor.batch.crc_valid and len(corrupt) < MOST:
                corrupt.append(_alone_and_corrupt(cursor, lacks))
            cursor.step()
        ends = "has no batch at all" if other.last is None else f"ends at offset {other.last}"
        sides = _sides(side, lacks)
        more = f"{count} batch{'' if count == 1 else 'es'} more, to offset {end}"
        out.add(Difference("LONGER", batch.head.base_offset, *sides, f"{lacks} {ends}; the other one has {more}"))
        for difference in corrupt:
            out.add(difference)
        _tell_gaps(out, cursor, left if cursor is right else right)
