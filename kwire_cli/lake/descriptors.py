"""Descriptors of segments as rows, which tasks that read files send to tasks that own connections.

The owner of a connection receives the descriptors of all its segments, from all files, and reads the bytes from the
files. Descriptors come sorted, in batches, so a task only holds the part of a connection that overlaps in time.
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
        pa.field("order", pa.int32()),
        pa.field("file", pa.int32()),
        pa.field("packet", pa.int64()),
        pa.field("count", pa.int64()),
        pa.field("rows", pa.binary()),
        pa.field("kept", pa.binary()),
        pa.field("owner", pa.int64()),
    ]
)
"""`Described` with its `count` rows compressed. Rows of one `owner` go to one task."""


KEY = ("point", "ends")
"""The columns that identify a connection. Two capture points have no connection in common."""
ORDER = (*KEY, "order", "packet")
MOST_BYTES = 16 << 20
"""Bytes of a batch of descriptors."""
OWNED_BYTES = 32 << 20
"""Approximate bytes of captures for each task that owns connections. Connections differ in size; small shares keep all
cores busy until the end."""
_CODEC = pa.Codec("zstd", 1)
_COLUMNS: list[tuple[str, Any, int]] = [(name, *each[:2]) for name, each in (DESCRIPTOR.fields or {}).items()]
"""The columns of DESCRIPTOR: the name of each, its type, and its offset in a row."""


def describe_connection(
    parts: Iterable[tuple[int, Scheduled]], tell: Callable[[int, PartReader], None], *, payloads: bool = False
) -> Iterator[Described]:
    """Yield the descriptors in numbered parts. Call `tell` with the number and the reader of each finished part.

    With `payloads`, descriptors include all payloads, so that files are not read again.
    """
    for number, scheduled in parts:
        reader = PartReader(scheduled.part)
        yield from described(scheduled, reader, payloads=payloads)
        tell(number, reader)


def batches_with(found: Iterable[Described], whole: Collection[int]) -> Iterator[pa.RecordBatch]:
    """Yield descriptors as rows, in batches of some megabytes. `rows_of` documents `whole`."""
    rows: list[Described] = []
    size = 0
    for descriptor in found:
        rows.append(descriptor)
        size += size_in_memory(descriptor)
        if size > MOST_BYTES:
            yield rows_of(rows, whole)
            rows = []
            size = 0
    if rows:
        yield rows_of(rows, whole)


def size_in_memory(descriptor: Described) -> int:
    """Return the bytes of a descriptor."""
    return len(descriptor.rows) + len(descriptor.kept or b"")


def rows_of(found: Iterable[Described], whole: Collection[int] = ()) -> pa.RecordBatch:
    """Return descriptors as rows; `descriptor` converts them back.

    Each connection has one owner. All connections of a capture point in `whole` have the same owner.
    """
    size = DESCRIPTOR.itemsize
    rows = [
        (
            one.point,
            one.ends,
            one.order,
            one.file,
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
    return Described(*front, unpacked(count, rows), kept)  # type: ignore[call-arg] # the columns of DESCRIBED


def packed(rows: bytes) -> bytes:
    """Compress DESCRIPTOR rows to about a twentieth of their size.

    Each column is stored as differences between rows: the first byte of all differences, then the second, and so on.
    """
    table = np.frombuffer(rows, DESCRIPTOR)
    planes = np.empty((DESCRIPTOR.itemsize, len(table)), np.uint8)
    for name, kind, at in _COLUMNS:
        changes = np.diff(table[name], prepend=kind.type(0))
        planes[at : at + kind.itemsize] = changes.view(np.uint8).reshape(-1, kind.itemsize).T
    return bytes(_CODEC.compress(planes, asbytes=True))


def unpacked(count: int, data: bytes) -> bytes:
    """Return `count` DESCRIPTOR rows that `packed` compressed."""
    planes = np.frombuffer(_CODEC.decompress(data, count * DESCRIPTOR.itemsize), np.uint8).reshape(
        DESCRIPTOR.itemsize, count
    )
    table = np.empty(count, DESCRIPTOR)
    for name, kind, at in _COLUMNS:
        changes = np.ascontiguousarray(planes[at : at + kind.itemsize].T).view(kind)[:, 0]
        table[name] = np.cumsum(changes, dtype=kind)
    return table.tobytes()
