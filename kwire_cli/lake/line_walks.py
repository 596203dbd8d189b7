"""The bytes of frames as rows of `costs`: by api, kind, version and field.

The compiled engine counts the fields of many frames of one layout at once. Everything else is counted frame by frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kwire_cli.engine import numba_loops
from kwire_cli.engine.arrow import batch_of, counts_of, numbers as arrow_numbers, sum_walk
from kwire_cli.engine.compiled import compiled, jobs_of, sum_many
from kwire_cli.engine.lower import records_entry
from kwire_cli.facts.columnar.arrays import ARROW_OF_DUCKDB
from kwire_cli.facts.costs.batch_sizes import BatchSizes
from kwire_cli.facts.costs.columns import COSTS
from kwire_cli.facts.costs.counting import Costs
from kwire_cli.facts.costs.ledger import Ledger, in_batch, in_body
from kwire_cli.facts.costs.record_sets import RecordSets
from kwire_cli.records.layouts import LAYOUTS, MAGIC_AT, OVERHEAD, SIZE_AT
from kwire_cli.structs.records import v2

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from kwire_cli.engine.program import Leaf, Program
    from kwire_cli.message.known_layout import Layout, Tail
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
_OWNERS = ("api", "kind", "api_version")


class Spent:
    """The bytes of the frames of a capture point by api, kind, version and path. Memory grows with these."""

    def __init__(self, catalog: Catalog, point: str | None = None) -> None:
        self.catalog = catalog
        self.point = point
        self._costs = Costs(catalog, _OWNERS)

    def lines(self, lines: Iterable[Captured]) -> None:
        """Add lines one by one."""
        for line in lines:
            self._costs.add(line)

    def headers(self, layout: Layout, tail: Tail, times: int) -> None:
        """Add the sizes and headers of frames of a layout whose headers end with the same bytes."""
        self._costs.add_headers(_owner(layout), layout, tail, times)

    def fields(self, layout: Layout, program: Program, sums: Ints) -> None:
        """Add the sums of the fields of bodies, by leaf."""
        self._costs.wire.add_counts(_owner(layout), f"{layout.message}.", in_body, counts_of(program, sums))

    def records(self, layout: Layout, leaf: Leaf, data: Octets, start: Ints, stop: Ints) -> None:
        """Add the batches and records of the record sets [start, stop) in a field."""
        add_sets(self._costs.wire, _owner(layout), f"{layout.message}.{leaf.path}[].", data, start, stop)

    def batch(self) -> pa.RecordBatch:
        """Return all rows."""
        rows = self._costs.ledger.rows(by_kinds=False)
        return batch_of(
            [(self.point, *row.owner, row.path, row.prefix_bytes, row.value_bytes, row.count) for row in rows], LEDGER
        )


def _owner(layout: Layout) -> tuple[str, str, int]:
    return layout.api, layout.kind, layout.version


def spend(frames: Frames, which: Ints, spent: Sequence[Spent]) -> None:
    """Add frames of one layout to `spent`: each to the one with the number in `which`."""
    layout = frames.layout
    walk = frames.walk
    heads, times = np.unique(which * len(frames.tails) + frames.tail, return_counts=True)
    for head, count in zip(heads.tolist(), times.tolist(), strict=True):
        number, tail = divmod(head, len(frames.tails))
        spent[number].headers(layout, frames.tails[tail], count)
    sums = sum_walk(walk, which, len(spent))
    some = np.unique(which).tolist()
    for leaf in walk.program.leaves:
        if leaf.kind == "records":  # its bytes count as batches and records instead
            sums[:, leaf.id, 1] = 0
            spans = np.flatnonzero(walk.node == leaf.id)
            of_spans = which[np.searchsorted(walk.first, spans, side="right") - 1]
            for number in some if len(spans) else ():
                own = spans[of_spans == number]
                spent[number].records(layout, leaf, walk.data, walk.value[own], walk.end[own])
    for number in some:
        spent[number].fields(layout, walk.program, sums[number])
