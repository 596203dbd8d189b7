"""The growth of Avro values: schemas whose values may be far larger than their bytes, or nest as deep as bytes require.

fastavro trusts counts. For most schemas the bytes end first. The exceptions are arrays of items that take no bytes, and
records of records of records without bytes, which no application has a use for. Records that contain themselves are
common, but only fastavro's reader in Python ends at a limit.
"""

from __future__ import annotations

import math
from typing import Any

_MAX_EMPTY = 1_000
"""Maximum number of fields without bytes next to a byte."""
Names = dict[str, Any]
"""Parsed types by their names."""


def nests(schema: Any, names: Names) -> bool:
    """Return whether values of a parsed schema nest without a limit. Raise ValueError if few bytes may be a value of
    many parts.
    """
    growth = _Growth(names)
    if growth.of(schema)[1] > _MAX_EMPTY:
        raise ValueError("a value of few bytes may have any number of fields or items without bytes")
    return growth.nests


class _Growth:
    def __init__(self, names: Names) -> None:
        self.nests = False
        self._names = names
        self._records: dict[str, tuple[bool, float] | None] = {}

    def of(self, schema: Any) -> tuple[bool, float]:
        """Return whether a value may take no bytes, and the most fields without bytes next to a byte."""
        if isinstance(schema, list):
            return False, max((self.of(branch)[1] for branch in schema if branch != "null"), default=0)
        if isinstance(schema, str):
            return self.of(self._names[schema]) if schema in self._names else (schema == "null", schema == "null")
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._of_record(schema)
        if kind == "array":
            empty, count = self.of(schema["items"])
            return False, math.inf if empty else count
        if kind == "map":
            return False, self.of(schema["values"])[1]
        if kind in ("enum", "fixed"):
            return kind == "fixed" and schema["size"] == 0, 0
        return self.of(kind)

    def _of_record(self, schema: dict[str, Any]) -> tuple[bool, float]:
        name = schema["name"]
        if name not in self._records:
            self._records[name] = None
            fields = [self.of(field["type"]) for field in schema["fields"]]
            self._records[name] = (all(empty for empty, _ in fields), 1 + sum(count for _, count in fields))
        known = self._records[name]
        if known is None:  # the record contains itself, after the byte of a union, an array or a map
            self.nests = True
            return False, 0
        return known
