"""The bytes of frames as rows of `costs`: by api, kind, version and field.

The compiled engine counts the fields of many frames of one layout at once. Everything else is counted frame by frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kwire_cli.engine import numba_loops
from kwire_cli.engine.arrow import batch_of, counts_of, numbers as arrow_numbers, sum_walk
from kwire_cli.engine.compiled import Walk, compiled, jobs_of, sum_many
from kwire_cli.engine.lower import entry_for, records_entry
from kwire_cli.engine.spans import walk
from kwire_cli.facts.columnar.arrays import ARROW_OF_DUCKDB
from kwire_cli.facts.costs.batch_sizes import BatchSizes
from kwire_cli.facts.costs.columns import COSTS
from kwire_cli.facts.costs.counting import HEADERS, Costs
from kwire_cli.facts.costs.ledger import (
    Ledger,
    in_batch,
    in_body,
    in_header,
    in_size,
)
from kwire_cli.facts.costs.record_sets import RecordSets
from kwire_cli.message.encode import header_spec
from kwire_cli.message.frames import SIZE_BYTES
from kwire_cli.records.layouts import LAYOUTS, MAGIC_AT, OVERHEAD, SIZE_AT
from kwire_cli.structs.messages import SIZE_PREFIX
from kwire_cli.structs.records import v2

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from kwire_cli.engine.spans import Spans
    from kwire_cli.message.known_layout import Layout
    from kwire_cli.source.kafka.bulk_frames import Frames
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog

    Ints = npt.NDArray[np.int64]
    Octets = npt.NDArray[np.uint8]


# The bytes of many record sets by field: batches of format v2 by the compiled engine, all other sets one by one.
#
# The results are equal to the results of `record_sets.RecordSets` for bytes on the wire; a test compares them. Both
# find batches by sizes and checksums, and count the spans within them.

_V2 = LAYOUTS["v2"]


_CRC = next(field.subcon for field in v2.BATCH.subcons if field.name == "crc")


def add_sets(ledger: Ledger, owner: Any, prefix: str, data: Octets, start: Ints, stop: Ints) -> None:
    """Count the bytes of the record sets [start, stop). `prefix` is prepended to the paths."""
    begin, end, plain = _batches(data, start, stop)
    if len(begin):
        program = records_entry(v2.BATCH).program
        sums = sum_many(program, data, jobs_of(records_entry(v2.BATCH), begin, end))
        ledger.add_counts(owner, prefix, in_batch, counts_of(program, sums))
    irregular = ~plain & (start < stop)
    if irregular.any():
        exact = RecordSets(ledger, Ledger(), BatchSizes(), owner=owner, prefix=prefix)
        for at, until in zip(start[irregular].tolist(), stop[irregular].tolist(), strict=True):
            exact.add(data[at:until].tobytes(), 0, until - at)


def _batches(data: Octets, start: Ints, stop: Ints) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    """Return the start and end of each batch in the sets with only intact batches, and which sets these are.

    These sets hold only batches of format v2 with a valid checksum.
    """
    room = int(((stop - start) // (OVERHEAD + _V2.least)).sum())
    begin, end, which = np.empty((3, room), np.int64)
    places = SIZE_AT, MAGIC_AT, OVERHEAD, _V2.least, _V2.magic
    count = compiled(numba_loops.hop_sets)(data, start, stop, *places, begin, end, which)
    begin, end, which = begin[:count], end[:count], which[:count]
    expected = arrow_numbers(_CRC, data, begin + _V2.crc_at)
    view = data.data
    checksum = _V2.checksum
    first = _V2.crc_from
    checksums = [checksum(view[at + first : until]) for at, until in zip(begin.tolist(), end.tolist(), strict=True)]
    wrong = np.zeros(len(start), np.bool_)
    wrong[which[expected != np.array(checksums, np.int64)]] = True
    plain = np.zeros(len(start), np.bool_)
    plain[which] = True
    plain &= ~wrong
    kept = plain[which]
    return begin[kept], end[kept], plain


# The cost of the fields of frames. The compiled engine walks many frames at once.
#
# Paths are the same as in `kwire overhead --by field`, with records expanded.

LEDGER = pa.schema([pa.field(column.name, ARROW_OF_DUCKDB[column.type]) for column in COSTS if column.in_lakes])
"""The columns of `costs` that lakes have."""
AT_ONCE = 4 << 20
"""Approximate bytes of lines that are counted at once."""
MOST_LINES = 1 << 15
_MOST_FRONTS = 4096
"""Maximum number of frame fronts whose spans are cached."""
_OWNERS = ("api", "kind", "api_version")


class Spent:
    """The bytes of the frames of a capture point by api, kind, version and path. Memory grows with these."""

    def __init__(self, catalog: Catalog, point: str | None = None) -> None:
        self.catalog = catalog
        self.point = point
        self._costs = Costs(catalog, _OWNERS)
        self._fronts: dict[tuple[Layout, bytes], tuple[Spans, Spans]] = {}

    def lines(self, lines: Iterable[Captured]) -> None:
        """Add lines one by one."""
        for line in lines:
            self._costs.add(line)

    def frames(self, frames: Frames) -> None:
        """Add frames of one layout. The bytes before their bodies cost the same in all of them."""
        layout = frames.layout
        self._front(layout, frames.front[layout.tail_at :], frames.front, len(frames.walk.jobs))
        self._walked((layout.api, layout.kind, layout.version), f"{layout.message}.", frames.walk)

    def _front(self, layout: Layout, tail: bytes, front: bytes, times: int) -> None:
        """Add the sizes and headers of `times` frames whose headers end with the same bytes as `front`."""
        spans = self._fronts.get((layout, tail))
        if spans is None:
            header = entry_for(header_spec(self.catalog, layout.kind), layout.header_version)
            spans = (
                walk(entry_for(SIZE_PREFIX, 0), front, 0, SIZE_BYTES),
                walk(header, front, SIZE_BYTES, len(front)),
            )
            if len(self._fronts) < _MOST_FRONTS:
                self._fronts[layout, tail] = spans
        owner = (layout.api, layout.kind, layout.version)
        self._costs.ledger.add_spans(owner, "", in_size, spans[0], times)
        self._costs.ledger.add_spans(owner, HEADERS[layout.kind], in_header, spans[1], times)

    def batch(self) -> pa.RecordBatch:
        """Return all rows."""
        rows = self._costs.ledger.rows(by_kinds=False)
        return batch_of(
            [(self.point, *row.owner, row.path, row.prefix_bytes, row.value_bytes, row.count) for row in rows], LEDGER
        )

    def _walked(self, owner: tuple[str | None, str, int | None], prefix: str, walked: Walk) -> None:
        """Add the fields of walked frames. The bytes of a records field count as batches and records instead."""
        leaves = walked.program.leaves
        sums = sum_walk(walked)
        for number in np.flatnonzero(sums[:, 2]).tolist():
            if leaves[number].kind == "records":
                spans = np.flatnonzero(walked.node == number)
                sums[number, 1] = 0
                path = f"{prefix}{leaves[number].path}[]."
                add_sets(self._costs.ledger, owner, path, walked.data, walked.value[spans], walked.end[spans])
        self._costs.ledger.add_counts(owner, prefix, in_body, counts_of(walked.program, sums))
