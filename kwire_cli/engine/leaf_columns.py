"""Arrow arrays of the values of leaves: gathers over spans, without a Python object for a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from kwire_cli.engine import gathers
from kwire_cli.engine.compiled import compiled
from kwire_cli.errors import InputError
from kwire_cli.structs.numbers import Bool, FixedInt, Float64, Uuid, Varint
from kwire_cli.structs.records.parts import Rest
from kwire_cli.structs.sized import ArrayOf, NullableStruct, Sized

if TYPE_CHECKING:
    import numpy.typing as npt

    from kwire_cli.engine.program import Leaf

    Ints = npt.NDArray[np.int64]
    Octets = npt.NDArray[np.uint8]
    Mask = npt.NDArray[np.bool_]

MOST_BYTES = 0x7FFFFFFF
"""Of the values of an Arrow column with offsets of 32 bits, as Spark takes them."""
STANDARD = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
URL_SAFE = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", np.uint8)
_INTS = {"int8": pa.int8(), "int16": pa.int16(), "uint16": pa.int32(), "int32": pa.int32(), "uint32": pa.int64(), "int64": pa.int64()}
"""Unsigned ones as the next wider signed type: Spark has no others."""


class Places(NamedTuple):
    """Where values are: [start, value) are prefixes, [value, end) values."""

    data: Octets
    start: Ints
    value: Ints
    end: Ints


def type_of(leaf: Leaf) -> pa.DataType:
    """The Arrow type of a leaf's values: ints by their width, bool, double, string for strings and uuids, binary."""
    decl = leaf.decl
    if isinstance(decl, FixedInt | Varint):
        return pa.int64() if decl.declared else _INTS.get(leaf.kind, pa.int32())
    if isinstance(decl, Bool):
        return pa.bool_()
    if isinstance(decl, Float64):
        return pa.float64()
    if isinstance(decl, Uuid) or leaf.kind == "string":
        return pa.string()
    return pa.binary()


def values_of(leaf: Leaf, at: Places) -> pa.Array:
    """The values of one leaf, null where they are. Bytes of a string that are no UTF-8 become U+FFFD."""
    decl = leaf.decl
    if isinstance(decl, FixedInt | Varint):
        return pa.array(numbers(decl, at.data, at.start)).cast(type_of(leaf))  # the value of a size is all prefix
    if isinstance(decl, Bool):
        return pa.array(at.data[at.start] != 0)
    if isinstance(decl, Float64):
        return pa.array(_fixed(at.data, at.value, 8, signed=True).view(np.float64))
    if isinstance(decl, Uuid):
        return base64_texts(at.data, at.value, at.end, URL_SAFE, padded=False)
    null = null_values(leaf, at)
    return strings(at.data, at.value, at.end, null) if leaf.kind == "string" else binaries(at.data, at.value, at.end, null)


def null_values(leaf: Leaf, at: Places) -> Mask | None:
    """Which of the strings, bytes or records are null, by their lengths; None where none is."""
    if not isinstance(leaf.decl, Sized):
        return None
    null = at.value == at.end
    if null.any():
        empty = np.flatnonzero(null)
        null[empty] = lengths(leaf.decl, at.data, at.start[empty]) < 0
    return null if null.any() else None


def lengths(decl: Sized | ArrayOf, data: Octets, start: Ints) -> Ints:
    """Lengths and counts, below 0 for null."""
    return numbers(decl.prefix, data, start) - int(decl.compact)


def absent(decl: NullableStruct, data: Octets, start: Ints) -> Mask:
    """Of which presence markers there is no struct."""
    mark = numbers(decl.presence, data, start)
    found: Mask = mark <= 0 if decl.tagged else mark < 0
    return found


def numbers(decl: Any, data: Octets, start: Ints) -> Ints:
    """Integers of a declaration, which begin at these places."""
    if isinstance(decl, FixedInt):
        return _fixed(data, start, decl.length, signed=decl.wire[0] == "i")
    out = np.empty(len(start), np.int64)
    compiled(gathers.varints)(data, start, decl.bits, decl.zigzag, out)
    return out


def _fixed(data: Octets, start: Ints, length: int, *, signed: bool) -> Ints:
    out = np.empty(len(start), np.int64)
    compiled(gathers.fixed_numbers)(data, start, length, signed, out)
    return out


def strings(data: Octets, start: Ints, end: Ints, null: Mask | None = None) -> pa.Array:
    """The texts of these bytes."""
    found = _copied(pa.string(), data, start, end, null)
    try:
        found.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array(
            [None if raw is None else raw.decode("utf-8", "replace") for raw in binaries(data, start, end, null).to_pylist()], pa.string()
        )
    return found


def binaries(data: Octets, start: Ints, end: Ints, null: Mask | None = None) -> pa.Array:
    """These bytes. InputError for more than a column can have."""
    return _copied(pa.binary(), data, start, end, null)


def _copied(kind: pa.DataType, data: Octets, start: Ints, end: Ints, null: Mask | None) -> pa.Array:
    out = _room(int((end - start).sum()))
    offsets = np.empty(len(start) + 1, np.int32)
    compiled(gathers.copy_bytes)(data, start, end, out, offsets)
    return _array(kind, len(start), offsets, out, null)


def base64_texts(
    data: Octets,
    start: Ints,
    end: Ints,
    alphabet: Octets,
    null: Mask | None = None,
    *,
    padded: bool = True,
) -> pa.Array:
    """These bytes as base64 text."""
    size = end - start
    out = _room(int(((size + 2) // 3 * 4).sum()))
    offsets = np.empty(len(start) + 1, np.int32)
    compiled(gathers.base64_texts)(data, start, end, alphabet, padded, out, offsets)
    return _array(pa.string(), len(start), offsets, out, null)


def _room(size: int) -> Octets:
    if size > MOST_BYTES:
        raise InputError(f"{size} bytes of one field: a column has {MOST_BYTES} at most; take fewer messages at once")
    return np.empty(size, np.uint8)


def _array(kind: pa.DataType, count: int, offsets: npt.NDArray[np.int32], data: Octets, null: Mask | None) -> pa.Array:
    valid = None if null is None else pa.py_buffer(np.packbits(~null, bitorder="little"))
    return pa.Array.from_buffers(kind, count, [valid, pa.py_buffer(offsets), pa.py_buffer(data)])


def as_texts(leaf: Leaf, at: Places) -> pa.Array:
    """The values as text: numbers in decimal, strings and uuids as they are, bytes as base64; counts and markers as numbers; null for tag headers."""
    decl, count = leaf.decl, len(at.value)
    if leaf.kind in {"tag-header", "gap"}:
        return pa.nulls(count, pa.string())
    if leaf.kind == "unknown-tag" or isinstance(decl, Rest):
        return base64_texts(at.data, at.value, at.end, STANDARD)
    if leaf.kind == "count":
        return pa.array(lengths(decl, at.data, at.start)).cast(pa.string())
    if leaf.kind == "presence":
        return pa.array(numbers(decl.presence, at.data, at.start)).cast(pa.string())
    if leaf.kind == "tag-count":
        out = np.empty(count, np.int64)
        compiled(gathers.varints)(at.data, at.start, 32, False, out)  # noqa: FBT003 - of a compiled function
        return pa.array(out).cast(pa.string())
    if isinstance(decl, FixedInt | Varint):
        return pa.array(numbers(decl, at.data, at.start)).cast(pa.string())
    if isinstance(decl, Sized) and leaf.kind != "string":
        return base64_texts(at.data, at.value, at.end, STANDARD, null_values(leaf, at))
    return values_of(leaf, at).cast(pa.string())
