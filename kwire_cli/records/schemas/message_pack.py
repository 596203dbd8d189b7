"""MessagePack values as JSON."""

from __future__ import annotations

import base64
import contextlib
import json
from datetime import datetime, timedelta
from typing import Any

import msgpack

from kwire_cli.records.schemas.model import Leaf, UnfitError, Value
from kwire_cli.records.schemas.plain import DEEPEST, finite

_REPEATED = "keys of a map have the same text: their values are a list"


def read(data: bytes, start: int) -> Value:
    """Return a MessagePack value as JSON. Keys of maps become text."""
    try:
        value = msgpack.unpackb(
            memoryview(data)[start:], raw=False, strict_map_key=False, timestamp=0, object_pairs_hook=_object,
            unicode_errors="surrogateescape",
        )  # fmt: skip
        form = _Form()
        return Value(form.json(value, 0), note=_REPEATED if form.repeats else "")
    except msgpack.ExtraData as error:
        raise UnfitError(
            f"the last {len(error.extra)} of the {len(data) - start} bytes are not part of the value"
        ) from None
    except (msgpack.FormatError, msgpack.StackError, ValueError, TypeError, OverflowError, RecursionError):
        raise UnfitError("the bytes are not MessagePack, or end early") from None


class _Map(list[Any]):
    """The pairs of a map."""


def _object(pairs: Any) -> _Map:
    return _Map(pairs)


class _Form:
    """The JSON form of a value. `repeats` is whether keys of a map have the same text, as 1 and "1" have."""

    def __init__(self) -> None:
        self.repeats = False

    def json(self, value: Any, depth: int) -> Any:
        """Return a value as JSON."""
        if depth > DEEPEST:
            raise UnfitError(f"the value nests more than {DEEPEST} levels deep")
        if isinstance(value, _Map):
            return self._object(value, depth + 1)
        if isinstance(value, list):
            return [self.json(part, depth + 1) for part in value]
        return _scalar(value)

    def _object(self, pairs: _Map, depth: int) -> dict[str, Any]:
        """Return a map, in which the values of keys with the same text are a list, so that patterns of fields to
        redact apply to all of them.
        """
        values: dict[str, list[Any]] = {}
        for key, part in pairs:
            values.setdefault(self._key(key), []).append(self.json(part, depth))
        self.repeats = self.repeats or len(values) < len(pairs)
        return {key: parts[0] if len(parts) == 1 else parts for key, parts in values.items()}

    def _key(self, key: Any) -> str:
        """Return the key of a map as text. Bytes that are UTF-8 are text too. Other keys become JSON."""
        if isinstance(key, bytes):
            with contextlib.suppress(UnicodeDecodeError):
                return key.decode()
        shown = self.json(list(key) if isinstance(key, tuple) else key, 0)
        return shown if isinstance(shown, str) else json.dumps(shown)


def _scalar(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, msgpack.ExtType):
        return {"type": value.code, "data": base64.b64encode(value.data).decode("ascii")}
    return _moment(value) if isinstance(value, msgpack.Timestamp) else value


def _moment(value: msgpack.Timestamp) -> Any:
    """Return a timestamp as text, with nanoseconds where it has them; beyond the years 1 to 9999 it stays bytes."""
    try:
        moment = datetime(1970, 1, 1) + timedelta(seconds=value.seconds)  # noqa: DTZ001 - the text says that it is UTC
    except OverflowError:
        return {"type": -1, "data": base64.b64encode(value.to_bytes()).decode("ascii")}
    part = f".{value.nanoseconds:09d}".removesuffix("000") if value.nanoseconds else ""
    return f"{moment.isoformat()}{part}Z"


# The places of values, from the bytes before them.

_SMALL = tuple(bytes([number]) for number in range(0x80))
_NEGATIVE = tuple(bytes([number]) for number in (0xFF, *range(0xE0, 0xFF)))
_FLAGS = (b"\xc2", b"\xc3")
_NUMBERS = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
"""The sizes of numbers, by their first byte."""
_LENGTHS = {
    0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4,
}  # fmt: skip
"""The sizes of lengths: of bytes, of extensions, of text, of arrays and of maps."""
_TIMESTAMP = 0xFF
_NANOSECONDS = {8: 0xEE, 12: 0x3B}
"""The first byte of nanoseconds is less, by the size of the timestamp."""


def leaves(data: bytes, start: int) -> list[Leaf]:
    """Return the leaves of a value that fits. Small numbers that are keys of maps stand for names of fields."""
    found: list[Leaf] = []
    _walk(data, start, found)
    return found


def _walk(data: bytes, at: int, found: list[Leaf], *, is_key: bool = False) -> int:
    """Add the leaves of the value at an offset. Return where the value ends."""
    first = data[at]
    if first < 0x80 or first >= 0xE0:
        if first >= 0xE0 or not is_key:
            found.append(Leaf(at, at + 1, "choice", _SMALL if first < 0x80 else _NEGATIVE))
        return at + 1
    if first in (0xC2, 0xC3):
        found.append(Leaf(at, at + 1, "choice", _FLAGS))
        return at + 1
    if first in _NUMBERS:
        found.append(Leaf(at + 1, at + 1 + _NUMBERS[first], "raw"))
        return at + 1 + _NUMBERS[first]
    at += 1
    size = first & (0x1F if 0xA0 <= first < 0xC0 else 0x0F)
    if first in _LENGTHS:
        at, size = at + _LENGTHS[first], int.from_bytes(data[at : at + _LENGTHS[first]])
    if 0x90 <= first < 0xA0 or first in (0xDC, 0xDD):
        for _ in range(size):
            at = _walk(data, at, found)
        return at
    if first < 0x90 or first in (0xDE, 0xDF):
        for _ in range(size):
            at = _walk(data, _walk(data, at, found, is_key=True), found)
        return at
    if 0xC7 <= first <= 0xC9 or (first >= 0xD4 and first < 0xD9):
        return _extension(data, at, 1 << first - 0xD4 if first >= 0xD4 else size, found)
    if first != 0xC0:
        found.append(Leaf(at, at + size, "name" if is_key and first not in (0xC4, 0xC5, 0xC6) else "text"))
    return at if first == 0xC0 else at + size


def _extension(data: bytes, at: int, size: int, found: list[Leaf]) -> int:
    """Add the leaves of an extension whose type stands at an offset. Return where it ends."""
    end = at + 1 + size
    if data[at] != _TIMESTAMP:
        found.append(Leaf(at + 1, end, "text"))
        return end
    if size in _NANOSECONDS:
        found.append(Leaf(at + 1, at + 2, "choice", tuple(bytes([number]) for number in range(_NANOSECONDS[size]))))
        found.append(Leaf(at + 2, at + 5, "raw"))
    found.append(Leaf(end - 4, end, "raw"))  # the years stay between 1 and 9999
    return end
