"""Records and batches from JSON: the values of objects, and the parts of batches built from them.

The writers of all formats share these functions. Objects are read key by key together with their path, so that an error
names the exact key. Given sizes and checksums are written even if they are wrong, because faulty batches are useful as
test data.
"""

from __future__ import annotations

import base64
import binascii
import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import construct

from kwire_cli.errors import EncodeError
from kwire_cli.records.compression import compress
from kwire_cli.structs.lengths import REDACTED
from kwire_cli.structs.numbers import INTS, RANGES, shown
from kwire_cli.structs.records.parts import COMPRESSION, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from kwire_cli.records.layouts import Layout
    from kwire_cli.structs.records.parts import Bits


# Values of a JSON object by key, checked for type and range. Errors contain the path of the key.

BYTES_FORMS = 'base64 text, {"text": "..."}, {"json": ...} or {"hex": "..."}'
"""The forms of bytes in JSON."""


@dataclass(frozen=True, slots=True)
class Given:
    """A JSON object with its path."""

    value: Mapping[str, Any]
    path: str

    def at(self, key: str) -> str:
        """Return the path of a key."""
        return f"{self.path}.{key}" if self.path else key

    def has(self, key: str) -> bool:
        """Return whether the key is present and its value is not null."""
        return self.value.get(key) is not None

    def refuse(self, key: str, reason: str) -> EncodeError:
        """Return the error for the value of a key."""
        return EncodeError(reason, path=self.at(key), value=self.value.get(key))

    def only(self, known: Collection[str]) -> None:
        """Raise EncodeError if the object has another key."""
        for key in self.value:
            if key not in known:
                raise self.refuse(key, f"no such key; known are {', '.join(sorted(known))}")

    def integer(self, key: str, kind: str) -> int | None:
        """Return an integer in the range of a type such as int32, or None if the key is missing."""
        value = self.value.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.refuse(key, f"it is an integer ({kind}), not {shown(value)}")
        low, high = RANGES[kind]
        if not low <= value <= high:
            raise self.refuse(key, f"{shown(value)} does not fit {kind} ({low} to {high})")
        return value

    def number(self, key: str, kind: str, default: int = -1) -> int:
        """Return an integer in the range of a type, or the default if the key is missing."""
        value = self.integer(key, kind)
        return default if value is None else value

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return a boolean, or the default if the key is missing."""
        value = self.value.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.refuse(key, f"it is true or false, not {shown(value)}")
        return default if value is None else value

    def text(self, key: str) -> str | None:
        """Return a string, or None if the key is missing."""
        value = self.value.get(key)
        if value is not None and not isinstance(value, str):
            raise self.refuse(key, f"it is a text, not {shown(value)}")
        return value

    def choice(self, key: str, names: Mapping[int, str], default: int) -> int:
        """Return the number with this name."""
        name = self.text(key)
        if name is None:
            return default
        code = next((number for number, label in names.items() if label == name), None)
        if code is None:
            raise self.refuse(key, f"it is one of {', '.join(names.values())}, not {shown(name)}")
        return code

    def inner(self, key: str) -> Given | None:
        """Return an inner object, or None if it is missing."""
        return given(self.value[key], self.at(key)) if self.has(key) else None

    def fields(self) -> dict[str, Any]:
        """Return the values in `fields`, which replace what would be written."""
        inner = self.inner("fields")
        return dict(inner.value) if inner else {}

    def list(self, key: str) -> list[Given]:
        """Return the objects of a list. A missing list is empty."""
        value = self.value.get(key)
        if value is None:
            return []
        if not isinstance(value, list | tuple):
            raise self.refuse(key, f"it is a list, not {shown(value)}")
        return [given(part, f"{self.at(key)}[{i}]") for i, part in enumerate(value)]

    def bytes(self, key: str) -> bytes | None:
        """Return the bytes in one of BYTES_FORMS, or None if the key is missing."""
        value = self.value.get(key)
        if value is None:
            return None
        try:
            data = _bytes(value)
        except UnicodeEncodeError:
            raise self.refuse(key, "text with a lone surrogate has no UTF-8 form") from None
        except (binascii.Error, ValueError, TypeError, RecursionError) as error:
            raise self.refuse(key, f"it takes {BYTES_FORMS}: {error}") from None
        if data is None:
            raise self.refuse(key, f"it takes {BYTES_FORMS}, not {shown(value)}")
        return data

    def absent(self, defaults: Mapping[str, Any], form: str) -> None:
        """Raise EncodeError for a key whose value is not the default, if the format only allows the default."""
        for key, default in defaults.items():
            value = self.value.get(key)
            if value is not None and value != default:
                raise self.refuse(key, f"format {form} has no such thing")


def given(value: Any, path: str) -> Given:
    """Return an object at a path. Raise EncodeError if the value is not an object."""
    if not isinstance(value, dict):
        raise EncodeError(f"it is an object, not {shown(value)}", path=path, value=value)
    return Given(value, path)


def _bytes(value: Any) -> bytes | None:
    if isinstance(value, str):
        if REDACTED.fullmatch(value):
            raise ValueError("the value was redacted; use --show-secrets to keep it")
        return base64.b64decode(value, validate=True)
    if not isinstance(value, dict) or len(value) != 1:
        return None
    [(form, inner)] = value.items()
    if form == "json":
        return json.dumps(inner, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    if not isinstance(inner, str):
        return None
    if form == "text":
        return inner.encode()
    if form != "hex":
        return None
    try:
        return bytes.fromhex(inner)
    except ValueError:
        raise ValueError("hex has two digits for each byte") from None


# Batches and messages of all formats are built by their declaration; then the checksum is inserted.


def built(decl: Any, value: Mapping[str, Any], path: str) -> bytes:
    """Return the bytes of a value. Given sizes are written unchanged. An EncodeError gets `path` before the
    declaration's path.
    """
    with within(path):
        return bytes(decl.build(dict(value), lenient=True))


def sealed(data: bytes, layout: Layout, crc: int | None) -> bytes:
    """Return a batch or message with its correct checksum, or with `crc` if that is an integer."""
    number = layout.checksum(data[layout.crc_from :]) if crc is None else crc
    checksum: bytes = INTS["uint32"].build(number)
    return data[: layout.crc_at] + checksum + data[layout.crc_at + len(checksum) :]


def said_crc(item: Given, fields: Mapping[str, Any]) -> int | None:
    """Return the checksum to write, which may be wrong; None if it is to be computed."""
    if "crc" in fields:
        return item.inner("fields").integer("crc", "uint32")  # type: ignore[union-attr]
    if item.flag("crcValid", default=True):
        return None
    crc = item.integer("crc", "uint32")
    if crc is None:
        raise item.refuse("crc", "it is missing: with crcValid false it says what checksum to write")
    return crc


def packed(item: Given, codec: int, data: bytes, magic: int) -> bytes:
    """Compress the bytes at the level of the item."""
    level = item.integer("compressionLevel", "int32")
    try:
        return compress(codec, data, level=level, magic=magic)
    except EncodeError as error:
        raise item.refuse("compressionLevel", error.reason) from None


def codec_of(item: Given) -> int:
    """Return the number of the item's codec.

    zstd is allowed in every format. Kafka rejects it in v0 and v1, and tests need such batches.
    """
    return item.choice("compression", COMPRESSION.names, 0)


def timestamp_type_of(item: Given) -> int:
    """Return the number of the item's timestamp type, 0 by default."""
    return item.choice("timestampType", TIMESTAMP_TYPE.names, 0)


def attributes_of(*parts: tuple[Bits, int]) -> int:
    """Combine bit fields to the attributes."""
    return sum(int(number) << bits.shift for bits, number in parts)


def offsets_of(records: list[Given], first: int) -> list[int]:
    """Return the offset of each record: its own, or the previous record's plus 1."""
    out: list[int] = []
    for record in records:
        offset = record.number("offset", "int64", first)
        out.append(offset)
        first = min(offset + 1, (1 << 63) - 1)
    return out


@contextmanager
def within(path: str) -> Iterator[None]:
    """Convert errors of a declaration to EncodeError, with `path` before the declaration's own path."""
    try:
        yield
    except EncodeError as error:
        raise EncodeError(error.reason, path=_join_paths(path, error.path), value=error.value) from None
    except construct.ConstructError as error:
        raise EncodeError(str(error), path=path) from error


def _join_paths(path: str, inner: str) -> str:
    return f"{path}.{inner}" if path and inner and not inner.startswith("[") else path + inner
