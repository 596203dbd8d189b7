"""The table `packets`: the TCP segments of captures, with or without their payloads."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.errors import InputError
from kwire_cli.pipeline.model import CAPTURES, by_kind
from kwire_cli.pipeline.pushdown import bounds, microseconds, wanted
from kwire_cli.source.files import Naming
from kwire_cli.source.packets.descriptors import outlined
from kwire_cli.source.packets.model import NO_TIME, endpoints
from kwire_cli.source.packets.parts import Part, PartReader
from kwire_cli.source.packets.points import Timed, points_of
from kwire_cli.source.packets.segment_columns import payloads, segment_columns
from kwire_cli.source.packets.segments import Segments
from kwire_cli.stores import is_url, location
from kwire_cli.structs.network import WIRE_FLAGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    from pyspark.sql.datasource import Filter

    from kwire_cli.pipeline.model import Reading
    from kwire_cli.source.packets.parts import Outline
    from kwire_cli.source.packets.segment_columns import SegmentColumns

PACKETS = pa.schema(
    [
        pa.field("capture_point", pa.string()),
        pa.field("file", pa.string()),
        pa.field("packet", pa.int64()),
        pa.field("time", pa.timestamp("us", "UTC")),
        pa.field("time_ns", pa.int64()),
        pa.field("src", pa.string()),
        pa.field("dst", pa.string()),
        pa.field("sequence", pa.int64()),
        pa.field("acknowledgment", pa.int64()),
        pa.field("flags", pa.int16()),
        pa.field("position", pa.int64()),
        pa.field("size", pa.int64()),
        pa.field("missing", pa.int64()),
        pa.field("payload", pa.binary()),
    ]
)
"""`position` is where the payload begins in the file; null where it is in no file in one piece: of packed files, and
put together from fragments."""
PAYLOAD = "payload"
"""The bytes of connections, secrets too: a column only for who asks for it by name and has secrets shown."""
_LAST = 253402300800_000_000_000
_CHUNK = 1 << 16


def without_payload(schema: pa.Schema) -> pa.Schema:
    """Return the columns of a table that are there unless more is asked for; those of other tables than `packets` are
    all.
    """
    return pa.schema([column for column in schema if column.name != PAYLOAD]) if schema.equals(PACKETS) else schema


def refuse_payload(schema: pa.Schema, names: Iterable[str], *, show_secrets: bool) -> None:
    """InputError where the payload of packets is asked for and secrets are not shown."""
    if PAYLOAD in names and schema.equals(PACKETS) and not show_secrets:
        raise InputError(
            "the column payload of packets holds everything, secrets included: it needs --show-secrets "
            "(showSecrets in Spark)"
        )


@dataclass(frozen=True)
class PacketTable:
    """As `model.Table`."""

    name: str = "packets"
    schema: pa.Schema = PACKETS
    naming: Naming = field(default_factory=Naming)

    def parts(self, paths: Sequence[str], filters: Sequence[Filter], split_size: int) -> Iterator[Wanted]:
        """The parts of all captures that have packets of the times that are wanted; a file that cannot be read is one
        part.
        """
        since, until = _times_behind(filters)
        of_files = wanted(self.name, filters)
        outlines = [
            ("", path) if is_url(path) else outlined(path, split_size)[::-1] for path in by_kind(paths, CAPTURES)[0]
        ]
        points = self._points(outlines)
        for outline, path in outlines:
            if not of_files.has({"file": location(path)}):
                continue
            for part in (Part(path),) if isinstance(outline, str) else outline.parts:
                if part.times is None or (part.times[0] <= until and part.times[1] >= since):
                    yield Wanted(part, since, until, points[path])

    def _points(self, outlines: Sequence[tuple[Outline | str, str]]) -> dict[str, str]:
        """The names of the capture points of files. Those of a store are not cut, so they are looked through if several
        are of a point.
        """
        times = {
            path: Timed(path, NO_TIME, NO_TIME) if isinstance(entry, str) else Timed(path, entry.first, entry.latest)
            for entry, path in outlines
        }
        local = {path: entry for path, entry in times.items() if not is_url(path)}
        return {path: point.name for point in points_of([*times], self.naming, local) for path in point.files}

    def read(self, part: Wanted, names: Sequence[str], reading: Reading) -> Iterator[pa.RecordBatch]:
        """The segments of a part."""
        file, told = part.part.file, reading.told
        reader = PartReader(part.part, _CHUNK)
        exact = Segments()
        try:
            for data, packets in reader.chunks():
                columns = part.of(segment_columns(data, packets, exact))
                if len(columns.rows):
                    yield _shown(part, data, columns, names, packed=reader.packed)
        except InputError as error:
            told.fault(file, error.reason)
        told.size += reader.size
        for notice in reader.notices:
            told.fault(file, notice.text)


@dataclass(frozen=True)
class Wanted:
    """A part, and of which times its packets are wanted, in nanoseconds."""

    part: Part
    since: int
    until: int
    point: str = ""

    def of(self, found: SegmentColumns) -> SegmentColumns:
        """The segments of these times."""
        times = found.rows["time"]
        there = (times >= self.since) & (times <= self.until)
        return found if there.all() else replace(found, rows=found.rows[there], group=found.group[there])


def _times_behind(filters: Sequence[Filter]) -> tuple[int, int]:
    """The first and the last time that all filters let through, in nanoseconds."""
    since, until = NO_TIME, sys.maxsize
    for predicate in filters:
        name = getattr(predicate, "attribute", None)
        if name == ("time",):
            low, high = bounds(predicate, lambda value: microseconds(value) if isinstance(value, datetime) else None)
            since = since if low is None else max(since, low * 1000)
            until = until if high is None else min(until, high * 1000 + 999)
        elif name == ("time_ns",):
            low, high = bounds(predicate, lambda value: value if isinstance(value, int) else None)
            since = since if low is None else max(since, low)
            until = until if high is None else min(until, high)
    return since, until


def _shown(
    part: Wanted, data: npt.NDArray[np.uint8], found: SegmentColumns, names: Sequence[str], *, packed: bool
) -> pa.RecordBatch:
    rows = found.rows
    columns = []
    for name in names:
        kind = PACKETS.field(name).type
        if name in {"capture_point", "file"}:
            column = pa.repeat(pa.scalar(location(part.part.file) if name == "file" else part.point), len(rows))
        elif name in {"time", "time_ns"}:
            column = _times(rows["time"], kind)
        elif name in {"src", "dst"}:
            column = _ends(found, name)
        elif name == "position":
            column = pa.array(rows["position"], kind, mask=(rows["position"] < 0) | packed)
        elif name == "payload":
            column = _payloads(data, found)
        elif name == "flags":
            column = pa.array((rows["flags"] & WIRE_FLAGS).astype(kind.to_pandas_dtype()))
        else:
            column = pa.array(rows[name].astype(kind.to_pandas_dtype()))
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema([PACKETS.field(name) for name in names]))


def _times(time: Any, kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return pa.array(time // 1000, pa.int64(), mask=(time < 0) | (time >= _LAST)).cast(kind)
    return pa.array(time, pa.int64(), mask=time == NO_TIME)


def _ends(found: SegmentColumns, name: str) -> pa.Array:
    """The senders or receivers of the segments."""
    texts = [str(end) for key in found.keys for end in endpoints(key)[:: 1 if name == "src" else -1]]
    return pc.take(pa.array(texts, pa.string()), pa.array(found.group * 2 + found.rows["direction"]))


def _payloads(data: npt.NDArray[np.uint8], found: SegmentColumns) -> pa.Array:
    out, offsets = payloads(data, found.rows, found.kept)
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(found.rows), [None, pa.py_buffer(offsets), pa.py_buffer(out)]
    ).cast(pa.binary())


PACKET_TABLE = PacketTable()
