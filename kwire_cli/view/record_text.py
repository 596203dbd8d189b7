"""The records of batches as JSON text, for many of them: those in which nothing is odd are read and written in one go, without an object each.

The text is that of `records.jsonform.record_json`; a test holds the two against each other.
"""

from __future__ import annotations

from binascii import b2a_base64
from functools import cache
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from kwire_cli.records.quick import Forms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Record

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
    """How a header begins, by the bytes of its name. A batch has the same few names in all its records."""

    def __missing__(self, name: bytes) -> bytes:
        text = b'{"key":%b,"value":' % encode_basestring(str(name, "utf-8")).encode()
        if len(name) <= _LONGEST_NAME:
            if len(self) >= _MOST_NAMES:
                self.clear()
            self[name] = text
        return text


def rows_text(batch: Batch, notes: list[Anomaly]) -> Iterator[list[bytes]]:
    """The records of a batch without payloads: pieces of text, some at a time, that are to be joined. A comma stands before each record."""
    if batch.layout.name == "v2":
        from kwire_cli.records.shipped import made_of  # noqa: PLC0415 - not every batch is of this format

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
    """What reads records and leaves their text. Values are copied once only, into the whole."""
    from kwire_cli.records.shipped import reader  # noqa: PLC0415 - not every batch is of this format

    then = (
        "if key is None or value is None:",
        "    add(row(offset, timestamp, sequence, key, value, headers))",
        "else:",
        "    out += (",
        "        START % (offset, timestamp, sequence, len(key), len(value), base64(key, newline=False)), base64(value, newline=False),",
        "        END % headers if headers else NO_HEADERS",
        "    )",
    )
    names = {"row": _row, "base64": b2a_base64, "names": _Names(), "NULL": b"null}", "HEADER": b'%b"%b"}'}
    names |= {"START": _NUMBERS + b'"%b","value":"', "END": b'","headers":[%b]}', "NO_HEADERS": b'","headers":[]}', "joined": b",".join}
    header = "names[headers_key] + NULL if headers_value is None else HEADER % (names[headers_key], base64(headers_value, newline=False))"
    return reader(then, names, Forms("{0}", header, "joined({})", "{}", "b''"))
