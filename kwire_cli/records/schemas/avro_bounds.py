"""The limit on the depth and the size of Avro values.

fastavro trusts counts, and nests as deep as the bytes require. For most schemas the bytes end first. The exceptions are
arrays of items that take no bytes, types that contain themselves, and records of records of records without bytes.
Their values are walked once before they are read.
"""

from __future__ import annotations

import math
from typing import Any

from kwire_cli.records.schemas.model import UnfitError
from kwire_cli.records.schemas.plain import DEEPEST

_FIXED = {"float": 4, "double": 8, "boolean": 1}
_VARINT = 10
"""The most bytes of a varint of 64 bits."""
_MAX_EMPTY = 1_000
"""Values without bytes that a value may contain in addition to as many as it has bytes."""
Names = dict[str, Any]
"""Parsed types by their names."""


def check_bounds(schema: Any, names: Names, data: bytes, start: int) -> None:
    """Raise UnfitError for a value that ends early, nests too deeply, or has far more empty values than bytes."""
    _Walk(data, names).skip(schema, start, 0)


def is_unbounded(schema: Any, names: Names) -> bool:
    """Return whether a few bytes may be a deep value of a parsed schema, or a value of many parts."""
    return _spare(schema, names, {})[1] > _MAX_EMPTY


def _spare(schema: Any, names: Names, known: dict[str, tuple[bool, float]]) -> tuple[bool, float]:
    """Return whether a value may take no bytes, and the most fields without bytes next to a byte.

    `known` has the results for records. A record within itself counts as unbounded.
    """
    if isinstance(schema, list):
        return False, max((_spare(branch, names, known)[1] for branch in schema if branch != "null"), default=0)
    if isinstance(schema, str):
        return _spare(names[schema], names, known) if schema in names else (schema == "null", schema == "null")
    kind = schema["type"]
    if kind in ("record", "error"):
        name = schema["name"]
        if name not in known:
            known[name] = (True, math.inf)
            fields = [_spare(field["type"], names, known) for field in schema["fields"]]
            known[name] = (all(empty for empty, _ in fields), 1 + sum(count for _, count in fields))
        return known[name]
    if kind == "array":
        empty, count = _spare(schema["items"], names, known)
        return False, math.inf if empty else count
    if kind == "map":
        return False, _spare(schema["values"], names, known)[1]
    if kind in ("enum", "fixed"):
        return kind == "fixed" and schema["size"] == 0, 0
    return _spare(kind, names, known)


class _Walk:
    """A walk over a value, which counts the values that take no bytes."""

    def __init__(self, data: bytes, names: Names) -> None:
        self.data = data
        self.names = names
        self.left = _MAX_EMPTY + len(data)

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
                at = self.part(field["type"], at, depth + 1)
            return at
        if kind in ("array", "map"):
            return self.blocks(schema, at, depth + 1)
        if kind == "fixed":
            return self.within(at + int(schema["size"]))
        if kind == "enum":
            return self.long(at)[1]
        return self.skip(kind, at, depth)

    def part(self, schema: Any, at: int, depth: int) -> int:
        """Skip a field or an item, and count those without bytes."""
        end = self.skip(schema, at, depth)
        self.left -= end == at
        if self.left < 0:
            raise UnfitError("the value has far more fields or items without bytes than bytes")
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
                if schema["type"] == "map":
                    at = self.skip(schema["values"], self.primitive("string", at), depth)
                else:
                    at = self.part(schema["items"], at, depth)

    def primitive(self, kind: str, at: int) -> int:
        """Skip a primitive value."""
        if kind == "null":
            return at
        if kind in _FIXED:
            return self.within(at + _FIXED[kind])
        number, end = self.long(at)
        if kind not in ("bytes", "string"):
            return end
        if number < 0:
            raise UnfitError(f"the length before byte {end} is negative")
        return self.within(end + number)

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
