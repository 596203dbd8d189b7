"""The tree of batches and records, and lines of bytes and anomalies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kwire_cli.records.batch import Batch, headers_of, payload_of
from kwire_cli.structs.lengths import redacted
from kwire_cli.structs.records.kip82 import REGISTERED, key_range
from kwire_cli.view.batch_table import _compact, _flags, _time, text_in
from kwire_cli.view.lines import Line, counted, moment, printable, quoted
from kwire_cli.view.tables import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.batch import Hide, Record
    from kwire_cli.records.gaps import CutBatch, Gap
    from kwire_cli.view.batch_table import Numbered


SHOWN_BYTES, SHOWN_TEXT, SHOWN_ELEMENTS = 16, 120, 20
"""How much of bytes, of text and of a list of numbers is shown where not all of it is asked for."""


def anomaly_lines(found: Iterable[Anomaly]) -> Iterator[Line]:
    """One line for each anomaly."""
    for anomaly in found:
        where = f"{anomaly.path} " if anomaly.path else ""
        yield [
            ("! ", "warning"),
            (anomaly.code, "warning"),
            (f" {where}at byte {anomaly.offset}: {anomaly.detail}", "dim"),
        ]


def _bytes(count: int) -> str:
    return f"{count} byte{'' if count == 1 else 's'}"


def byte_segments(data: bytes, *, full: bool = False) -> Line:
    """Bytes for eyes: how many, the first of them in hex, and those as text where they are printable."""
    line: Line = [(_bytes(len(data)), "number")]
    if data:
        excerpt = data if full else data[:SHOWN_BYTES]
        more = " …" if len(data) > len(excerpt) else ""
        line += [(f" {excerpt.hex(' ')}{more}", "bytes"), (f"  |{printable(excerpt)}{more}|", "dim")]
    return line


# Batches and records for eyes: trees, tables, csv.

SHOWN_RECORDS = 10
"""Records of a batch in a message that are shown where not all of them are asked for."""


def tree_lines(
    item: Batch | Gap, records: Numbered | None, notes: list[Anomaly], hide: Hide | None, *, full: bool, pretty: bool
) -> Iterator[Line]:
    """A batch or gap as a tree; with its records where these are given. `notes` is what was odd in them."""
    if not isinstance(item, Batch):
        yield [
            (f"at {item.position}: ", "dim"),
            (f"gap: {item.code}", "warning"),
            (f", {counted(item.size, 'byte')}", "dim"),
        ]
        if item.batch:
            yield from _cut_lines(item.batch, records, notes, hide, full=full, pretty=pretty)
        return
    yield from _batch_lines(item, counted(item.size, "byte"), records, notes, hide, full=full, pretty=pretty)


def _cut_lines(
    batch: CutBatch, records: Numbered | None, notes: list[Anomaly], hide: Hide | None, *, full: bool, pretty: bool
) -> Iterator[Line]:
    """Yield the lines of a batch whose end is missing, as far as it can be read."""
    size = f"{batch.size} of {counted(batch.whole_size, 'byte')}"
    if batch.has_head:
        yield from _batch_lines(batch, size, records, notes, hide, full=full, pretty=pretty)
        return
    yield [(f"at {batch.position}: ", "dim"), ("header of a batch", "title"), (f", {size}, {batch.layout.name}", "dim")]
    fields = batch.fields()
    for number, (name, value) in enumerate(fields.items(), 1):
        yield [("└─ " if number == len(fields) else "├─ ", "dim"), (name, "name"), (f": {value}", "number")]
    yield from anomaly_lines([*batch.notes, *notes])


def _batch_lines(
    item: Batch,
    size: str,
    records: Numbered | None,
    notes: list[Anomaly],
    hide: Hide | None,
    *,
    full: bool,
    pretty: bool,
) -> Iterator[Line]:
    head = item.head
    many = "" if head.records_count is None else f", {counted(head.records_count, 'record')}"
    offsets = (
        f"offset {head.base_offset}"
        if head.base_offset == head.last_offset
        else f"offsets {head.base_offset} to {head.last_offset}"
    )
    what = "batch" if not item.layout.is_message else "wrapper message" if head.codec else "message"
    yield [
        (f"at {item.position}: ", "dim"),
        (f"{what}, {offsets}", "title"),
        (f"{many}, {size}, {item.layout.name}", "dim"),
    ]
    fields = list(_fields(item))
    for i, field in enumerate(fields):
        last = i == len(fields) - 1 and not records
        yield [("└─ " if last else "├─ ", "dim"), *field]
    for i, (_, record) in enumerate(records or ()):
        last = i == len(records or ()) - 1
        yield from _record_lines(
            item, record, hide, "└─ " if last else "├─ ", "   " if last else "│  ", full=full, pretty=pretty
        )
    yield from anomaly_lines([*item.notes, *notes])


def field_lines(data: Any, topic: str | None, reading: RecordsAs, *, full: bool) -> Iterator[Line]:
    """The batches in a records field of a message, with their records: the first of them unless `full`."""
    for item in reading.items(data, topic):
        notes: list[Anomaly] = []
        batch = item if isinstance(item, Batch) else item.batch
        records = [*enumerate(batch.records(notes))] if batch else []
        visible = records if full else records[:SHOWN_RECORDS]
        yield from tree_lines(item, visible, notes, reading.hide, full=full, pretty=False)
        if len(visible) < len(records):
            yield [(f"   … {len(records) - len(visible):,} more records", "dim")]


def _fields(batch: Batch) -> Iterator[Line]:
    """Yield the lines of a batch's own fields, without fields that its format lacks."""
    head = batch.head
    yield [("crc", "name"), (f": {head.crc:#010x} ", "number"), _checksum(batch)]
    yield [("compression", "name"), (f": {batch.compression}", "")]
    if head.timestamp_type is not None:
        yield [
            ("maxTimestamp", "name"),
            (f": {head.max_timestamp}", "number"),
            (f" {moment(head.max_timestamp) or ''}", "meaning"),
            (f" {batch.timestamp_type}", "dim"),
        ]
    if head.producer_id != -1:
        sequences = f", sequences {head.base_sequence} to {batch.last_sequence}" if head.base_sequence >= 0 else ""
        yield [("producer", "name"), (f": id {head.producer_id}, epoch {head.producer_epoch}{sequences}", "number")]
    if head.leader_epoch != -1:
        yield [("partitionLeaderEpoch", "name"), (f": {head.leader_epoch}", "number")]
    if flags := _flags(batch):
        yield [("flags", "name"), (f": {flags}", "meaning")]
    if head.delete_horizon is not None:
        yield [
            ("deleteHorizonMs", "name"),
            (f": {head.delete_horizon}", "number"),
            (f" {moment(head.delete_horizon) or ''}", "meaning"),
        ]


def _checksum(batch: Batch) -> tuple[str, str]:
    if batch.is_cut:
        return "not compared", "dim"
    return ("right", "dim") if batch.crc_valid else ("wrong", "warning")


def _record_lines(
    batch: Batch, record: Record, hide: Hide | None, branch: str, stem: str, *, full: bool, pretty: bool
) -> Iterator[Line]:
    payload = payload_of(batch, record)
    hidden = hide.record(batch, payload.record if payload else None) if hide else {}
    sequence = f" sequence {record.sequence}" if record.sequence >= 0 else ""
    time = _time(record.timestamp)
    yield [
        (branch, "dim"),
        ("record ", "dim"),
        (str(record.offset), "number"),
        (f" {time}" if time else "", "meaning"),
        (sequence, "dim"),
    ]
    rows: list[tuple[str, Line, list[str]]] = []
    if payload:
        for name, part in payload.to_json(hidden).items():
            rows.append((name, [(_compact(part), "text")], _indented(part) if pretty else []))
    if not payload or not payload.known:
        value = record.value
        rows.append(("key", _segments(record.key, hidden=bool(hidden.get("key")), full=full), []))
        rows.append(
            (
                "value",
                _segments(value, hidden=bool(hidden.get("value")), full=full),
                _parsed(value) if pretty and not hidden.get("value") else [],
            )
        )
    rows += [
        (f"header {_name(name)}", _segments(data, hidden=False, full=full), [])
        for name, data in headers_of(batch, record, hide)
    ]
    for i, (name, line, more) in enumerate(rows):
        last = i == len(rows) - 1
        yield [(stem + ("└─ " if last else "├─ "), "dim"), (name, "name"), (": ", "dim"), *([] if more else line)]
        for text in more:
            yield [(stem + ("   " if last else "│  "), "dim"), (text, "text")]


def _name(name: str | int) -> str:
    """The name of a header; of a number in the KIP-82 draft also what the sample registers call it, and the range that
    it is in.
    """
    if isinstance(name, str):
        return quoted(name)
    registered = REGISTERED.get(name)
    return f"{name}{f' {registered.name}' if registered else ''} ({key_range(name).label})"


def _indented(document: Any) -> list[str]:
    return [text_of(line) for line in json.dumps(document, ensure_ascii=False, indent=2).splitlines()]


def _parsed(data: bytes | None) -> list[str]:
    """The lines of a value that is a JSON object or list; nothing for all else."""
    if not data or data[:1] not in b"{[":
        return []
    try:
        return _indented(json.loads(data))
    except (ValueError, RecursionError):
        return []


def _segments(data: bytes | None, *, hidden: bool, full: bool) -> Line:
    if data is None:
        return [("null", "null")]
    if hidden:
        return [(redacted(len(data)), "secret")]
    text = (
        text_in(data if full else data[: 4 * SHOWN_TEXT + 4])
        if full or len(data) <= 4 * SHOWN_TEXT
        else text_in(_whole(data[: 4 * SHOWN_TEXT]))
    )
    if text is None or not data:
        return byte_segments(data, full=full)
    cut = len(text) > SHOWN_TEXT and not full
    more = f"… {counted(len(data), 'byte')}" if cut else ""
    return [(quoted(text[:SHOWN_TEXT] if cut else text), "text"), (more, "dim")]


def _whole(data: bytes) -> bytes:
    """Cut text without the part of a character at its end."""
    for size in range(len(data), max(len(data) - 4, 0), -1):
        if size == len(data) and data[-1] < 0x80:
            return data
        if data[size - 1] >= 0xC0:
            return data[: size - 1]
    return data
