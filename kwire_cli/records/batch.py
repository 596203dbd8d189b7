"""A batch of records, whatever its format: its header at once, its records when they are asked for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kwire_cli.engine.codes import MEANING, Anomaly
from kwire_cli.records.formats import RECORD_FORMATS
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSequence

    from kwire_cli.engine.spans import Spans
    from kwire_cli.records.layouts import Layout
    from kwire_cli.records.model import Hide, Record, Source

NO_TIMESTAMP_TYPE = "NoTimestampType"
MOST_NOTES = 1000
"""Anomalies of one batch that are kept: damaged records could have as many as bytes."""


class Head(NamedTuple):
    """The numbers of a batch. What its format lacks is -1, False or None; times are milliseconds.

    `timestamp_type` is 0 for CreateTime, 1 for LogAppendTime, None in v0. `base_offset` of a wrapper message is that of its first inner message.
    """

    base_offset: int
    last_offset: int
    crc: int
    attributes: int
    codec: int
    timestamp_type: int | None
    base_timestamp: int
    max_timestamp: int
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    leader_epoch: int = -1
    transactional: bool = False
    control: bool = False
    delete_horizon: int | None = None
    records_count: int | None = None


class Format(Protocol):
    """What a module for a format has."""

    def head_of(self, batch: Batch, notes: MutableSequence[Anomaly]) -> Head:
        """The numbers of the batch's header; what is odd about them is added to `notes`."""

    def pieces_of(self, batch: Batch, notes: MutableSequence[Anomaly]) -> Iterator[list[Record]]:
        """The records, some at a time; what is odd about them is added to `notes` as they come."""


class Batch:
    """The bytes [position, position + size) of a record set: a batch, or in formats v0 and v1 one shallow message with what it wraps.

    `crc_valid` tells whether its checksum is right. Nothing is kept but its header, once that was asked for.
    """

    __slots__ = ("_head", "_notes", "crc_valid", "layout", "position", "size", "source")
    is_cut = False
    """Whether its end is missing (`records.cut`)."""

    def __init__(self, source: Source, position: int, size: int, layout: Layout, crc_valid: bool) -> None:  # noqa: FBT001 - made in one place
        self.source, self.position, self.size, self.layout, self.crc_valid = source, position, size, layout, crc_valid
        self._head: Head | None = None
        self._notes: list[Anomaly] = []

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.position + self.size

    @property
    def magic(self) -> int:
        """Its format's magic byte."""
        return self.layout.magic

    @property
    def head(self) -> Head:
        """The numbers of its header."""
        if self._head is None:
            notes = self._notes
            self._head = head = _format(self.layout.name).head_of(self, notes)
            if self.crc_valid is False:
                found = self.layout.checksum(self.source.data[self.position + self.layout.crc_from : self.end])
                detail = f"the batch says {head.crc:#010x}, its bytes have {found:#010x}; Kafka's reader fails here"
                notes.insert(0, Anomaly("CRC_MISMATCH", "crc", self.position + self.layout.crc_at, detail))
            if strange := head.attributes & ~self.layout.known_bits:
                detail = f"{strange & 0xFFFF:#x}: {MEANING['ATTRIBUTES_UNKNOWN']}"
                notes.append(Anomaly("ATTRIBUTES_UNKNOWN", "attributes", self.position, detail))
        return self._head

    @property
    def notes(self) -> list[Anomaly]:
        """What is odd about it without a look at its records; offsets count from the start of the input."""
        _ = self.head
        return self._notes

    @property
    def compression(self) -> str:
        """The name of its codec; `unknown-5` for a number that there is not."""
        codec = self.head.codec
        return COMPRESSION.names.get(codec) or f"unknown-{codec}"

    @property
    def timestamp_type(self) -> str:
        """CreateTime, LogAppendTime or NoTimestampType."""
        kind = self.head.timestamp_type
        return NO_TIMESTAMP_TYPE if kind is None else TIMESTAMP_TYPE.names[kind]

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record, which wraps after 2147483647; -1 without one."""
        head = self.head
        return sequence_after(head.base_sequence, head.last_offset - head.base_offset)

    def pieces(self, notes: MutableSequence[Anomaly] | None = None) -> Iterator[list[Record]]:
        """Its records in lists of a bounded size, read as they are taken; what is odd about them is added to `notes`."""
        return _format(self.layout.name).pieces_of(self, [] if notes is None else notes)

    def records(self, notes: MutableSequence[Anomaly] | None = None) -> Iterator[Record]:
        """Its records one by one; `notes` as in `pieces`."""
        for piece in self.pieces(notes):
            yield from piece

    @property
    def anomalies(self) -> list[Anomaly]:
        """All that is odd about it and its records, which are read for it; offsets count from the start of the input."""
        notes: list[Anomaly] = []
        for _ in self.pieces(notes):
            pass
        return [*self.notes, *notes]

    def spans(self) -> Spans:
        """The spans of all its bytes, its records one by one, or one piece of bytes where they are compressed."""
        from kwire_cli.engine.lower_records import records_entry  # noqa: PLC0415 - only views of bytes need it
        from kwire_cli.engine.spans import walk  # noqa: PLC0415

        return walk(records_entry(self.layout.decl), self.source.data, self.position, self.end)

    def to_json(self, *, deep: bool = True, hide: Hide | None = None) -> dict[str, Any]:
        """The batch in the shape of `kwire dump --format jsonl`; with `records` unless `deep` is false.

        `hide` says what to redact in payloads; without it, it is what `read_records` was told.
        """
        from kwire_cli.records.jsonform import batch_json  # noqa: PLC0415 - it imports what decodes payloads

        return batch_json(self, deep=deep, hide=hide or self.source.hide)


@cache
def _format(name: str) -> Format:
    reader: Format = RECORD_FORMATS[name].reader  # each format's module is loaded when there is a batch of it
    return reader


def int64(number: int) -> int:
    """A sum as Java's long: it wraps."""
    return ((number + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def sequence_after(base: int, delta: int) -> int:
    """The sequence `delta` after `base` (DefaultRecordBatch.incrementSequence), which is followed by 0 after 2147483647; -1 without one."""
    return (base + delta) & 0x7FFFFFFF if base >= 0 else -1
