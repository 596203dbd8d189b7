"""Batches and their records located by the compiled engine: headers as columns, and the spans of the records of many
batches from one call.

A call covers consecutive well-formed batches of format v2 with valid checksums; compressed ones are decompressed first.
The exact reader reads all other bytes (other formats, damage, gaps, batches with an anomaly), so both results are
identical. The compiled engine is only worth its overhead for many batches at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from kwire_cli.engine import numba_loops
from kwire_cli.engine.arrow import numbers
from kwire_cli.engine.compiled import Walk, compiled, jobs_of, octets, walk_many
from kwire_cli.engine.lower import records_entry
from kwire_cli.records.batch import CORRUPT, Batch
from kwire_cli.records.compression import decompress
from kwire_cli.records.gaps import Gap
from kwire_cli.records.layouts import LAYOUTS, MAGIC_AT, OVERHEAD, SIZE_AT, leading
from kwire_cli.records.reading import Reader
from kwire_cli.structs.composites import offset_of
from kwire_cli.structs.records import v2
from kwire_cli.structs.records.parts import COMPRESSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType

    import numpy.typing as npt

    from kwire_cli.engine.program import Series
    from kwire_cli.records.batch import Source

    Ints = npt.NDArray[np.int64]
    Octets = npt.NDArray[np.uint8]

CHUNK = 1 << 22
"""Limit on the bytes of records per call, except for a single larger batch."""
_MAX_RUNS = 64
"""Maximum number of changes between malformed and well-formed batches in a chunk. With more changes the whole chunk is
read exactly. Also the number of interruptions after which short runs are read exactly."""
_SHORT = 65536
"""Below this size a run of well-formed batches is short: a call for it costs more than reading it exactly."""
_LAYOUT = LAYOUTS["v2"]
_ENTRY = records_entry(v2.RECORDS)
_ELEMENT: Series = _ENTRY.root.fields[0]  # type: ignore[assignment]
FIELDS: dict[str, Any] = {field.name: field for field in _ELEMENT.element.fields}  # type: ignore[union-attr]
"""The nodes of a record's fields."""
PLACES = (_LAYOUT.least, _LAYOUT.magic, SIZE_AT, MAGIC_AT, _LAYOUT.crc_at, _LAYOUT.crc_from)
"""The places of fields of the format that `find_batches` reads."""
_HEAD = {sc.name: (sc.subcon, offset_of(v2.BATCH, sc.name)) for sc in leading(v2.BATCH).subcons}


class Numbers:
    """The numbers of headers that begin at these places: by a name of the declaration a column, which is read when it
    is first asked for.
    """

    __slots__ = ("_data", "_known", "_start")

    def __init__(self, data: Octets, start: Ints, known: Mapping[str, Ints] | None = None) -> None:
        self._data = data
        self._start = start
        self._known = dict(known or {})

    def __getitem__(self, name: str) -> Ints:
        column = self._known.get(name)
        if column is None:
            decl, offset = _HEAD[name]
            column = self._known[name] = numbers(decl, self._data, self._start + offset)
        return column

    def only(self, which: Any) -> Numbers:
        """Return the numbers of the headers that `which` selects."""
        return Numbers(self._data, self._start[which], {name: column[which] for name, column in self._known.items()})


@dataclass(frozen=True, slots=True)
class Heads:
    """Plain batches that follow each other: where they begin and end, and the numbers of their headers by the names of
    the declaration.
    """

    start: Ints
    end: Ints
    numbers: Numbers

    def __len__(self) -> int:
        return len(self.start)

    def only(self, which: Any) -> Heads:
        """Return the selected batches."""
        return Heads(self.start[which], self.end[which], self.numbers.only(which))

    def batches(self, source: Source) -> Iterator[Batch]:
        """Yield them as batches of the exact reader; their checksums are valid."""
        for at, end in zip(self.start.tolist(), self.end.tolist(), strict=True):
            yield Batch(source, at, end - at, _LAYOUT, True)  # noqa: FBT003 - as there

    @property
    def last_offset(self) -> Ints:
        """The last offsets; a sum wraps, as Java's."""
        return self.numbers["baseOffset"] + self.numbers["lastOffsetDelta"]

    @property
    def codec(self) -> Ints:
        """The numbers of the codecs."""
        return self.numbers["attributes"] & COMPRESSION.mask

    @property
    def odd(self) -> npt.NDArray[np.bool_]:
        """Whether each batch has an anomaly in its header."""
        strange = self.numbers["attributes"] & 0xFFFF & ~_LAYOUT.known_bits
        mask: npt.NDArray[np.bool_] = (strange != 0) | (self.numbers["lastOffsetDelta"] < 0)
        return mask


@dataclass(frozen=True, slots=True)
class Located:
    """Plain batches with the spans of their records, a job for each batch; the records of batch k are those from
    `first[k]` to `first[k + 1]`.
    """

    heads: Heads
    walk: Walk
    first: Ints

    @property
    def batch(self) -> Ints:
        """The number of each record's batch."""
        return np.repeat(np.arange(len(self.heads)), np.diff(self.first))


def heads(source: Source, start: int = 0, stop: int | None = None) -> Iterator[Heads | Batch | Gap]:
    """Yield the batches in [start, stop) and the gaps between them. Well-formed batches are yielded in groups.

    A `stop` before the end of the source has to be the start of a valid batch: a gap before it is not at the end of the
    bytes.
    """
    reader = _Reader(source, start, stop)
    breaks = 0
    while reader.at < reader.stop:
        bounds = reader.plain_bounds()
        while bounds[-1] - bounds[0] >= CHUNK:
            yield reader.heads(bounds)
            bounds = reader.plain_bounds()
        if len(bounds) > 1 and (bounds[-1] - bounds[0] >= _SHORT or breaks < _MAX_RUNS):
            yield reader.heads(bounds)
        else:
            yield from (Batch(source, at, end - at, _LAYOUT, True) for at, end in pairwise(bounds.tolist()))  # noqa: FBT003 - as there
        breaks += 1
        for item in reader.items():
            reader.at = item.end
            yield (
                Gap(item.position, item.size, CORRUPT)
                if isinstance(item, Gap) and item.end == reader.stop < source.size
                else item
            )
            break


class _Reader(Reader):
    """A reader that finds many batches with one call."""

    def __init__(self, source: Source, start: int = 0, stop: int | None = None) -> None:
        super().__init__(source, start, stop)
        self.bounds = np.empty(CHUNK // (OVERHEAD + _LAYOUT.least) + 2, np.int64)

    def plain_bounds(self) -> Ints:
        """Continue as `plain` does, up to the limit of one chunk. Return the bounds of these batches."""
        count = 0
        if self.layouts.get(_LAYOUT.magic) is _LAYOUT:
            self.load(self.at, min(self.at + 2 * CHUNK, self.stop))
            data = octets(self.view)
            stop = min(self.stop, self.last)
            count = compiled(_loops().find_batches)(data, self.at, stop, self.at + CHUNK, PLACES, self.bounds)
        bounds = self.bounds[: count + 1].copy() if count else np.array([self.at])
        self.at = int(bounds[-1])
        self.hashed += self.at - int(bounds[0])
        return bounds

    def heads(self, bounds: Ints) -> Heads:
        """Return the batches between these places."""
        return Heads(bounds[:-1], bounds[1:], Numbers(octets(self.view), bounds[:-1]))


def odd_record_sets(data: Octets, start: Ints, stop: Ints) -> npt.NDArray[np.bool_]:
    """Return for each record set [start, stop) in the data whether it is anything but batches of format v2 with valid
    checksums and well-formed headers. Records are not examined.
    """
    odd = np.zeros(len(start), np.bool_)
    strange = 0xFFFF & ~_LAYOUT.known_bits
    header = _HEAD["attributes"][1], strange, _HEAD["lastOffsetDelta"][1]
    compiled(_loops().odd_sets)(data, start, stop, PLACES, header, odd)
    return odd


def _loops() -> ModuleType:
    from kwire_cli.records import compiled_batches  # noqa: PLC0415 - it imports numba

    return compiled_batches


def located(source: Source, start: int = 0, stop: int | None = None) -> Iterator[Located | Batch | Gap]:
    """Yield batches and gaps as `heads` does, with the records of well-formed batches."""
    for item in heads(source, start, stop):
        if not isinstance(item, Heads):
            yield item
            continue
        for odd, piece in _runs_by_anomaly(item.odd):
            some = item.only(piece)
            if odd:
                yield from some.batches(source)
            elif some.codec.any():
                yield from _decompress_chunks(source, some)
            else:
                data = octets(source.view(int(some.start[0]), int(some.end[-1])))
                jobs = jobs_of(_ENTRY, some.start + _LAYOUT.head.size, some.end)
                yield from _check_records(
                    source,
                    some,
                    walk_many(_ENTRY.program, data, jobs),
                )


def _runs_by_anomaly(odd: npt.NDArray[np.bool_]) -> Iterator[tuple[bool, slice]]:
    """Yield runs of batches that are all malformed or all well-formed. If there are many runs, yield one run of
    malformed
    batches: handling many short runs would cost more than reading all batches exactly.
    """
    bounds = [0, *(np.flatnonzero(odd[1:] != odd[:-1]) + 1).tolist(), len(odd)]
    if len(bounds) > _MAX_RUNS:
        yield True, slice(0, len(odd))
        return
    for first, last in pairwise(bounds):
        if first < last:
            yield bool(odd[first]), slice(first, last)


def _decompress_chunks(source: Source, some: Heads) -> Iterator[Located | Batch]:
    """Decompress batches, some of them compressed, in groups of about the size of a chunk."""
    parts: list[bytes] = []
    first = size = 0
    head = _LAYOUT.head.size
    for k, (at, end, codec) in enumerate(zip(some.start.tolist(), some.end.tolist(), some.codec.tolist(), strict=True)):
        data, code, _, _ = decompress(codec, source.read(at + head, end), source.limits)
        if not code:
            parts.append(data)
            size += len(data)
        if code or size >= CHUNK:
            yield from _of_parts(source, some.only(slice(first, first + len(parts))), parts)
            first, size, parts = first + len(parts), 0, []
        if code:
            yield from some.only(slice(k, k + 1)).batches(source)
            first = k + 1
    yield from _of_parts(source, some.only(slice(first, first + len(parts))), parts)


def _of_parts(source: Source, some: Heads, parts: list[bytes]) -> Iterator[Located | Batch]:
    if parts:
        ends = np.cumsum([len(part) for part in parts])
        data = octets(b"".join(parts) or b"\0")
        yield from _check_records(
            source, some, walk_many(_ENTRY.program, data, jobs_of(_ENTRY, np.append(0, ends[:-1]), ends))
        )


def _check_records(source: Source, some: Heads, walk: Walk) -> Iterator[Located | Batch]:
    """Yield the batches of a walk. Batches with a malformed record come from the exact reader."""
    counts = np.zeros(len(some), np.int64)
    highest = np.full(len(some), -1, np.int64)
    begin = _ELEMENT.first
    delta = FIELDS["offsetDelta"].id
    compiled(numba_loops.count_elements)(walk.data, walk.node, walk.value, walk.first, begin, delta, counts, highest)
    odd = (
        (walk.jobs[:, 5] != 0) | (counts != some.numbers["recordsCount"]) | (highest > some.numbers["lastOffsetDelta"])
    )
    odd[np.searchsorted(walk.first, walk.flags[:, 0], "right") - 1] = True
    if not odd.any():
        yield Located(some, walk, np.append(0, np.cumsum(counts)))
        return
    for is_odd, piece in _runs_by_anomaly(odd):
        if is_odd:
            yield from some.only(piece).batches(source)
        else:
            yield Located(some.only(piece), walk.part(piece.start, piece.stop), np.append(0, np.cumsum(counts[piece])))
