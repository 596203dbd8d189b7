"""Segments split into parts where batches begin."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kwire_cli.engine import numba_loops
from kwire_cli.engine.compiled import compiled, octets
from kwire_cli.errors import InputError
from kwire_cli.records.batch import Batch
from kwire_cli.records.layouts import MAGIC_AT, OVERHEAD, SIZE_AT
from kwire_cli.records.reading import Reader, source_of
from kwire_cli.source.logs.indexes import OffsetEntry, offset_index
from kwire_cli.source.logs.model import Kind, file_name
from kwire_cli.stores import opened, path_of
from kwire_cli.stores.opening import Mapped

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from kwire_cli.records.batch import Source
    from kwire_cli.records.reading import Frame
    from kwire_cli.stores import Place
    from kwire_cli.stores.opening import Fetched


# Parts of a segment that can be read on their own: cut where a batch begins, so that the parts have the
# batches, records and gaps of the whole.
#
# A place to cut is taken from the segment's `.index` where that is there and right, else found by hopping
# over the headers of batches. Either way the checksum of the batch that begins there has to be right, by hops
# that of the one before it too: so reading from the start gets there. A segment on a store is cut by its
# index alone: to hop through it would be to fetch it.

SPLIT_SIZE = 128 << 20
"""Bytes of a part, about: what Spark takes of other files (spark.sql.files.maxPartitionBytes). A task costs as much as
some tens of megabytes."""


_LOOK = 1 << 16
"""Bytes that most batches do not exceed."""
_FARTHEST = 4
"""Entries of an index that are tried for one cut; where so many are wrong, all may be."""


def split_file(path: str | os.PathLike[str], size: int = SPLIT_SIZE, end: int | None = None) -> list[tuple[int, int]]:
    """The parts [start, stop) of a segment, of about `size` bytes and about the same each; one part for a small file,
    none for an empty one.

    With an `end` they are those of so many bytes: whatever a broker has written since, they stay the same.

    Raises:
        InputError: The segment cannot be read.

    """
    file, whole = path_of(path), opened(path)
    end = whole.size if end is None else min(end, whole.size)
    if 0 < size < end:
        size = -(-end // round(end / size))
    index = _index_of(file) if end > size else ()
    index = index[: bisect_left(index, end, key=lambda entry: entry.position)]
    return (
        splits(source_of(whole.view()), size, index, end)
        if isinstance(whole, Mapped)
        else _cut(_Fetching(whole, size, end), size, index)
    )


def _index_of(file: Place) -> Sequence[OffsetEntry]:
    """The entries of the index beside a segment; none where there is no such file."""
    name = file_name(file.name)
    index = file.with_suffix(f".{Kind.INDEX}")
    if name.kind is not Kind.LOG or name.suffix or not index.is_file():
        return ()
    try:
        return offset_index(index.read_bytes(), name.base_offset).entries
    except (InputError, OSError):
        return ()


def splits(
    source: Source, size: int, index: Sequence[OffsetEntry] = (), end: int | None = None
) -> list[tuple[int, int]]:
    """The same of a record set and the entries of its offset index."""
    return _cut(Reader(source, 0, end), size, index)


class _Fetching(Reader):
    """A reader for a few places of a file of a store: what is looked at there is fetched, but no batch of more than
    `most` bytes.
    """

    def __init__(self, file: Fetched, most: int, end: int) -> None:
        super().__init__(source_of(b""), 0, end)
        self._file, self._most = file, most

    def frame(self, at: int) -> Frame | None:
        self._fetch(at, at + min(_LOOK, self._most))
        frame = super().frame(at)
        if frame is None or not at < frame.end <= min(at + self._most, self.stop):
            return None
        self._fetch(at, frame.end)
        return frame

    def _fetch(self, at: int, end: int) -> None:
        self.view = self._file.view(at, end)
        self.source = replace(self.source, data=self.view)


def _cut(reader: Reader, size: int, index: Sequence[OffsetEntry]) -> list[tuple[int, int]]:
    if size < 1:
        raise InputError(f"parts of {size} bytes: a part has at least one")
    parts = []
    start = 0
    while reader.stop - start > size:
        cut = _indexed(reader, index, start + size)
        if cut is None and not isinstance(reader, _Fetching):
            cut = _hopped(reader, start, start + size)
        if cut is None:
            break
        parts.append((start, cut))
        start = cut
        reader.let_go(cut)
    return [*parts, (start, reader.stop)] if start < reader.stop else parts


def _indexed(reader: Reader, index: Sequence[OffsetEntry], target: int) -> int | None:
    """Return where the first batch from `target` on begins that the index lists with a valid offset, or None."""
    first = bisect_left(index, target, key=lambda entry: entry.position)
    for entry in index[first : first + _FARTHEST]:
        if entry.position >= target and reader.right_at(entry.position):
            frame = reader.frame(entry.position)
            assert frame is not None  # noqa: S101 - for the type checker: it was right
            head = Batch(reader.source, frame.start, frame.end - frame.start, frame.layout, True).head  # noqa: FBT003 - as everywhere
            if head.base_offset <= entry.offset <= head.last_offset:
                return entry.position
    return None


def _hopped(reader: Reader, start: int, target: int) -> int | None:
    """Return the position of the first batch at or after `target` that hops from the batch at `start` reach.

    Return None if the hops reach no batch there.
    """
    least = np.zeros(max(reader.layouts, default=0) + 1, np.int64)
    for magic, layout in reader.layouts.items():
        least[magic] = layout.least
    data, at, stop = octets(reader.view), start, reader.stop
    while True:
        at, before = compiled(numba_loops.hop)(data, at, stop, target, SIZE_AT, MAGIC_AT, OVERHEAD, least)
        if at >= stop:
            return None
        if at >= target:
            if reader.right_at(before) and reader.right_at(at):
                return int(at)
            target = at + 1
            continue
        position = reader.find(at + 1, stop)  # as the reader does
        if position is None or position >= target:
            return position
        at = position
