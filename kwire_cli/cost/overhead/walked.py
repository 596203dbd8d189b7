"""Accounts of batches and messages of any format by their spans: the general way, for whatever `records.measuring` does not take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.cost.kinds import Kind, in_batch, in_records, in_wrapper
from kwire_cli.cost.sums import Part, Sums
from kwire_cli.engine.lower_records import records_entry
from kwire_cli.records.area import area_of
from kwire_cli.records.chunks import chunks
from kwire_cli.records.legacy import inner_messages
from kwire_cli.records.model import Gap
from kwire_cli.structs.records import kip98, v2

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cost.kinds import KindsOf
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.spans import Spans
    from kwire_cli.records.batch import Batch

_RECORDS = {"v2": v2.RECORDS, "kip98-draft": kip98.MESSAGES}
"""Formats whose records stand in batches, with the declaration of the records alone."""
_MESSAGES = "messages[]."
"""Before the paths of messages in a wrapper message."""


@dataclass(slots=True)
class Found:
    """What a batch holds. `payload` are keys, values and headers of records; of compressed ones as they decompress.

    `key`, `value` and `headers` are the largest; `content` is the most bytes from the length of the key to the end of a record, of a message without
    a batch all of it. `packed` and `unpacked` are as in `batch_sizes.Batches`. `unread` says that not all could be decompressed.
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
        spans, found = batch.spans(), Found()
        self._wire.setdefault(kinds, Sums(spans.program)).add(spans)
        if not codec:
            _look(spans, kinds, found, alone=not in_batches)
            return found
        found.packed = sum(end - value for node, value, end in _rows(spans) if kinds(spans.program.leaves[node])[1] is Kind.COMPRESSED)
        if in_batches:
            self._records(batch, found)
        else:
            self._messages(batch, found)
        return found

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
        """What was counted on the wire, with `prefix` before the paths."""
        for kinds, sums in self._wire.items():
            yield from sums.parts(prefix, kinds)

    def inside(self, prefix: str) -> Iterator[Part]:
        """What was counted of decompressed records."""
        for before, sums in self._inside.items():
            yield from sums.parts(prefix + before, in_records)
        if self._gaps_inside[1]:
            yield Part(f"{prefix}gap", Kind.GAP, Kind.GAP, 0, *self._gaps_inside)


def _rows(spans: Spans) -> Iterator[tuple[int, int, int]]:
    return zip(spans.node, spans.value, spans.end, strict=True)


def _look(spans: Spans, kinds: KindsOf, found: Found, *, alone: bool) -> None:
    """What records hold; `alone` is a message that is no part of a batch."""
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
