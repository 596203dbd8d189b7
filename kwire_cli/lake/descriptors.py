"""Descriptors of segments as rows: they go from the tasks that read files to the tasks that own connections.

The owner of a connection reads its bytes from the files. A connection that spans files is whole, and no task holds
more of one than what overlaps in time: its segments come sorted, some at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import pyarrow as pa

from kwire_cli.engine.arrow import batch_of
from kwire_cli.source.packets.descriptors import Described, described
from kwire_cli.source.packets.parts import PartReader
from kwire_cli.source.packets.segment_columns import DESCRIPTOR

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from kwire_cli.source.packets.descriptors import Scheduled

DESCRIBED = pa.schema(
    [
        pa.field("point", pa.int32()),
        pa.field("ends", pa.binary()),
        pa.field("chain", pa.int32()),
        pa.field("file", pa.int32()),
        pa.field("moment", pa.int64()),
        pa.field("packet", pa.int64()),
        pa.field("count", pa.int64()),
        pa.field("rows", pa.binary()),
        pa.field("kept", pa.binary()),
        pa.field("owner", pa.int64()),
    ]
)
"""`Described`, its `count` rows packed. Rows of one `owner` go to one task."""


KEY = ("point", "ends")
"""The columns that tell a connection from other connections: two capture points share none."""
ORDER = (*KEY, "moment", "chain", "packet")
MOST_BYTES = 16 << 20
"""Bytes of a batch of descriptors."""
OWNED_BYTES = 32 << 20
"""Bytes of captures for each task that owns connections, about: connections differ in size, small shares leave no core
idle at the end."""
_CODEC = pa.Codec("zstd", 1)
_COLUMNS: list[tuple[str, Any, int]] = [(name, *each[:2]) for name, each in (DESCRIPTOR.fields or {}).items()]
"""The columns of DESCRIPTOR: the name of each, its type, and its offset in a row."""


def describe_connection(
    parts: Iterable[tuple[int, Scheduled]], tell: Callable[[int, PartReader], None]
) -> Iterator[Described]:
    """Yield the descriptors in these parts, which have numbers; of each part that was read `tell` is told."""
    for number, scheduled in parts:
        reader = PartReader(scheduled.part)
        yield from described(scheduled, reader)
        tell(number, reader)


def batches_with(found: Iterable[Described], whole: Collection[int]) -> Iterator[pa.RecordBatch]:
    """Yield descriptors as rows, some megabytes at a time; `whole` is as for `rows_of`."""
    rows: list[Described] = []
    size = 0
    for descriptor in found:
        rows.append(descriptor)
        size += size_in_memory(descriptor)
        if size > MOST_BYTES:
            yield rows_of(rows, whole)
            rows, size = [], 0
    if rows:
        yield rows_of(rows, whole)


def size_in_memory(descriptor: Described) -> int:
    """Return the bytes of a descriptor."""
    return len(descriptor.rows) + len(descriptor.kept or b"")


def rows_of(found: Iterable[Described], whole: Collection[int] = ()) -> pa.RecordBatch:
    """Return descriptors as rows, as `descriptor` reads them.

    Each connection has one owner, and so has each of the capture points that stay `whole`.
    """
    size = DESCRIPTOR.itemsize
    rows = [
        (
            one.point,
            one.ends,
            one.chain,
            one.file,
            one.moment,
            one.packet,
            len(one.rows) // size,
            packed(one.rows),
            one.kept,
            crc32(b"%d" % one.point if one.point in whole else b"%d %b" % (one.point, one.ends)),
        )
        for one in found
    ]
    return batch_of(rows, DESCRIBED)


def rows_in(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    """Yield rows one by one."""
    for batch in batches:
        yield from zip(*(batch.column(name).to_pylist() for name in DESCRIBED.names), strict=True)


def descriptor(row: tuple[Any, ...]) -> Described:
    """Return the descriptor in a row."""
    *front, count, rows, kept, _ = row
    return Described(*front, unpacked(count, rows), kept)  # type: ignore[call-arg] # as DESCRIBED has them


def packed(rows: bytes) -> bytes:
    """DESCRIPTOR rows in a twentieth of their bytes: by column what changes from row to row, the first byte of all,
    then the second, compressed.
    """
    table = np.frombuffer(rows, DESCRIPTOR)
    planes = np.empty((DESCRIPTOR.itemsize, len(table)), np.uint8)
    for name, kind, at in _COLUMNS:
        changes = np.diff(table[name], prepend=kind.type(0))
        planes[at : at + kind.itemsize] = changes.view(np.uint8).reshape(-1, kind.itemsize).T
    return bytes(_CODEC.compress(planes, asbytes=True))


def unpacked(count: int, data: bytes) -> bytes:
    """So many DESCRIPTOR rows that were packed."""
    planes = np.frombuffer(_CODEC.decompress(data, count * DESCRIPTOR.itemsize), np.uint8).reshape(
        DESCRIPTOR.itemsize, count
    )
    table = np.empty(count, DESCRIPTOR)
    for name, kind, at in _COLUMNS:
        changes = np.ascontiguousarray(planes[at : at + kind.itemsize].T).view(kind)[:, 0]
        table[name] = np.cumsum(changes, dtype=kind)
    return table.tobytes()
