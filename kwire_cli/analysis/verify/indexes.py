"""Checks of indexes, and of one segment."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.verify.checks import Checked, Fault, from_anomalies, is_whole
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.model import Kind
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.records.batch import Batch
    from kwire_cli.records.producers import Ended
    from kwire_cli.source.logs.files import File, Partition
    from kwire_cli.source.logs.indexes import AbortedTransaction, OffsetEntry, TimeEntry
    from kwire_cli.source.logs.model import Contents
    from kwire_cli.stores import Place


# Indexes of a segment against its batches, in one pass over both.
#
# An index may be sparse, and it may be gone: a broker makes it anew from the log. What it says has to be
# right.

_NEVER = 1 << 63


class OffsetIndexCheck:
    """Ascending entries of an `.index`: a position where a batch begins, and the last offset of that batch or of one
    appended together with it.

    Batches before the position `due` need not be shown.
    """

    def __init__(self, file: Place, entries: Iterable[OffsetEntry]) -> None:
        self.file = str(file)
        self._entries = iter(entries)
        self._next: OffsetEntry | None = None
        self._begun: deque[OffsetEntry] = deque()
        self._step()

    def batch(self, batch: Batch) -> Iterable[Fault]:
        """A good batch."""
        entry = self._next
        if entry and entry.position == batch.position and entry.offset == batch.head.last_offset and not self._begun:
            self._step()
            return ()
        return list(self._compared(batch))

    def _compared(self, batch: Batch) -> Iterator[Fault]:
        head = batch.head
        while self._next and self._next.position < batch.position:
            yield self._fault(
                "INDEX_POSITION", self._next, f"position {self._next.position} is in the middle of a batch"
            )
            self._step()
        if self._next and self._next.position == batch.position:
            if self._next.offset < head.base_offset:
                text = (
                    f"offset {self._next.offset} lies before the batch at position {batch.position}, which begins at "
                    f"{head.base_offset}"
                )
                yield self._fault("INDEX_OFFSET", self._next, text)
            else:
                self._begun.append(self._next)
            self._step()
        while self._begun and self._begun[0].offset <= head.last_offset:
            entry = self._begun.popleft()
            if entry.offset < head.base_offset:
                yield self._fault(
                    "INDEX_OFFSET", entry, f"no batch from position {entry.position} on holds offset {entry.offset}"
                )
            elif is_whole(head) and entry.offset != head.last_offset:
                # A batch that compaction took records out of is indexed by the last offset that it kept.
                yield self._fault(
                    "INDEX_OFFSET",
                    entry,
                    f"offset {entry.offset} is not the last one of its batch, which is {head.last_offset}",
                )
        self._set_due()

    def lost(self, end: int) -> None:
        """Bytes up to here are no good batch, and what points there can't be judged."""
        while self._next and self._next.position < end:
            self._step()
        self._begun.clear()
        self._set_due()

    def end(self, size: int) -> Iterator[Fault]:
        """The segment ends here."""
        for entry in self._begun:
            yield self._fault("INDEX_OFFSET", entry, f"the segment ends before offset {entry.offset}")
        while self._next:
            what = (
                "is in the middle of a batch" if self._next.position < size else f"lies beyond the log's {size} bytes"
            )
            yield self._fault("INDEX_POSITION", self._next, f"position {self._next.position} {what}")
            self._step()

    def _step(self) -> None:
        self._next = next(self._entries, None)
        self._set_due()

    def _set_due(self) -> None:
        self.due = 0 if self._begun else self._next.position if self._next else _NEVER

    def _fault(self, code: str, entry: OffsetEntry, text: str) -> Fault:
        return Fault(code, self.file, entry.at, entry.offset, text)


class TimeIndexCheck:
    """Ascending entries of a `.timeindex`: the largest time of all batches up to the one that holds the offset, which
    is that one's.

    Once it is no longer `due`, batches need not be shown.
    """

    def __init__(self, file: Place, entries: Iterable[TimeEntry]) -> None:
        self.file = str(file)
        self._entries = iter(entries)
        self._next = next(self._entries, None)
        self._largest, self._largest_at, self._lost = -1, -1, False
        self.due = self._next is not None

    def batch(self, batch: Batch) -> Iterator[Fault]:
        """A good batch."""
        head = batch.head
        while self._next and self._next.offset < head.base_offset:
            if not self._lost:
                yield self._fault("TIME_INDEX_OFFSET", self._next, f"no batch holds offset {self._next.offset}")
            self._step()
        while self._next and self._next.offset <= head.last_offset:
            if self._next.timestamp != head.max_timestamp:
                text = (
                    f"timestamp {self._next.timestamp}, and that of the batch with offset {self._next.offset} is "
                    f"{head.max_timestamp}"
                )
                yield self._fault("TIME_INDEX_TIMESTAMP", self._next, text)
            elif self._largest > self._next.timestamp:
                text = f"timestamp {self._next.timestamp}, and offset {self._largest_at} before it has {self._largest}"
                yield self._fault("TIME_INDEX_TIMESTAMP", self._next, text)
            self._step()
        # Compaction leaves the time in a batch that it empties, but does not count it.
        if head.records_count != 0 and head.max_timestamp > self._largest:
            self._largest, self._largest_at = head.max_timestamp, head.last_offset
        self._lost = False
        self.due = self._next is not None

    def lost(self) -> None:
        """Bytes here are no good batch; which offsets they had is not known."""
        self._lost = True

    def end(self) -> Iterator[Fault]:
        """The segment ends here."""
        while self._next and not self._lost:
            yield self._fault("TIME_INDEX_OFFSET", self._next, f"the segment ends before offset {self._next.offset}")
            self._step()

    def _step(self) -> None:
        self._next = next(self._entries, None)

    def _fault(self, code: str, entry: TimeEntry, text: str) -> Fault:
        return Fault(code, self.file, entry.at, entry.offset, text)


class _Aborted(NamedTuple):
    """A transaction that an abort marker ended, and the position of the marker. None stands for unknown."""

    producer_id: int
    first_offset: int | None
    last_offset: int
    last_stable_offset: int | None
    position: int


class TransactionIndexCheck:
    """The entries of a `.txnindex` against the abort markers of its segment. `file` is where it would be, `entries`
    None where it is not there.
    """

    def __init__(self, file: Place, log: Place, entries: Iterable[AbortedTransaction] | None) -> None:
        self.file, self.log = str(file), str(log)
        self._entries = {entry.last_offset: entry for entry in entries or ()}
        self._markers: dict[int, int] = {}
        self._aborted: list[_Aborted] = []
        self._missing_first: list[int] = []
        self._missing_after: list[int] = []
        self._begun: set[int] = set()

    def marker(self, ended: Ended, batch: Batch) -> None:
        """Take the batch of an abort marker, and the transaction that the marker ended."""
        offset = batch.head.last_offset
        transaction = ended.transaction
        if transaction:
            first = transaction.first_offset if transaction.first_known else None
            aborted = _Aborted(ended.producer_id, first, offset, ended.last_stable_offset, batch.position)
            self._aborted.append(aborted)
        if offset in self._entries:
            self._markers[offset] = ended.producer_id

    def begun(self, offset: int) -> None:
        """A transaction begins here."""
        if self._entries:
            self._begun.add(offset)

    def missing(self, first: int, after: int) -> None:
        """The log has no offsets in [first, after)."""
        if self._entries:
            self._missing_first.append(first)
            self._missing_after.append(after)

    def end(self) -> Iterator[Fault]:
        """The segment ends here."""
        for aborted in self._aborted:
            yield from self._compared(aborted)
        for entry in self._entries.values():
            if entry.last_offset in self._markers:
                if self._markers[entry.last_offset] != entry.producer_id:
                    text = (
                        f"the abort marker at offset {entry.last_offset} is for producer "
                        f"{self._markers[entry.last_offset]}, not {entry.producer_id}"
                    )
                    yield Fault("ABORTED_NOT_IN_LOG", self.file, entry.at, entry.last_offset, text)
            elif not self._is_missing(entry.last_offset):
                text = f"no abort marker of producer {entry.producer_id} at offset {entry.last_offset}"
                yield Fault("ABORTED_NOT_IN_LOG", self.file, entry.at, entry.last_offset, text)

    def _is_missing(self, offset: int) -> bool:
        at = bisect_right(self._missing_first, offset) - 1
        return at >= 0 and offset < self._missing_after[at]

    def _compared(self, aborted: _Aborted) -> Iterator[Fault]:
        entry = self._entries.get(aborted.last_offset)
        who = f"the transaction of producer {aborted.producer_id} that was aborted at offset {aborted.last_offset}"
        if entry is None:
            yield Fault(
                "ABORTED_NOT_INDEXED",
                self.log,
                aborted.position,
                aborted.last_offset,
                f"{who} is not in {path_of(self.file).name}",
            )
        elif entry.producer_id == aborted.producer_id:
            first, stable = aborted.first_offset, aborted.last_stable_offset
            if first is not None and entry.first_offset != first:
                text = f"firstOffset {entry.first_offset}, and the log has {first} for {who}"
                yield Fault("ABORTED_DIFFERS", self.file, entry.at, aborted.last_offset, text)
            # A follower appends what it fetched at once, and may count a transaction that began behind the marker as
            # open already.
            later = (
                stable == aborted.last_offset + 1
                and entry.last_stable_offset in self._begun
                and entry.last_stable_offset > stable
            )
            if stable is not None and entry.last_stable_offset != stable and not later:
                text = f"lastStableOffset {entry.last_stable_offset}, and the log has {stable} for {who}"
                yield Fault("ABORTED_DIFFERS", self.file, entry.at, aborted.last_offset, text)


def ascending_offsets(entries: Iterable[OffsetEntry], base: int) -> Iterator[OffsetEntry]:
    """Yield the entries that come after all entries before them. All others are faults by themselves."""
    last, place = base - 1, -1
    for entry in entries:
        if entry.offset > last and entry.position > place:
            yield entry
        last, place = max(last, entry.offset), max(place, entry.position)


def ascending_times(entries: Iterable[TimeEntry], base: int) -> Iterator[TimeEntry]:
    """The same of a time index."""
    last, time = base, -1
    for entry in entries:
        if entry.offset >= last and entry.timestamp > time:
            yield entry
        last, time = max(last, entry.offset), max(time, entry.timestamp)


# A segment: its log, and its indexes with their checks.

INDEXES = (Kind.INDEX, Kind.TIME_INDEX, Kind.TRANSACTION_INDEX)


_MOST_OFFSETS = 1 << 31
"""The number of offsets that a segment can have: indexes count from its base offset with an int32."""


class Segment:
    """A segment's log and its indexes.

    Args:
        part: The partition that it is of.
        log: Its log.
        base: Its first offset, by the name of the log.
        following: That of the next segment; None for the last.

    """

    def __init__(self, part: Partition, log: File, base: int, following: int | None) -> None:
        self.log, self.base, self.is_last = log.path, base, following is None
        self.after = base + _MOST_OFFSETS if following is None else min(following, base + _MOST_OFFSETS)
        self.files = {kind: part.at(kind, base) for kind in INDEXES}
        self.contents: dict[Kind, Contents[Any]] = {
            kind: read_log_file(file.path) for kind, file in self.files.items() if file
        }
        entries = {kind: self.contents[kind].entries if kind in self.contents else () for kind in INDEXES}
        paths = {kind: log.path.with_suffix(f".{kind}") for kind in INDEXES}
        odd = {kind for kind, contents in self.contents.items() if contents.anomalies}
        # An index in which nothing is odd ascends.
        offsets = ascending_offsets(entries[Kind.INDEX], base) if Kind.INDEX in odd else entries[Kind.INDEX]
        times = ascending_times(entries[Kind.TIME_INDEX], base) if Kind.TIME_INDEX in odd else entries[Kind.TIME_INDEX]
        self.offsets = OffsetIndexCheck(paths[Kind.INDEX], offsets)
        self.times = TimeIndexCheck(paths[Kind.TIME_INDEX], times)
        self.aborted = TransactionIndexCheck(paths[Kind.TRANSACTION_INDEX], log.path, entries[Kind.TRANSACTION_INDEX])

    def own_faults(self, checked: Checked) -> Iterator[Fault]:
        """Yield the anomalies of the indexes by themselves as faults, and note indexes without an entry."""
        for kind, contents in self.contents.items():
            file = self.files[kind]
            if file:
                checked.add_index(file.path, contents)
                yield from from_anomalies(file.path, contents.anomalies)

    def lost(self, end: int) -> None:
        """The bytes up to here are no good batch."""
        self.offsets.lost(end)
        self.times.lost()

    def last_faults(self, size: int) -> Iterator[Fault]:
        """The log has been read."""
        yield from self.offsets.end(size)
        yield from self.times.end()
        yield from self.aborted.end()
