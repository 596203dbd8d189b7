"""Bytes of record sets by path and kind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.ledger import Kind, Part, Sums, in_batch, in_records, in_wrapper
from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.reader import records_counter
from kwire_cli.engine.sinks import Counter
from kwire_cli.records.batch import PADDING, Batch, Source
from kwire_cli.records.codecs import Limits
from kwire_cli.records.compression import decompress
from kwire_cli.records.formats import AUTO
from kwire_cli.records.gaps import Gap
from kwire_cli.records.layouts import LAYOUTS, layouts_of
from kwire_cli.records.legacy import inner_messages
from kwire_cli.records.reading import Reader
from kwire_cli.records.v2 import area_of, chunks
from kwire_cli.structs.records import kip98, v2
from kwire_cli.structs.records.parts import COMPRESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.analysis.costs.ledger import KindsOf
    from kwire_cli.analysis.costs.measures import BatchSizes
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.program import Leaf
    from kwire_cli.engine.spans import Spans

    Rows = list[tuple[int, int]]


# How many bytes each field of records of format v2 takes, by a reader that passes over them and counts.

LARGEST = ("key", "value", "headers", "content")
"""What the last of a meter's numbers are of: the largest key and value, the most bytes of headers in a record, and of
what a record has from its key's length on.
"""


class _Meter(Counter):
    names = MappingProxyType({name: name for name in ("timestampDelta", "key", "value", "headers")})

    def before(self, name: str) -> Sequence[str]:
        if name == "key":
            return ("content = at",)
        return ("headers = at",) if name == "headers" else ()

    def after(self, name: str) -> Sequence[str]:
        if name == "headers":
            return ("headers = at - headers", "if headers > most_headers: most_headers = headers")
        return (f"if {name}_size > most_{name}: most_{name} = {name}_size",) if name in {"key", "value"} else ()


@cache
def meter() -> Counter:
    """Return the counter of records of format v2: `count(data, at, stop, sums, rows)`.

    It returns how many records there are, and the bytes of keys, values and headers; None, and `sums` stay, where a
    record is malformed. The last of `sums` are those of LARGEST. `rows`, unless it is None, gets for each record its
    timestamp delta and its bytes from the key's length on.
    """
    entry = records_entry(v2.RECORDS)
    then = (
        "content = at - content",
        "if content > most_content: most_content = content",
        "if rows is not None: rows.append((timestampDelta, content))",
    )
    return records_counter(entry, _Meter(entry.program, most=[f"most_{name}" for name in LARGEST]), ("rows",), then)


# Bytes of record sets by path and kind.

# Accounts of batches and messages of any format by their spans: the general way, for whatever
# `records.measuring` does not take.

_RECORDS = {"v2": v2.RECORDS, "kip98-draft": kip98.MESSAGES}
"""Formats whose records stand in batches, with the declaration of the records alone."""


_MESSAGES = "messages[]."
"""Before the paths of messages in a wrapper message."""


@dataclass(slots=True)
class Found:
    """Content of a batch.

    `payload` is the bytes of keys, values and headers of records. Compressed records count as they decompress. `key`,
    `value` and `headers` are the largest sizes. `content` is the most bytes from the length of the key to the end of
    a record, or all of a message without a batch. `packed` and `unpacked` are as in `batch_sizes.Batches`. `unread`
    says that not everything could be decompressed.
    """

    records: int = 0
    payload: int = 0
    key: int = 0
    value: int = 0
    headers: int = 0
    content: int = 0
    packed: int = 0
    unpacked: int = 0
    unread: bool = False


class Walked:
    """The bytes of batches on the wire, and of what they decompress to."""

    def __init__(self) -> None:
        self._wire: dict[KindsOf, Sums] = {}
        self._inside: dict[str, Sums] = {}
        self._gaps_inside = [0, 0]

    def add(self, batch: Batch) -> Found:
        """Count a batch, or a message with what it wraps."""
        codec, in_batches = batch.head.codec, batch.layout.name in _RECORDS
        kinds = in_batch if in_batches else in_wrapper if codec else in_records
        spans, totals = batch.spans(), Found()
        self._wire.setdefault(kinds, Sums(spans.program)).add(spans)
        if not codec:
            _look(spans, kinds, totals, alone=not in_batches)
            return totals
        totals.packed = sum(
            end - value for node, value, end in _rows(spans) if kinds(spans.program.leaves[node])[1] is Kind.COMPRESSED
        )
        if in_batches:
            self._records(batch, totals)
        else:
            self._messages(batch, totals)
        return totals

    def _records(self, batch: Batch, found: Found) -> None:
        notes: list[Anomaly] = []
        area = area_of(batch, notes)
        found.unpacked, found.unread = len(area.data), bool(notes)
        for spans in chunks(records_entry(_RECORDS[batch.layout.name]), area.data):
            self._inside.setdefault("", Sums(spans.program)).add(spans)
            _look(spans, in_records, found, alone=False)

    def _messages(self, batch: Batch, found: Found) -> None:
        for item in inner_messages(batch):
            found.unpacked += item.size
            if isinstance(item, Gap):
                self._gaps_inside[0] += item.size
                self._gaps_inside[1] += 1
                found.unread = True
                continue
            spans = item.spans()
            self._inside.setdefault(_MESSAGES, Sums(spans.program)).add(spans)
            _look(spans, in_records, found, alone=True)
            found.content = max(found.content, item.size + batch.layout.least)
        found.unread = found.unread or not found.records

    def parts(self, prefix: str) -> Iterator[Part]:
        """Yield the parts that were counted on the wire, with `prefix` before the paths."""
        for kinds, sums in self._wire.items():
            yield from sums.parts(prefix, kinds)

    def inside(self, prefix: str) -> Iterator[Part]:
        """Yield the parts of decompressed records."""
        for before, sums in self._inside.items():
            yield from sums.parts(prefix + before, in_records)
        if self._gaps_inside[1]:
            yield Part(f"{prefix}gap", Kind.GAP, Kind.GAP, 0, *self._gaps_inside)


def _rows(spans: Spans) -> Iterator[tuple[int, int, int]]:
    return zip(spans.node, spans.value, spans.end, strict=True)


def _look(spans: Spans, kinds: KindsOf, found: Found, *, alone: bool) -> None:
    """Add the content of records to `found`. `alone` says that they are a message outside a batch."""
    leaves = spans.program.leaves
    start, content, headers = spans.start, -1, 0
    if alone:
        found.records += 1
        content = start
    for node, value, end in _rows(spans):
        leaf, size = leaves[node], end - value
        kind = kinds(leaf)[1]
        if leaf.name == "length" and "[]" in leaf.path:
            if content >= 0:
                found.content, found.headers = max(found.content, start - content), max(found.headers, headers)
            found.records += 1
            content, headers = -1, 0
        if kind is Kind.RECORD_KEY:
            found.key, found.payload = max(found.key, size), found.payload + size
        elif kind is Kind.RECORD_VALUE:
            found.value, found.payload = max(found.value, size), found.payload + size
        elif kind is Kind.RECORD_HEADER:
            found.payload += size
        if leaf.name == "key" and content < 0:
            content = start
        if "headers" in leaf.path:
            headers += end - start
        start = end
    if content >= 0:
        found.content, found.headers = max(found.content, start - content), max(found.headers, headers)


# Accounts of record sets: the bytes of batches and records by field, on the wire and decompressed, with
# statistics of the batches.
#
# Batches of format v2 in which nothing is odd are measured without spans (`records.measuring`); all others
# are `walked`.

_V2 = LAYOUTS["v2"]


_ATTRIBUTES = _V2.head.names.index("attributes")
MAX_RECORD_OVERHEAD = 21
"""Bytes that Kafka's producer takes for size, attributes, timestamp and offset of a record, of which it does not know
them yet (DefaultRecord)."""


class Told(NamedTuple):
    """Facts about a batch.

    `size` is its size as if it were not compressed, and `payload` the bytes of keys, values and headers. `packing` is
    how many bytes a byte of its records takes on the wire. `rows` are its records as `records.measuring.meter` gives
    them, or None if it cannot.
    """

    batch: Batch
    size: int
    payload: int
    packing: float
    rows: Rows | None


if TYPE_CHECKING:
    OnBatch = Callable[["Told"], None]


class _Leaves(NamedTuple):
    """The leaves of a batch of format v2: those of its header, compressed records, and those of records by path."""

    head: list[Leaf]
    packed: Leaf
    by_path: dict[str, Leaf]


@cache
def _leaves() -> _Leaves:
    entry = records_entry(v2.BATCH)
    first = entry.root.fields[0].id  # type: ignore[union-attr]
    mine = [leaf for leaf in entry.program.leaves if leaf.id >= first]
    by_path: dict[str, Leaf] = {}
    for leaf in mine:
        by_path.setdefault(leaf.path, leaf)
    packed = next(leaf for leaf in mine if leaf.kind == "records")
    return _Leaves([by_path[name] for name in _V2.head.names], packed, by_path)


class RecordSets:
    """The bytes of record sets. `sizes` gets the statistics; `largest_batch` and `largest_record` are the largest since
    they were set to 0.

    The size of a record is what a producer takes for it before it is compressed
    (AbstractRecords.estimateSizeInBytesUpperBound).
    """

    def __init__(
        self,
        sizes: BatchSizes,
        *,
        form: str = AUTO,
        limits: Limits | None = None,
        on_batch: OnBatch | None = None,
        produced: bool = False,
    ) -> None:
        self.sizes, self.produced = sizes, produced
        self.largest_batch = self.largest_record = 0
        self._layouts, self._limits, self._on_batch = layouts_of(form), limits or Limits(), on_batch
        self._measure = meter().count
        self._sums, self._inside = meter().sums(), meter().sums()
        self._heads = self._packed = self._packed_bytes = 0
        self._walked = Walked()
        self._gaps: dict[Kind, list[int]] = {}

    def add(self, data: Any, start: int, stop: int) -> None:
        """Count the batches in [start, stop) of the data, and what is between them."""
        for _ in self.steps(data, start, stop):
            pass

    def steps(self, data: Any, start: int, stop: int) -> Iterator[int]:
        """As `add`, for sets that take long: gives where reading stands after each batch."""
        source = Source(memoryview(data), self._layouts, limits=self._limits)
        reader = Reader(source, start, stop)
        for at, end, numbers in reader.plain(_V2):
            self._measured(source, data, at, end, numbers[_ATTRIBUTES])
            yield end
        if reader.at < stop:
            for item in reader.items():
                if isinstance(item, Gap):
                    tally = self._gaps.setdefault(Kind.PADDING if item.code == PADDING else Kind.GAP, [0, 0])
                    tally[0] += item.size
                    tally[1] += 1
                    self.sizes.gaps += item.code != PADDING
                elif item.layout is _V2:
                    self._measured(
                        source,
                        data,
                        item.position,
                        item.end,
                        item.layout.numbers(source.data, item.position)["attributes"],
                    )
                else:
                    self._by_spans(item)
                yield item.end

    def _measured(self, source: Source, data: Any, at: int, end: int, attributes: int) -> None:
        """A batch of format v2."""
        start, size, codec = at + _V2.head.size, end - at, attributes & COMPRESSION.mask
        rows: Rows | None = [] if self._on_batch else None
        sums, measured, unpacked = self._sums, None, 0
        if not codec:
            area, begin, until = (
                (data, start, end) if type(data) is bytes else (bytes(source.data[start:end]), 0, end - start)
            )
            measured = self._measure(area, begin, until, sums, rows)
        else:
            area, code, _, _ = decompress(codec, source.data[start:end], self._limits)
            sums, unpacked = self._inside, len(area)
            if not code:
                measured = self._measure(area, 0, unpacked, sums, rows)
        if measured is None:
            self._by_spans(Batch(source, at, size, _V2, crc_valid=True))
            return
        records, payload = measured
        packed = end - start if codec else 0
        self._heads += 1
        self._packed += codec > 0
        self._packed_bytes += packed
        self.sizes.add(
            COMPRESSION.names[codec],
            records,
            size,
            _V2.head.size + (unpacked if codec else end - start) - payload,
            packed,
            unpacked,
        )
        key, value, headers, content = sums[-len(LARGEST) :]
        self._seen(size, content, key, value, headers)
        if self._on_batch:
            batch = Batch(source, at, size, _V2, crc_valid=True)
            self._on_batch(Told(batch, size - packed + unpacked, payload, packed / unpacked if unpacked else 1.0, rows))

    def _by_spans(self, batch: Batch) -> None:
        totals = self._walked.add(batch)
        inside = totals.unpacked - totals.packed
        self.sizes.add(
            batch.compression,
            totals.records,
            batch.size,
            batch.size + inside - totals.payload,
            totals.packed,
            totals.unpacked,
        )
        self.sizes.unread += totals.unread
        content = totals.content if batch.layout.name != "kip98-draft" else 0  # which no producer ever estimated
        self._seen(batch.size, content, totals.key, totals.value, totals.headers, framed=batch.layout is _V2)
        if self._on_batch:
            packing = totals.packed / totals.unpacked if totals.unpacked else 1.0
            self._on_batch(Told(batch, batch.size - totals.packed + totals.unpacked, totals.payload, packing, None))

    def _seen(self, batch: int, content: int, key: int, value: int, headers: int, *, framed: bool = True) -> None:
        """Keep what is largest; `framed` says that the content of a record is without its own overhead."""
        self.largest_batch = max(self.largest_batch, batch)
        record = content + _V2.head.size + MAX_RECORD_OVERHEAD if framed and content else content
        self.largest_record = max(self.largest_record, record)
        largest = self.sizes.largest
        if key > largest[0] or value > largest[1] or headers > largest[2]:
            self.sizes.largest = max(key, largest[0]), max(value, largest[1]), max(headers, largest[2])

    def parts(self, prefix: str = "") -> Iterator[Part]:
        """Yield the parts that were counted on the wire, with `prefix` before the paths."""
        if self._heads:
            for leaf in _leaves().head:
                size = self._heads * leaf.decl.length
                before = size if leaf.name == v2.BATCH.size.name else 0  # the size of what follows is a prefix
                yield Part(prefix + leaf.path, *in_batch(leaf), before, size - before, self._heads)
        if self._packed:
            yield Part(prefix + _leaves().packed.path, *in_batch(_leaves().packed), 0, self._packed_bytes, self._packed)
        yield from _metered(self._sums, prefix)
        yield from self._walked.parts(prefix)
        for kind, (size, count) in self._gaps.items():
            yield Part(f"{prefix}gap", kind, kind, 0, size, count)

    def inside(self, prefix: str = "") -> Iterator[Part]:
        """Yield the parts of decompressed records. Nobody sent these bytes."""
        yield from _metered(self._inside, prefix)
        yield from self._walked.inside(prefix)


def _metered(sums: list[int], prefix: str) -> Iterator[Part]:
    for field, before, value, count in meter().totals(sums):
        leaf = _leaves().by_path[field.path]
        yield Part(prefix + leaf.path, *in_batch(leaf), before, value, count)
