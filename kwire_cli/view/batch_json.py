"""Batches and records as JSON lines.

There are two writers of the same text. The full one, `line_pieces`, builds a JSON document for each record. The quick
ones, `quick_lines` and `quick_field`, decode and write well-formed batches of format v2 in one generated function,
without an object for each record, because a log can contain millions of records. They fall back to the full writer for
a batch that has anomalies, control records or other special attributes. A test compares both texts.
"""

from __future__ import annotations

from binascii import b2a_base64
from dataclasses import dataclass
from functools import cache
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from orjson import Fragment

from kwire_cli.engine.codes import faults_among
from kwire_cli.records.batch import Batch, has_payloads, head_json, means_something, record_json
from kwire_cli.records.compression import decompress
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.reading import read_items, sound_batch, source_of
from kwire_cli.records.v2 import RecordSink, made_of, reader
from kwire_cli.structs.records import v2
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE
from kwire_cli.view.json import many_dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.program import Node
    from kwire_cli.engine.python_source import Source as PythonSource
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.batch import Hide, Record, Source
    from kwire_cli.records.codecs import Limits
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.reading import Reader


_NUMBERS = b',{"offset":%d,"timestamp":%d,"sequence":%d,"keySize":%d,"valueSize":%d,"key":'


_ROWS = {
    (True, True): _NUMBERS + b'"%b","value":"%b","headers":[%b]}',
    (True, False): _NUMBERS + b'"%b","value":null%b,"headers":[%b]}',
    (False, True): _NUMBERS + b'null%b,"value":"%b","headers":[%b]}',
    (False, False): _NUMBERS + b'null%b,"value":null%b,"headers":[%b]}',
}
"""Formats of a record with a leading comma, by whether it has a key and a value."""
_MAX_NAMES = 1000
"""Maximum number of cached header names. The cache is cleared when it is full."""
_MAX_NAME_SIZE = 200
"""Maximum size of a cached header name in bytes."""


class _HeaderStarts(dict[bytes, bytes]):
    """A cache of the JSON text before the value of a header, by the bytes of its name.

    The records of a batch usually have the same few header names.
    """

    def __missing__(self, name: bytes) -> bytes:
        text = b'{"key":%b,"value":' % encode_basestring(str(name, "utf-8")).encode()
        if len(name) <= _MAX_NAME_SIZE:
            if len(self) >= _MAX_NAMES:
                self.clear()
            self[name] = text
        return text


def rows_text(batch: Batch, notes: list[Anomaly]) -> Iterator[list[bytes]]:
    """Yield the records of a batch without payloads, as lists of text pieces. Each record has a leading comma."""
    if batch.layout.name == "v2":
        yield from made_of(batch, notes, text_reader(), lambda record: (row_text(record),))
    else:
        for records in batch.pieces(notes):
            yield [row_text(record) for record in records]


def row_text(record: Record) -> bytes:
    """Return a record without payload as JSON with a leading comma."""
    offset, timestamp, sequence, key, value, headers = record[:6]
    texts = b",".join([_header(name, data) for name, data in headers]) if headers else b""
    return _row(offset, timestamp, sequence, key, value, texts)


def _row(offset: int, timestamp: int, sequence: int, key: bytes | None, value: bytes | None, headers: bytes) -> bytes:
    return _ROWS[key is not None, value is not None] % (
        offset,
        timestamp,
        sequence,
        -1 if key is None else len(key),
        -1 if value is None else len(value),
        b2a_base64(key, newline=False) if key else b"",
        b2a_base64(value, newline=False) if value else b"",
        headers,
    )


def _header(name: str | int, data: bytes | None) -> bytes:
    key = encode_basestring(name).encode() if isinstance(name, str) else b"%d" % name
    return b'{"key":%b,"value":%b}' % (key, b"null" if data is None else b'"%b"' % b2a_base64(data, newline=False))


@cache
def text_reader() -> Callable[..., Any]:
    """Return a reader that writes records as text. Values are copied only once, into the final text."""

    class TextSink(RecordSink):
        """A sink of headers as text."""

        empty = "b''"

        def string(self, data: str) -> str:
            return data

        def array(self, out: PythonSource, name: str) -> None:
            out.add(f"{name} = joined({name})")

        def only(self, value: str) -> str:
            return value

        def struct(self, _out: PythonSource, pairs: Sequence[tuple[Node, str]]) -> str:
            (_, key), (_, value) = pairs
            return (
                f"names[{key}] + NULL if {value} is None else HEADER % (names[{key}], base64({value}, newline=False))"
            )

    then = (
        "if key is None or value is None:",
        "    add(row(offset, timestamp, sequence, key, value, headers))",
        "else:",
        "    out += (",
        "        START % (offset, timestamp, sequence, len(key), len(value), base64(key, newline=False)),",
        "        base64(value, newline=False),",
        "        END % headers if headers else NO_HEADERS",
        "    )",
    )
    space = {
        "row": _row,
        "base64": b2a_base64,
        "names": _HeaderStarts(),
        "NULL": b"null}",
        "HEADER": b'%b"%b"}',
        "joined": b",".join,
    }
    space |= {"START": _NUMBERS + b'"%b","value":"', "END": b'","headers":[%b]}', "NO_HEADERS": b'","headers":[]}'}
    return reader(then, TextSink(space))


def line_pieces(
    item: Batch | Gap,
    *,
    label: dict[str, Any],
    deep: bool,
    hide: Hide | None = None,
    chosen: Iterable[list[tuple[int, Record]]] | None = None,
    notes: list[Anomaly] | None = None,
) -> Iterator[bytes]:
    """Yield one JSON line in pieces, so that a batch of any size needs little memory.

    `label` contains the first keys of the line. `chosen` contains the records to show with their numbers, by default
    all. The iterator of `chosen` records adds its anomalies to `notes`.
    """
    if not isinstance(item, Batch):
        yield many_dumps(label | item.to_json(deep=deep, hide=hide))
        return
    if not deep:
        yield many_dumps(label | head_json(item) | {"anomalies": [note._asdict() for note in item.notes]})
        return
    anomalies: list[Anomaly] = [] if notes is None else notes
    yield b'%b,"records":[' % many_dumps(label | head_json(item))[:-2]
    first = True
    for rows in _rows(item, chosen, anomalies, hide):
        yield rows[1:] if first else rows
        first = first and not rows
    yield b'],"anomalies":%b}\n' % many_dumps([note._asdict() for note in (*item.notes, *anomalies)])[:-1]


def numbered(batch: Batch, notes: list[Anomaly]) -> Iterator[list[tuple[int, Record]]]:
    """Yield the records with their numbers in the batch, in lists."""
    number = 0
    for piece in batch.pieces(notes):
        yield list(enumerate(piece, number))
        number += len(piece)


def _rows(
    batch: Batch, chosen: Iterable[list[tuple[int, Record]]] | None, notes: list[Anomaly], hide: Hide | None
) -> Iterator[bytes]:
    """Yield the text of the records in pieces. Each record has a leading comma."""
    if has_payloads(batch):
        for piece in numbered(batch, notes) if chosen is None else chosen:
            yield b"".join(
                [b",%b" % many_dumps(record_json(batch, record, number, notes, hide))[:-1] for number, record in piece]
            )
    elif chosen is None:
        for rows in rows_text(batch, notes):
            yield b"".join(rows)
    else:
        for piece in chosen:
            yield b"".join([row_text(record) for _, record in piece])


_LAYOUT = LAYOUTS["v2"]
_ATTRIBUTES = _LAYOUT.head.names.index("attributes")
_find_valid_batch = sound_batch(_LAYOUT)
_CODEC = COMPRESSION.mask
_APPEND_TIME = TIMESTAMP_TYPE.mask
_HEAD = (
    '{"position":%%d,"size":%%d,"baseOffset":%%d,"lastOffset":%%d,"magic":2,"crc":%%d,"crcValid":true,"'
    'compression":"%s","timestampType":"%s",'
    '"maxTimestamp":%%d,"producerId":%%d,"producerEpoch":%%d,"baseSequence":%%d,"partitionLeaderEpoch":'
    '%%d,"isTransactional":%s,"isControl":%s,'
    '"deleteHorizonMs":null,"count":%%d'
)
_RECORDS = b',"records":['
_NO_ANOMALIES = b'],"anomalies":[]}'
_END = _NO_ANOMALIES + b"\n"
_BATCHES_PER_PIECE = 64
"""Batches without records that are written as one piece of text."""
_MAX_RECORDS = 512
"""Maximum number of records of a batch that the quick writer decodes at once. Larger batches use the full writer."""
_MAX_OFFSET = (1 << 63) - (1 << 31)
"""Upper bound of the base offset. The offsets of a batch with a lower base offset cannot exceed 64 bits."""


@dataclass(slots=True)
class Lines:
    """The options of `line_pieces`, and the results of writing the lines.

    `batches` is the number of batches. `odd` is True if any of them has anomalies.
    """

    label: dict[str, Any]
    hide: Hide | None
    deep: bool
    batches: int = 0
    odd: bool = False


def quick_lines(source: Source, reader: Reader, lines: Lines) -> Iterator[bytes]:
    """Yield the lines of the batches that `reader.plain` returns, several in one piece, and update `lines`.

    `reader.plain` stops before bytes that are not a valid batch. The caller continues with `reader.items`.
    """
    deep = lines.deep
    before = _label(lines.label) if lines.label else b""
    forms: dict[int, bytes | None] = {}
    ready: list[bytes] = []
    end_of_line = b"" if deep else b',"anomalies":[]}\n'
    plain_topic = not deep or not means_something(source)
    for at, end, numbers in reader.plain(_LAYOUT):
        base, _, epoch, _, crc, attributes, delta, _, latest, producer, producer_epoch, sequence, count = numbers
        lines.batches += 1
        if attributes in forms:
            form = forms[attributes]
        else:
            form = forms[attributes] = _form(attributes, before, end_of_line, deep=deep)
        if form and delta >= 0 and base < _MAX_OFFSET and plain_topic:
            if not deep:
                ready.append(
                    form
                    % (at, end - at, base, base + delta, crc, latest, producer, producer_epoch, sequence, epoch, count)
                )
                if len(ready) == _BATCHES_PER_PIECE:
                    yield b"".join(ready)
                    ready.clear()
                continue
            if rows := _record_rows(reader.view, at, end, numbers, source.limits, form):
                rows.append(_END)
                yield b"".join(rows)
                continue
        yield b"".join(ready)
        ready.clear()
        yield from _full_line(source, at, end, lines)
    yield b"".join(ready)


def _label(label: dict[str, Any]) -> bytes:
    """Return the label as the start of a `%` format."""
    return many_dumps(label)[1:-2].replace(b"%", b"%%") + b","


@cache
def _form(attributes: int, before: bytes, after: bytes, *, deep: bool) -> bytes | None:
    """Return the `%` format of a batch with these attributes, up to its records.

    Return None if the attributes need the full writer.
    """
    codec = COMPRESSION.names.get(attributes & COMPRESSION.mask)
    if (
        attributes & ~_LAYOUT.known_bits
        or attributes & v2.DELETE_HORIZON.mask
        or codec is None
        or (deep and attributes & v2.CONTROL.mask)
    ):
        return None
    transactional, control = (bits.names[bits.read(attributes)] for bits in (v2.TRANSACTIONAL, v2.CONTROL))
    text = _HEAD % (codec, TIMESTAMP_TYPE.names[TIMESTAMP_TYPE.read(attributes)], transactional, control)
    return b"{" + before + text[1:].encode() + after


def field_text(reading: RecordsAs) -> Callable[[bytes], Fragment]:
    """Return a function that converts the bytes of a records field to JSON, for topics that are not internal."""
    limits = source_of(b"", limits=reading.limits).limits

    def text(data: bytes) -> Fragment:
        encoded = quick_field(data, limits)
        if encoded is None:
            source = source_of(data, catalog=reading.catalog, limits=limits)
            lines = [
                b"".join(line_pieces(item, label={}, deep=True, hide=reading.hide))[:-1] for item in read_items(source)
            ]
            encoded = b"[%b]" % b",".join(lines)
        return Fragment(encoded)

    return text


def quick_field(data: bytes, limits: Limits) -> bytes | None:
    """Return the batches in a records field as a JSON array. Return None if any batch needs the full writer."""
    pieces = [b"["]
    at = 0
    stop = len(data)
    while at < stop:
        if (head := _find_valid_batch(data, at, stop)) is None:
            return None
        end, numbers = head
        form = _form(numbers[_ATTRIBUTES], b"", b"", deep=True)
        rows = _record_rows(data, at, end, numbers, limits, form) if form else None
        if not rows:
            return None
        if at:
            pieces.append(b",")
        pieces += rows
        pieces.append(_NO_ANOMALIES)
        at = end
    pieces.append(b"]")
    return b"".join(pieces)


def _record_rows(source: Any, at: int, end: int, numbers: tuple[Any, ...], limits: Limits, form: bytes) -> list[bytes]:
    """Return the batch in [at, end) as pieces of text, up to the end of its last record.

    Return an empty list if the batch has too many records or is malformed.
    """
    base, _, epoch, _, crc, attributes, delta, base_time, latest, producer, producer_epoch, sequence, count = numbers
    if not 0 < count <= _MAX_RECORDS or delta < 0 or base >= _MAX_OFFSET:
        return []
    data: Any = source[at + _LAYOUT.head.size : end]
    if codec := attributes & _CODEC:
        data, code, _, _ = decompress(codec, data, limits)
        if code:
            return []
    else:
        data = bytes(data)
    appended = latest if attributes & _APPEND_TIME else None
    rows: list[bytes]
    rows, used, valid, read, last = text_reader()(data, 0, len(data), _MAX_RECORDS, base, base_time, sequence, appended)
    if not valid or used != len(data) or read != count or last - base > delta:
        return []
    head = form % (at, end - at, base, base + delta, crc, latest, producer, producer_epoch, sequence, epoch, count)
    rows[0] = head + _RECORDS + rows[0][1:]
    return rows


def _full_line(source: Source, at: int, end: int, lines: Lines) -> Iterator[bytes]:
    notes: list[Anomaly] = []
    batch = Batch(source, at, end - at, _LAYOUT, crc_valid=True)
    yield from line_pieces(batch, label=lines.label, deep=lines.deep, hide=lines.hide, notes=notes)
    lines.odd = lines.odd or bool(batch.notes or faults_among(notes))
