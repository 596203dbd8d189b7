"""Ends of a partition's log: its first offset, and the offset after its last record.

Only the end of the last segment is read, from the last entry of its offset index on, because logs may be large.
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
    from kwire_cli.records.batch import Source
    from kwire_cli.source.logs.files import Partition

_INDEX = fixed(OFFSET_INDEX_ENTRY)


@dataclass
class Ends:
    """The first offset of a log, and its end, which is the offset after its last record."""

    start: int
    end: int
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
    base = logs[-1].name.base_offset or 0
    ends = Ends(first, base, high_watermark=high_watermark)
    source = source_of(logs[-1].path)
    for item in read_items(source, _last_entry(part, base, source)):
        if isinstance(item, Batch):
            if item.crc_valid and item.head.last_offset >= ends.end:
                ends.end = item.head.last_offset + 1
        elif item.code != PADDING:
            ends.notes.append(f"{counted(item.size, 'byte')} behind offset {ends.end - 1} are no batch ({item.code})")
    ends.start = max(first, min(start or 0, ends.end))
    return ends


def _last_entry(part: Partition, base: int, source: Source) -> int:
    """Return the position of the last batch in the index of a segment, or 0 if the index is wrong."""
    file = part.at(Kind.INDEX, base)
    try:
        # A broker allocates an index at its full size: zeros follow the entries.
        data = bytes(FileBytes(file.path).view()).rstrip(b"\0") if file else b""
    except InputError:
        return 0
    last = data[(len(data) - 1) // _INDEX.size * _INDEX.size :].ljust(_INDEX.size, b"\0")
    relative, position = _INDEX.unpack(last, 0)
    batch = next(read_items(source, max(position, 0)), None)
    is_right = isinstance(batch, Batch) and batch.crc_valid and base <= batch.head.base_offset <= base + relative
    return max(position, 0) if is_right else 0
