"""Batches as JSON lines, for many of them: records whose bytes are nobody's message are put together without a document."""

from __future__ import annotations

from binascii import b2a_base64
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from kwire_cli.records.jsonform import head_json, record_json
from kwire_cli.view.json import many_dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Gap, Hide, Record

_NUMBERS = b'{"offset":%d,"timestamp":%d,"sequence":%d,"keySize":%d,"valueSize":%d,"key":'
_ROWS = {
    (True, True): _NUMBERS + b'"%b","value":"%b","headers":[%b]}',
    (True, False): _NUMBERS + b'"%b","value":null%b,"headers":[%b]}',
    (False, True): _NUMBERS + b'null%b,"value":"%b","headers":[%b]}',
    (False, False): _NUMBERS + b'null%b,"value":null%b,"headers":[%b]}',
}
"""A record by whether it has a key and a value."""


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
        yield many_dumps(label | head_json(item) | {"anomalies": [note._asdict() for note in item.notes]})
        return
    found: list[Anomaly] = [] if notes is None else notes
    yield many_dumps(label | head_json(item))[:-2]
    pieces = numbered(item, found) if chosen is None else chosen
    before = b',"records":['
    for rows in _rows(item, pieces, found, hide):
        yield before + b",".join(rows)
        before = b","
    yield b"]" if before == b"," else b',"records":[]'
    yield b',"anomalies":%b}\n' % (many_dumps([note._asdict() for note in (*item.notes, *found)])[:-1])


def numbered(batch: Batch, notes: list[Anomaly]) -> Iterator[list[tuple[int, Record]]]:
    """The records with their numbers in the batch."""
    number = 0
    for piece in batch.pieces(notes):
        yield list(enumerate(piece, number))
        number += len(piece)


def _rows(batch: Batch, pieces: Iterable[list[tuple[int, Record]]], notes: list[Anomaly], hide: Hide | None) -> Iterator[list[bytes]]:
    from kwire_cli.records.payloads import has_payloads  # noqa: PLC0415 - a list of batches needs none of it

    row: Callable[[int, Record], bytes] = _plain
    if has_payloads(batch):

        def row(number: int, record: Record) -> bytes:
            return many_dumps(record_json(batch, record, number, notes, hide))[:-1]

    for piece in pieces:
        if piece:
            yield [row(number, record) for number, record in piece]


def _plain(_: int, record: Record) -> bytes:
    """A record without payload, as `record_json` has it."""
    offset, timestamp, sequence, key, value, headers = record[:6]
    return _ROWS[key is not None, value is not None] % (
        offset,
        timestamp,
        sequence,
        -1 if key is None else len(key),
        -1 if value is None else len(value),
        b2a_base64(key, newline=False) if key else b"",
        b2a_base64(value, newline=False) if value else b"",
        b",".join([_header(name, data) for name, data in headers]) if headers else b"",
    )


def _header(name: str | int, data: bytes | None) -> bytes:
    key = encode_basestring(name).encode() if isinstance(name, str) else b"%d" % name
    return b'{"key":%b,"value":%b}' % (key, b"null" if data is None else b'"%b"' % b2a_base64(data, newline=False))
