"""Offset, time and transaction indexes.

A broker makes the first two files as large as they may become and cuts them when it closes them or rolls the segment: zeros at the end are padding.
Kafka takes the first entry but one that says the file's own base offset for the end; a whole entry of zeros is the same.
Sources: org.apache.kafka.storage.internals.log.OffsetIndex, TimeIndex, TransactionIndex, AbstractIndex.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.codes import Anomaly
from kwire_cli.engine.fixed import Fixed, fixed
from kwire_cli.source.logs.model import ENTRIES, GAP, PADDING, Contents, Piece, Table, joined
from kwire_cli.source.logs.names import Kind
from kwire_cli.spec.catalog import catalog
from kwire_cli.structs.logs import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY, TRANSACTION_INDEX_VERSION, transaction_index_entry

if TYPE_CHECKING:
    from collections.abc import Iterator

_OFFSET, _TIME = fixed(OFFSET_INDEX_ENTRY), fixed(TIME_INDEX_ENTRY)
_MOST = 100
"""So many faults of one file are listed; more of them say nothing new."""


class OffsetEntry(NamedTuple):
    """The batch that `offset` is in begins at `position` of the log; Kafka gives the last offset of that batch."""

    at: int
    offset: int
    position: int

    def to_json(self) -> dict[str, Any]:
        """`{"at","offset","position"}`."""
        return {"at": self.at, "offset": self.offset, "position": self.position}


class TimeEntry(NamedTuple):
    """`timestamp` (milliseconds) is the largest in the segment up to `offset`, which is that of the record or of its batch's end."""

    at: int
    timestamp: int
    offset: int

    def to_json(self) -> dict[str, Any]:
        """`{"at","timestamp","offset"}`."""
        return {"at": self.at, "timestamp": self.timestamp, "offset": self.offset}


class AbortedTransaction(NamedTuple):
    """A transaction from its first offset to that of its abort marker, and the last stable offset after it (AbortedTxn)."""

    at: int
    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int

    def to_json(self) -> dict[str, Any]:
        """`{"at","version","producerId","firstOffset","lastOffset","lastStableOffset"}`."""
        return {
            "at": self.at,
            "version": self.version,
            "producerId": self.producer_id,
            "firstOffset": self.first_offset,
            "lastOffset": self.last_offset,
            "lastStableOffset": self.last_stable_offset,
        }


def offset_index(data: bytes, base_offset: int | None = None) -> Contents[OffsetEntry]:
    """The entries of an `.index`; without a base offset (from the file's name) its offsets are relative. Never raises."""
    base = base_offset or 0
    table, pieces, notes = _table(data, _OFFSET, lambda at, row: OffsetEntry(at, base + row[0], row[1]))
    notes += _limited(_offset_faults(table, base))
    return Contents(Kind.INDEX, len(data), table, pieces, tuple(notes), {"baseOffset": base_offset})


def time_index(data: bytes, base_offset: int | None = None) -> Contents[TimeEntry]:
    """The entries of a `.timeindex`; without a base offset (from the file's name) its offsets are relative. Never raises."""
    base = base_offset or 0
    table, pieces, notes = _table(data, _TIME, lambda at, row: TimeEntry(at, row[0], base + row[1]))
    notes += _limited(_time_faults(table, base))
    return Contents(Kind.TIME_INDEX, len(data), table, pieces, tuple(notes), {"baseOffset": base_offset})


def transaction_index(data: bytes, base_offset: int | None = None) -> Contents[AbortedTransaction]:
    """The aborted transactions of a `.txnindex`. Kafka never pads this file, and grows it by entries. Never raises."""
    layout = _transaction()
    count = len(data) // layout.size
    used = count * layout.size
    table = Table(memoryview(data)[:used], layout, lambda at, row: AbortedTransaction(at, *row))
    notes = _cut(used, len(data), layout.size)
    notes += _limited(_transaction_faults(table, base_offset or 0))
    pieces = joined([Piece(ENTRIES, 0, used), Piece(GAP, used, len(data) - used, "TRUNCATED")])
    return Contents(Kind.TRANSACTION_INDEX, len(data), table, pieces, tuple(notes), {"baseOffset": base_offset})


@cache
def _transaction() -> Fixed:
    return fixed(transaction_index_entry(catalog().message("AbortedTxn")))


def _table(data: bytes, layout: Fixed, make: Any) -> tuple[Table[Any], tuple[Piece, ...], list[Anomaly]]:
    """The entries up to the zeros at the end, or up to what is too short to be one."""
    size = layout.size
    meant = len(data.rstrip(b"\0"))
    whole = len(data) - len(data) % size
    used = min(-(-meant // size) * size, whole)
    pieces = [Piece(ENTRIES, 0, used), Piece(PADDING, used, len(data) - used)]
    notes: list[Anomaly] = []
    if meant > whole:
        pieces[1] = Piece(GAP, used, len(data) - used, "TRUNCATED")
        notes = _cut(used, len(data), size)
    return Table(memoryview(data)[:used], layout, make), joined(pieces), notes


def _cut(used: int, size: int, entry: int) -> list[Anomaly]:
    left = size - used
    return [Anomaly("TRUNCATED", f"[{used // entry}]", used, f"{left} bytes are left of an entry of {entry}")] if left else []


def _limited(faults: Iterator[Anomaly]) -> list[Anomaly]:
    out: list[Anomaly] = []
    for fault in faults:
        if len(out) == _MOST:
            out.append(fault._replace(detail=f"{fault.detail}; more of this file are not listed"))
            break
        out.append(fault)
    return out


def _offset_faults(table: Table[OffsetEntry], base: int) -> Iterator[Anomaly]:
    last = place = -1
    for i, (offset, position) in enumerate(table.rows()):  # relative offsets
        if offset > last and position > place:
            last, place = offset, position
            continue
        at = i * _OFFSET.size
        if offset < 0 or position < 0:
            what = f"the offset is {offset:+d} from the base offset" if offset < 0 else f"position {position}"
            yield Anomaly("ENTRY_OUT_OF_RANGE", f"[{i}]", at, what)
        elif offset <= last:
            yield Anomaly("ENTRY_ORDER", f"[{i}].offset", at, f"offset {base + offset} after {base + last}")
        else:
            yield Anomaly("ENTRY_ORDER", f"[{i}].position", at, f"position {position} after {place}")
        last, place = max(last, offset), max(place, position)


def _time_faults(table: Table[TimeEntry], base: int) -> Iterator[Anomaly]:
    last, time = 0, -1
    for i, (timestamp, offset) in enumerate(table.rows()):  # relative offsets
        # An entry may repeat an offset; TimeIndex.maybeAppend asks for a later time only.
        if offset >= last and timestamp > time:
            last, time = offset, timestamp
            continue
        at = i * _TIME.size
        if offset < 0 or timestamp < 0:
            what = f"the offset is {offset:+d} from the base offset" if offset < 0 else f"timestamp {timestamp}"
            yield Anomaly("ENTRY_OUT_OF_RANGE", f"[{i}]", at, what)
        elif offset < last:
            yield Anomaly("ENTRY_ORDER", f"[{i}].offset", at, f"offset {base + offset} after {base + last}")
        else:
            yield Anomaly("ENTRY_ORDER", f"[{i}].timestamp", at, f"timestamp {timestamp} after {time}")
        last, time = max(last, offset), max(time, timestamp)


def _transaction_faults(table: Table[AbortedTransaction], base: int) -> Iterator[Anomaly]:
    last = -1
    for i, entry in enumerate(table):
        if entry.version != TRANSACTION_INDEX_VERSION:
            yield Anomaly(
                "UNKNOWN_VERSION", f"[{i}].version", entry.at, f"version {entry.version}; only {TRANSACTION_INDEX_VERSION} was ever written"
            )
        if not 0 <= entry.first_offset <= entry.last_offset or entry.last_offset < base:
            what = f"from offset {entry.first_offset} to {entry.last_offset}, in a file of offsets from {base} on"
            yield Anomaly("ENTRY_OUT_OF_RANGE", f"[{i}]", entry.at, what)
        elif entry.last_offset <= last:
            yield Anomaly("ENTRY_ORDER", f"[{i}].lastOffset", entry.at, f"last offset {entry.last_offset} after {last}")
        last = max(last, entry.last_offset)
