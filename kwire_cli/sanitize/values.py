"""Values inside keys and values of records, replaced by others of their type at equal length.

What stands between the values stays: ids of schemas, counts, lengths, tags, and the names of fields of JSON.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from kwire_cli.records.schemas.ids import id_headers, packed
from kwire_cli.records.schemas.record import ReadPart
from kwire_cli.sanitize.replacing import DIFFERENT, TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.engine.spans import Spans
    from kwire_cli.records.batch import Batch, Record
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.records.schemas.ids import Headers
    from kwire_cli.records.schemas.model import Leaf
    from kwire_cli.sanitize.fields import Fields
    from kwire_cli.sanitize.replacing import Replacement

_JSON = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:)?|-?\d[\d.eE+-]*')
_NAME = re.compile(rb"[A-Za-z_$][A-Za-z0-9_$-]*")
"""Names of fields. Others may be values, such as addresses of mail in a map."""
_HEX = re.compile(rb"[0-9a-fA-F]")
_NUMBER = re.compile(rb"([-\d.]+)([eE]?)(.*)", re.DOTALL)
_HEADER_NAME = "records[].headers[].key"
_MOST = 64
"""Bytes of one digest."""


def of_part(fields: Fields, payload: Payload, batch: Batch, record: Record, different: int) -> bytes:
    """Return other bytes for a key or value: by the format that it was read by, with other values of the same types.

    `different` is how many letters differ, as in `Replacement.letters`.
    """
    serdes, topic = fields.catalog.serdes, batch.source.topic
    if not isinstance(payload, ReadPart) or serdes is None or not payload.fits:
        return fields.payload(payload)
    data, letters = bytes(payload.data), fields.replacement.letters
    found = serdes.leaves(payload, topic, record.headers)
    if found is None:
        return letters(data, different=different)
    inside, leaves = found
    for fewer in DIFFERENT:
        changed = rewritten(inside, leaves, fields.replacement, min(fewer, different))
        substitute = changed if inside == data else packed(changed, data)
        if substitute is not None:
            break
    else:
        return letters(data, different=different)
    key, value = (substitute, None) if payload.path == "key" else (None, substitute)
    part = getattr(serdes.record(topic, key, value, record.headers), payload.path, None)
    # What is no value of the schema any more says nothing in its place.
    return substitute if part and part.fits else letters(data, different=different)


def kept_headers(parts: Iterable[Payload | None], headers: Headers) -> Iterator[tuple[bytes, bytes]]:
    """Yield the names and values of headers that name the schemas of parts that were read."""
    for part in parts:
        if isinstance(part, ReadPart) and part.fits:
            for name, value in id_headers(headers, part.path, part.type):
                yield name.encode(), value


def unchanged(spans: Spans, headers: frozenset[tuple[bytes, bytes]]) -> dict[int, bytes]:
    """Return the names and values of these headers by where they stand."""
    leaves, data, places = spans.program.leaves, spans.data, [*zip(spans.node, spans.value, spans.end, strict=True)]
    found: dict[int, bytes] = {}
    for (node, start, end), (_, value, stop) in pairwise(places):
        if leaves[node].path == _HEADER_NAME and (bytes(data[start:end]), bytes(data[value:stop])) in headers:
            found |= {start: bytes(data[start:end]), value: bytes(data[value:stop])}
    return found


def rewritten(data: bytes, leaves: Iterable[Leaf], replacement: Replacement, different: int = TOKEN) -> bytes:
    """Return bytes with other values at the places of these. With 0 different letters, equal kinds of values are
    equal.
    """
    out = bytearray(data)
    replace = _Values(replacement, different)
    for leaf in leaves:
        if value := data[leaf.start : leaf.end]:
            out[leaf.start : leaf.end] = replace(leaf, value)
    return bytes(out)


class _Values:
    """Replaces values by their kind."""

    def __init__(self, replacement: Replacement, different: int) -> None:
        self._replacement, self._different = replacement, different

    def __call__(self, leaf: Leaf, value: bytes) -> bytes:
        """Return another value of the same kind and size."""
        kind = leaf.kind
        if kind == "text":
            return self._replacement.letters(value, different=self._different)
        if kind == "varint":
            return self._varint(value)
        if kind == "raw":
            return self._digest(b"raw", value)
        if kind == "hex":
            digits = self._digest(b"hex", value)
            return _HEX.sub(lambda match: b"%x" % (digits[match.start()] & 0x0F), value)
        if kind == "json":
            return _JSON.sub(self._in_json, value)
        if leaf.choices and len(value) == 1:
            return leaf.choices[self._digest(b"choice", value)[0] % len(leaf.choices)]
        return value

    def _digest(self, what: bytes, value: bytes) -> bytes:
        """Return as many bytes: of floats too, in which the first byte decides that they are small numbers."""
        if not self._different:
            return bytes(len(value))
        size = min(len(value), _MOST)
        digest = self._replacement.digest(what, value, size)
        return (digest * (len(value) // size + 1))[: len(value)]

    def _varint(self, value: bytes) -> bytes:
        """Return a varint of as many bytes, which are all needed."""
        digits = [byte & 0x7F for byte in self._digest(b"varint", value)]
        size = len(value)
        if size > 1:
            # The last of five or ten bytes has the highest bits of 32 or 64.
            digits[-1] = 1 if size == 10 else (digits[-1] & 0x07 if size == 5 else digits[-1]) or 1
        return bytes([digit | 0x80 for digit in digits[:-1]] + digits[-1:])

    def _in_json(self, match: re.Match[bytes]) -> bytes:
        """Return another text or number in place of one; names of fields stay."""
        text, colon = match[1], match[2]
        if text is None:
            return self._number(match[0])
        if (colon is not None and _NAME.fullmatch(text)) or not text:
            return match[0]
        return b'"%b"%b' % (self._replacement.letters(text, different=self._different), colon or b"")

    def _number(self, value: bytes) -> bytes:
        """Return a number with other digits; the exponent stays."""
        mantissa, mark, exponent = _NUMBER.fullmatch(value).groups()  # type: ignore[union-attr]
        digits = self._digest(b"digits", mantissa)
        out = bytearray(mantissa)
        first = True
        for at, byte in enumerate(mantissa):
            if 0x30 <= byte <= 0x39:
                digit = digits[at] % 10
                alone = mantissa[at + 1 : at + 2] in (b"", b".")
                out[at] = 0x30 + (digit if not first or alone else digit % 9 + 1)
                first = False
        return bytes(out) + mark + exponent
