"""Messages as Arrow columns: the spans of many messages of one layout gathered into nested arrays, in Kafka's names.

Spans are in the order of the bytes, so those of one node, one after the other, are its column. Counts give the lists, presence markers the nulls, and
the tag count before a tag header says whose field it is. A tagged field that is left out has its default.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kwire_cli.engine import gathers
from kwire_cli.engine.compiled import Walk, compiled
from kwire_cli.engine.leaf_columns import Places, absent, lengths, type_of, values_of
from kwire_cli.engine.program import Array, Leaf, Nullable, Series, Struct, Tags

if TYPE_CHECKING:
    import numpy.typing as npt

    from kwire_cli.engine.program import Entry, Node

    Ints = npt.NDArray[np.int64]


def columns(entry: Entry, walk: Walk) -> tuple[pa.StructArray, Ints]:
    """The messages of `walk` of which every field was decoded, a struct each, and which ones they are; all of them of the layout `entry`.

    Unknown tagged fields are left out: `field_rows.field_rows` has them. TypeError for a layout whose fields attribute bits bring.
    """
    whole = np.flatnonzero(walk.complete)
    return Columns(entry, walk if len(whole) == len(walk.jobs) else walk.only(whole)).root(), whole


class Columns:
    """The spans of whole messages by node; an array for each kind of node."""

    def __init__(self, entry: Entry, walk: Walk) -> None:
        self.entry, self.walk, self.start = entry, walk, walk.start
        self.begin, self.order = by_node(walk)

    def spans(self, leaf: Leaf) -> Ints:
        """The numbers of a leaf's spans, in order."""
        return self.order[self.begin[leaf.id] : self.begin[leaf.id + 1]]

    def places(self, leaf: Leaf) -> Places:
        """Where a leaf's spans are."""
        return places(self.walk, self.start, self.spans(leaf))

    def lengths(self, leaf: Leaf) -> Ints:
        """How long the strings, bytes or records of a leaf say they are, below 0 for null."""
        at = self.places(leaf)
        return lengths(leaf.decl, at.data, at.start)

    def root(self) -> pa.StructArray:
        """A struct for each message."""
        return self.struct(self.entry.root, len(self.walk.jobs))

    def array(self, node: Node, count: int) -> pa.Array:
        """The array of a node that is there `count` times."""
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
        """Its fields, then the tagged ones."""
        made = {field.name: self.array(field, count) for field in node.fields}
        if node.tags:
            made |= self.tagged(node.tags, count)
        if not made:
            return pa.Array.from_buffers(pa.struct([]), count, [None], children=[])
        return pa.StructArray.from_arrays(list(made.values()), list(made))

    def list(self, node: Array) -> pa.ListArray:
        """Lists by the counts."""
        at = self.places(node.count)
        counts = lengths(node.count.decl, at.data, at.start)
        null = counts < 0
        offsets = np.concatenate(([0], np.cumsum(np.where(null, 0, counts)))).astype(np.int32)
        mask = pa.array(null) if null.any() else None
        return pa.ListArray.from_arrays(pa.array(offsets), self.array(node.element, int(offsets[-1])), mask=mask)

    def series(self, node: Series) -> pa.ListArray:
        """Lists of what stands in each message from its beginning to its end."""
        firsts = self.order[self.begin[node.first] : self.begin[node.first + 1]]
        offsets = np.searchsorted(firsts, self.walk.first).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), self.array(node.element, len(firsts)))

    def nullable(self, node: Nullable) -> pa.Array:
        """A struct where its marker says so."""
        at = self.places(node.presence)
        null = absent(node.presence.decl, at.data, at.start)
        found = self.struct(node.struct, int((~null).sum()))
        return found.take(pa.array(np.cumsum(~null) - 1, mask=null)) if null.any() else found

    def tagged(self, node: Tags, count: int) -> dict[str, pa.Array]:
        """The known fields of a section that is there `count` times, at their defaults where they are left out; of one that came twice the last."""
        sections = self.spans(node.count)
        made = {}
        for number, (field, default) in node.known.items():
            headers = self.order[self.begin[number] : self.begin[number + 1]]
            found = self.array(field, len(headers))
            take = np.full(count, len(headers), np.int64)
            take[np.searchsorted(sections, headers, "right") - 1] = np.arange(len(headers))
            otherwise = pa.array([_plain(field, default)], arrow_type(field))
            made[field.name] = pa.concat_arrays([found, otherwise]).take(pa.array(take))
        return made


def by_node(walk: Walk) -> tuple[Ints, Ints]:
    """Where the spans of each node begin in the second array, and the numbers of all spans, sorted by node."""
    counts = np.bincount(walk.node, minlength=len(walk.program.leaves))
    begin = np.concatenate(([0], np.cumsum(counts)))
    order = np.empty(len(walk.node), np.int64)
    compiled(gathers.sort_by_node)(walk.node, begin[:-1].copy(), order)
    return begin, order


def places(walk: Walk, start: Ints, spans: Ints) -> Places:
    """Where these spans are."""
    return Places(walk.data, start[spans], walk.value[spans], walk.end[spans])


def arrow_type(node: Node) -> pa.DataType:
    """The type of a node's column."""
    if isinstance(node, Leaf):
        return type_of(node)
    if isinstance(node, Array | Series):
        return pa.list_(arrow_type(node.element))
    if isinstance(node, Nullable):
        return arrow_type(node.struct)
    if isinstance(node, Struct):
        fields = [(field.name, arrow_type(field)) for field in node.fields]
        return pa.struct(fields + [(field.name, arrow_type(field)) for field, _ in (node.tags.known.values() if node.tags else ())])
    raise TypeError(f"{node.path} has no column: its form hangs on other fields")


def _plain(node: Node, value: Any) -> Any:
    """A value in JSON form as Arrow takes it: bytes as bytes, tagged fields that are left out at their defaults."""
    if value is None:
        return None
    if isinstance(node, Leaf):
        return base64.b64decode(value) if pa.types.is_binary(type_of(node)) else float(value) if node.kind == "float64" else value
    if isinstance(node, Array):
        return [_plain(node.element, each) for each in value]
    if isinstance(node, Nullable):
        return _plain(node.struct, value)
    assert isinstance(node, Struct)  # noqa: S101 - for the type checker: what attribute bits bring has no tags
    tags = node.tags.known.values() if node.tags else ()
    return {field.name: _plain(field, value[field.name]) for field in node.fields} | {
        field.name: _plain(field, value.get(field.name, default)) for field, default in tags
    }
