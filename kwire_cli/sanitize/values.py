"""Values inside keys and values of records, replaced by others of their type at equal length.

What stands between the values stays: ids of schemas, counts, lengths, tags, and the names of fields of JSON.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from kwire_cli.records.schemas.record import ReadPart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.records.batch import Batch, Record
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.records.schemas.model import Leaf
    from kwire_cli.sanitize.replacing import Replacement
    from kwire_cli.spec.catalog import Catalog

_JSON = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:)?|-?\d[\d.eE+-]*')
_NAME = re.compile(rb"[A-Za-z_$][A-Za-z0-9_$-]*")
"""Names of fields. Others may be values, such as addresses of mail in a map."""
_MOST = 64
"""Bytes of one digest."""


class Fields(Protocol):
    """A replacement of values (`sanitize.records.Fields`)."""

    catalog: Catalog
    replacement: Replacement

    def payload(self, payload: Payload) -> bytes:
        """Return other bytes for those of a field or record."""


def of_part(fields: Fields, payload: Payload, batch: Batch, record: Record) -> bytes:
    """Return other bytes for a key or value: by the format that it was read by, with other values of the same types."""
    serdes, topic = fields.catalog.serdes, batch.source.topic
    if not isinstance(payload, ReadPart) or serdes is None or not payload.fits:
        return fields.payload(payload)
    data = bytes(payload.data)
    leaves = serdes.leaves(payload, topic, record.headers)
    if leaves is None:
        return fields.replacement.letters(data)
    substitute = rewritten(data, leaves, fields.replacement)
    key, value = (substitute, None) if payload.path == "key" else (None, substitute)
    part = getattr(serdes.record(topic, key, value, record.headers), payload.path, None)
    # What is no value of the schema any more says nothing in its place.
    return substitute if part and part.fits else fields.replacement.letters(data)


def rewritten(data: bytes, leaves: Iterable[Leaf], replacement: Replacement) -> bytes:
    """Return bytes with other values at the places of these."""
    out = bytearray(data)
    for start, end, kind, choices in leaves:
        value = data[start:end]
        if not value:
            continue
        if kind == "text":
            out[start:end] = replacement.letters(value)
        elif kind == "varint":
            out[start:end] = _varint(value, replacement)
        elif kind == "raw":
            out[start:end] = _raw(value, replacement)
        elif kind == "json":
            out[start:end] = _JSON.sub(lambda match: _in_json(match, replacement), value)
        elif choices and len(value) == 1:
            out[start:end] = choices[replacement.digest(b"choice", value, 1)[0] % len(choices)]
    return bytes(out)


def _raw(value: bytes, replacement: Replacement) -> bytes:
    """Return as many bytes: of floats too, in which the first byte decides that they are small numbers."""
    size = min(len(value), _MOST)
    digest = replacement.digest(b"raw", value, size)
    return (digest * (len(value) // size + 1))[: len(value)]


def _varint(value: bytes, replacement: Replacement) -> bytes:
    """Return a varint of as many bytes, which are all needed."""
    digits = [byte & 0x7F for byte in replacement.digest(b"varint", value, min(len(value), _MOST))]
    size = len(value)
    if size > 1:
        # The last of five or ten bytes has the highest bits of 32 or 64.
        digits[-1] = 1 if size == 10 else (digits[-1] & 0x07 if size == 5 else digits[-1]) or 1
    return bytes([digit | 0x80 for digit in digits[:-1]] + digits[-1:])


def _in_json(match: re.Match[bytes], replacement: Replacement) -> bytes:
    """Return another text or number in place of one; names of fields stay."""
    text, colon = match[1], match[2]
    if text is None:
        return _number(match[0], replacement)
    if (colon is not None and _NAME.fullmatch(text)) or not text:
        return match[0]
    return b'"%b"%b' % (replacement.letters(text), colon or b"")


def _number(value: bytes, replacement: Replacement) -> bytes:
    """Return a number with other digits; the exponent stays."""
    mantissa, mark, exponent = re.fullmatch(rb"([-\d.]+)([eE]?)(.*)", value, re.DOTALL).groups()  # type: ignore[union-attr]
    digits = replacement.digest(b"digits", value, min(len(mantissa), _MOST))
    out = bytearray(mantissa)
    first = True
    for at, byte in enumerate(mantissa):
        if 0x30 <= byte <= 0x39:
            digit = digits[at % len(digits)] % 10
            alone = mantissa[at + 1 : at + 2] in (b"", b".")
            out[at] = 0x30 + (digit if not first or alone else digit % 9 + 1)
            first = False
    return bytes(out) + mark + exponent
