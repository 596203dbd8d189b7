"""The table `packets`: the TCP segments of captures, with or without their payloads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.errors import InputError
from kwire_cli.source.capture.model import endpoints
from kwire_cli.source.capture.named import captures_of
from kwire_cli.source.capture.packet_columns import NO_TIME
from kwire_cli.source.capture.parts import Part, PartReader
from kwire_cli.source.capture.schedule import outlined
from kwire_cli.source.capture.segment_columns import payloads, segment_columns
from kwire_cli.source.capture.segments import Segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    from pyspark.sql.datasource import Filter

    from kwire_cli.pipeline.model import Reading
    from kwire_cli.source.capture.segment_columns import SegmentColumns

PACKETS = pa.schema(
    [
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
"""`position` is where the payload begins in the file; null where it is in no file in one piece: of packed files, and put together from fragments."""
_LAST = 253402300800_000_000_000
_CHUNK = 1 << 16


@dataclass(frozen=True)
class PacketTable:
    """As `model.Table`."""

    name: str = "packets"
    schema: pa.Schema = PACKETS

    def parts(self, paths: Sequence[str], filters: Sequence[Filter], split_size: int) -> Iterator[Part]:  # noqa: ARG002 - as others have it
        """The parts of all captures; a file that can't be read is one part."""
        for path in captures_of(paths):
            _, found = outlined(path, split_size)
            yield from (Part(path),) if isinstance(found, str) else found.parts

    def read(self, part: Part, names: Sequence[str], reading: Reading) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - as above
        """The segments of a part."""
        reader = PartReader(part, _CHUNK)
        exact = Segments()
        try:
            for data, packets in reader.chunks():
                found = segment_columns(data, packets, exact)
                if len(found.rows):
                    yield _shown(part.file, data, found, names, packed=reader.packed)
        except InputError:
            return


def _shown(file: str, data: npt.NDArray[np.uint8], found: SegmentColumns, names: Sequence[str], *, packed: bool) -> pa.RecordBatch:
    rows = found.rows
    made = []
    for name in names:
        field = PACKETS.field(name)
        if name == "file":
            column = pa.repeat(pa.scalar(file), len(rows))
        elif name in {"time", "time_ns"}:
            column = _times(rows["time"], field.type)
        elif name in {"src", "dst"}:
            column = _ends(found, name)
        elif name == "position":
            column = pa.array(rows["position"], field.type, mask=(rows["position"] < 0) | packed)
        elif name == "payload":
            column = _payloads(data, found)
        else:
            column = pa.array(rows[name].astype(field.type.to_pandas_dtype()))
        made.append(column)
    return pa.RecordBatch.from_arrays(made, schema=pa.schema([PACKETS.field(name) for name in names]))


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
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(found.rows), [None, pa.py_buffer(offsets), pa.py_buffer(out)]).cast(pa.binary())


PACKET_TABLE = PacketTable()
