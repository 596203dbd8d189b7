"""The same headers in other forms: as shipped, as the KIP-82 draft has them, as what it rejects, and with the size reductions that it leaves out.

Each record is written with its headers and without them, so that what headers cost is the difference of two counted sizes.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote_from_bytes

from kwire_cli.cost.header_keys import mapped, named, numbered
from kwire_cli.records.batch import int64
from kwire_cli.records.building import sealed
from kwire_cli.records.jsonform import base64_text
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.structs.records import kip82, v1, v2
from kwire_cli.structs.records.kip82_alternatives import AVRO_MAP, MAP_MESSAGE, NULL_KEY, REDUCED, WITHOUT_KEY, WRAPPER
from kwire_cli.structs.sized import MAX_STRING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire_cli.cost.header_keys import Headers, Register
    from kwire_cli.records.model import Record

    Build = Callable[[Record, Record, Headers, Register, Counter[str]], bytes]

BATCH_HEADER = v2.HEADER.sizeof()
"""Bytes of the header of a batch, which no record is charged for here."""
_LAYOUT = LAYOUTS["kip82-draft"]
"""Where the checksum of a message stands, and what it covers: the same in all forms of it."""
NO_TEXT = "headers whose values are no UTF-8 text, as base64 text"
NO_TOMBSTONE = "records with a null value, which compaction no longer sees"
LONG_NAMES = "headers left out: their names are longer than 32767 bytes"


class HeaderForm(NamedTuple):
    """A form: what it is, and what writes a record with these headers; `first` is the first record of its batch."""

    says: str
    build: Build


@dataclass(slots=True)
class HeaderPrice:
    """All records in one form: their bytes with headers (`size`) and without (`bare`). A batch's header is in neither."""

    form: str
    records: int = 0
    headers: int = 0
    size: int = 0
    bare: int = 0
    lost: Counter[str] = field(default_factory=Counter)

    @property
    def cost(self) -> int:
        """The bytes that headers take."""
        return self.size - self.bare

    def to_json(self) -> dict[str, Any]:
        """The numbers, and what the form can't carry."""
        return {
            "form": self.form,
            "says": HEADER_FORMS[self.form].says,
            "records": self.records,
            "headers": self.headers,
            "bytes": self.size,
            "bytesWithoutHeaders": self.bare,
            "headerBytes": self.cost,
            "bytesPerHeader": round(self.cost / self.headers, 3) if self.headers else None,
            "cannotCarry": {what: count for what, count in self.lost.items() if count},
        }


class HeaderForms:
    """The prices of headers in these forms; the records of each batch are added as they are read, those without headers only if `every` is."""

    def __init__(self, forms: Sequence[str], register: Register, *, every: bool = True) -> None:
        self.register, self.every = register, every
        self.prices = [HeaderPrice(form) for form in forms]

    def add(self, records: Sequence[Record]) -> None:
        """Price the records of one batch."""
        wanted = records if self.every else [record for record in records if record.headers]
        for price in self.prices:
            build = HEADER_FORMS[price.form].build
            for record in wanted:
                price.records += 1
                price.headers += len(record.headers)
                whole = len(build(records[0], record, record.headers, self.register, price.lost))
                price.size += whole
                if price.form == _WRAPPED:  # a value is wrapped, if at all, with headers or without
                    price.bare += len(_plain(record))
                else:
                    price.bare += len(build(records[0], record, (), self.register, Counter())) if record.headers else whole


def _shipped(first: Record, record: Record, headers: Headers, register: Register, lost: Counter[str]) -> bytes:  # noqa: ARG001 - the same for all forms
    value = {
        "attributes": 0,
        "timestampDelta": int64(record.timestamp - first.timestamp),
        "offsetDelta": record.offset - first.offset,
        "key": base64_text(record.key),
        "value": base64_text(record.value),
        "headers": [{"key": key, "value": base64_text(value)} for key, value in named(headers, register)],
    }
    return bytes(v2.RECORD.build(value))


def _draft(decl: Any, *, null_key: bool) -> Build:
    def build(_: Record, record: Record, headers: Headers, register: Register, lost: Counter[str]) -> bytes:
        rows = [{"key": key, "value": base64_text(value)} for key, value in numbered(headers, register, lost).items()]
        return _message(decl, record, rows or None, NULL_KEY.mask if null_key and record.key is None else 0)

    return build


def _map(serialised: Callable[[Mapping[str, str]], bytes]) -> Build:
    def build(_: Record, record: Record, headers: Headers, register: Register, lost: Counter[str]) -> bytes:
        found = {key: _text(value, lost) for key, value in mapped(headers, register, lost).items()}
        return _message(MAP_MESSAGE, record, base64_text(serialised(found)) if found else None, 0)

    return build


def _wrapped(_: Record, record: Record, headers: Headers, register: Register, lost: Counter[str]) -> bytes:
    short = [(key, value) for key, value in named(headers, register) if len(key.encode()) <= MAX_STRING]
    lost[LONG_NAMES] += len(headers) - len(short)
    lost[NO_TOMBSTONE] += record.value is None
    rows = [{"key": key, "value": base64_text(value)} for key, value in short]
    return _plain(record._replace(value=bytes(WRAPPER.build({"headers": rows, "payload": base64_text(record.value)}))))


def _text(value: bytes, lost: Counter[str]) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        lost[NO_TEXT] += 1
        return base64_text(value) or ""


def _plain(record: Record) -> bytes:
    """A message of format v1."""
    return _message(v1.MESSAGE, record, None, 0, magic=1)


def _message(decl: Any, record: Record, headers: Any, attributes: int, *, magic: int = 2) -> bytes:
    """A message with its checksum."""
    value = {
        "offset": record.offset,
        "crc": 0,
        "magic": magic,
        "attributes": attributes,
        "timestamp": record.timestamp,
        "key": base64_text(record.key),
        "value": base64_text(record.value),
    }
    if headers is not None:
        value |= {"headers": headers, "attributes": attributes | kip82.HAS_HEADERS.mask}
    return sealed(bytes(decl.build(value)), _LAYOUT, None)


def _pairs(found: Mapping[str, str]) -> bytes:
    return "&".join(f"{quote_from_bytes(key.encode())}={quote_from_bytes(value.encode())}" for key, value in found.items()).encode()


def _json(found: Mapping[str, str]) -> bytes:
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()


def _avro(found: Mapping[str, str]) -> bytes:
    return bytes(AVRO_MAP.build({"pairs": [{"key": key, "value": value} for key, value in found.items()], "end": 0}))


_WRAPPED = "wrapper"
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
    _WRAPPED: HeaderForm("rejected: headers wrapped into the value, v1", _wrapped),
    **{name: HeaderForm(f"out of scope: {says}", _draft(REDUCED[name], null_key=name in WITHOUT_KEY)) for name, says in _REDUCTIONS.items()},
}
"""The forms by name, in the order in which they are shown."""
