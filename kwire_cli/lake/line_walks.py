"""The bytes of frames as rows of `costs`: by api, kind, version and field.

The compiled engine counts the fields of many frames of one layout at once. Everything else is counted frame by frame.
Counts are rows of an array, and are summed by file, day and path when the table is written.
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
from kwire_cli.facts.costs.ledger import GAP_PATH, Ledger, in_batch
from kwire_cli.facts.costs.record_sets import RecordSets
from kwire_cli.records.layouts import LAYOUTS, MAGIC_AT, OVERHEAD, SIZE_AT
from kwire_cli.source.kafka.captured import MOST_NAMES, forget
from kwire_cli.structs.records import v2

if TYPE_CHECKING:
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
_PLACE, _PATH = 0, 1
_SETTLED = 1 << 18
"""Number of counts from which they are summed."""


class Spent:
    """The bytes of frames by place, api, kind, version and path. A place is a number that the caller chooses."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._paths: dict[tuple[Any, ...], int] = {}
        self._nodes: dict[Layout, Ints] = {}
        self._headers: dict[tuple[Layout, bytes], tuple[Ints, Ints]] = {}
        self._lines: dict[int, Costs] = {}
        self._sets: dict[int, Ledger] = {}
        self._counts: list[Ints] = []
        self._size = 0

    def line(self, place: int, line: Captured) -> None:
        """Add a line."""
        if place not in self._lines:
            self._lines[place] = Costs(self._catalog, _OWNERS)
        self._lines[place].add(line)

    def frames(self, frames: Frames, which: Ints, places: Ints) -> None:
        """Add frames of one layout: each to the place at its index in `which`."""
        layout = frames.layout
        walk = frames.walk
        for number, tail in enumerate(frames.tails):
            times = np.bincount(which[frames.tail == number], minlength=len(places))
            paths, sums = self._header(layout, tail)
            self._add(places, paths, times[:, None, None] * sums)
        sums = sum_walk(walk, which, len(places))
        for leaf in walk.program.leaves:
            if leaf.kind == "records":  # its bytes count as batches and records instead
                sums[:, leaf.id, 1] = 0
                self._records(layout, leaf, frames, which, places)
        self._add(places, self._leaves(layout, walk.program), sums)

    def _records(self, layout: Layout, leaf: Leaf, frames: Frames, which: Ints, places: Ints) -> None:
        walk = frames.walk
        spans = np.flatnonzero(walk.node == leaf.id)
        of_spans = which[np.searchsorted(walk.first, spans, side="right") - 1]
        for number in np.unique(of_spans).tolist():
            own = spans[of_spans == number]
            ledger = self._sets.setdefault(int(places[number]), Ledger())
            prefix = f"{layout.message}.{leaf.path}[]."
            add_sets(ledger, _owner(layout), prefix, walk.data, walk.value[own], walk.end[own])

    def _path(self, owner: tuple[Any, ...], path: str) -> int:
        return self._paths.setdefault((*owner, path), len(self._paths))

    def _leaves(self, layout: Layout, program: Program) -> Ints:
        """Return the numbers of the paths of a layout's leaves."""
        if layout not in self._nodes:
            owner = _owner(layout)
            paths = [self._path(owner, f"{layout.message}.{leaf.path or GAP_PATH}") for leaf in program.leaves]
            self._nodes[layout] = np.array(paths, np.int64)
        return self._nodes[layout]

    def _header(self, layout: Layout, tail: Tail) -> tuple[Ints, Ints]:
        """Return the numbers of the paths in a header and in the size before it, with their sums."""
        key = layout, tail.data
        if key not in self._headers:
            costs = Costs(self._catalog, _OWNERS)
            costs.add_headers(_owner(layout), layout, tail)
            self._headers[key] = self._rows(costs.ledger)
            forget(self._headers, MOST_NAMES)
        return self._headers[key]

    def _rows(self, ledger: Ledger) -> tuple[Ints, Ints]:
        """Return the numbers of the paths in a ledger, with their sums."""
        rows = ledger.rows(by_kinds=False)
        paths = np.array([self._path(row.owner, row.path) for row in rows], np.int64)
        sums = np.array([(row.prefix_bytes, row.value_bytes, row.count) for row in rows], np.int64)
        return paths, sums.reshape(-1, 3)

    def _add(self, places: Ints, paths: Ints, sums: Ints) -> None:
        """Add sums by place and path: bytes of prefixes, bytes of values, occurrences."""
        place, path = np.nonzero(sums[:, :, 2])
        self._counts.append(np.column_stack((places[place], paths[path], sums[place, path])))
        self._size += len(place)
        if self._size > _SETTLED:
            self._counts = [self._summed()]
            self._size = 0

    def _summed(self) -> Ints:
        """Return the sums of all counts, with a row for each place and path."""
        counts = np.concatenate(self._counts)
        keys, which = np.unique(counts[:, _PLACE] * len(self._paths) + counts[:, _PATH], return_inverse=True)
        sums = np.zeros((len(keys), 3), np.int64)
        np.add.at(sums, which, counts[:, _PATH + 1 :])
        return np.column_stack((*np.divmod(keys, len(self._paths)), sums))

    def close(self) -> tuple[Ints, pa.Table]:
        """Return the place of each row, and the rows with the columns of LEDGER except the capture point."""
        ledgers = [*self._sets.items(), *((place, costs.ledger) for place, costs in self._lines.items())]
        for place, ledger in ledgers:
            paths, sums = self._rows(ledger)
            self._add(np.array([place]), paths, sums[None])
        counts = self._summed() if self._counts else np.zeros((0, 5), np.int64)
        rows = pa.Table.from_batches([batch_of([*self._paths], _PATHS)]).take(pa.array(counts[:, _PATH]))
        for number, field in enumerate(_SUMS, _PATH + 1):
            rows = rows.append_column(field, pa.array(counts[:, number], field.type))
        return counts[:, _PLACE], rows


_PATHS = pa.schema([LEDGER.field(name) for name in (*_OWNERS, "path")])
_SUMS = [LEDGER.field(name) for name in ("prefix_bytes", "value_bytes", "count")]


def _owner(layout: Layout) -> tuple[str, str, int]:
    return layout.api, layout.kind, layout.version
