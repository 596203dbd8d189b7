"""The `encoding` and `elementEncoding` keys: KAFKA-9927's varint encodings of integers, and kwire's extension of them to arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.spec.model import Encoding, FieldSpec
from kwire_cli.spec.versions import Versions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cli.spec.findings import Report, Spot

OWN_WIDTH = ("fixed", "packed", "upacked")
"""Encodings without a width, where that of the field's type is meant."""
ENCODING_NAMES = tuple(f"{kind}{bits}" for kind in OWN_WIDTH for bits in (16, 32, 64))
"""fixed: big-endian; packed: zig-zag varint; upacked: unsigned varint of the two's complement at the encoding's own width."""
ENCODABLE_TYPES = ("int16", "int32", "int64")


def encoding_at(field: FieldSpec, version: int) -> str | None:
    """The encoding of an integer field in a version; None where its type's own layout holds."""
    return _at(field.encoding, version)


def element_encoding_at(field: FieldSpec, version: int) -> str | None:
    """The encoding of the elements of an array of integers in a version; None where their type's own layout holds."""
    return _at(field.element_encoding, version)


def read_encoding(keys: Mapping[str, Any], key: str, versions: Versions, spot: Spot, report: Report) -> tuple[Encoding, ...]:
    """The encodings under a key: a name for all of the field's versions, or an object of version ranges with names."""
    value = keys.get(key)
    if value is None:
        return ()
    if isinstance(value, str):
        return (Encoding(versions, value),)
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value.values()):
        report.add("KEY_TYPE", f"{key} takes a name, or an object of version ranges with names", spot.key(key))
        return ()
    rows = []
    for span, name in value.items():
        try:
            rows.append(Encoding(Versions.parse(span), name))
        except ValueError as error:
            report.add("VERSIONS_SYNTAX", str(error), spot.key(key).key(span))
    return tuple(rows)


def _at(rows: tuple[Encoding, ...], version: int) -> str | None:
    return next((row.name for row in rows if version in row.versions), None)
