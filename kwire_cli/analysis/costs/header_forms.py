"""Forms of record headers: the released form, the KIP-82 draft, and its alternatives.

HEADER_FORMS has an entry for each form. Each record is written with its headers and without them. The cost of headers
is the difference of the two sizes.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote_from_bytes

from kwire_cli.records.batch import base64_text, int64
from kwire_cli.records.building import sealed
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.structs.lengths import MAX_STRING
from kwire_cli.structs.records import kip82, v1, v2
from kwire_cli.structs.records.kip82 import AVRO_MAP, MAP_MESSAGE, NULL_KEY, REDUCED, WITHOUT_KEY, WRAPPER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kwire_cli.records.batch import Record
    from kwire_cli.records.registers import Register

    Headers = tuple[tuple[str | int, bytes | None], ...]
    Fields = dict[str, Any]
    """The fields of a record in all formats, in JSON form."""


_MAX_DELTA = (1 << 31) - 1
"""Larger offset deltas of damaged batches are cut: they have no effect on the cost of headers."""


@dataclass(slots=True)
class HeaderKeys:
    """Conversion of header keys between names and numbers. `lost` counts the losses by their names."""

    register: Register
    lost: Counter[str] = field(default_factory=Counter)

    def named(self, headers: Headers) -> list[tuple[str, bytes | None]]:
        """Return headers with names for keys."""
        return [(self.register.name(key) if isinstance(key, int) else key, value) for key, value in headers]

    def numbered(self, headers: Headers) -> dict[int, bytes]:
        """Return headers in the form of the KIP-82 draft, a map with ascending numbers."""
        keys = [(key if isinstance(key, int) else self.register.number(key), value) for key, value in headers]
        self.lost["headers left out: the Local User range of keys is full"] += sum(key is None for key, _ in keys)
        by_number: dict[int, bytes | None] = {}
        for key, value in keys:
            if key is not None:
                repeated = "headers left out: their key comes again, and a map has the last one alone"
                self.lost[repeated] += key in by_number
                by_number[key] = value
        self.lost["headers with null values, written as empty ones"] += [*by_number.values()].count(None)
        self.lost["records whose headers change their order"] += [*by_number] != sorted(by_number)
        return {key: by_number[key] or b"" for key in sorted(by_number)}


if TYPE_CHECKING:
    Build = Callable[[Fields, Headers, HeaderKeys], bytes]


class HeaderForm(NamedTuple):
    """A form: a description, and functions that write a record with some headers, and without headers."""

    says: str
    build: Build
    bare: Callable[[Fields], bytes] | None = None


@dataclass(slots=True)
class HeaderPrice:
    """The size of records in one form, with headers (`size`) and without (`bare`). Batch headers are not included."""

    form: str
    keys: HeaderKeys
    records: int = 0
    headers: int = 0
    size: int = 0
    bare: int = 0

    @property
    def cost(self) -> int:
        """Return the bytes of headers."""
        return self.size - self.bare

    def add(self, first: Record, records: Sequence[Record]) -> None:
        """Write records with their headers and without. `first` is the first record of their batch."""
        form = HEADER_FORMS[self.form]
        without_count = HeaderKeys(self.keys.register)
        for record in records:
            fields = _fields(first, record)
            self.records += 1
            self.headers += len(record.headers)
            self.size += len(form.build(fields, record.headers, self.keys))
            self.bare += len(form.bare(fields) if form.bare else form.build(fields, (), without_count))


def _fields(first: Record, record: Record) -> Fields:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "deltas": {
            "timestampDelta": int64(record.timestamp - first.timestamp),
            "offsetDelta": max(-_MAX_DELTA, min(_MAX_DELTA, record.offset - first.offset)),
        },
        "key": base64_text(record.key),
        "value": base64_text(record.value),
    }


def header_rows(pairs: Iterable[tuple[str | int, bytes | None]]) -> list[dict[str, Any]]:
    """Return headers in JSON form."""
    return [{"key": key, "value": base64_text(value)} for key, value in pairs]


# The functions that write a record.


def _shipped(fields: Fields, headers: Headers, keys: HeaderKeys) -> bytes:
    parts = {"attributes": 0, "key": fields["key"], "value": fields["value"]} | fields["deltas"]
    return bytes(v2.RECORD.build(parts | {"headers": header_rows(keys.named(headers))}))


def _draft(decl: Any, *, null_key: bool) -> Build:
    def build(fields: Fields, headers: Headers, keys: HeaderKeys) -> bytes:
        attributes = NULL_KEY.mask if null_key and fields["key"] is None else 0
        return _message(decl, fields, header_rows(keys.numbered(headers).items()), attributes)

    return build


def _map(serialised: Callable[[Mapping[str, str]], bytes]) -> Build:
    def build(fields: Fields, headers: Headers, keys: HeaderKeys) -> bytes:
        texts = {key: _text(value or b"") for key, value in keys.named(headers)}
        return _message(MAP_MESSAGE, fields, base64_text(serialised(texts)) if texts else None)

    return build


def _text(value: bytes) -> str:
    """Return a value as text, or as base64 if it is not UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64_text(value) or ""


def _wrapped(fields: Fields, headers: Headers, keys: HeaderKeys) -> bytes:
    short = [(key, value) for key, value in keys.named(headers) if len(key.encode()) <= MAX_STRING]
    wrapper = bytes(WRAPPER.build({"headers": header_rows(short), "payload": fields["value"]}))
    return _plain(fields | {"value": base64_text(wrapper)})


def _plain(fields: Fields) -> bytes:
    """Return a message of format v1."""
    return _message(v1.MESSAGE, fields, magic=1)


def _message(decl: Any, fields: Fields, headers: Any = None, attributes: int = 0, *, magic: int = 2) -> bytes:
    """Return a message with its checksum, which is the same in all forms of the message."""
    value = fields | {"crc": 0, "magic": magic, "attributes": attributes}
    del value["deltas"]
    if headers:
        value |= {"headers": headers, "attributes": attributes | kip82.HAS_HEADERS.mask}
    return sealed(bytes(decl.build(value)), LAYOUTS["kip82-draft"], None)


def _pairs(found: Mapping[str, str]) -> bytes:
    pairs = [(quote_from_bytes(key.encode()), quote_from_bytes(value.encode())) for key, value in found.items()]
    return "&".join(f"{key}={value}" for key, value in pairs).encode()


def _json(found: Mapping[str, str]) -> bytes:
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()


def _avro(found: Mapping[str, str]) -> bytes:
    return bytes(AVRO_MAP.build({"pairs": [{"key": key, "value": value} for key, value in found.items()], "end": 0}))


_REDUCTIONS = {
    "no-key-length": "no KeyLength for a null key",
    "varint-key-length": "KeyLength as a varint",
    "varint-value-length": "ValueLength as a varint",
    "all-three": "all three together",
}
HEADER_FORMS: Mapping[str, HeaderForm] = {
    "v2": HeaderForm("as shipped: names with varint lengths", _shipped),
    "kip82-draft": HeaderForm("the KIP-82 draft: int32 keys", _draft(kip82.MESSAGE, null_key=False)),
    "map-pairs": HeaderForm("rejected: a map of strings, as a=b&c=d", _map(_pairs)),
    "map-json": HeaderForm("rejected: a map of strings, as JSON", _map(_json)),
    "map-avro": HeaderForm("rejected: a map of strings, as Avro", _map(_avro)),
    "wrapper": HeaderForm("rejected: headers wrapped into the value, v1", _wrapped, _plain),
    **{
        name: HeaderForm(f"out of scope: {says}", _draft(REDUCED[name], null_key=name in WITHOUT_KEY))
        for name, says in _REDUCTIONS.items()
    },
}
"""The forms by name, in the order in which they are shown."""
