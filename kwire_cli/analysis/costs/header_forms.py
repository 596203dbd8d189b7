"""Forms of record headers: the released form, the KIP-82 draft, and its alternatives.

HEADER_FORMS has an entry for each form. Each record is written with its headers and without them. The cost of headers
is the difference of the two sizes.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote_from_bytes

from kwire_cli.records.batch import base64_text, int64
from kwire_cli.records.building import sealed
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.structs.lengths import MAX_STRING
from kwire_cli.structs.records import kip82, v1, v2
from kwire_cli.structs.records.kip82 import (
    AVRO_MAP,
    MAP_MESSAGE,
    NULL_KEY,
    REDUCED,
    WITHOUT_KEY,
    WRAPPER,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kwire_cli.records.batch import Record
    from kwire_cli.records.registers import Register

    Headers = tuple[tuple[str | int, bytes | None], ...]


# Conversion of header keys between names and numbers, and the losses of the conversion.

Key = TypeVar("Key", int, str)


UNNUMBERED = "headers left out: the Local User range of keys is full"
NULLS = "headers with null values, written as empty ones"
REPEATED = "headers left out: their key comes again, and a map has the last one alone"
UNSORTED = "records whose headers change their order"


if TYPE_CHECKING:
    Build = Callable[[Record, Record, Headers, Register, Counter[str]], bytes]


def named(headers: Headers, register: Register) -> list[tuple[str, bytes | None]]:
    """Return headers with names for keys."""
    return [(register.name(key) if isinstance(key, int) else key, value) for key, value in headers]


def mapped(headers: Headers, register: Register, lost: Counter[str]) -> dict[str, bytes]:
    """Return headers as a map by name, without nulls. Count the losses in `lost`."""
    return _without_nulls(named(headers, register), lost)


def numbered(headers: Headers, register: Register, lost: Counter[str]) -> dict[int, bytes]:
    """Return headers in the form of the KIP-82 draft, a map with ascending numbers. Count the losses in `lost`."""
    keys = [(key if isinstance(key, int) else register.number(key), value) for key, value in headers]
    lost[UNNUMBERED] += sum(key is None for key, _ in keys)
    by_number = _without_nulls([(key, value) for key, value in keys if key is not None], lost)
    ascending = dict(sorted(by_number.items()))
    lost[UNSORTED] += [*ascending] != [*by_number]
    return ascending


def _without_nulls(pairs: Iterable[tuple[Key, bytes | None]], lost: Counter[str]) -> dict[Key, bytes]:
    by_key: dict[Key, bytes | None] = {}
    for key, value in pairs:
        lost[REPEATED] += key in by_key
        by_key[key] = value
    lost[NULLS] += sum(value is None for value in by_key.values())
    return {key: value or b"" for key, value in by_key.items()}


# The forms.

BATCH_HEADER = v2.HEADER.sizeof()
"""Size of a batch header. It is not part of the cost of records here."""


_LAYOUT = LAYOUTS["kip82-draft"]
"""The layout that specifies the checksum of a message. The checksum is the same in all forms of the message."""
NO_TEXT = "headers whose values are no UTF-8 text, as base64 text"
NO_TOMBSTONE = "records with a null value, which compaction no longer sees"
LONG_NAMES = "headers left out: their names are longer than 32767 bytes"


class HeaderForm(NamedTuple):
    """A form: a description, and functions that write a record with headers, and without headers.

    The arguments of `build` are the first record of the batch, the record, its headers, the register of names, and
    counts of losses by name.
    """

    says: str
    build: Build
    bare: Callable[[Record], bytes] | None = None


@dataclass(slots=True)
class HeaderPrice:
    """The size of records in one form, with headers (`size`) and without (`bare`). Batch headers are not included."""

    form: str
    records: int = 0
    headers: int = 0
    size: int = 0
    bare: int = 0
    lost: Counter[str] = field(default_factory=Counter)

    @property
    def cost(self) -> int:
        """Return the bytes of headers."""
        return self.size - self.bare

    def add(self, first: Record, records: Sequence[Record], register: Register) -> None:
        """Write records with their headers and without. `first` is the first record of their batch."""
        form = HEADER_FORMS[self.form]
        for record in records:
            self.records += 1
            self.headers += len(record.headers)
            self.size += len(form.build(first, record, record.headers, register, self.lost))
            bare = form.bare(record) if form.bare else form.build(first, record, (), register, Counter())
            self.bare += len(bare)


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
        texts = {key: _text(value, lost) for key, value in mapped(headers, register, lost).items()}
        return _message(MAP_MESSAGE, record, base64_text(serialised(texts)) if texts else None, 0)

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
    """Return a message of format v1."""
    return _message(v1.MESSAGE, record, None, 0, magic=1)


def _message(decl: Any, record: Record, headers: Any, attributes: int, *, magic: int = 2) -> bytes:
    """Return a message with its checksum."""
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
    return "&".join(
        f"{quote_from_bytes(key.encode())}={quote_from_bytes(value.encode())}" for key, value in found.items()
    ).encode()


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
