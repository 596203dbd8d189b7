"""The bytes of many record sets by field: batches of format v2 by the compiled engine, everything else set by set.

What is counted is what `record_sets.RecordSets` counts on the wire, as a test holds: batches begin where sizes and checksums say so, and what is in
them are spans, there as here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kwire_cli.cost.overhead.batch_sizes import BatchSizes
from kwire_cli.cost.overhead.record_sets import RecordSets
from kwire_cli.engine import gathers
from kwire_cli.engine.compiled import compiled, jobs_of, sum_many
from kwire_cli.engine.field_rows import by_path
from kwire_cli.engine.leaf_columns import numbers
from kwire_cli.engine.lower_records import records_entry
from kwire_cli.records.layouts import LAYOUTS, MAGIC_AT, OVERHEAD, SIZE_AT
from kwire_cli.structs.records import v2

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Octets = npt.NDArray[np.uint8]

_V2 = LAYOUTS["v2"]
_CRC = next(field.subcon for field in v2.BATCH.subcons if field.name == "crc")


def sums_of_sets(data: Octets, start: Ints, stop: Ints) -> Iterator[tuple[str, int, int, int]]:
    """The bytes of the record sets [start, stop): path, bytes of prefixes, bytes of values, occurrences. A path may come twice."""
    begin, end, plain = _batches(data, start, stop)
    if len(begin):
        entry = records_entry(v2.BATCH)
        for path, row in by_path(entry.program, sum_many(entry.program, data, jobs_of(entry, begin, end))).items():
            prefix, value, count = row.tolist()
            yield path, prefix, value, count
    others = ~plain & (start < stop)
    if others.any():
        exact = RecordSets(BatchSizes())
        for at, until in zip(start[others].tolist(), stop[others].tolist(), strict=True):
            exact.add(data[at:until].tobytes(), 0, until - at)
        for part in exact.parts():
            yield part.path, part.prefix_bytes, part.value_bytes, part.count


def _batches(data: Octets, start: Ints, stop: Ints) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    """Where the batches begin and end of those sets that hold only batches of format v2 with the right checksum, and which sets these are."""
    room = int(((stop - start) // (OVERHEAD + _V2.least)).sum())
    begin, end, which = np.empty((3, room), np.int64)
    places = SIZE_AT, MAGIC_AT, OVERHEAD, _V2.least, _V2.magic
    count = compiled(gathers.hop_sets)(data, start, stop, *places, begin, end, which)
    begin, end, which = begin[:count], end[:count], which[:count]
    said = numbers(_CRC, data, begin + _V2.crc_at)
    view, checksum, first = data.data, _V2.checksum, _V2.crc_from
    found = [checksum(view[at + first : until]) for at, until in zip(begin.tolist(), end.tolist(), strict=True)]
    wrong = np.zeros(len(start), np.bool_)
    wrong[which[said != np.array(found, np.int64)]] = True
    plain = np.zeros(len(start), np.bool_)
    plain[which] = True
    plain &= ~wrong
    kept = plain[which]
    return begin[kept], end[kept], plain
