"""Indexes and producer snapshots of a log."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.codes import Anomaly
from kwire_cli.engine.fixed import Fixed, fixed
from kwire_cli.records.codecs import crc32c
from kwire_cli.records.producers import SnapshotEntry
from kwire_cli.source.logs.model import ENTRIES, GAP, HEAD, PADDING, Contents, Kind, Piece, Table, joined
from kwire_cli.spec.catalog import catalog
from kwire_cli.structs.logs import (
    OFFSET_INDEX_ENTRY,
    PRODUCER_SNAPSHOT_VERSION,
    TIME_INDEX_ENTRY,
    TRANSACTION_INDEX_VERSION,
    producer_snapshot as layout_of,
    transaction_index_entry,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


# Offset, time and transaction indexes.
#
# A broker makes the first two files as large as they may become and cuts them when it closes them or rolls
# the segment: zeros at the end are padding. Kafka takes the first entry but one that says the file's own base
# offset for the end; a whole entry of zeros is the same. Sources are
# org.apache.kafka.storage.internals.log.OffsetIndex, TimeIndex, TransactionIndex, AbstractIndex.

_OFFSET = fixed(OFFSET_INDEX_ENTRY)
_TIME = fixed(TIME_INDEX_ENTRY)


_MOST = 100
"""The most faults of one file that are listed; more of them say nothing new."""


class OffsetEntry(NamedTuple):
    """The batch that `offset` is in begins at `position` of the log; Kafka gives the last offset of that batch."""

    at: int
    offset: int
    position: int

    def to_json(self) -> dict[str, Any]:
        """`{"at","offset","position"}`."""
        return {"at": self.at, "offset": self.offset, "position": self.position}


class TimeEntry(NamedTuple):
    """`timestamp` (milliseconds) is the largest in the segment up to `offset`, which is that of the record or of its
    batch's end.
    """

    at: int
    timestamp: int
    offset: int

    def to_json(self) -> dict[str, Any]:
        """`{"at","timestamp","offset"}`."""
        return {"at": self.at, "timestamp": self.timestamp, "offset": self.offset}


class AbortedTransaction(NamedTuple):
    """A transaction from its first offset to that of its abort marker, and the last stable offset after it
    (AbortedTxn).
    """

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
    """The entries of an `.index`; without a base offset (from the file's name) its offsets are relative. Never
    raises.
    """
    base = base_offset or 0
    table, pieces, notes = _table(data, _OFFSET, lambda at, row: OffsetEntry(at, base + row[0], row[1]))
    notes += _limited(_offset_faults(table, base))
    return Contents(Kind.INDEX, len(data), table, pieces, tuple(notes), {"baseOffset": base_offset})


def time_index(data: bytes, base_offset: int | None = None) -> Contents[TimeEntry]:
    """The entries of a `.timeindex`; without a base offset (from the file's name) its offsets are relative. Never
    raises.
    """
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
    return (
        [Anomaly("TRUNCATED", f"[{used // entry}]", used, f"{left} bytes are left of an entry of {entry}")]
        if left
        else []
    )


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
            last = offset
            place = position
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
    last = 0
    time = -1
    for i, (timestamp, offset) in enumerate(table.rows()):  # relative offsets
        # An entry may repeat an offset; TimeIndex.maybeAppend asks for a later time only.
        if offset >= last and timestamp > time:
            last = offset
            time = timestamp
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
                "UNKNOWN_VERSION",
                f"[{i}].version",
                entry.at,
                f"version {entry.version}; only {TRANSACTION_INDEX_VERSION} was ever written",
            )
        if not 0 <= entry.first_offset <= entry.last_offset or entry.last_offset < base:
            what = f"from offset {entry.first_offset} to {entry.last_offset}, in a file of offsets from {base} on"
            yield Anomaly("ENTRY_OUT_OF_RANGE", f"[{i}]", entry.at, what)
        elif entry.last_offset <= last:
            yield Anomaly("ENTRY_ORDER", f"[{i}].lastOffset", entry.at, f"last offset {entry.last_offset} after {last}")
        last = max(last, entry.last_offset)


# Producer snapshots: what each producer with an id did last, up to the offset in the file's name.
#
# Source: org.apache.kafka.storage.internals.log.ProducerStateManager (readSnapshot, writeSnapshot).


class ProducerEntry(SnapshotEntry):
    """A producer in a snapshot."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """The fields in the words of ProducerSnapshot, after `at`."""
        return {"at": self.at, **dict(zip(_layouts()[2].names, self[1:], strict=True))}


def producer_snapshot(data: bytes, end_offset: int | None = None) -> Contents[ProducerEntry]:
    """The producers in a `.snapshot`; `end_offset` is the one in the file's name. Never raises.

    The head has `version`, `crc`, `crcValid` (whether the CRC-32C of what follows it is the one) and `producerEntries`,
    their number, as far as the bytes reach.
    """
    head, count, entry = _layouts()
    named: dict[str, Any] = {"endOffset": end_offset}
    if len(data) < head.size:
        return _cut_snapshot(data, 0, named, f"{len(data)} bytes are too few for version and CRC")
    named |= zip(head.names, head.unpack(data), strict=True)
    notes = []
    if named["version"] != PRODUCER_SNAPSHOT_VERSION:
        note = (
            f"version {named['version']}; only {PRODUCER_SNAPSHOT_VERSION} was ever written, by whose layout "
            f"this was read"
        )
        notes.append(Anomaly("UNKNOWN_VERSION", "version", 0, note))
    crc = crc32c(memoryview(data)[head.size :])
    named["crcValid"] = crc == named["crc"]
    if not named["crcValid"]:
        at = fixed(layout_of(catalog().message("ProducerSnapshot")).head, ("version",)).size
        notes.append(Anomaly("CRC_MISMATCH", "crc", at, f"the CRC-32C of what follows is {crc}, not {named['crc']}"))
    start = head.size + count.size
    if len(data) < start:
        return _cut_snapshot(data, head.size, named, "the bytes end before the number of producers", notes)
    (said,) = count.unpack(data, head.size)
    named["producerEntries"] = said
    there = (len(data) - start) // entry.size
    used = start + min(max(said, 0), there) * entry.size
    left = len(data) - used
    code = ""
    if said > there or said < 0:
        code = "TRUNCATED" if said > 0 else "COUNT_MISMATCH"
        notes.append(
            Anomaly(code, count.names[0], used if said > 0 else head.size, f"{said} producers, and bytes for {there}")
        )
    elif left:
        code = "TRAILING_BYTES"
        notes.append(Anomaly(code, "", used, f"{left} bytes after the {said} producers"))
    table = Table(memoryview(data)[start:used], entry, lambda at, row: ProducerEntry(at, *row), start)
    notes += _faults(table, end_offset)
    pieces = joined([Piece(HEAD, 0, start), Piece(ENTRIES, start, used - start), Piece(GAP, used, left, code)])
    return Contents(Kind.PRODUCER_SNAPSHOT, len(data), table, pieces, tuple(notes), named)


@cache
def _layouts() -> tuple[Fixed, Fixed, Fixed]:
    layout = layout_of(catalog().message("ProducerSnapshot"))
    return fixed(layout.head), fixed(layout.count), fixed(layout.entry)


def _cut_snapshot(
    data: bytes, used: int, named: dict[str, Any], why: str, notes: list[Anomaly] | None = None
) -> Contents[ProducerEntry]:
    pieces = joined([Piece(HEAD, 0, used), Piece(GAP, used, len(data) - used, "TRUNCATED")])
    return Contents(
        Kind.PRODUCER_SNAPSHOT, len(data), (), pieces, (*(notes or ()), Anomaly("TRUNCATED", "", used, why)), named
    )


def _faults(table: Table[ProducerEntry], end_offset: int | None) -> list[Anomaly]:
    notes: list[Anomaly] = []
    producer_ids: set[int] = set()
    for i, entry in enumerate(table):
        if entry.producer_id in producer_ids:
            notes.append(
                Anomaly(
                    "ENTRY_DUPLICATE", f"[{i}].producerId", entry.at, f"producer {entry.producer_id} occurred before"
                )
            )
        producer_ids.add(entry.producer_id)
        far = max(entry.last_offset, entry.current_txn_first_offset)
        if end_offset is not None and far >= end_offset:
            notes.append(
                Anomaly(
                    "ENTRY_OUT_OF_RANGE",
                    f"[{i}]",
                    entry.at,
                    f"offset {far}, in a snapshot that ends before {end_offset}",
                )
            )
    return notes
