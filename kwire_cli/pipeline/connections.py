"""Connections of captures in Spark tasks: descriptors of segments are shuffled by connection, and the task that owns one reads its bytes.

A connection that spans files is whole, and no task holds more of one than what overlaps in time: its segments come sorted, some at a time.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from kwire_cli.engine.row_batches import batch_of
from kwire_cli.message.plain import Layouts
from kwire_cli.source.capture.descriptors import Described, described, runs
from kwire_cli.source.capture.parts import PartReader
from kwire_cli.source.capture.replay import Replay
from kwire_cli.source.capture.segment_columns import DESCRIPTOR
from kwire_cli.source.kafka.names import Names
from kwire_cli.source.kafka.quick_frames import Frames, frames_between
from kwire_cli.source.kafka.traffic import names_in, traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kwire_cli.source.capture.schedule import Schedule
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog

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
    ]
)
"""What is shuffled: `Described`, its `count` rows packed."""
KEY = ("point", "ends")
"""What tells a connection from others: two capture points share none."""
ORDER = (*KEY, "moment", "chain", "packet")
MOST_BYTES = 16 << 20
"""Bytes of a batch of descriptors."""
_CODEC = pa.Codec("zstd", 1)
_COLUMNS: list[tuple[str, Any, int]] = [(name, *each[:2]) for name, each in (DESCRIPTOR.fields or {}).items()]
"""Of DESCRIPTOR: the name of each, its type, and where it begins in a row."""
NAMES = pa.schema(
    [
        pa.field("point", pa.int32()),
        pa.field("packet", pa.int64()),
        pa.field("table", pa.string()),
        pa.field("key", pa.string()),
        pa.field("value", pa.string()),
    ]
)


class Found(NamedTuple):
    """A line, and the first packet of its connection."""

    captured: Captured
    stream: int


def describe(parts: Iterable[int], plan: Schedule, tell: Callable[[int, PartReader], None], *, payloads: bool) -> Iterator[pa.RecordBatch]:
    """The descriptors in these parts of the plan; of each part that was read `tell` is told."""
    rows: list[Described] = []
    size = 0
    for number in parts:
        reader = PartReader(plan.parts[number].part)
        for each in described(plan.parts[number], reader, payloads=payloads):
            rows.append(each)
            size += len(each.rows) + len(each.kept or b"")
            if size > MOST_BYTES:
                yield _batch(rows)
                rows, size = [], 0
        tell(number, reader)
    if rows:
        yield _batch(rows)


def _batch(found: list[Described]) -> pa.RecordBatch:
    size = DESCRIPTOR.itemsize
    rows = [(one.point, one.ends, one.chain, one.file, one.moment, one.packet, len(one.rows) // size, packed(one.rows), one.kept) for one in found]
    return batch_of(rows, DESCRIBED)


def owned(batches: Iterable[pa.RecordBatch], plan: Schedule) -> Iterator[tuple[int, Replay]]:
    """The connections in sorted descriptors, by capture point and ends: each has to be read to its end before the next."""
    rows = (row for batch in batches for row in zip(*(batch.column(name).to_pylist() for name in DESCRIBED.names), strict=True))
    found = (Described(*front, unpacked(count, own), kept) for *front, count, own, kept in rows)  # type: ignore[call-arg] # as DESCRIBED has them
    for (point, ends), some in groupby(found, key=lambda each: (each.point, each.ends)):
        origin = plan.origin(point)
        yield point, Replay(ends, runs(some, plan.files, origin), plan.points[point].last, secrets=plan.secrets, origin=origin)


def packed(rows: bytes) -> bytes:
    """DESCRIPTOR rows in a twentieth of their bytes: by column what changes from row to row, the first byte of all, then the second, compressed."""
    table = np.frombuffer(rows, DESCRIPTOR)
    planes = np.empty((DESCRIPTOR.itemsize, len(table)), np.uint8)
    for name, kind, at in _COLUMNS:
        changes = np.diff(table[name], prepend=kind.type(0))
        planes[at : at + kind.itemsize] = changes.view(np.uint8).reshape(-1, kind.itemsize).T
    return bytes(_CODEC.compress(planes, asbytes=True))


def unpacked(count: int, data: bytes) -> bytes:
    """So many DESCRIPTOR rows that were packed."""
    planes = np.frombuffer(_CODEC.decompress(data, count * DESCRIPTOR.itemsize), np.uint8).reshape(DESCRIPTOR.itemsize, count)
    table = np.empty(count, DESCRIPTOR)
    for name, kind, at in _COLUMNS:
        changes = np.ascontiguousarray(planes[at : at + kind.itemsize].T).view(kind)[:, 0]
        table[name] = np.cumsum(changes, dtype=kind)
    return table.tobytes()


@lru_cache(maxsize=2)
def layouts(catalog: Catalog) -> Layouts:
    """Those of this process: connections say the same things."""
    return Layouts(catalog)


def lines(batches: Iterable[pa.RecordBatch], plan: Schedule, catalog: Catalog, names: Mapping[int, Names], port: int | None) -> Iterator[Found]:
    """The lines of the connections in sorted descriptors. `names` are what was learnt of all connections of each capture point beforehand."""
    for point, replay in owned(batches, plan):
        known = names.get(point) or Names()
        own = Names({**known.topics}, {**known.brokers}, {**known.sessions})
        for line in traffic(catalog, replay, port=port, waiting_since=replay.waiting_since, names=own, layouts=layouts(catalog)):
            yield Found(line, replay.starts[line.stream])


def frames(batches: Iterable[pa.RecordBatch], plan: Schedule, catalog: Catalog, port: int | None) -> Iterator[tuple[str, list[Frames | Captured]]]:
    """All frames of the connections in sorted descriptors, with their capture point, for who needs neither their order nor their time."""
    for point, replay in owned(batches, plan):
        name = plan.points[point].name
        for some in frames_between(replay, layouts(catalog), port):
            yield name, some


def names_learnt(batches: Iterable[pa.RecordBatch], plan: Schedule, catalog: Catalog, port: int | None) -> Iterator[pa.RecordBatch]:
    """The names that the connections in sorted descriptors tell, as texts, with the packet at which each connection began."""
    for point, replay in owned(batches, plan):
        known = names_in(catalog, replay, port=port, layouts=layouts(catalog), sessions=True)
        first = min(replay.starts.values(), default=0)
        rows: list[tuple[Any, ...]] = [(point, first, "topics", key, value) for key, value in known.topics.items()]
        rows += [(point, first, "brokers", key, str(value)) for key, value in known.brokers.items()]
        rows += [
            (point, first, "sessions", f"{session} {broker}", "\0".join(topics)) for (broker, session), topics in known.sessions.items() if topics
        ]
        if rows:
            yield batch_of(rows, NAMES)


def names_of(rows: Iterable[tuple[int, int, str, str, str]]) -> dict[int, Names]:
    """The names in these rows by capture point: those of the connection that began first stand."""
    found: dict[int, Names] = {}
    for point, _, table, key, value in sorted(rows):
        names = found.setdefault(point, Names())
        if table == "topics":
            names.topics.setdefault(key, value)
        elif table == "brokers":
            names.brokers.setdefault(key, int(value))
        else:
            session, _, broker = key.partition(" ")
            names.sessions.setdefault((broker, int(session)), value.split("\0"))
    return found
