"""Ends of a partition's log: its first offset, and the offset after its last record.

Only the end of the last segment is read, from the batch on that its offset index has last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.engine.fixed import fixed
from kwire_cli.errors import InputError, counted
from kwire_cli.records.batch import PADDING, Batch
from kwire_cli.records.reading import read_items, source_of
from kwire_cli.source.logs.model import Kind
from kwire_cli.stores import FileBytes
from kwire_cli.structs.logs import OFFSET_INDEX_ENTRY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.source.logs.files import File, Partition

_INDEX = fixed(OFFSET_INDEX_ENTRY)


@dataclass
class Ends:
    """Offsets at which a log begins and ends: `end` is the offset after its last record.

    `newest` is the largest time in the last batch, in milliseconds, or -1.
    """

    start: int
    end: int
    newest: int = -1
    high_watermark: int | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def limit(self) -> int:
        """The offset up to which consumers can read: the high watermark if it is known."""
        return self.end if self.high_watermark is None else min(self.high_watermark, self.end)


def ends_of(part: Partition, *, start: int | None = None, high_watermark: int | None = None) -> Ends | None:
    """Return the ends of a partition's log, or None if its folder has no segment.

    `start` and `high_watermark` come from the checkpoints of the log directory.

    Raises:
        InputError: A file cannot be read.

    """
    logs = [file for file in part.of(Kind.LOG) if file.name.base_offset is not None]
    if not logs:
        return None
    first = logs[0].name.base_offset or 0
    ends = Ends(first, logs[-1].name.base_offset or 0, high_watermark=high_watermark)
    for batch in _last_batches(part, logs[-1], ends):
        ends.end = batch.head.last_offset + 1
        ends.newest = batch.head.max_timestamp
    ends.start = max(first, min(start or 0, ends.end))
    return ends


def _last_batches(part: Partition, log: File, ends: Ends) -> Iterator[Batch]:
    """Yield the batches at the end of the last segment. Note damage between them."""
    source = source_of(log.path)
    base = log.name.base_offset or 0
    relative, at = _last_entry(part, base)
    first = next(read_items(source, at), None)
    if not isinstance(first, Batch) or not first.crc_valid or not base <= first.head.base_offset <= base + relative:
        at = 0  # the index leads astray
    last = base - 1
    for item in read_items(source, at):
        if isinstance(item, Batch):
            if item.crc_valid and item.head.last_offset > last:
                last = item.head.last_offset
                yield item
        elif item.code != PADDING:
            ends.notes.append(f"{counted(item.size, 'byte')} behind offset {last} are no batch ({item.code})")


def _last_entry(part: Partition, base: int) -> tuple[int, int]:
    """Return the last entry of the index of a segment, zeros without one."""
    file = part.at(Kind.INDEX, base)
    try:
        # A broker allocates an index at its full size: zeros follow the entries.
        data = bytes(FileBytes(file.path).view()).rstrip(b"\0") if file else b""
    except InputError:
        return 0, 0
    size = _INDEX.size
    entry = data[(len(data) - 1) // size * size :].ljust(size, b"\0") if data else bytes(size)
    relative, position = _INDEX.unpack(entry, 0)
    return relative, max(position, 0)
