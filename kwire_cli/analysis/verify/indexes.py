"""Comparison of the indexes of a segment with the batches of its log.

An index may be sparse or missing, because a broker rebuilds it from the log, but its entries must be correct. The
valid batches of a segment are stored in arrays of numbers, in which bisection finds the batch of each entry. Entries
that point to damaged bytes of the log are not checked.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, TypeVar

from kwire_cli.analysis.verify.checks import Fault
from kwire_cli.source.logs.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire_cli.records.batch import Batch
    from kwire_cli.records.producers import Marker, PartitionTransaction
    from kwire_cli.source.logs.indexes import AbortedTransaction, OffsetEntry, TimeEntry
    from kwire_cli.source.logs.model import Contents
    from kwire_cli.stores.paths import Place

INDEXES = (Kind.INDEX, Kind.TIME_INDEX, Kind.TRANSACTION_INDEX)
_MOST_OFFSETS = 1 << 31
"""The maximum number of offsets in a segment. Indexes store offsets relative to the base offset as int32."""
_BEYOND = 1 << 63


class GoodBatches:
    """The positions, offsets and times of the valid batches of a segment, in the order of the log.

    `lasts` and `largest` contain the last offset and the largest time up to each batch. `is_whole` is true if
    compaction has not removed records from the batch. `lost` contains the end of damaged bytes, by the index of the
    batch after them.
    """

    def __init__(self) -> None:
        self.positions = array("q")
        self.firsts = array("q")
        self.lasts = array("q")
        self.times = array("q")
        self.largest = array("q")
        self.is_whole = bytearray()
        self.lost: dict[int, int] = {}
        self._lost_before: list[int] = []

    def add(self, batch: Batch) -> None:
        """Add the next batch."""
        head = batch.head
        before = self.largest[-1] if self.largest else -1
        self.positions.append(batch.position)
        self.firsts.append(head.base_offset)
        self.lasts.append(max(head.last_offset, self.lasts[-1] if self.lasts else -1))
        self.times.append(head.max_timestamp)
        # Compaction leaves the time in a batch that it empties, but ignores it in the index.
        self.largest.append(max(head.max_timestamp, before) if head.records_count != 0 else before)
        self.is_whole.append(head.records_count == head.last_offset - head.base_offset + 1)

    def lose(self, end: int) -> None:
        """Record that the bytes up to `end` are damaged."""
        number = len(self.positions)
        if number not in self.lost:
            self._lost_before.append(number)
        self.lost[number] = end

    def check_offsets(self, file: str, entries: Iterable[OffsetEntry], size: int) -> Iterator[Fault]:
        """Yield the faults of entries of an `.index`.

        An entry contains the position of a batch, and the last offset of that batch or of a batch that was appended
        together with it.
        """
        for entry in entries:
            at = bisect_left(self.positions, entry.position)
            if at == len(self.positions) or self.positions[at] != entry.position:
                if entry.position >= self.lost.get(at, 0):
                    is_inside = entry.position < size
                    where = "is in the middle of a batch" if is_inside else f"lies beyond the log's {size} bytes"
                    text = f"position {entry.position} {where}"
                    yield Fault("INDEX_POSITION", file, entry.at, entry.offset, text)
            elif text := self._wrong_offset(entry, at):
                yield Fault("INDEX_OFFSET", file, entry.at, entry.offset, text)

    def _wrong_offset(self, entry: OffsetEntry, at: int) -> str:
        """Return the fault in the offset of an entry at the position of a batch. It is empty for a correct offset."""
        offset = entry.offset
        position = entry.position
        if offset < self.firsts[at]:
            return f"offset {offset} lies before the batch at position {position}, which begins at {self.firsts[at]}"
        holder = bisect_left(self.lasts, offset, at)
        if bisect_right(self._lost_before, at) < bisect_right(self._lost_before, holder):
            return ""
        if holder == len(self.lasts):
            return f"the segment ends before offset {offset}"
        if offset < self.firsts[holder]:
            return f"no batch from position {position} on holds offset {offset}"
        if self.is_whole[holder] and offset != self.lasts[holder]:
            # The index entry of a compacted batch has the last offset that was not removed.
            return f"offset {offset} is not the last one of its batch, which is {self.lasts[holder]}"
        return ""

    def check_times(self, file: str, entries: Iterable[TimeEntry]) -> Iterator[Fault]:
        """Yield the faults of entries of a `.timeindex`.

        An entry contains an offset and the time of its batch, which is the largest time of all batches up to it.
        """
        for entry in entries:
            offset = entry.offset
            time = entry.timestamp
            holder = bisect_left(self.lasts, offset)
            is_end = holder == len(self.lasts)
            if is_end or offset < self.firsts[holder]:
                if holder not in self.lost:
                    text = f"the segment ends before offset {offset}" if is_end else f"no batch holds offset {offset}"
                    yield Fault("TIME_INDEX_OFFSET", file, entry.at, offset, text)
                continue
            before = self.largest[holder - 1] if holder else -1
            if time != self.times[holder]:
                text = f"timestamp {time}, and that of the batch with offset {offset} is {self.times[holder]}"
                yield Fault("TIME_INDEX_TIMESTAMP", file, entry.at, offset, text)
            elif time < before:
                earlier = self.lasts[bisect_left(self.largest, before)]
                text = f"timestamp {time}, and offset {earlier} before it has {before}"
                yield Fault("TIME_INDEX_TIMESTAMP", file, entry.at, offset, text)


class AbortedTransactions:
    """The abort markers of a segment, with the positions of their batches, and the entries of its `.txnindex`."""

    def __init__(self, entries: Iterable[AbortedTransaction]) -> None:
        self._entries = {entry.last_offset: entry for entry in entries}
        self._ended: dict[int, tuple[PartitionTransaction, Marker, int]] = {}
        self._missing: list[tuple[int, int]] = []
        self._begun: set[int] = set()

    def end(self, transaction: PartitionTransaction, marker: Marker, batch: Batch) -> None:
        """Add an aborted transaction, and the batch of its marker."""
        if transaction.first_offset >= 0 or batch.head.last_offset in self._entries:
            self._ended[batch.head.last_offset] = transaction, marker, batch.position

    def add_begin(self, offset: int) -> None:
        """Record the start of a transaction."""
        if self._entries:
            self._begun.add(offset)

    def missing(self, first: int, after: int) -> None:
        """Record that the log lacks the offsets in [first, after)."""
        if self._entries:
            self._missing.append((first, after))

    def check(self, file: Place, log: Place) -> Iterator[Fault]:
        """Yield the faults of markers and entries. `file` is the path of the index, which may be missing."""
        for offset, (transaction, marker, position) in self._ended.items():
            entry = self._entries.get(offset)
            name = f"the transaction of producer {transaction.producer_id} that was aborted at offset {marker.offset}"
            if entry is None:
                yield Fault("ABORTED_NOT_INDEXED", str(log), position, offset, f"{name} is not in {file.name}")
            elif entry.producer_id == transaction.producer_id:
                for text in self._differences(entry, transaction, marker):
                    yield Fault("ABORTED_DIFFERS", str(file), entry.at, offset, f"{text} for {name}")
        for offset, entry in self._entries.items():
            if offset not in self._ended:
                at = bisect_right(self._missing, (offset, _BEYOND)) - 1
                if at >= 0 and offset < self._missing[at][1]:
                    continue
                text = f"no abort marker of producer {entry.producer_id} at offset {offset}"
            elif (producer := self._ended[offset][0].producer_id) != entry.producer_id:
                text = f"the abort marker at offset {offset} is for producer {producer}, not {entry.producer_id}"
            else:
                continue
            yield Fault("ABORTED_NOT_IN_LOG", str(file), entry.at, offset, text)

    def _differences(
        self, entry: AbortedTransaction, transaction: PartitionTransaction, marker: Marker
    ) -> Iterator[str]:
        """Yield the differences between an entry and the transaction that a marker ended."""
        first = transaction.first_offset
        stable = marker.last_stable_offset
        if first < 0:
            return
        if transaction.first_known and entry.first_offset != first:
            yield f"firstOffset {entry.first_offset}, and the log has {first}"
        # A follower appends all batches of a fetch at once. Its entry may be written after the next transaction began.
        is_later = stable == entry.last_offset + 1 and stable < entry.last_stable_offset in self._begun
        if stable is not None and entry.last_stable_offset != stable and not is_later:
            yield f"lastStableOffset {entry.last_stable_offset}, and the log has {stable}"


class Segment:
    """A segment's log and its indexes.

    Args:
        log: Its log.
        base: Its first offset, by the name of the log.
        following: The first offset of the next segment, or None for the last segment.
        contents: Its indexes.

    """

    def __init__(self, log: Place, base: int, following: int | None, contents: Mapping[Kind, Contents[Any]]) -> None:
        self.log = log
        self.base = base
        self.is_last = following is None
        self.after = base + _MOST_OFFSETS if following is None else min(following, base + _MOST_OFFSETS)
        self.batches = GoodBatches()
        self._offsets, self._times, aborted = (contents[kind].entries if kind in contents else () for kind in INDEXES)
        self.is_indexed = len(self._offsets) + len(self._times) > 0
        self.aborted = AbortedTransactions(aborted)

    def faults(self, size: int) -> Iterator[Fault]:
        """Yield the faults of the indexes. The log must have been read."""
        offsets, times, aborted = (self.log.with_suffix(f".{kind}") for kind in INDEXES)
        yield from self.batches.check_offsets(str(offsets), _ascending(self._offsets, self.base - 1, -1), size)
        yield from self.batches.check_times(str(times), _ascending(self._times, -1, self.base))
        yield from self.aborted.check(aborted, self.log)


Entry = TypeVar("Entry", bound="OffsetEntry | TimeEntry")


def _ascending(entries: Iterable[Entry], highest: int, other: int) -> Iterator[Entry]:
    """Yield the entries that are greater than all entries before them. Other entries are anomalies of the file."""
    for entry in entries:
        if entry[1] > highest and entry[2] >= other:
            highest, other = entry[1:]
            yield entry
