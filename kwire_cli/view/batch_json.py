"""Batches and records as JSON lines."""

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


# The records of batches as JSON text, for many of them: those in which nothing is odd are read and written in
# one go, without an object each.
#
# The text is that of `records.jsonform.record_json`; a test holds the two against each other.

_NUMBERS = b',{"offset":%d,"timestamp":%d,"sequence":%d,"keySize":%d,"valueSize":%d,"key":'


_ROWS = {
    (True, True): _NUMBERS + b'"%b","value":"%b","headers":[%b]}',
    (True, False): _NUMBERS + b'"%b","value":null%b,"headers":[%b]}',
    (False, True): _NUMBERS + b'null%b,"value":"%b","headers":[%b]}',
    (False, False): _NUMBERS + b'null%b,"value":null%b,"headers":[%b]}',
}
"""A record by whether it has a key and a value; the comma is that before it."""
_MOST_NAMES, _LONGEST_NAME = 1000, 200


class _Names(dict[bytes, bytes]):
    """The text with which a header begins, by the bytes of its name.

    A batch has the same few names in all its records.
    """

    def __missing__(self, name: bytes) -> bytes:
        text = b'{"key":%b,"value":' % encode_basestring(str(name, "utf-8")).encode()
        if len(name) <= _LONGEST_NAME:
            if len(self) >= _MOST_NAMES:
                self.clear()
            self[name] = text
        return text


def rows_text(batch: Batch, notes: list[Anomaly]) -> Iterator[list[bytes]]:
    """The records of a batch without payloads: pieces of text, some at a time, that are to be joined. A comma stands
    before each record.
    """
    if batch.layout.name == "v2":
        yield from made_of(batch, notes, text_reader(), lambda record: (row_text(record),))
    else:
        for records in batch.pieces(notes):
            yield [row_text(record) for record in records]


def row_text(record: Record) -> bytes:
    """A record without payload, with a comma before it."""
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
    """Return a reader that makes text of records. Values are copied once only, into the whole text."""

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
        "names": _Names(),
        "NULL": b"null}",
        "HEADER": b'%b"%b"}',
        "joined": b",".join,
    }
    space |= {"START": _NUMBERS + b'"%b","value":"', "END": b'","headers":[%b]}', "NO_HEADERS": b'","headers":[]}'}
    return reader(then, TextSink(space))


# Batches as JSON lines, for many of them: records whose bytes are nobody's message are put together without a
# document.


def line_pieces(
    item: Batch | Gap,
    *,
    label: dict[str, Any],
    deep: bool,
    hide: Hide | None = None,
    chosen: Iterable[list[tuple[int, Record]]] | None = None,
    notes: list[Anomaly] | None = None,
) -> Iterator[bytes]:
    """One JSON line in pieces, so that a batch of any size needs little memory. `label` stands before the item's own
    keys.

    `chosen` are the records to show with their numbers, all by default; `notes` then gets what is odd as they are read.
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
    """The records with their numbers in the batch."""
    number = 0
    for piece in batch.pieces(notes):
        yield list(enumerate(piece, number))
        number += len(piece)


def _rows(
    batch: Batch, chosen: Iterable[list[tuple[int, Record]]] | None, notes: list[Anomaly], hide: Hide | None
) -> Iterator[bytes]:
    """The records, some at a time, with a comma before each."""
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


# Batches of format v2 as JSON lines, for a whole log: those in which nothing is odd without an object each.
#
# All others are the business of `view.batch_json`. The text is the same; a test holds the two against each
# other.

_LAYOUT = LAYOUTS["v2"]


_ATTRIBUTES = _LAYOUT.head.names.index("attributes")
_sound = sound_batch(_LAYOUT)
_CODEC, _APPEND_TIME = COMPRESSION.mask, TIMESTAMP_TYPE.mask
_HEAD = (
    '{"position":%%d,"size":%%d,"baseOffset":%%d,"lastOffset":%%d,"magic":2,"crc":%%d,"crcValid":true,"'
    'compression":"%s","timestampType":"%s",'
    '"maxTimestamp":%%d,"producerId":%%d,"producerEpoch":%%d,"baseSequence":%%d,"partitionLeaderEpoch":'
    '%%d,"isTransactional":%s,"isControl":%s,'
    '"deleteHorizonMs":null,"count":%%d'
)
_RECORDS, _NO_ANOMALIES = b',"records":[', b'],"anomalies":[]}'
_END = _NO_ANOMALIES + b"\n"
_AT_ONCE = 64
"""Batches in one piece of text."""
_FEW = 512
"""Records of a batch that are read in one go."""
_HIGHEST = (1 << 63) - (1 << 31)
"""The offsets of a batch that begins below it do not wrap."""


@dataclass(slots=True)
class Lines:
    """The options of lines, as `view.batch_json.line_pieces` takes them, and what came of the lines.

    `batches` counts the batches, and `odd` tells whether any of them has anomalies.
    """

    label: dict[str, Any]
    hide: Hide | None
    deep: bool
    batches: int = 0
    odd: bool = False


def quick_lines(source: Source, reader: Reader, lines: Lines) -> Iterator[bytes]:
    """The lines of the batches that `reader.plain` gives, some at a time; where it ends, `reader.items` go on. `lines`
    is kept up to date.
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
        if form and delta >= 0 and base < _HIGHEST and plain_topic:
            if not deep:
                ready.append(
                    form
                    % (at, end - at, base, base + delta, crc, latest, producer, producer_epoch, sequence, epoch, count)
                )
                if len(ready) == _AT_ONCE:
                    yield b"".join(ready)
                    ready.clear()
                continue
            if rows := _record_rows(reader.view, at, end, numbers, source.limits, form):
                rows.append(_END)
                yield b"".join(rows)
                continue
        yield b"".join(ready)
        ready.clear()
        yield from _long_way(source, at, end, lines)
    yield b"".join(ready)


def _label(label: dict[str, Any]) -> bytes:
    """Return the text before the keys of a line, as part of a format."""
    return many_dumps(label)[1:-2].replace(b"%", b"%%") + b","


@cache
def _form(attributes: int, before: bytes, after: bytes, *, deep: bool) -> bytes | None:
    """The line of a batch with these attributes up to its records, as a format; None where there is more to say than
    that.
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
    """Return what makes the JSON of a records field of its bytes, of a topic whose records are nobody's messages."""
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
    """The batches in a records field and their records, as a JSON array; None where anything is odd."""
    pieces = [b"["]
    at, stop = 0, len(data)
    while at < stop:
        if (head := _sound(data, at, stop)) is None:
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
    """The batch in [at, end) with its records as pieces of text, up to the end of the last one; none where there are
    many or anything is odd.
    """
    base, _, epoch, _, crc, attributes, delta, base_time, latest, producer, producer_epoch, sequence, count = numbers
    if not 0 < count <= _FEW or delta < 0 or base >= _HIGHEST:
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
    rows, upto, right, taken, last = text_reader()(data, 0, len(data), _FEW, base, base_time, sequence, appended)
    if not right or upto != len(data) or taken != count or last - base > delta:
        return []
    head = form % (at, end - at, base, base + delta, crc, latest, producer, producer_epoch, sequence, epoch, count)
    rows[0] = head + _RECORDS + rows[0][1:]
    return rows


def _long_way(source: Source, at: int, end: int, lines: Lines) -> Iterator[bytes]:
    notes: list[Anomaly] = []
    batch = Batch(source, at, end - at, _LAYOUT, crc_valid=True)
    yield from line_pieces(batch, label=lines.label, deep=lines.deep, hide=lines.hide, notes=notes)
    lines.odd = lines.odd or bool(batch.notes or faults_among(notes))
