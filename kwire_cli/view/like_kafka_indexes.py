"""Indexes and producer snapshots in the lines of Kafka's own DumpLogSegments, which holds indexes against the log beside them.

Source: org.apache.kafka.tools.DumpLogSegments of Kafka 4.4; where that ends with an exception, because the log is not there or has no batch at the
position that an index says, the entry is shown all the same.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.records.batch import Batch, int64
from kwire_cli.records.layouts import FRAME, OVERHEAD
from kwire_cli.records.opening import source_of
from kwire_cli.source.logs.indexes import OffsetEntry, TimeEntry
from kwire_cli.source.logs.names import Kind
from kwire_cli.source.logs.reading import read_log_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.records.layouts import Layout
    from kwire_cli.records.model import Source
    from kwire_cli.source.logs.model import Contents
    from kwire_cli.source.logs.snapshots import ProducerEntry
    from kwire_cli.stores import Place
    from kwire_cli.view.like_kafka import Trouble

_NO_OFFSET = -1
_LAST_SEQUENCE = (1 << 31) - 1


def file_lines(path: Place, label: str, kind: Kind, trouble: Trouble, note: Callable[[str], None]) -> Iterator[str]:
    """An index or producer snapshot; `label` is its path as it was asked for, `note` takes what belongs on standard error at once.

    Raises:
        InputError: It cannot be read.

    """
    contents = read_log_file(path)
    if kind is Kind.INDEX:
        yield from _offset_index(path, label, contents, trouble)
    elif kind is Kind.TIME_INDEX:
        yield from _time_index(path, contents, trouble)
    elif kind is Kind.TRANSACTION_INDEX:
        for each in contents.entries:
            yield (
                f"version: {each.version} producerId: {each.producer_id} firstOffset: {each.first_offset} lastOffset: {each.last_offset}"
                f" lastStableOffset: {each.last_stable_offset}"
            )
    else:
        yield from _snapshot(contents, note)


def _offset_index(path: Place, label: str, contents: Contents[OffsetEntry], trouble: Trouble) -> Iterator[str]:
    base = contents.head["baseOffset"] or 0
    entries = _entries(contents.entries, contents.size, OffsetEntry(0, base, 0))
    if not entries:
        yield f"{label} is empty."
        return
    source = _log_of(path)
    for number, entry in enumerate(entries):
        if number and entry.offset == base:
            return
        if source:
            last = next((each.last_offset for each in _shallow(source, entry.position)), _NO_OFFSET)
            if last != entry.offset:
                trouble.mismatches.setdefault(str(path.absolute()), {})[entry.offset] = last
        yield f"offset: {entry.offset} position: {entry.position}"


def _time_index(path: Place, contents: Contents[TimeEntry], trouble: Trouble) -> Iterator[str]:
    base = contents.head["baseOffset"] or 0
    source = _log_of(path)
    log = _Log(source, _index_of(path)) if source else None
    place, before = str(path.absolute()), -1
    for number, entry in enumerate(_entries(contents.entries, contents.size, TimeEntry(0, 0, base))):
        if number and entry.offset == base:
            return
        if log:
            batch = log.first_from(entry.offset)
            if batch is None or batch.last_offset != entry.offset:
                trouble.not_found.setdefault(place, []).append((entry.offset, batch.last_offset if batch else _NO_OFFSET))
            else:
                largest = log.largest_time(batch)
                if largest != entry.timestamp:
                    trouble.timestamps.setdefault(place, []).append((entry.timestamp, largest))
                if before >= entry.timestamp:
                    trouble.out_of_order.setdefault(place, []).append((entry.timestamp, before))
        yield f"timestamp: {entry.timestamp} offset: {entry.offset}"
        before = entry.timestamp


class _Shallow(NamedTuple):
    """A batch by its header alone, whatever its checksum."""

    position: int
    size: int
    layout: Layout
    last_offset: int


class _Log:
    """The batches of a log, found by offset in the same time wherever they are."""

    def __init__(self, source: Source, index: Sequence[OffsetEntry]) -> None:
        self._source, self._index = source, index
        self._positions, self._offsets = array("q"), array("q")
        self._times: dict[int, int] = {}
        highest = -(1 << 63)
        for each in _shallow(source, 0):
            highest = max(highest, each.last_offset)
            self._positions.append(each.position)
            self._offsets.append(highest)

    def first_from(self, offset: int) -> _Shallow | None:
        """The first batch with this offset or a later one, from where the index sends those who look for it."""
        at = bisect_right(self._index, offset, key=lambda each: each.offset) - 1
        start = bisect_left(self._positions, self._index[at].position) if at >= 0 else 0
        found = max(start, bisect_left(self._offsets, offset))
        return next(_shallow(self._source, self._positions[found])) if found < len(self._positions) else None

    def largest_time(self, batch: _Shallow) -> int:
        """The largest timestamp of its records; -1 without any."""
        if batch.position not in self._times:
            records = Batch(self._source, batch.position, batch.size, batch.layout, crc_valid=True).records()
            self._times[batch.position] = max((record.timestamp for record in records), default=-1)
        return self._times[batch.position]


def _shallow(source: Source, start: int) -> Iterator[_Shallow]:
    """The batches from a position on, as far as their sizes lead."""
    data, at = source.data, start
    while 0 <= at <= len(data) - FRAME.size:
        _, size, magic = FRAME.unpack(data, at)
        layout = source.layouts.get(magic)
        end = at + OVERHEAD + size
        if layout is None or size < layout.least or end > len(data):
            return
        said = layout.numbers(data, at)
        last = said["offset"] if "offset" in said else int64(said["baseOffset"] + said["lastOffsetDelta"])
        yield _Shallow(at, end - at, layout, last)
        at = end


def _entries(entries: Sequence[Any], size: int, first: Any) -> Sequence[Any]:
    """The entries; Kafka takes the first one for meant even where all are zeros, as they are in an index that was made and not yet written to."""
    return entries if entries or not size else (first,)


def _beside(path: Place, kind: Kind) -> Place:
    """The file of another kind that belongs to the same segment."""
    return path.with_name(f"{path.name.partition('.')[0]}.{kind}")


def _log_of(path: Place) -> Source | None:
    log = _beside(path, Kind.LOG)
    return source_of(log) if log.is_file() else None


def _index_of(path: Place) -> Sequence[OffsetEntry]:
    index = _beside(path, Kind.INDEX)
    entries: Sequence[OffsetEntry] = read_log_file(index).entries if index.is_file() else ()
    return entries


def _snapshot(contents: Contents[ProducerEntry], note: Callable[[str], None]) -> Iterator[str]:
    """The producers of a snapshot; of one that is damaged only what is wrong, as Kafka reads none of it."""
    if contents.anomalies and not all(anomaly.code.startswith("ENTRY") for anomaly in contents.anomalies):
        note(f"Snapshot is corrupt: {contents.anomalies[0].detail}")
        return
    for entry in contents.entries:
        first = "OptionalLong.empty" if entry.current_txn_first_offset < 0 else f"OptionalLong[{entry.current_txn_first_offset}]"
        line = (
            f"producerId: {entry.producer_id} producerEpoch: {entry.epoch} coordinatorEpoch: {entry.coordinator_epoch}"
            f" currentTxnFirstOffset: {first} lastTimestamp: {entry.timestamp}"
        )
        if entry.last_offset >= 0:
            line += (
                f" firstSequence: {_sequence_before(entry.last_sequence, entry.offset_delta)} lastSequence: {entry.last_sequence}"
                f" lastOffset: {entry.last_offset} offsetDelta: {entry.offset_delta} timestamp: {entry.timestamp}"
            )
        yield line


def _sequence_before(sequence: int, delta: int) -> int:
    """The sequence `delta` before one (DefaultRecordBatch.decrementSequence); before 0 stands 2147483647."""
    return (sequence - delta) & _LAST_SEQUENCE
