"""Messages of formats v0 and v1 (org.apache.kafka.common.record.LegacyRecord) and of the KIP-82 draft.

Messages are separate or inside a compressed wrapper message. Offsets in a wrapper are absolute in v0. From v1 on they
are relative, and the wrapper has the offset of its last inner message. A producer sends wrappers with offset 0, whose
messages begin at 0 (AbstractLegacyRecordBatch.DeepRecordsIterator).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import MEANING, Anomaly
from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import ABSENT, anomalies, value
from kwire_cli.records.batch import TRUNCATED, Area, Batch, Head, Record, Source, int64
from kwire_cli.records.compression import decompress
from kwire_cli.records.gaps import Gap
from kwire_cli.records.layouts import by_magic
from kwire_cli.records.v2 import add_note, bytes_of
from kwire_cli.structs.records import kip82, v0
from kwire_cli.structs.records.parts import LEGACY_COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSequence

    from kwire_cli.records.layouts import Layout

_PIECE = 256
"""Records that are given at once."""
_ZSTD = 4
_NULL = 0xFF
"""The last byte of an int32 length of -1."""


def head_of(batch: Batch, notes: MutableSequence[Anomaly]) -> Head:
    """Return the numbers of its header. A wrapper is decompressed for the offset of its first message."""
    layout = batch.layout
    said = layout.numbers(batch.data, batch.position)
    last = said["offset"]
    codec = LEGACY_COMPRESSION.read(said["attributes"])
    base = last
    if codec:
        if codec == _ZSTD:
            notes.append(
                Anomaly("COMPRESSION_NOT_VALID", "attributes", batch.position, MEANING["COMPRESSION_NOT_VALID"])
            )
        base = _first_offset(batch, codec, last, notes)
    kind = TIMESTAMP_TYPE.read(said["attributes"]) if TIMESTAMP_TYPE in layout.attributes else None
    timestamp = said.get("timestamp", -1)
    return Head(base, last, said["crc"], said["attributes"], codec, kind, timestamp, timestamp)


def pieces_of(batch: Batch, notes: MutableSequence[Anomaly]) -> Iterator[list[Record]]:
    """Yield the message itself, or the messages that it wraps."""
    head = batch.head
    if not head.codec:
        if batch.is_cut:  # the message is its only record, and its end is missing
            return
        area = Area(batch.data[batch.position : batch.end], batch.position, compressed=False)  # type: ignore[arg-type]
        key, payload, headers, key_at, value_at = _shallow(area, 0, batch.size, batch.layout, "", notes)
        start = batch.layout.head.size
        yield [
            Record(head.last_offset, head.max_timestamp, -1, key, payload, headers, key_at - start, value_at - start)
        ]
        return
    area = _unpacked(batch, head.codec, [])
    piece: list[Record] = []
    delta = None
    number = 0
    for item in _inner(batch, area):
        if isinstance(item, Gap):
            offset, where = area.place(item.position)
            code = item.code if item.code == TRUNCATED else "CORRUPT"
            add_note(notes, Anomaly(code, f"records[{number}]", offset, f"{item.size} bytes: {MEANING[code]}{where}"))
            continue
        said = item.layout.numbers(item.data, item.position)
        if delta is None:
            delta = head.base_offset - said["offset"]
        path = f"records[{number}]"
        _check(item, said, area, path, notes)
        key, payload, headers, key_at, value_at = _shallow(
            area, item.position, item.end, item.layout, f"{path}.", notes
        )
        timestamp = -1
        if "timestamp" in said:
            timestamp = head.max_timestamp if head.timestamp_type else said["timestamp"]
        piece.append(Record(int64(said["offset"] + delta), timestamp, -1, key, payload, headers, key_at, value_at))
        number += 1
        if len(piece) == _PIECE:
            yield piece
            piece = []
    if piece:
        yield piece


def unpacked(batch: Batch) -> Area:
    """Return the decompressed value of a wrapper message."""
    return _unpacked(batch, batch.head.codec, [])


def inner_messages(batch: Batch, area: Area | None = None) -> Iterator[Batch | Gap]:
    """Yield the messages in a compressed wrapper message unchanged, with relative offsets and their checksums.

    `area` is the value of the wrapper if it is already decompressed.
    """
    return _inner(batch, area or unpacked(batch))


def _check(item: Batch, said: dict[str, int], area: Area, path: str, notes: MutableSequence[Anomaly]) -> None:
    offset, where = area.place(item.position)
    if not item.crc_valid:
        add_note(notes, Anomaly("CRC_MISMATCH", f"{path}.crc", offset, MEANING["CRC_MISMATCH"] + where))
    if LEGACY_COMPRESSION.read(said["attributes"]):
        add_note(notes, Anomaly("NESTED_COMPRESSION", path, offset, MEANING["NESTED_COMPRESSION"] + where))


def _first_offset(batch: Batch, codec: int, last: int, notes: MutableSequence[Anomaly]) -> int:
    """Return the offset of a wrapper's first message."""
    area = _unpacked(batch, codec, notes)
    first = final = None
    for item in _inner(batch, area):
        if isinstance(item, Batch):
            final = item.layout.numbers(item.data, item.position)["offset"]
            first = final if first is None else first
    if first is None or final is None:
        if not notes:
            notes.append(Anomaly("EMPTY_WRAPPER", "value", batch.position, MEANING["EMPTY_WRAPPER"]))
        return last
    if batch.is_cut:
        return first  # the number of further messages is unknown, so relative offsets are not converted
    beyond = final > last != 0
    if beyond:
        detail = f"the wrapper has offset {last}, its last message {final}; inner offsets are taken as they are"
        notes.append(Anomaly("LAST_OFFSET_MISMATCH", "offset", batch.position, detail))
    return first if batch.layout.magic == 0 or beyond or last == 0 else int64(last - final + first)


def _unpacked(batch: Batch, codec: int, notes: MutableSequence[Anomaly]) -> Area:
    """Return the decompressed value of a wrapper message."""
    whole = Area(batch.data[batch.position : batch.end], batch.position, compressed=False)  # type: ignore[arg-type]
    if batch.is_cut:
        at = _cut_value(batch)
        packed: Any = whole.data[at:]
    else:
        _, packed, _, _, at = _shallow(whole, 0, batch.size, batch.layout, "", notes)
    if packed is None:
        notes.append(
            Anomaly(
                "NULL_NOT_ALLOWED",
                "value",
                batch.position,
                "a compressed message without a value; Kafka's reader fails here",
            )
        )
        return Area(b"", batch.position, compressed=True)
    origin = batch.position + max(at, 0)
    data, code, detail, _ = decompress(codec, packed, batch.source.limits, magic=min(batch.layout.magic, 1))
    if code:
        notes.append(Anomaly(code, "value", origin, detail))
    return Area(data, origin, compressed=True)


def _cut_value(batch: Batch) -> int:
    """Return where the value of a truncated wrapper message begins, relative to the message.

    Return the end of the bytes if even the length of the value is missing.
    """
    spans = walk(records_entry(batch.layout.decl), batch.data, batch.position, batch.end)
    end = spans.used if spans.lost >= 0 else batch.end
    length: int = v0.NULLABLE_BYTES.prefix.length
    return min(end + length, batch.end) - batch.position


def _inner(batch: Batch, area: Area) -> Iterator[Batch | Gap]:
    """Yield the messages in a wrapper, without opening compressed ones."""
    from kwire_cli.records.reading import read_items  # noqa: PLC0415 - it knows batches, and a wrapper holds a message set again

    layouts = by_magic(("v0", "v1")) if batch.layout.magic < 2 else batch.source.layouts
    return read_items(Source(memoryview(area.data), layouts, limits=batch.source.limits))


def _shallow(
    area: Area, start: int, stop: int, layout: Layout, prefix: str, notes: MutableSequence[Anomaly]
) -> tuple[bytes | None, bytes | None, tuple[tuple[str | int, bytes | None], ...], int, int]:
    """Return key, value and headers of the message in [start, stop) of an area, and the starts of key and value."""
    entry = records_entry(layout.decl)
    names = [field.name for field in entry.root.fields]
    spans = walk(entry, area.data, start, stop)
    if not spans.flags and spans.lost < 0 and "headers" not in names:
        pairs = []
        for at in (names.index("key"), names.index("value")):
            begin = spans.value[at]
            end = spans.end[at]
            null = begin == end and area.data[begin - 1] == _NULL
            pairs.append((None if null else bytes(area.data[begin:end]), begin))
        return pairs[0][0], pairs[1][0], (), pairs[0][1], pairs[1][1]
    tree = build(entry, spans)
    for note in anomalies(tree):
        offset, where = area.place(note.offset)
        add_note(notes, Anomaly(note.code, prefix + note.path, offset, note.detail + where))
    decoded = value(tree.root, tree)
    fields: dict[str, Any] = {} if decoded is ABSENT else decoded
    places = {part.node.name: spans.value[part.span] for part in tree.root.parts if part.span >= 0}
    headers = tuple(
        (header["key"], bytes_of(header["value"])) for header in fields.get("headers") or () if len(header) == 2
    )
    if not kip82.ascending([key for key, _ in headers]):
        offset, where = area.place(next(part.start for part in tree.root.parts if part.node.name == "headers"))
        add_note(notes, Anomaly("HEADER_ORDER", f"{prefix}headers", offset, MEANING["HEADER_ORDER"] + where))
    return (
        bytes_of(fields.get("key")),
        bytes_of(fields.get("value")),
        headers,
        places.get("key", -1),
        places.get("value", -1),
    )
