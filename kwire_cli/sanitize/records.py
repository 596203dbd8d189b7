"""Record sets: batches with other keys, values and headers, and with checksums that are right where they were. Every batch keeps its size."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kwire_cli.codec.compression import decompress
from kwire_cli.engine.anomalies import anomalies
from kwire_cli.engine.lower_records import records_entry
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.records.batch import Batch
from kwire_cli.records.building import sealed
from kwire_cli.records.layouts import FRAME
from kwire_cli.records.model import CORRUPT, TRUNCATED
from kwire_cli.records.opening import source_of
from kwire_cli.records.payloads import has_payloads, payload_of
from kwire_cli.records.reading import Reader, read_items
from kwire_cli.sanitize.fillings import BEYOND, NOTHING, VARINT_BEYOND
from kwire_cli.sanitize.fitting import fitted
from kwire_cli.sanitize.replacing import TOKEN
from kwire_cli.structs.records import v2
from kwire_cli.structs.records.parts import COMPRESSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.model import Gap, Source
    from kwire_cli.sanitize.fields import Fields, Inner

DIFFERENT = (TOKEN, 8, 4, 2, 1, 0)
"""Letters that the values of a compressed batch may have before they repeat; fewer where more do not fit."""


def _unread(size: int, notes: Sequence[Anomaly]) -> bytes:
    """Return bytes in place of records that could not be read, at which reading stops for the same reason."""
    if notes and notes[-1].code == "VARINT_TOO_LONG":
        return NOTHING * size
    return VARINT_BEYOND[:size].ljust(size, b"\0")


class RecordSets:
    """Rewrites record sets; `fields` is what replaces the values. `count` counts what could not be kept as it was."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields

    def __call__(self, data: Any, topic: str | None, magic: int | None = None) -> bytes:
        """All batches and gaps of some bytes; `magic` is that of the message around them, where there is one."""
        return b"".join(self.items(source_of(data, topic=topic, catalog=self.fields.catalog), different=TOKEN, magic=magic))

    def items(self, source: Source, *, different: int = TOKEN, magic: int | None = None) -> Iterator[bytes]:
        """The same bytes piece by piece, each of a bounded size or a batch."""
        for item in read_items(source):
            if isinstance(item, Batch):
                yield self._batch(item, different, magic)
            else:
                yield self._gap(source, item)

    def _gap(self, source: Source, gap: Gap) -> bytes:
        """Of a batch that is cut, its header; the rest says nothing."""
        if gap.code == CORRUPT:
            self.fields.count("bytes that are no batch", gap.size)
            return NOTHING * gap.size
        if gap.code != TRUNCATED:
            return bytes(gap.size)
        batch = gap.batch
        if batch is None:  # too little to say which format it is of, or no likely header: only where it would end stays
            start = bytes(source.data[gap.position : gap.position + min(gap.size, FRAME.size)])
            return start.ljust(gap.size, NOTHING) if len(start) == FRAME.size else bytes(gap.size)
        if batch.has_head and batch.layout.name == "v2" and not batch.head.codec:
            return self._of_batches(batch, TOKEN)
        head = batch.position + min(batch.size, batch.layout.head.size)
        return bytes(source.data[batch.position : head]).ljust(batch.size, b"\0")

    def _batch(self, batch: Batch, different: int, magic: int | None) -> bytes:
        of = self._of_batches(batch, different) if batch.layout.name == "v2" else self._of_messages(batch, different, magic)
        if batch.crc_valid:
            return sealed(of, batch.layout, None)
        # In a batch with a wrong checksum readers look for others: none may show that was packed before.
        if Reader(replace(batch.source, data=memoryview(of))).find(1, len(of)) is None:
            return of
        if batch.layout.is_message:
            return self._of_messages(batch, different, batch.layout.magic)
        self.fields.count("compressed batches that are blank", 1)
        return of[: batch.layout.head.size] + NOTHING * (len(of) - batch.layout.head.size)

    def _of_batches(self, batch: Batch, different: int) -> bytes:
        start = batch.position + batch.layout.head.size
        head, packed = bytes(batch.source.data[batch.position : start]), bytes(batch.source.data[start : batch.end])
        codec = batch.head.codec
        if not codec:
            return head + self._records(batch, packed, different)
        data, code, _, _ = decompress(codec, packed, batch.source.limits)
        return head + self._packed(codec, packed, None if code else lambda few: self._records(batch, data, few), 2)

    def _records(self, batch: Batch, data: bytes, different: int) -> bytes:
        """The records of a batch, unpacked."""
        inner: Inner = {}
        if has_payloads(batch):
            for record in batch.records():
                payload = payload_of(batch, record)
                found = (payload.control or payload.record) if payload else None
                if found:
                    inner |= {
                        at: self.fields.payload(part) for at, part in ((record.key_at, found.key), (record.value_at, found.value)) if part and at >= 0
                    }
        entry = records_entry(v2.RECORDS)
        spans = walk(entry, data)
        made = self.fields.rewritten(spans, inner=inner, different=different)
        return made if spans.lost < 0 else made[: spans.used] + _unread(len(made) - spans.used, anomalies(build(entry, spans)))

    def _of_messages(self, batch: Batch, different: int, magic: int | None) -> bytes:
        """A message of v0 or v1, alone or with those that it wraps."""
        layout, data = batch.layout, bytes(batch.source.data[batch.position : batch.end])
        spans = walk(records_entry(layout.decl), data)
        codec = COMPRESSION.read(layout.numbers(data, 0)["attributes"])
        inner: Inner = {}
        value = spans.value[-1]
        named = spans.program.leaves[spans.node[-1]].name == "value" if spans.node else False
        if codec and named and value < spans.end[-1]:
            packed = data[value : spans.end[-1]]
            own = min(layout.magic, 1)
            unpacked, code, _, _ = decompress(codec, packed, batch.source.limits, magic=own)
            again = None if code or magic is not None else lambda few: self._wrapped(batch, unpacked, few)
            inner[value] = self._packed(codec, packed, again, own)
        elif has_payloads(batch):
            for record in batch.records():
                payload = payload_of(batch, record)
                found = (payload.control or payload.record) if payload else None
                if found:
                    base = layout.head.size
                    places = ((record.key_at, found.key), (record.value_at, found.value))
                    inner |= {base + at: self.fields.payload(part) for at, part in places if part and at >= 0}
        made = self.fields.rewritten(spans, inner=inner, different=different).ljust(len(data), b"\0")
        if spans.lost < 0:
            return made
        return made[: spans.used] + BEYOND[: len(made) - spans.used].ljust(len(made) - spans.used, b"\0")

    def _wrapped(self, batch: Batch, data: bytes, different: int) -> bytes:
        source = source_of(data, topic=batch.source.topic, catalog=batch.source.catalog)
        return b"".join(self.items(source, different=different, magic=batch.layout.magic))

    def _packed(self, codec: int, packed: bytes, again: Any, magic: int) -> bytes:
        """What `again` makes, compressed to the size of what was there; with fewer letters that differ where more do not fit."""
        if again is not None:
            for different in DIFFERENT:
                found = fitted(codec, again(different), packed, magic=magic)
                if found is not None:
                    if different < TOKEN:
                        self.fields.count("compressed batches whose values are not kept apart", 1)
                    return found
        self.fields.count("compressed batches that are blank", 1)
        return NOTHING * len(packed)
