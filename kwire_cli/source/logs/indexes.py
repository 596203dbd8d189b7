"""Indexes and producer snapshots of a log.

A broker creates `.index` and `.timeindex` files at their maximum size, and truncates them when it closes them or rolls
the segment. So zeros at the end are padding: Kafka stops at the first entry, except the first of the file, whose offset
is the base offset, and an entry of zeros has that offset. Readers never raise, and report deviations as anomalies.

The formats are defined by org.apache.kafka.storage.internals.log.OffsetIndex, TimeIndex, TransactionIndex,
AbstractIndex, and ProducerStateManager (readSnapshot, writeSnapshot).
"""

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
    from collections.abc import Iterable, Iterator


_OFFSET = fixed(OFFSET_INDEX_ENTRY)
_TIME = fixed(TIME_INDEX_ENTRY)


_MAX_FAULTS = 100
"""Maximum number of faults that are listed per file."""


class OffsetEntry(NamedTuple):
    """The batch that contains `offset` begins at `position` of the log. Kafka writes the last offset of the batch."""

    at: int
    offset: int
    position: int


class TimeEntry(NamedTuple):
    """`timestamp` (milliseconds) is the largest in the segment up to `offset`. That is the offset of the record, or the
    last offset of its batch.
    """

    at: int
    timestamp: int
    offset: int


class AbortedTransaction(NamedTuple):
    """An aborted transaction: its first offset, the offset of its abort marker, and the last stable offset after it
    (AbortedTxn).
    """

    at: int
    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def offset_index(data: bytes, base_offset: int | None = None) -> Contents[OffsetEntry]:
    """Return the entries of an `.index`. Offsets are relative if `base_offset` (from the file's name) is None. Never
    raises.
    """
    base = base_offset or 0
    table, pieces, notes = _table(data, _OFFSET, lambda at, row: OffsetEntry(at, base + row[0], row[1]))
    notes += _limited(_order_faults(table.rows(), _OFFSET.size, "position", base))
    return Contents(Kind.INDEX, len(data), table, pieces, tuple(notes), {"baseOffset": base_offset})


def time_index(data: bytes, base_offset: int | None = None) -> Contents[TimeEntry]:
    """Return the entries of a `.timeindex`. Offsets are relative if `base_offset` (from the file's name) is None. Never
    raises.
    """
    base = base_offset or 0
    table, pieces, notes = _table(data, _TIME, lambda at, row: TimeEntry(at, row[0], base + row[1]))
    # Offsets may repeat: TimeIndex.maybeAppend requires only a later time.
    rows = ((offset, timestamp) for timestamp, offset in table.rows())
    notes += _limited(_order_faults(rows, _TIME.size, "timestamp", base, repeats=True))
    return Contents(Kind.TIME_INDEX, len(data), table, pieces, tuple(notes), {"baseOffset": base_offset})


def transaction_index(data: bytes, base_offset: int | None = None) -> Contents[AbortedTransaction]:
    """Return the aborted transactions of a `.txnindex`. Kafka appends to this file and never pads it. Never raises."""
    layout = _transaction()
    count = len(data) // layout.size
    used = count * layout.size
    table = Table(memoryview(data)[:used], layout, lambda at, row: AbortedTransaction(at, *row))
    notes = _truncation(used, len(data), layout.size)
    notes += _limited(_transaction_faults(table, base_offset or 0))
    pieces = joined([Piece(ENTRIES, 0, used), Piece(GAP, used, len(data) - used, "TRUNCATED")])
    return Contents(Kind.TRANSACTION_INDEX, len(data), table, pieces, tuple(notes), {"baseOffset": base_offset})


@cache
def _transaction() -> Fixed:
    return fixed(transaction_index_entry(catalog().message("AbortedTxn")))


def _table(data: bytes, layout: Fixed, make: Any) -> tuple[Table[Any], tuple[Piece, ...], list[Anomaly]]:
    """Return the entries up to the padding or an incomplete entry, with the pieces and anomalies of the file."""
    size = layout.size
    content_size = len(data.rstrip(b"\0"))
    complete = len(data) - len(data) % size
    used = min(-(-content_size // size) * size, complete)
    pieces = [Piece(ENTRIES, 0, used), Piece(PADDING, used, len(data) - used)]
    notes: list[Anomaly] = []
    if content_size > complete:
        pieces[1] = Piece(GAP, used, len(data) - used, "TRUNCATED")
        notes = _truncation(used, len(data), size)
    return Table(memoryview(data)[:used], layout, make), joined(pieces), notes


def _truncation(used: int, size: int, entry: int) -> list[Anomaly]:
    left = size - used
    if not left:
        return []
    return [Anomaly("TRUNCATED", f"[{used // entry}]", used, f"{left} bytes are left of an entry of {entry}")]


def _limited(faults: Iterator[Anomaly]) -> list[Anomaly]:
    out: list[Anomaly] = []
    for fault in faults:
        if len(out) == _MAX_FAULTS:
            out.append(fault._replace(detail=f"{fault.detail}; more of this file are not listed"))
            break
        out.append(fault)
    return out


def _order_faults(
    rows: Iterable[tuple[int, ...]], size: int, name: str, base: int, *, repeats: bool = False
) -> Iterator[Anomaly]:
    """Yield the faults of entries of `size` bytes: pairs of a relative offset and a value with a name, both of which
    grow. If `repeats` is set, offsets may be equal.
    """
    last = 0 if repeats else -1
    before = -1
    for i, (offset, value) in enumerate(rows):
        is_later = offset > last or (repeats and offset == last)
        if is_later and value > before:
            last = offset
            before = value
            continue
        at = i * size
        if offset < 0 or value < 0:
            reason = f"the offset is {offset:+d} from the base offset" if offset < 0 else f"{name} {value}"
            yield Anomaly("ENTRY_OUT_OF_RANGE", f"[{i}]", at, reason)
        elif not is_later:
            yield Anomaly("ENTRY_ORDER", f"[{i}].offset", at, f"offset {base + offset} after {base + last}")
        else:
            yield Anomaly("ENTRY_ORDER", f"[{i}].{name}", at, f"{name} {value} after {before}")
        last = max(last, offset)
        before = max(before, value)


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
            reason = f"from offset {entry.first_offset} to {entry.last_offset}, in a file of offsets from {base} on"
            yield Anomaly("ENTRY_OUT_OF_RANGE", f"[{i}]", entry.at, reason)
        elif entry.last_offset <= last:
            yield Anomaly("ENTRY_ORDER", f"[{i}].lastOffset", entry.at, f"last offset {entry.last_offset} after {last}")
        last = max(last, entry.last_offset)


def producer_snapshot(data: bytes, end_offset: int | None = None) -> Contents[SnapshotEntry]:
    """Return the producers of a `.snapshot`. `end_offset` is the offset in the file's name. Never raises.

    The head has `version`, `crc`, `crcValid` (whether the CRC-32C of the following bytes is equal) and
    `producerEntries`, the number of producers. Fields beyond the end of the file are missing.
    """
    head, count, entry = _layouts()
    fields: dict[str, Any] = {"endOffset": end_offset}
    if len(data) < head.size:
        return _truncated_snapshot(data, 0, fields, f"{len(data)} bytes are too few for version and CRC")
    fields |= zip(head.names, head.unpack(data), strict=True)
    notes = []
    if fields["version"] != PRODUCER_SNAPSHOT_VERSION:
        note = (
            f"version {fields['version']}; only {PRODUCER_SNAPSHOT_VERSION} was ever written, by whose layout "
            f"this was read"
        )
        notes.append(Anomaly("UNKNOWN_VERSION", "version", 0, note))
    crc = crc32c(memoryview(data)[head.size :])
    fields["crcValid"] = crc == fields["crc"]
    if not fields["crcValid"]:
        at = fixed(layout_of(catalog().message("ProducerSnapshot")).head, ("version",)).size
        notes.append(Anomaly("CRC_MISMATCH", "crc", at, f"the CRC-32C of what follows is {crc}, not {fields['crc']}"))
    start = head.size + count.size
    if len(data) < start:
        return _truncated_snapshot(data, head.size, fields, "the bytes end before the number of producers", notes)
    (stated,) = count.unpack(data, head.size)
    fields["producerEntries"] = stated
    available = (len(data) - start) // entry.size
    used = start + min(max(stated, 0), available) * entry.size
    left = len(data) - used
    code = ""
    if stated > available or stated < 0:
        code = "TRUNCATED" if stated > 0 else "COUNT_MISMATCH"
        at = used if stated > 0 else head.size
        notes.append(Anomaly(code, count.names[0], at, f"{stated} producers, and bytes for {available}"))
    elif left:
        code = "TRAILING_BYTES"
        notes.append(Anomaly(code, "", used, f"{left} bytes after the {stated} producers"))
    table = Table(memoryview(data)[start:used], entry, lambda at, row: SnapshotEntry(at, *row), start)
    notes += _faults(table, end_offset)
    pieces = joined([Piece(HEAD, 0, start), Piece(ENTRIES, start, used - start), Piece(GAP, used, left, code)])
    return Contents(Kind.PRODUCER_SNAPSHOT, len(data), table, pieces, tuple(notes), fields)


@cache
def _layouts() -> tuple[Fixed, Fixed, Fixed]:
    layout = layout_of(catalog().message("ProducerSnapshot"))
    return fixed(layout.head), fixed(layout.count), fixed(layout.entry)


def _truncated_snapshot(
    data: bytes, used: int, fields: dict[str, Any], why: str, notes: list[Anomaly] | None = None
) -> Contents[SnapshotEntry]:
    pieces = joined([Piece(HEAD, 0, used), Piece(GAP, used, len(data) - used, "TRUNCATED")])
    return Contents(
        Kind.PRODUCER_SNAPSHOT, len(data), (), pieces, (*(notes or ()), Anomaly("TRUNCATED", "", used, why)), fields
    )


def _faults(table: Table[SnapshotEntry], end_offset: int | None) -> list[Anomaly]:
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
