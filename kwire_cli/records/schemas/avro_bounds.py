"""Bounds of Avro values whose schema lets few bytes become many values, or nest without limit.

fastavro trusts counts, and nests as deep as the bytes say. For most schemas the bytes end first. The exceptions are
arrays of items that take no bytes, types that contain themselves, and records of records of records without bytes.
Their values are checked once before they are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kwire_cli.records.schemas.model import Leaf, UnfitError
from kwire_cli.records.schemas.plain import DEEPEST, FLAGS

LOGICAL_TYPE = "kwireLogicalType"
"""The name under which a parsed schema has logical types."""
_FIXED = {"float": 4, "double": 8, "boolean": 1}
_VARINT = 10
"""The most bytes of a varint of 64 bits."""
_MOST_EMPTY = 1_000
"""Fields without bytes that a value may have beside as many as it has bytes."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A schema whose values are checked before they are read."""

    schema: Any
    names: dict[str, Any]

    def leaves(self, data: bytes, start: int) -> list[Leaf]:
        """Return the leaves of a value that fits."""
        walk = _Walk(data, self.names)
        walk.skip(self.schema, start, 0)
        return walk.leaves

    def check(self, data: bytes, start: int) -> None:
        """Raise UnfitError for a value that nests too deeply, has more items than bytes, or ends early."""
        _Walk(data, self.names).skip(self.schema, start, 0)


def bounds_of(schema: Any, names: dict[str, Any]) -> Bounds | None:
    """Return the bounds of a parsed schema, None if the size of its values bounds their number and nesting."""
    known: dict[str, int] = {}
    is_risky = _is_risky(schema, names, (), set()) or any(_empty(name, names, known) > _MOST_EMPTY for name in names)
    return Bounds(schema, names) if is_risky else None


def _is_risky(schema: Any, names: dict[str, Any], above: tuple[str, ...], done: set[str]) -> bool:
    if isinstance(schema, list):
        return any(_is_risky(branch, names, above, done) for branch in schema)
    if isinstance(schema, str):
        if schema not in names:
            return False
        return schema in above or _is_risky(names[schema], names, above, done)
    kind = schema["type"]
    if kind in ("record", "error"):
        name = schema["name"]
        if name in above:
            return True
        if name in done:
            return False
        done.add(name)
        return any(_is_risky(field["type"], names, (*above, name), done) for field in schema["fields"])
    if kind == "array":
        return _takes_none(schema["items"], names, {}) or _is_risky(schema["items"], names, above, done)
    if kind == "map":
        return _is_risky(schema["values"], names, above, done)
    return False if kind in ("enum", "fixed") else _is_risky(kind, names, above, done)


def _takes_none(schema: Any, names: dict[str, Any], known: dict[str, bool]) -> bool:
    """Return whether a value may take no bytes; `known` are the records of which that is known."""
    if isinstance(schema, list):
        return False
    if isinstance(schema, str):
        return schema == "null" if schema not in names else _takes_none(names[schema], names, known)
    kind = schema["type"]
    if kind in ("record", "error"):
        name = schema["name"]
        if name not in known:
            known[name] = True  # within itself
            known[name] = all(_takes_none(field["type"], names, known) for field in schema["fields"])
        return known[name]
    if kind == "fixed":
        return bool(schema["size"] == 0)
    return False if kind in ("array", "map", "enum") else _takes_none(kind, names, known)


def _empty(schema: Any, names: dict[str, Any], known: dict[str, int]) -> int:
    """Return how many fields a value has before or beside any byte; `known` are the numbers of records."""
    if isinstance(schema, list):
        return 0
    if isinstance(schema, str):
        return _empty(names[schema], names, known) if schema in names else int(schema == "null")
    kind = schema["type"]
    if kind not in ("record", "error"):
        return 0 if kind in ("array", "map", "enum", "fixed") else _empty(kind, names, known)
    name = schema["name"]
    if name not in known:
        known[name] = 1  # within itself
        known[name] = 1 + sum(_empty(field["type"], names, known) for field in schema["fields"])
    return known[name]


def _one_byte(symbols: int) -> tuple[bytes, ...]:
    """Return the encoded numbers of symbols, as far as they take one byte."""
    return tuple(bytes([2 * number]) for number in range(min(symbols, 64)))


class _Walk:
    """Skips values, and counts items that take no bytes."""

    def __init__(self, data: bytes, names: dict[str, Any]) -> None:
        self.data, self.names, self.left = data, names, len(data)
        self.fields = _MOST_EMPTY + len(data)
        self.leaves: list[Leaf] = []

    def skip(self, schema: Any, at: int, depth: int) -> int:
        """Return where the value at an offset ends."""
        if depth > DEEPEST:
            raise UnfitError(f"the value nests more than {DEEPEST} levels deep")
        if isinstance(schema, list):
            branch, at = self.long(at)
            if not 0 <= branch < len(schema):
                raise UnfitError(f"a union has no branch {branch}")
            return self.skip(schema[branch], at, depth + 1)
        if isinstance(schema, str):
            return self.skip(self.names[schema], at, depth) if schema in self.names else self.primitive(schema, at)
        kind = schema["type"]
        if kind in ("record", "error"):
            for field in schema["fields"]:
                before, at = at, self.skip(field["type"], at, depth + 1)
                self.fields -= at == before
                if self.fields < 0:
                    raise UnfitError("there are far more fields without bytes than the value has bytes")
            return at
        if kind in ("array", "map"):
            return self.blocks(schema, at, depth + 1)
        if kind == "fixed":
            return self.leaf(at, self.within(at + int(schema["size"])), "raw")
        if kind == "string" and schema.get(LOGICAL_TYPE) == "uuid":
            return self.primitive(kind, at, "hex")
        if kind == "enum":
            return self.leaf(at, self.long(at)[1], "choice", _one_byte(len(schema["symbols"])))
        return self.skip(kind, at, depth)

    def leaf(self, at: int, end: int, kind: str, choices: tuple[bytes, ...] = ()) -> int:
        """Add a leaf, and return where it ends."""
        self.leaves.append(Leaf(at, end, kind, choices))
        return end

    def blocks(self, schema: dict[str, Any], at: int, depth: int) -> int:
        """Skip the blocks of an array or map."""
        while True:
            count, at = self.long(at)
            if count == 0:
                return at
            if count < 0:
                count, at = -count, self.long(at)[1]
            for _ in range(count):
                before = at
                if schema["type"] == "map":
                    at = self.primitive("string", at)
                at = self.skip(schema["values" if schema["type"] == "map" else "items"], at, depth)
                self.left -= at == before
                if self.left < 0:
                    raise UnfitError("the value has more items that take no bytes than it has bytes")

    def primitive(self, kind: str, at: int, text: str = "text") -> int:
        """Skip a primitive value. `text` is the kind of leaf of text."""
        if kind == "null":
            return at
        if kind in _FIXED:
            return self.leaf(at, self.within(at + _FIXED[kind]), "choice" if kind == "boolean" else "raw", FLAGS)
        number, end = self.long(at)
        if kind not in ("bytes", "string"):
            return self.leaf(at, end, "varint")
        if number < 0:
            raise UnfitError(f"the length before byte {end} is negative")
        return self.leaf(end, self.within(end + number), text)

    def long(self, at: int) -> tuple[int, int]:
        """Return the number at an offset, and where it ends."""
        number = 0
        for shift in range(0, 7 * _VARINT, 7):
            byte = self.data[self.within(at + 1) - 1]
            at += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (number >> 1) ^ -(number & 1), at
        raise UnfitError(f"the number before byte {at} is longer than {_VARINT} bytes")

    def within(self, at: int) -> int:
        """Return an offset. Raises UnfitError if the value ends before it."""
        if at > len(self.data):
            raise UnfitError(f"the value ends early, after {len(self.data)} bytes")
        return at
