"""Segments split into parts that can be read independently.

Parts are cut at batches, so that they contain the same batches, records and gaps as the whole. A cut is an entry of the
segment's `.index`, whose batch must have a valid checksum and the offset of the entry. A segment without an index is
one part: only reading it from the start would show where its batches begin.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.records.batch import Batch
from kwire_cli.records.reading import Reader, source_of
from kwire_cli.source.logs.indexes import OffsetEntry, offset_index
from kwire_cli.source.logs.model import Kind, file_name
from kwire_cli.stores.opening import FileBytes
from kwire_cli.stores.paths import path_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from kwire_cli.records.batch import Source
    from kwire_cli.stores.paths import Place


SPLIT_SIZE = 128 << 20
"""Approximate size of a part in bytes: Spark's default for files (spark.sql.files.maxPartitionBytes). Starting a task
costs as much as reading some tens of megabytes."""


_LOOK = 1 << 16
"""Size that most batches do not exceed."""
_MAX_TRIES = 4
"""Index entries that are tried for one cut. If all of them are wrong, the rest of the index probably is too."""


def split_file(path: str | os.PathLike[str], size: int = SPLIT_SIZE, end: int | None = None) -> list[tuple[int, int]]:
    """Return the parts [start, stop) of a segment, of equal size near `size` bytes. A small file is one part, an empty
    file has no parts.

    With an `end`, only that number of bytes is split, so the parts stay the same while a broker appends to the file.

    Raises:
        InputError: The segment cannot be read.

    """
    file = path_of(path)
    content = FileBytes(path)
    end = content.size if end is None else min(end, content.size)
    if 0 < size < end:
        size = -(-end // round(end / size))
    index = _index_of(file) if end > size else ()
    return splits(source_of(content), size, index[: bisect_left(index, end, key=lambda entry: entry.position)], end)


def _index_of(file: Place) -> Sequence[OffsetEntry]:
    """Return the entries of the index next to a segment, or none if there is no such file."""
    name = file_name(file.name)
    index = file.with_suffix(f".{Kind.INDEX}")
    if name.kind is not Kind.LOG or name.suffix or not index.is_file():
        return ()
    try:
        return offset_index(index.read_bytes(), name.base_offset).entries
    except (InputError, OSError):
        return ()


def splits(source: Source, size: int, index: Sequence[OffsetEntry], end: int | None = None) -> list[tuple[int, int]]:
    """Return the parts of a record set, given the entries of its offset index."""
    reader = Reader(source, 0, end)
    if size < 1:
        raise InputError(f"parts of {size} bytes: a part has at least one")
    parts = []
    start = 0
    while reader.stop - start > size:
        cut = _cut(reader, index, start + size)
        if cut is None:
            break
        parts.append((start, cut))
        start = cut
    return [*parts, (start, reader.stop)] if start < reader.stop else parts


def _cut(reader: Reader, index: Sequence[OffsetEntry], target: int) -> int | None:
    """Return the position of the first indexed batch from `target` on whose offset matches its index entry, or None.

    A batch of more than SPLIT_SIZE bytes is not read.
    """
    first = bisect_left(index, target, key=lambda entry: entry.position)
    for entry in index[first : first + _MAX_TRIES]:
        if not target <= entry.position < reader.stop:
            continue
        reader.source.view(entry.position, min(entry.position + _LOOK, reader.stop))
        frame = reader.frame(entry.position)
        if frame is None or frame.end > min(entry.position + SPLIT_SIZE, reader.stop):
            continue
        reader.source.view(entry.position, frame.end)
        if reader.right(frame, entry.position):
            head = Batch(reader.source, frame.start, frame.end - frame.start, frame.layout, True).head  # noqa: FBT003 - as everywhere
            if head.base_offset <= entry.offset <= head.last_offset:
                return entry.position
    return None
