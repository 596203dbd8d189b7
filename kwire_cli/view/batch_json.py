"""Batches as JSON lines, for many of them: records whose bytes are nobody's message are put together without a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.records.jsonform import record_json
from kwire_cli.view.json import many_dumps
from kwire_cli.view.record_text import row_text, rows_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.message.record_fields import RecordsAs
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Gap, Hide, Record

_HEAD = (
    b'{"position":%d,"size":%d,"baseOffset":%d,"lastOffset":%d,"magic":%d,"crc":%d,"crcValid":%b,"compression":"%b","timestampType":"%b",'
    b'"maxTimestamp":%d,"producerId":%d,"producerEpoch":%d,"baseSequence":%d,"partitionLeaderEpoch":%d,"isTransactional":%b,"isControl":%b,'
    b'"deleteHorizonMs":%b,"count":%b'
)
_NEWLINE = b"\n"
_BOOL = {True: b"true", False: b"false"}


def line_pieces(
    item: Batch | Gap,
    *,
    label: dict[str, Any],
    deep: bool,
    hide: Hide | None = None,
    chosen: Iterable[list[tuple[int, Record]]] | None = None,
    notes: list[Anomaly] | None = None,
) -> Iterator[bytes]:
    """One JSON line in pieces, so that a batch of any size needs little memory. `label` stands before the item's own keys.

    `chosen` are the records to show with their numbers, all by default; `notes` then gets what is odd as they are read.
    """
    from kwire_cli.records.batch import Batch as Kind  # noqa: PLC0415 - a class is needed only here

    if not isinstance(item, Kind):
        yield many_dumps(label | item.to_json())
        return
    if not deep:
        odd = many_dumps([note._asdict() for note in item.notes])[:-1] if item.notes else b"[]"
        yield b'%b,"anomalies":%b}\n' % (_head(item, label), odd)
        return
    found: list[Anomaly] = [] if notes is None else notes
    yield b'%b,"records":[' % _head(item, label)
    first = True
    for rows in _rows(item, chosen, found, hide):
        yield rows[1:] if first else rows
        first = first and not rows
    odd = many_dumps([note._asdict() for note in (*item.notes, *found)])[:-1] if found or item.notes else b"[]"
    yield b'],"anomalies":%b}\n' % odd


def _head(batch: Batch, label: dict[str, Any]) -> bytes:
    """What `head_json` has behind the label, without the end of the object."""
    head, type_of = batch.head, batch.timestamp_type
    horizon, count = head.delete_horizon, head.records_count
    found = _HEAD % (
        batch.position,
        batch.size,
        head.base_offset,
        head.last_offset,
        batch.layout.magic,
        head.crc,
        _BOOL[batch.crc_valid],
        batch.compression.encode(),
        type_of.encode(),
        head.max_timestamp,
        head.producer_id,
        head.producer_epoch,
        head.base_sequence,
        head.leader_epoch,
        _BOOL[head.transactional],
        _BOOL[head.control],
        b"null" if horizon is None else b"%d" % horizon,
        b"null" if count is None else b"%d" % count,
    )
    return b"%b,%b" % (many_dumps(label)[:-2], found[1:]) if label else found


def field_text(reading: RecordsAs) -> Callable[[bytes], str]:
    """What makes the JSON of a records field of its bytes: the batches with their records, of a topic whose records are nobody's messages."""
    from kwire_cli.records.opening import source_of  # noqa: PLC0415 - only captures with records need it
    from kwire_cli.records.reading import Reader  # noqa: PLC0415 - as above
    from kwire_cli.view.quick_lines import Lines, quick_lines  # noqa: PLC0415 - as above

    opened = source_of(b"", catalog=reading.catalog, limits=reading.limits)
    layouts, limits, lines = opened.layouts, opened.limits, Lines({}, reading.hide, deep=True)

    def text(data: bytes) -> str:
        source = type(opened)(memoryview(data), layouts, reading.catalog, None, limits)
        reader = Reader(source, 0, len(data))
        found = [*quick_lines(source, reader, lines)]
        if reader.at < len(data):
            found += [piece for item in reader.items() for piece in line_pieces(item, label={}, deep=True, hide=reading.hide)]
        # In JSON there is no end of a line but those of the lines.
        return f"[{b''.join(found)[:-1].replace(_NEWLINE, b',').decode()}]"

    return text


def numbered(batch: Batch, notes: list[Anomaly]) -> Iterator[list[tuple[int, Record]]]:
    """The records with their numbers in the batch."""
    number = 0
    for piece in batch.pieces(notes):
        yield list(enumerate(piece, number))
        number += len(piece)


def _rows(batch: Batch, chosen: Iterable[list[tuple[int, Record]]] | None, notes: list[Anomaly], hide: Hide | None) -> Iterator[bytes]:
    """The records, some at a time, with a comma before each."""
    from kwire_cli.records.payloads import has_payloads  # noqa: PLC0415 - a list of batches needs none of it

    if has_payloads(batch):
        for piece in numbered(batch, notes) if chosen is None else chosen:
            yield b"".join([b",%b" % many_dumps(record_json(batch, record, number, notes, hide))[:-1] for number, record in piece])
    elif chosen is None:
        for rows in rows_text(batch, notes):
            yield b"".join(rows)
    else:
        for piece in chosen:
            yield b"".join([row_text(record) for _, record in piece])
