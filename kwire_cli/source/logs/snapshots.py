"""Producer snapshots: what each producer with an id did last, up to the offset in the file's name.

Source: org.apache.kafka.storage.internals.log.ProducerStateManager (readSnapshot, writeSnapshot).
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from kwire_cli.codec.checksums import crc32c
from kwire_cli.engine.codes import Anomaly
from kwire_cli.engine.fixed import Fixed, fixed
from kwire_cli.source.logs.model import ENTRIES, GAP, HEAD, Contents, Piece, Table, joined
from kwire_cli.source.logs.names import Kind
from kwire_cli.spec.catalog import catalog
from kwire_cli.structs.logs import PRODUCER_SNAPSHOT_VERSION, producer_snapshot as layout_of


class ProducerEntry(NamedTuple):
    """A producer's last batch of data, and its open transaction, if any.

    `last_sequence`, `last_offset`: of the last record of that batch, -1 where the producer has written none since its epoch changed; `offset_delta`:
    how much larger that offset is than the first of the batch. `timestamp` in milliseconds. `current_txn_first_offset` is -1 without a transaction.
    """

    at: int
    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int

    def to_json(self) -> dict[str, Any]:
        """The fields in the words of ProducerSnapshot, after `at`."""
        return {"at": self.at, **dict(zip(_layouts()[2].names, self[1:], strict=True))}


def producer_snapshot(data: bytes, end_offset: int | None = None) -> Contents[ProducerEntry]:
    """The producers in a `.snapshot`; `end_offset` is the one in the file's name. Never raises.

    The head has `version`, `crc`, `crcValid` (whether the CRC-32C of what follows it is the one) and `producerEntries`, their number, as far as the
    bytes reach.
    """
    head, count, entry = _layouts()
    named: dict[str, Any] = {"endOffset": end_offset}
    if len(data) < head.size:
        return _cut(data, 0, named, f"{len(data)} bytes are too few for version and CRC")
    named |= zip(head.names, head.unpack(data), strict=True)
    notes = []
    if named["version"] != PRODUCER_SNAPSHOT_VERSION:
        note = f"version {named['version']}; only {PRODUCER_SNAPSHOT_VERSION} was ever written, by whose layout this was read"
        notes.append(Anomaly("UNKNOWN_VERSION", "version", 0, note))
    crc = crc32c(memoryview(data)[head.size :])
    named["crcValid"] = crc == named["crc"]
    if not named["crcValid"]:
        at = fixed(layout_of(catalog().message("ProducerSnapshot")).head, ("version",)).size
        notes.append(Anomaly("CRC_MISMATCH", "crc", at, f"the CRC-32C of what follows is {crc}, not {named['crc']}"))
    start = head.size + count.size
    if len(data) < start:
        return _cut(data, head.size, named, "the bytes end before the number of producers", notes)
    (said,) = count.unpack(data, head.size)
    named["producerEntries"] = said
    there = (len(data) - start) // entry.size
    used = start + min(max(said, 0), there) * entry.size
    left = len(data) - used
    code = ""
    if said > there or said < 0:
        code = "TRUNCATED" if said > 0 else "COUNT_MISMATCH"
        notes.append(Anomaly(code, count.names[0], used if said > 0 else head.size, f"{said} producers, and bytes for {there}"))
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


def _cut(data: bytes, used: int, named: dict[str, Any], why: str, notes: list[Anomaly] | None = None) -> Contents[ProducerEntry]:
    pieces = joined([Piece(HEAD, 0, used), Piece(GAP, used, len(data) - used, "TRUNCATED")])
    return Contents(Kind.PRODUCER_SNAPSHOT, len(data), (), pieces, (*(notes or ()), Anomaly("TRUNCATED", "", used, why)), named)


def _faults(table: Table[ProducerEntry], end_offset: int | None) -> list[Anomaly]:
    notes: list[Anomaly] = []
    seen: set[int] = set()
    for i, entry in enumerate(table):
        if entry.producer_id in seen:
            notes.append(Anomaly("ENTRY_DUPLICATE", f"[{i}].producerId", entry.at, f"producer {entry.producer_id} occurred before"))
        seen.add(entry.producer_id)
        far = max(entry.last_offset, entry.current_txn_first_offset)
        if end_offset is not None and far >= end_offset:
            notes.append(Anomaly("ENTRY_OUT_OF_RANGE", f"[{i}]", entry.at, f"offset {far}, in a snapshot that ends before {end_offset}"))
    return notes
