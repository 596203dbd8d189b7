"""Arrow columns of many messages, and a row for each field.

Values are gathered from the spans of all messages, leaf by leaf, with numpy and compiled loops. No Python object is
created per value, because tables may have millions of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from kwire_cli.engine import numba_loops
from kwire_cli.engine.compiled import Walk, compiled
from kwire_cli.engine.program import Array, Leaf, Nullable, Series, Struct, Tags
from kwire_cli.errors import InputError
from kwire_cli.structs.lengths import ArrayOf, NullableStruct, Sized
from kwire_cli.structs.numbers import Bool, FixedInt, Float64, Uuid, Varint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from kwire_cli.engine.program import Entry, Node, Program

    Ints = npt.NDArray[np.int64]
    Octets = npt.NDArray[np.uint8]
    Mask = npt.NDArray[np.bool_]


# Rows of Python values as Arrow record batches.


def batch_of(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Return rows, with a value for each field of the schema, as one record batch."""
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )


# Arrow arrays of the values of leaves: gathers over spans, without a Python object for a value.

MOST_BYTES = 0x7FFFFFFF
"""Maximum bytes of the values of an Arrow column with 32-bit offsets, which Spark needs."""


URL_SAFE = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", np.uint8)
_INTS = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "uint16": pa.int32(),
    "int32": pa.int32(),
    "uint32": pa.int64(),
    "int64": pa.int64(),
}
"""Unsigned ones as the next wider signed type: Spark has no others."""


class Places(NamedTuple):
    """The places of values: [start, value) are prefixes, [value, end) are values."""

    data: Octets
    start: Ints
    value: Ints
    end: Ints


def type_of(leaf: Leaf) -> pa.DataType:
    """Return the Arrow type of a leaf's values: ints by width, bool, double, string for strings and uuids, binary."""
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
    """Return the values of one leaf, including nulls. Invalid UTF-8 in a string becomes U+FFFD."""
    decl = leaf.decl
    if isinstance(decl, FixedInt | Varint):
        return pa.array(numbers(decl, at.data, at.start)).cast(type_of(leaf))  # the value of a size is all prefix
    if isinstance(decl, Bool):
        return pa.array(at.data[at.start] != 0)
    if isinstance(decl, Float64):
        return pa.array(_fixed(at.data, at.value, 8, signed=True).view(np.float64))
    if isinstance(decl, Uuid):
        return base64_texts(at.data, at.value, at.end)
    null = null_values(leaf, at)
    return (
        strings(at.data, at.value, at.end, null) if leaf.kind == "string" else binaries(at.data, at.value, at.end, null)
    )


def null_values(leaf: Leaf, at: Places) -> Mask | None:
    """Return a mask of the strings, bytes or records that are null by their lengths.

    Return None if no value is null.
    """
    if not isinstance(leaf.decl, Sized):
        return None
    null = at.value == at.end
    if null.any():
        empty = np.flatnonzero(null)
        null[empty] = lengths(leaf.decl, at.data, at.start[empty]) < 0
    return null if null.any() else None


def lengths(decl: Sized | ArrayOf, data: Octets, start: Ints) -> Ints:
    """Return lengths and counts, below 0 for null."""
    return numbers(decl.prefix, data, start) - int(decl.compact)


def absent(decl: NullableStruct, data: Octets, start: Ints) -> Mask:
    """Return a mask of the presence markers of null structs."""
    mark = numbers(decl.presence, data, start)
    nulls: Mask = mark <= 0 if decl.tagged else mark < 0
    return nulls


def numbers(decl: Any, data: Octets, start: Ints) -> Ints:
    """Return the integers of a declaration that begin at these places."""
    if isinstance(decl, FixedInt):
        return _fixed(data, start, decl.length, signed=decl.wire[0] == "i")
    out = np.empty(len(start), np.int64)
    compiled(numba_loops.varints)(data, start, decl.bits, decl.zigzag, out)
    return out


def _fixed(data: Octets, start: Ints, length: int, *, signed: bool) -> Ints:
    out = np.empty(len(start), np.int64)
    compiled(numba_loops.fixed_numbers)(data, start, length, signed, out)
    return out


def strings(data: Octets, start: Ints, end: Ints, null: Mask | None = None) -> pa.Array:
    """Return these bytes as strings."""
    column = _copied(pa.string(), data, start, end, null)
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array(
            [
                None if raw is None else raw.decode("utf-8", "replace")
                for raw in binaries(data, start, end, null).to_pylist()
            ],
            pa.string(),
        )
    return column


def binaries(data: Octets, start: Ints, end: Ints, null: Mask | None = None) -> pa.Array:
    """Return these bytes as a column. Raise InputError if they exceed the maximum of a column."""
    return _copied(pa.binary(), data, start, end, null)


def _copied(kind: pa.DataType, data: Octets, start: Ints, end: Ints, null: Mask | None) -> pa.Array:
    out = _room(int((end - start).sum()))
    offsets = np.empty(len(start) + 1, np.int32)
    compiled(numba_loops.copy_bytes)(data, start, end, out, offsets)
    return _array(kind, len(start), offsets, out, null)


def base64_texts(data: Octets, start: Ints, end: Ints) -> pa.Array:
    """Return these bytes as base64 text in Kafka's form for ids: with the URL-safe alphabet, without padding."""
    size = end - start
    out = _room(int(((size + 2) // 3 * 4).sum()))
    offsets = np.empty(len(start) + 1, np.int32)
    compiled(numba_loops.base64_texts)(data, start, end, URL_SAFE, out, offsets)
    return _array(pa.string(), len(start), offsets, out, None)


def _room(size: int) -> Octets:
    if size > MOST_BYTES:
        raise InputError(f"{size} bytes of one field: a column has {MOST_BYTES} at most; take fewer messages at once")
    return np.empty(size, np.uint8)


def _array(kind: pa.DataType, count: int, offsets: npt.NDArray[np.int32], data: Octets, null: Mask | None) -> pa.Array:
    valid = None if null is None else pa.py_buffer(np.packbits(~null, bitorder="little"))
    return pa.Array.from_buffers(kind, count, [valid, pa.py_buffer(offsets), pa.py_buffer(data)])


# Messages as Arrow columns: the spans of many messages of one layout gathered into nested arrays, in Kafka's names.
#
# Spans are in wire order, so the consecutive spans of one node are its column. Counts determine the lists, presence
# markers the nulls, and the tag count before a tag header identifies the message of the field. A tagged field that is
# left out has its default.


class Columns:
    """The spans of whole messages by node; an array for each kind of node.

    Tagged fields that a message leaves out are null.
    """

    def __init__(self, entry: Entry, walk: Walk) -> None:
        self.entry = entry
        self.walk = walk
        self.start = walk.start
        self.begin, self.order = by_node(walk)

    def spans(self, leaf: Leaf) -> Ints:
        """Return the numbers of a leaf's spans, in order."""
        return self.order[self.begin[leaf.id] : self.begin[leaf.id + 1]]

    def places(self, leaf: Leaf) -> Places:
        """Return the places of a leaf's spans."""
        return places(self.walk, self.start, self.spans(leaf))

    def lengths(self, leaf: Leaf) -> Ints:
        """Return the lengths that a leaf's strings, bytes or records state, below 0 for null."""
        at = self.places(leaf)
        return lengths(leaf.decl, at.data, at.start)

    def root(self) -> pa.StructArray:
        """Return a struct for each message."""
        return self.struct(self.entry.root, len(self.walk.jobs))

    def array(self, node: Node, count: int) -> pa.Array:
        """Return the array of a node that occurs `count` times."""
        if isinstance(node, Leaf):
            return values_of(node, self.places(node))
        if isinstance(node, Struct):
            return self.struct(node, count)
        if isinstance(node, Array):
            return self.list(node)
        if isinstance(node, Nullable):
            return self.nullable(node)
        if isinstance(node, Series) and node.size is None and node in self.entry.root.fields:
            return self.series(node)
        raise TypeError(f"{node.path} has no column: its form hangs on other fields")

    def struct(self, node: Struct, count: int) -> pa.StructArray:
        """Return the array of a struct: its fields, then the tagged ones."""
        arrays = {field.name: self.array(field, count) for field in node.fields}
        if node.tags:
            arrays |= self.tagged(node.tags, count)
        if not arrays:
            return pa.Array.from_buffers(pa.struct([]), count, [None], children=[])
        return pa.StructArray.from_arrays(list(arrays.values()), list(arrays))

    def list(self, node: Array) -> pa.ListArray:
        """Lists by the counts."""
        at = self.places(node.count)
        counts = lengths(node.count.decl, at.data, at.start)
        null = counts < 0
        offsets = np.concatenate(([0], np.cumsum(np.where(null, 0, counts)))).astype(np.int32)
        mask = pa.array(null) if null.any() else None
        return pa.ListArray.from_arrays(pa.array(offsets), self.array(node.element, int(offsets[-1])), mask=mask)

    def series(self, node: Series) -> pa.ListArray:
        """Return a list of elements for each message."""
        firsts = self.order[self.begin[node.first] : self.begin[node.first + 1]]
        offsets = np.searchsorted(firsts, self.walk.first).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), self.array(node.element, len(firsts)))

    def nullable(self, node: Nullable) -> pa.Array:
        """Build a nullable struct from its presence markers."""
        at = self.places(node.presence)
        null = absent(node.presence.decl, at.data, at.start)
        structs = self.struct(node.struct, int((~null).sum()))
        return structs.take(pa.array(np.cumsum(~null) - 1, mask=null)) if null.any() else structs

    def tagged(self, node: Tags, count: int) -> dict[str, pa.Array]:
        """Return the known fields of a section that occurs `count` times. Of a duplicate field the last one counts."""
        sections = self.spans(node.count)
        arrays = {}
        for number, (field, _) in node.known.items():
            headers = self.order[self.begin[number] : self.begin[number + 1]]
            values = self.array(field, len(headers))
            take = np.full(count, len(headers), np.int64)
            take[np.searchsorted(sections, headers, "right") - 1] = np.arange(len(headers))
            missing = pa.nulls(1, arrow_type(field))
            arrays[field.name] = pa.concat_arrays([values, missing]).take(pa.array(take))
        return arrays


def by_node(walk: Walk) -> tuple[Ints, Ints]:
    """Return where the spans of each node begin in the second array, and all span numbers sorted by node."""
    counts = np.bincount(walk.node, minlength=len(walk.program.leaves))
    begin = np.concatenate(([0], np.cumsum(counts)))
    order = np.empty(len(walk.node), np.int64)
    compiled(numba_loops.sort_by_node)(walk.node, begin[:-1].copy(), order)
    return begin, order


def places(walk: Walk, start: Ints, spans: Ints) -> Places:
    """Return the places of these spans."""
    return Places(walk.data, start[spans], walk.value[spans], walk.end[spans])


def arrow_type(node: Node) -> pa.DataType:
    """Return the type of a node's column."""
    if isinstance(node, Leaf):
        return type_of(node)
    if isinstance(node, Array | Series):
        return pa.list_(arrow_type(node.element))
    if isinstance(node, Nullable):
        return arrow_type(node.struct)
    if isinstance(node, Struct):
        fields = [(field.name, arrow_type(field)) for field in node.fields]
        return pa.struct(
            fields + [(field.name, arrow_type(field)) for field, _ in (node.tags.known.values() if node.tags else ())]
        )
    raise TypeError(f"{node.path} has no column: its form hangs on other fields")


# The sums of bytes of many messages by path, which is a ledger of all of them.


def sum_walk(walk: Walk, which: Ints, count: int) -> Ints:
    """Return `count` sums over messages, with a row per leaf: bytes of prefixes, bytes of values, number of spans.

    `which` is the number of the sum that each message belongs to.
    """
    sums = np.zeros((count, len(walk.program.leaves), 3), np.int64)
    compiled(numba_loops.sum_by_node)(walk.node, walk.start, walk.value, walk.end, walk.first, which, sums)
    return sums


def counts_of(program: Program, sums: Ints) -> Iterator[tuple[Leaf, int, int, int]]:
    """Yield the leaves that occur, with their sums."""
    for number in np.flatnonzero(sums[:, 2]).tolist():
        prefix, value, count = sums[number].tolist()
        yield program.leaves[number], prefix, value, count
