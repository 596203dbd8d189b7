"""Ends of a partition's log: its first and last offsets, and the transactions that are open in it.

Only the active segment is read: from the newest producer snapshot on, to which the offset index leads. A producer
snapshot has the transactions that were open at its offset. The batches after it decide which are open now.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.engine.fixed import fixed
from kwire_cli.errors import InputError, counted
from kwire_cli.records.batch import PADDING, Batch
from kwire_cli.records.producers import ProducerState
from kwire_cli.records.reading import read_items, source_of
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.model import Kind
from kwire_cli.stores import FileBytes
from kwire_cli.structs.logs import OFFSET_INDEX_ENTRY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.records.producers import Transaction
    from kwire_cli.source.logs.files import File, Partition

_INDEX = fixed(OFFSET_INDEX_ENTRY)


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
    """Read the active segment, from the offset `after` on into `state`."""
    for batch in _batches_from(part, log, after - 1, ends):
        head = batch.head
        ends.end = max(ends.end, head.last_offset + 1)
        ends.newest = head.max_timestamp
        if head.base_offset >= after:
            state.append(batch)


def _confirmed(part: Partition, logs: list[File], state: ProducerState, ends: Ends) -> Iterator[Transaction]:
    """Yield the open transactions; those of a snapshot only if the log has the batch that they began with."""
    for transaction in state.open_transactions():
        first = transaction.first_offset
        if transaction.since < 0 and first >= ends.start:
            log = next((file for file in reversed(logs) if (file.name.base_offset or 0) <= first), logs[0])
            heads = (batch.head for batch in _batches_from(part, log, first - 1))
            head = next((head for head in heads if head.last_offset >= first), None)
            if head is None or head.producer_id != transaction.producer_id or not head.transactional:
                ends.notes.append(
                    f"producer {transaction.producer_id} has no batch at offset {first}, where its transaction begins "
                    "by the producer snapshot"
                )
                continue
            transaction.since = max(head.first_time, -1)
        yield transaction


def _batches_from(part: Partition, log: File, offset: int, ends: Ends | None = None) -> Iterator[Batch]:
    """Yield the batches of a segment, at the latest from the one after `offset` on. Note damage in `ends`."""
    base = log.name.base_offset or 0
    at = _position(part, base, offset)
    source = source_of(log.path)
    first = next(read_items(source, at), None)
    if not isinstance(first, Batch) or not first.crc_valid or not base <= first.head.base_offset <= offset:
        at = 0  # the index leads astray
    last = -1
    for item in read_items(source, at):
        if isinstance(item, Batch):
            if item.crc_valid and item.head.last_offset > last:
                last = item.head.last_offset
                yield item
        elif ends and item.code != PADDING:
            ends.notes.append(f"{counted(item.size, 'byte')} behind offset {last} are no batch ({item.code})")


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
