"""Bytes of record sets by path and kind.

Well-formed batches of format v2 are counted by a generated reader (`meter`), which skips records and adds up sizes. All
other batches and messages are counted by their spans.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

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
from kwire_cli.stores.opening import FileBytes
from kwire_cli.structs.records import kip98, v2
from kwire_cli.structs.records.parts import COMPRESSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.spans import Spans
    from kwire_cli.facts.costs.batch_sizes import BatchSizes
    from kwire_cli.facts.costs.ledger import KindsOf, Ledger


# The meter: a generated reader that counts the bytes of each field of records of format v2.


class _Meter(Counter):
    names = MappingProxyType({"key": "key"})

    def before(self, name: str) -> Sequence[str]:
        return ("content = at",) if name == "key" else ()


@cache
def meter() -> Counter:
    """Return the counter of records of format v2: `count(data, at, stop, sums)`.

    It returns the number of records, and the bytes of keys, values and headers. If a record is malformed, it returns
    None and does not change `sums`. The last of `sums` is the largest number of bytes from the length of the key to the
    end of a record.
    """
    entry = records_entry(v2.RECORDS)
    then = ("content = at - content", "if content > most_content: most_content = content")
    return records_counter(entry, _Meter(entry.program, most=["most_content"]), then)


# Counting by spans, for batches and messages of any format.

_RECORDS = {"v2": v2.RECORDS, "kip98-draft": kip98.MESSAGES}
"""The declarations of records of the formats that have batches."""


_MESSAGES = "messages[]."
"""The prefix of the paths of messages in a wrapper message."""


@dataclass(slots=True)
class BatchContent:
    """The content of a batch.

    `payload` is the bytes of keys, values and headers of records, after decompression. `content` is the largest number
    of bytes from the length of the key to the end of a record, or of a whole message without a batch. `packed` and
    `unpacked` are the same as in `BatchSizes`. `unread` is true if some data could not be decompressed.
    """

    records: int = 0
    payload: int = 0
    content: int = 0
    packed: int = 0
    unpacked: int = 0
    unread: bool = False


def _rows(spans: Spans) -> Iterator[tuple[int, int, int]]:
    return zip(spans.node, spans.value, spans.end, strict=True)


def _add_content(spans: Spans, kinds: KindsOf, found: BatchContent, *, alone: bool) -> None:
    """Add the content of records to `found`. With `alone`, the spans are a message outside a batch."""
    leaves = spans.program.leaves
    start = spans.start
    content = -1
    if alone:
        found.records += 1
        content = start
    for node, value, end in _rows(spans):
        leaf = leaves[node]
        if leaf.name == "length" and "[]" in leaf.path:
            if content >= 0:
                found.content = max(found.content, start - content)
            found.records += 1
            content = -1
        if kinds(leaf)[1] in _PAYLOAD:
            found.payload += end - value
        if leaf.name == "key" and content < 0:
            content = start
        start = end
    if content >= 0:
        found.content = max(found.content, start - content)


_PAYLOAD = frozenset({Kind.RECORD_KEY, Kind.RECORD_VALUE, Kind.RECORD_HEADER})


# Record sets: the bytes of batches and records by field, on the wire and decompressed, with statistics of the batches.

_V2 = LAYOUTS["v2"]


_ATTRIBUTES = _V2.head.names.index("attributes")
MAX_RECORD_OVERHEAD = 21
"""Bytes that Kafka's producer assumes for the size, attributes, timestamp and offset of a record before it knows them
(DefaultRecord)."""


@cache
def heads() -> Counter:
    """Return the counter of batches of format v2 without their records.

    It counts the batches, the compressed batches, and the bytes of compressed records.
    """
    entry = records_entry(v2.BATCH)
    counter = Counter(entry.program)
    batches, packed, packed_bytes = (counter.more() for _ in range(3))
    leaves = entry.program.leaves[entry.root.fields[0].id :]  # type: ignore[union-attr]
    by_path = {leaf.path: leaf for leaf in reversed(leaves)}
    for name in _V2.head.names:
        size = by_path[name].decl.length
        before = size if name == v2.BATCH.size.name else 0  # the size field is a prefix
        counter.leaf(by_path[name], batches, before, value=size - before)
    counter.leaf(next(leaf for leaf in leaves if leaf.kind == "records"), packed, more_value=packed_bytes)
    return counter


class RecordSets:
    """The bytes of the record sets of one owner, with `prefix` before the paths.

    `wire` counts the bytes on the wire, and `inside` the bytes of decompressed records. `sizes` receives statistics.
    `largest_batch` and `largest_record` are the maxima since they were set to 0. The size of a record is the producer's
    estimate before compression (AbstractRecords.estimateSizeInBytesUpperBound).
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
        produced: bool = False,
    ) -> None:
        self.wire = wire
        self.inside = inside
        self.sizes = sizes
        self.produced = produced
        self.largest_batch = 0
        self.largest_record = 0
        self._owner = owner
        self._prefix = prefix
        self._layouts = layouts_of(form)
        self._limits = limits or Limits()
        self._measure = meter().count
        self._plain, self._unpacked = (side.vector(owner, prefix, in_batch, meter()) for side in (wire, inside))
        self._heads = wire.vector(owner, prefix, in_batch, heads())

    def add(self, data: Any, start: int, stop: int) -> None:
        """Count the batches in [start, stop) of the data, and the bytes between them."""
        for _ in self.steps(data, start, stop):
            pass

    def steps(self, data: Any, start: int, stop: int) -> Iterator[int]:
        """Count like `add`, in steps for large sets. Yield the position after each batch."""
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
        start = at + _V2.head.size
        size = end - at
        codec = attributes & COMPRESSION.mask
        sums = self._plain
        measured = None
        unpacked = 0
        if not codec:
            area, begin, until = (
                (data, start, end) if type(data) is bytes else (bytes(source.read(start, end)), 0, end - start)
            )
            measured = self._measure(area, begin, until, sums)
        else:
            area, code, _, _ = decompress(codec, source.read(start, end), self._limits)
            sums = self._unpacked
            unpacked = len(area)
            if not code:
                measured = self._measure(area, 0, unpacked, sums)
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
        self._update_largest(size, sums[-1])

    def _gap(self, side: Ledger, prefix: str, size: int, kind: Kind) -> None:
        side.add(self._owner, prefix + GAP_PATH, (kind, kind), 0, size, 1)

    def _by_spans(self, batch: Batch) -> None:
        totals = self._count_spans(batch)
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
        content = totals.content if batch.layout.name != "kip98-draft" else 0  # no producer ever estimated its size
        is_v2 = batch.layout is _V2
        self._update_largest(batch.size, content, framed=is_v2)

    def _update_largest(self, batch: int, content: int, *, framed: bool = True) -> None:
        """Update the maxima. With `framed`, the content of a record does not include the overhead of the record."""
        self.largest_batch = max(self.largest_batch, batch)
        record = content + _V2.head.size + MAX_RECORD_OVERHEAD if framed and content else content
        self.largest_record = max(self.largest_record, record)

    def _count_spans(self, batch: Batch) -> BatchContent:
        """Count a batch, or a message with the messages in it, by spans."""
        codec = batch.head.codec
        in_batches = batch.layout.name in _RECORDS
        kinds: KindsOf = in_records
        if in_batches:
            kinds = in_batch
        elif codec:
            kinds = in_wrapper
        spans = batch.spans()
        totals = BatchContent()
        self.wire.add_spans(self._owner, self._prefix, kinds, spans)
        if not codec:
            _add_content(spans, kinds, totals, alone=not in_batches)
            return totals
        totals.packed = sum(
            end - value for node, value, end in _rows(spans) if kinds(spans.program.leaves[node])[1] is Kind.COMPRESSED
        )
        if in_batches:
            self._records(batch, totals)
        else:
            self._messages(batch, totals)
        return totals

    def _records(self, batch: Batch, found: BatchContent) -> None:
        notes: list[Anomaly] = []
        area = area_of(batch, notes)
        found.unpacked = len(area.data)
        found.unread = bool(notes)
        for spans in chunks(records_entry(_RECORDS[batch.layout.name]), area.data):
            self.inside.add_spans(self._owner, self._prefix, in_records, spans)
            _add_content(spans, in_records, found, alone=False)

    def _messages(self, batch: Batch, found: BatchContent) -> None:
        for item in inner_messages(batch):
            found.unpacked += item.size
            if isinstance(item, Gap):
                self._gap(self.inside, self._prefix, item.size, Kind.GAP)
                found.unread = True
                continue
            spans = item.spans()
            self.inside.add_spans(self._owner, self._prefix + _MESSAGES, in_records, spans)
            _add_content(spans, in_records, found, alone=True)
            found.content = max(found.content, item.size + batch.layout.least)
        found.unread = found.unread or not found.records
