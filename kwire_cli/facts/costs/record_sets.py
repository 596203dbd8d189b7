"""Bytes of record sets by path and kind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.python_source import Counter
from kwire_cli.engine.reader import records_counter
from kwire_cli.facts.costs.ledger import GAP_PATH, Kind, in_batch, in_records, in_wrapper
from kwire_cli.records.batch import PADDING, Batch, Source
from kwire_cli.records.codecs import Limits
from kwire_cli.records.compression import decompress
from kwire_cli.records.formats import AUTO
from kwire_cli.records.gaps import Gap
from kwire_cli.records.layouts import LAYOUTS, layouts_of
from kwire_cli.records.legacy import inner_messages
from kwire_cli.records.reading import Reader
from kwire_cli.records.v2 import area_of, chunks
from kwire_cli.stores import FileBytes
from kwire_cli.structs.records import kip98, v2
from kwire_cli.structs.records.parts import COMPRESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.spans import Spans
    from kwire_cli.facts.costs.batch_sizes import BatchSizes
    from kwire_cli.facts.costs.ledger import KindsOf, Ledger

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


# Batches and messages of any format counted by their spans: the general way, for whatever the meter does not take.

_RECORDS = {"v2": v2.RECORDS, "kip98-draft": kip98.MESSAGES}
"""Formats whose records stand in batches, with the declaration of the records alone."""


_MESSAGES = "messages[]."
"""Before the paths of messages in a wrapper message."""


@dataclass(slots=True)
class Found:
    """Content of a batch.

    `payload` is the bytes of keys, values and headers of records. Compressed records count as they decompress. `key`,
    `value` and `headers` are the largest sizes. `content` is the most bytes from the length of the key to the end of
    a record, or all of a message without a batch. `packed` and `unpacked` are as in `BatchSizes`. `unread`
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


# Record sets: the bytes of batches and records by field, on the wire and decompressed, with statistics of the
# batches.
#
# Batches of format v2 that are not anomalous are measured without spans, by the meter; all others by their spans.

_V2 = LAYOUTS["v2"]


_ATTRIBUTES = _V2.head.names.index("attributes")
MAX_RECORD_OVERHEAD = 21
"""Bytes that Kafka's producer takes for size, attributes, timestamp and offset of a record, of which it does not know
them yet (DefaultRecord)."""


class Told(NamedTuple):
    """Facts about a batch.

    `size` is its size as if it were not compressed, and `payload` the bytes of keys, values and headers. `packing` is
    how many bytes a byte of its records takes on the wire. `rows` are its records as `meter` gives them, or None if it
    cannot.
    """

    batch: Batch
    size: int
    payload: int
    packing: float
    rows: Rows | None


if TYPE_CHECKING:
    OnBatch = Callable[["Told"], None]


@cache
def heads() -> Counter:
    """Return the counter of batches of format v2 without their records: how many there are, how many of them are
    compressed, and the bytes of their compressed records.
    """
    entry = records_entry(v2.BATCH)
    counter = Counter(entry.program)
    batches, packed, packed_bytes = (counter.more() for _ in range(3))
    leaves = entry.program.leaves[entry.root.fields[0].id :]  # type: ignore[union-attr]
    by_path = {leaf.path: leaf for leaf in reversed(leaves)}
    for name in _V2.head.names:
        size = by_path[name].decl.length
        before = size if name == v2.BATCH.size.name else 0  # the size of what follows is a prefix
        counter.leaf(by_path[name], batches, before, value=size - before)
    counter.leaf(next(leaf for leaf in leaves if leaf.kind == "records"), packed, more_value=packed_bytes)
    return counter


class RecordSets:
    """The bytes of the record sets of one owner, with `prefix` before the paths. `wire` counts them as they are on the
    wire, `inside` what compressed records consist of, which nobody sent.

    `sizes` gets the statistics; `largest_batch` and `largest_record` are the largest since they were set to 0. The size
    of a record is what a producer takes for it before it is compressed
    (AbstractRecords.estimateSizeInBytesUpperBound).
    """

    def __init__(
        self,
        wire: Ledger,
        inside: Ledger,
        sizes: BatchSizes,
        *,
        owner: Any = None,
        prefix: str = "",
        form: str = AUTO,
        limits: Limits | None = None,
        on_batch: OnBatch | None = None,
        produced: bool = False,
    ) -> None:
        self.wire, self.inside, self.sizes, self.produced = wire, inside, sizes, produced
        self.largest_batch = self.largest_record = 0
        self._owner, self._prefix = owner, prefix
        self._layouts, self._limits, self._on_batch = layouts_of(form), limits or Limits(), on_batch
        self._measure = meter().count
        self._plain, self._unpacked = (side.vector(owner, prefix, in_batch, meter()) for side in (wire, inside))
        self._heads = wire.vector(owner, prefix, in_batch, heads())

    def add(self, data: Any, start: int, stop: int) -> None:
        """Count the batches in [start, stop) of the data, and what is between them."""
        for _ in self.steps(data, start, stop):
            pass

    def steps(self, data: Any, start: int, stop: int) -> Iterator[int]:
        """Count as `add` does, for sets that take long: yield where reading stands after each batch."""
        content = data if isinstance(data, FileBytes) else memoryview(data)
        source = Source(content, self._layouts, limits=self._limits)
        reader = Reader(source, start, stop)
        for at, end, numbers in reader.plain(_V2):
            self._measured(source, data, at, end, numbers[_ATTRIBUTES])
            yield end
        if reader.at < stop:
            for item in reader.items():
                if isinstance(item, Gap):
                    self._gap(self.wire, self._prefix, item.size, Kind.PADDING if item.code == PADDING else Kind.GAP)
                    self.sizes.gaps += item.code != PADDING
                elif item.layout is _V2:
                    self._measured(
                        source,
                        data,
                        item.position,
                        item.end,
                        item.layout.numbers(item.data, item.position)["attributes"],
                    )
                else:
                    self._by_spans(item)
                yield item.end

    def _measured(self, source: Source, data: Any, at: int, end: int, attributes: int) -> None:
        """Count a batch of format v2."""
        start, size, codec = at + _V2.head.size, end - at, attributes & COMPRESSION.mask
        rows: Rows | None = [] if self._on_batch else None
        sums, measured, unpacked = self._plain, None, 0
        if not codec:
            area, begin, until = (
                (data, start, end) if type(data) is bytes else (bytes(source.read(start, end)), 0, end - start)
            )
            measured = self._measure(area, begin, until, sums, rows)
        else:
            area, code, _, _ = decompress(codec, source.read(start, end), self._limits)
            sums, unpacked = self._unpacked, len(area)
            if not code:
                measured = self._measure(area, 0, unpacked, sums, rows)
        if measured is None:
            self._by_spans(Batch(source, at, size, _V2, crc_valid=True))
            return
        records, payload = measured
        packed = end - start if codec else 0
        self._heads[0] += 1
        if codec:
            self._heads[1] += 1
            self._heads[2] += packed
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

    def _gap(self, side: Ledger, prefix: str, size: int, kind: Kind) -> None:
        side.add(self._owner, prefix + GAP_PATH, (kind, kind), 0, size, 1)

    def _by_spans(self, batch: Batch) -> None:
        totals = self._walked(batch)
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

    def _walked(self, batch: Batch) -> Found:
        """Count a batch, or a message with what it wraps, by spans."""
        codec, in_batches = batch.head.codec, batch.layout.name in _RECORDS
        kinds = in_batch if in_batches else in_wrapper if codec else in_records
        spans, totals = batch.spans(), Found()
        self.wire.add_spans(self._owner, self._prefix, kinds, spans)
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
            self.inside.add_spans(self._owner, self._prefix, in_records, spans)
            _look(spans, in_records, found, alone=False)

    def _messages(self, batch: Batch, found: Found) -> None:
        for item in inner_messages(batch):
            found.unpacked += item.size
            if isinstance(item, Gap):
                self._gap(self.inside, self._prefix, item.size, Kind.GAP)
                found.unread = True
                continue
            spans = item.spans()
            self.inside.add_spans(self._owner, self._prefix + _MESSAGES, in_records, spans)
            _look(spans, in_records, found, alone=True)
            found.content = max(found.content, item.size + batch.layout.least)
        found.unread = found.unread or not found.records
