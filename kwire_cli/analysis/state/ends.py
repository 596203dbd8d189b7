"""Ends of a partition's log: its first and last offsets, and the transactions that are open in it.

The active segment alone is read, by the headers of its batches: from the newest producer snapshot on, to which the
offset index leads. Only batches of transactions are read whole. A producer snapshot says what was open at its offset.
Batches behind it decide what is open now.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.engine.fixed import fixed
from kwire_cli.errors import InputError, counted
from kwire_cli.records.batch import PADDING, Batch
from kwire_cli.records.layouts import FRAME, LAYOUTS, OVERHEAD
from kwire_cli.records.producers import ProducerState
from kwire_cli.records.reading import read_items, source_of
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.model import Kind
from kwire_cli.stores import FileBytes
from kwire_cli.structs.logs import OFFSET_INDEX_ENTRY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.records.batch import Source
    from kwire_cli.records.producers import Transaction
    from kwire_cli.source.logs.files import File, Partition

_INDEX = fixed(OFFSET_INDEX_ENTRY)
_TIMESTAMP = LAYOUTS["v1"].head.names.index("timestamp")


@dataclass
class Ends:
    """Offsets at which a log begins and ends: `end` is the offset after its last record.

    `newest` is the largest time in the last batch, in milliseconds, or -1. `complete` is false if a transaction may be
    open that is not among those in `open`.
    """

    start: int
    end: int
    newest: int = -1
    high_watermark: int | None = None
    open: list[Transaction] = field(default_factory=list)
    complete: bool = True
    notes: list[str] = field(default_factory=list)

    @property
    def limit(self) -> int:
        """The offset up to which consumers can read: the high watermark if it is known."""
        return self.end if self.high_watermark is None else min(self.high_watermark, self.end)

    @property
    def last_stable(self) -> int | None:
        """The offset up to which consumers of committed records can read, None if no transaction is open."""
        if not self.open:
            return None
        return max(min(self.limit, *(transaction.first_offset for transaction in self.open)), self.start)


def ends_of(part: Partition, *, start: int | None = None, high_watermark: int | None = None) -> Ends | None:
    """Return the ends of a partition's log, or None if its folder has no segment.

    `start` and `high_watermark` are what the checkpoints of the log directory say.

    Raises:
        InputError: A file cannot be read.

    """
    logs = [file for file in part.of(Kind.LOG) if file.name.base_offset is not None]
    if not logs:
        return None
    first, active = logs[0].name.base_offset or 0, logs[-1].name.base_offset or 0
    snapshots = [file for file in part.of(Kind.PRODUCER_SNAPSHOT) if (file.name.base_offset or 0) >= active]
    for file in (*reversed(snapshots), None):
        ends = Ends(first, active, high_watermark=high_watermark, complete=file is not None or active == first)
        state = ProducerState(active)
        after = active
        if file:
            contents = read_log_file(file.path)
            if contents.anomalies:
                continue
            after = file.name.base_offset or 0
            state.take(contents.entries, after)
        _read_active(part, logs[-1], after, ends, state)
        if ends.end >= after:
            break
    ends.start = max(first, min(start or 0, ends.end))
    ends.open = [*_confirmed(part, logs, state, ends)]
    return ends


def _read_active(part: Partition, log: File, after: int, ends: Ends, state: ProducerState) -> None:
    """Read the headers of the active segment, from the offset `after` on into `state`."""
    for step in _steps_from(part, log, after - 1, ends):
        ends.end, ends.newest = max(ends.end, step.last_offset + 1), step.time
        batch = step.batch
        if batch is None or batch.head.base_offset < after or not _is_transactional(batch):
            continue
        if read_one(batch.source, batch.position).crc_valid:
            state.append(batch)


def _is_transactional(batch: Batch) -> bool:
    return batch.head.producer_id >= 0 and (batch.head.transactional or batch.head.control)


def _confirmed(part: Partition, logs: list[File], state: ProducerState, ends: Ends) -> Iterator[Transaction]:
    """Yield the open transactions; those of a snapshot only if the log has the batch that they began with."""
    for transaction in state.open_transactions():
        first = transaction.first_offset
        if transaction.since < 0 and first >= ends.start:
            log = next((file for file in reversed(logs) if (file.name.base_offset or 0) <= first), logs[0])
            step = next((step for step in _steps_from(part, log, first - 1) if step.last_offset >= first), None)
            head = step.batch.head if step and step.batch else None
            if head is None or head.producer_id != transaction.producer_id or not head.transactional:
                ends.notes.append(
                    f"producer {transaction.producer_id} has no batch at offset {first}, where its transaction begins "
                    "by the producer snapshot"
                )
                continue
            transaction.since = max(head.first_time, -1)
        yield transaction


# Steps through a segment: from header to header, from where its offset index leads.


class _Step(NamedTuple):
    """A batch. `batch` is None in formats v0 and v1, which have no producers."""

    last_offset: int
    time: int
    batch: Batch | None


def _steps_from(part: Partition, log: File, offset: int, ends: Ends | None = None) -> Iterator[_Step]:
    """Yield the batches of a segment, at the latest from the one behind `offset` on; note in `ends` what is none."""
    base = log.name.base_offset or 0
    at = _position(part, base, offset)
    source = source_of(log.path)
    if at and not _begins(source, at, base, offset):
        at = 0
    yield from _steps(source, at, ends)


def _position(part: Partition, base: int, offset: int) -> int:
    """Return the position of a batch at or before an offset by the segment's index; 0 without a usable entry."""
    file = part.at(Kind.INDEX, base)
    if file is None:
        return 0
    try:
        view = FileBytes(file.path).view()
    except InputError:
        return 0
    # Behind the entries, the file may be zeros: a broker makes it as large as it may become.
    low, high = 0, len(view) // _INDEX.size
    while low < high:
        middle = (low + high) // 2
        relative, position = _INDEX.unpack(view, middle * _INDEX.size)
        if position > 0 and base + relative <= offset:
            low = middle + 1
        else:
            high = middle
    return _INDEX.unpack(view, (low - 1) * _INDEX.size)[1] if low else 0


def _begins(source: Source, at: int, base: int, offset: int) -> bool:
    """Return whether a batch begins here, with offsets that the index may have led to."""
    try:
        first, size, magic = FRAME.unpack(source.read(at, at + FRAME.size), 0)
    except struct.error:
        return False
    layout = source.layouts.get(magic)
    return (
        layout is not None
        and size >= layout.least
        and at + OVERHEAD + size <= source.size
        and base <= first <= offset
        and read_one(source, at).crc_valid
    )


def read_one(source: Source, at: int) -> Batch:
    """Return the batch whose frame begins at `at`, and whose checksum is compared."""
    _, size, magic = FRAME.unpack(source.read(at, at + FRAME.size), 0)
    layout, end = source.layouts[magic], at + OVERHEAD + size
    data = source.read(at, end)
    valid = layout.checksum(data[layout.crc_from :]) == layout.crc.unpack(data, 0)[0]
    return Batch(source, at, end - at, layout, valid)


def _steps(source: Source, at: int, ends: Ends | None) -> Iterator[_Step]:
    """Yield batches by their headers alone while one follows the other, and behind damage by their checksums."""
    stop = source.size
    last = -1
    while at + FRAME.size <= stop:
        first, size, magic = FRAME.unpack(source.view(at, at + FRAME.size), at)
        layout, end = source.layouts.get(magic), at + OVERHEAD + size
        if layout is None or size < layout.least or end > stop or first <= last:
            break
        if layout.is_message:
            step = _legacy(source, at)
        else:
            batch = Batch(source, at, end - at, layout, True)  # noqa: FBT003 - its checksum is not compared here
            head = batch.head
            step = _Step(head.last_offset, head.max_timestamp, batch)
            if head.last_offset < first:
                break
        yield step
        at, last = end, step.last_offset
    for item in read_items(source, at) if at < stop else ():
        if isinstance(item, Batch):
            if item.crc_valid and item.head.last_offset > last:
                head, last = item.head, item.head.last_offset
                yield _Step(last, head.max_timestamp, None if item.layout.is_message else item)
        elif ends and item.code != PADDING:
            ends.notes.append(f"{counted(item.size, 'byte')} behind offset {last} are no batch ({item.code})")


def _legacy(source: Source, at: int) -> _Step:
    """Return a message of format v0 or v1, or a wrapper, whose offset is that of its last message."""
    offset, size, magic = FRAME.unpack(source.view(at, at + FRAME.size), at)
    time = source.layouts[magic].head.unpack(source.view(at, at + OVERHEAD + size), at)[_TIMESTAMP] if magic else -1
    return _Step(offset, time, None)
