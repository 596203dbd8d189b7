"""Batches and records for eyes: trees, tables, csv."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kwire_cli.records.batch import Batch
from kwire_cli.records.jsonform import base64_text, head_json, headers_of, record_json
from kwire_cli.records.model import TRUNCATED
from kwire_cli.records.payloads import payload_of
from kwire_cli.structs.records.kip82 import REGISTERED, key_range
from kwire_cli.structs.sized import redacted
from kwire_cli.view.lines import Line, counted, quoted
from kwire_cli.view.meaning import instant, moment
from kwire_cli.view.table import text_of
from kwire_cli.view.tree import SHOWN_TEXT, anomaly_lines, byte_segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.message.record_fields import RecordsAs
    from kwire_cli.records.cut import CutBatch
    from kwire_cli.records.model import Gap, Hide, Record

    Numbered = Sequence[tuple[int, Record]]

BATCH_COLUMNS = {
    "position": 10,
    "size": 8,
    "baseOffset": 10,
    "lastOffset": 10,
    "count": 6,
    "magic": 5,
    "compression": 11,
    "maxTimestamp": 24,
    "producerId": 10,
    "flags": 0,
}
RECORD_COLUMNS = {"offset": 10, "timestamp": 24, "keySize": 7, "valueSize": 9, "key": 20, "value": 30, "headers": 0}
_LEFT = frozenset({"compression", "maxTimestamp", "flags", "timestamp", "key", "value", "headers"})
_TABLE_TEXT = 60
SHOWN_RECORDS = 10
"""Records of a batch in a message that are shown where not all of them are asked for."""
CSV_BATCH = (
    *("position", "size", "baseOffset", "lastOffset", "magic", "crc", "crcValid", "compression", "timestampType", "maxTimestamp"),
    *("producerId", "producerEpoch", "baseSequence", "partitionLeaderEpoch", "isTransactional", "isControl", "deleteHorizon", "count", "gap"),
)
CSV_RECORD = ("position", "offset", "timestamp", "sequence", "keySize", "valueSize", "key", "value", "headers", "decoded", "gap")


def tree_lines(item: Batch | Gap, records: Numbered | None, notes: list[Anomaly], hide: Hide | None, *, full: bool, pretty: bool) -> Iterator[Line]:
    """A batch or gap as a tree; with its records where these are given. `notes` is what was odd in them."""
    if not isinstance(item, Batch):
        yield [(f"at {item.position}: ", "dim"), (f"gap: {item.code}", "warning"), (f", {counted(item.size, 'byte')}", "dim")]
        if item.batch:
            yield from _cut_lines(item.batch, records, notes, hide, full=full, pretty=pretty)
        return
    yield from _batch_lines(item, counted(item.size, "byte"), records, notes, hide, full=full, pretty=pretty)


def _cut_lines(batch: CutBatch, records: Numbered | None, notes: list[Anomaly], hide: Hide | None, *, full: bool, pretty: bool) -> Iterator[Line]:
    """What can be read of a batch whose end is missing."""
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
    item: Batch, size: str, records: Numbered | None, notes: list[Anomaly], hide: Hide | None, *, full: bool, pretty: bool
) -> Iterator[Line]:
    head = item.head
    many = "" if head.records_count is None else f", {counted(head.records_count, 'record')}"
    offsets = f"offset {head.base_offset}" if head.base_offset == head.last_offset else f"offsets {head.base_offset} to {head.last_offset}"
    what = "batch" if not item.layout.is_message else "wrapper message" if head.codec else "message"
    yield [(f"at {item.position}: ", "dim"), (f"{what}, {offsets}", "title"), (f"{many}, {size}, {item.layout.name}", "dim")]
    fields = list(_fields(item))
    for i, field in enumerate(fields):
        last = i == len(fields) - 1 and not records
        yield [("└─ " if last else "├─ ", "dim"), *field]
    for i, (_, record) in enumerate(records or ()):
        last = i == len(records or ()) - 1
        yield from _record_lines(item, record, hide, "└─ " if last else "├─ ", "   " if last else "│  ", full=full, pretty=pretty)
    yield from anomaly_lines([*item.notes, *notes])


def field_lines(data: Any, topic: str | None, reading: RecordsAs, *, full: bool) -> Iterator[Line]:
    """The batches in a records field of a message, with their records: the first of them unless `full`."""
    for item in reading.items(data, topic):
        notes: list[Anomaly] = []
        batch = item if isinstance(item, Batch) else item.batch
        records = [*enumerate(batch.records(notes))] if batch else []
        shown = records if full else records[:SHOWN_RECORDS]
        yield from tree_lines(item, shown, notes, reading.hide, full=full, pretty=False)
        if len(shown) < len(records):
            yield [(f"   … {len(records) - len(shown):,} more records", "dim")]


def _fields(batch: Batch) -> Iterator[Line]:
    """What a batch says of itself; not what its format lacks."""
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
        yield [("deleteHorizonMs", "name"), (f": {head.delete_horizon}", "number"), (f" {moment(head.delete_horizon) or ''}", "meaning")]


def _checksum(batch: Batch) -> tuple[str, str]:
    if batch.is_cut:
        return "not compared", "dim"
    return ("right", "dim") if batch.crc_valid else ("wrong", "warning")


def _flags(batch: Batch) -> str:
    head = batch.head
    flags = [name for name, on in (("transactional", head.transactional), ("control", head.control)) if on]
    return ", ".join(flags)


def _record_lines(batch: Batch, record: Record, hide: Hide | None, branch: str, stem: str, *, full: bool, pretty: bool) -> Iterator[Line]:
    payload = payload_of(batch, record)
    hidden = hide.record(batch, payload.record if payload else None) if hide else {}
    sequence = f" sequence {record.sequence}" if record.sequence >= 0 else ""
    time = _time(record.timestamp)
    yield [(branch, "dim"), ("record ", "dim"), (str(record.offset), "number"), (f" {time}" if time else "", "meaning"), (sequence, "dim")]
    rows: list[tuple[str, Line, list[str]]] = []
    if payload:
        for name, shown in payload.to_json(hidden).items():
            rows.append((name, [(_compact(shown), "text")], _indented(shown) if pretty else []))
    if not payload or not payload.known:
        value = record.value
        rows.append(("key", _segments(record.key, hidden=bool(hidden.get("key")), full=full), []))
        rows.append(
            ("value", _segments(value, hidden=bool(hidden.get("value")), full=full), _parsed(value) if pretty and not hidden.get("value") else [])
        )
    rows += [(f"header {_name(name)}", _segments(data, hidden=False, full=full), []) for name, data in headers_of(batch, record, hide)]
    for i, (name, line, more) in enumerate(rows):
        last = i == len(rows) - 1
        yield [(stem + ("└─ " if last else "├─ "), "dim"), (name, "name"), (": ", "dim"), *([] if more else line)]
        for text in more:
            yield [(stem + ("   " if last else "│  "), "dim"), (text, "text")]


def _time(milliseconds: int) -> str:
    """A timestamp in a cell; nothing where there is none."""
    return moment(milliseconds) or ("" if milliseconds == -1 else str(milliseconds))


def _name(name: str | int) -> str:
    """The name of a header; of a number in the KIP-82 draft also what the sample registers call it, and the range that it is in."""
    if isinstance(name, str):
        return quoted(name)
    known = REGISTERED.get(name)
    return f"{name}{f' {known.name}' if known else ''} ({key_range(name).label})"


def _compact(document: Any) -> str:
    return text_of(json.dumps(document, ensure_ascii=False, separators=(",", ":")))


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


def text_in(data: bytes) -> str | None:
    """Bytes as text, where they are UTF-8 that can be read: no control characters but those of lines."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() or all(char.isprintable() or char in "\n\r\t" for char in text) else None


def _segments(data: bytes | None, *, hidden: bool, full: bool) -> Line:
    if data is None:
        return [("null", "null")]
    if hidden:
        return [(redacted(len(data)), "secret")]
    text = text_in(data if full else data[: 4 * SHOWN_TEXT + 4]) if full or len(data) <= 4 * SHOWN_TEXT else text_in(_whole(data[: 4 * SHOWN_TEXT]))
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


def heading(*, deep: bool) -> Line:
    """The table's first line."""
    columns = RECORD_COLUMNS if deep else BATCH_COLUMNS
    return [("  ".join(_fit(name, name, width) for name, width in columns.items()).rstrip(), "dim")]


def _fit(text: str, name: str, width: int) -> str:
    return f"{text:<{width}}" if name in _LEFT else f"{text:>{width}}"


def batch_row(item: Batch | Gap) -> Line:
    """A batch or gap as a line of the table."""
    if not isinstance(item, Batch) and not (item.batch and item.batch.has_head):
        return gap_row(item)
    batch = item if isinstance(item, Batch) else item.batch
    assert batch is not None  # noqa: S101 - for the type checker
    shown = head_json(batch)
    shown["maxTimestamp"] = _time(shown["maxTimestamp"])
    odd = f"gap: {item.code}" if not isinstance(item, Batch) else "" if item.crc_valid else "CRC wrong"
    shown["flags"] = _flags(batch)
    cells = "  ".join(_fit(text_of(shown[name]), name, width) for name, width in BATCH_COLUMNS.items())
    return [(cells, ""), (f"{' ' if shown['flags'] else ''}{odd}", "warning")]


def gap_row(gap: Gap) -> Line:
    """A gap as a line of a table: where it is, and its size."""
    shown: dict[str, Any] = {"position": gap.position, "size": gap.size}
    line: Line = [("  ".join(_fit(text_of(shown.get(name)), name, width) for name, width in list(BATCH_COLUMNS.items())[:2]), "number")]
    return [*line, (f"  gap: {gap.code}", "warning")]


def record_row(batch: Batch, record: Record, hide: Hide | None) -> Line:
    """A record as a line of the table."""
    document = record_json(batch, record, 0, [], hide)
    key, value = _secret(document["key"]) or _cell(record.key), _secret(document["value"]) or _cell(record.value)
    if decoded := document.get("decoded"):
        key, value = _part(decoded.get("key"), key), _part(decoded.get("value"), value)
    elif "control" in document:
        key, value = None, _compact(document["control"])
    headers = ", ".join([f"{name}={'null' if data is None else _cell(data)}" for name, data in headers_of(batch, record, hide)])
    shown = {**document, "timestamp": _time(record.timestamp), "key": key, "value": value, "headers": headers}
    cells = []
    for name, width in RECORD_COLUMNS.items():
        text = text_of(shown[name])
        cells.append(_fit(text if len(text) <= _TABLE_TEXT else f"{text[:_TABLE_TEXT]}…", name, width))
    return [("  ".join(cells), "")]


def _part(decoded: dict[str, Any] | None, plain: str | None) -> str | None:
    """A decoded key or value in a cell: its data, behind its type where that has a name."""
    if not decoded or not isinstance(decoded.get("data"), dict):
        return plain
    kind = decoded.get("type") or ""
    return f"{kind} {_compact(decoded['data'])}".strip() if not kind.isdigit() else _compact(decoded["data"])


def batch_cells(item: Batch | Gap) -> list[Any]:
    """The cells of CSV_BATCH."""
    batch = item if isinstance(item, Batch) else item.batch if item.batch and item.batch.has_head else None
    shown: dict[str, Any] = {}
    if batch:
        horizon = batch.head.delete_horizon
        shown = head_json(batch) | {"maxTimestamp": instant(batch.head.max_timestamp)}
        shown["deleteHorizon"] = None if horizon is None else instant(horizon)
    if not isinstance(item, Batch):
        shown |= {"position": item.position, "size": item.size, "gap": item.code}
    return [shown.get(name) for name in CSV_BATCH]


def gap_cells(gap: Gap) -> list[Any]:
    """The cells of CSV_RECORD of a gap."""
    return [gap.position, *[None] * (len(CSV_RECORD) - 2), gap.code]


def record_cells(batch: Batch, record: Record, hide: Hide | None) -> list[Any]:
    """The cells of CSV_RECORD: text as it is, other bytes as `base64:` and base64 text."""
    shown = record_json(batch, record, 0, [], hide)
    payload = shown.get("decoded") or shown.get("control")
    headers = [{"key": name, "value": _cell(data)} for name, data in headers_of(batch, record, hide)]
    cells = {
        **shown,
        "gap": TRUNCATED if batch.is_cut else None,
        "position": batch.position,
        "timestamp": instant(record.timestamp),
        "key": _secret(shown["key"]) or _cell(record.key),
        "value": _secret(shown["value"]) or _cell(record.value),
        "headers": _compact(headers) if headers else None,
        "decoded": _compact(payload) if payload else None,
    }
    return [cells.get(name) for name in CSV_RECORD]


def _secret(shown: str | None) -> str | None:
    return shown if shown and shown.startswith("<") else None


def _cell(data: bytes | None) -> str | None:
    if data is None:
        return None
    text = text_in(data)
    if text is not None:
        return text
    return f"base64:{base64_text(data)}"
