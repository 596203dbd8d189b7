"""Trees: the spans of one message grouped by its declaration.

The kernel returns a flat sequence of leaves. `build` turns it into fields in structs in arrays, and it is the only code
that does so. Every view of a message is a fold over the tree: `values` returns Kafka's JSON form, `leaves` the
annotated bytes, `anomalies` the anomalies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kwire_cli.engine import program as p
from kwire_cli.engine.program import Array, Choice, Leaf, Node, Nullable, Series, Struct, Tags
from kwire_cli.engine.spans import Span, Spans
from kwire_cli.structs.lengths import ArrayOf, Sized
from kwire_cli.structs.numbers import UVARINT, Varint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.engine.program import Entry


LONG_ROW = 32
"""Elements from which on an array of leaves is a row: making a few of them twice costs more than keeping them."""


class Item:
    """The bytes [start, end) of the data as a node: a field, struct, array or part of a tag section.

    `parts` are its components, in wire order. A leaf has no parts, but a number `span` among the spans. An array's
    first part is its count, a nullable struct's its presence, a tag section's its count; each tag is a header and a
    field. `tag` is set on an unknown tag's two parts. `whole` is false if the bytes ended too early.
    """

    __slots__ = ("end", "index", "node", "parts", "span", "start", "tag", "whole")

    def __init__(self, node: Node, start: int, index: int | None = None) -> None:
        self.node = node
        self.start = start
        self.end = start
        self.index = index
        self.parts: Sequence[Item] = ()
        self.span = -1
        self.tag: int | None = None
        self.whole = False

    def each(self) -> Iterator[Item]:
        """Return the parts, for one pass: unlike those in `parts` they may be other objects each time."""
        return iter(self.parts)

    @property
    def leaf(self) -> Leaf:
        """The node of an item that is a leaf."""
        return self.node  # type: ignore[return-value] # only called for leaves, and so often that a cast is too slow


class Row(Item):
    """An item whose parts are all complete leaves, in consecutive spans from `first` on. An empty tag section may
    follow.

    The parts are created lazily, and kept only after access to `parts`: as an object a leaf is about a hundred times as
    large as its bytes.
    """

    __slots__ = ("first", "spans")

    def __init__(self, node: Node, start: int, index: int | None, first: int, spans: Spans) -> None:
        self.node = node
        self.start = start
        self.end = start
        self.index = index
        self.first = first
        self.spans = spans
        self.span = -1
        self.tag = None
        self.whole = True

    def __getattr__(self, name: str) -> Any:
        if name != "parts":
            raise AttributeError(name)
        self.parts = list(self.each())
        return self.parts

    def each(self) -> Iterator[Item]:
        """Return the parts, for one pass."""
        node = self.node
        at = self.first
        start = self.start
        ends = self.spans.end
        if isinstance(node, Array):
            item = _leaf(node.count, start, at, ends)
            yield item
            for index in range(read_count(item, self.spans.data)):
                at += 1
                item = _leaf(node.element, item.end, at, ends, index)
                yield item
            return
        struct = cast("Struct", node)
        for field in struct.fields:
            item = _leaf(field, start, at, ends)
            yield item
            start = item.end
            at += 1
        if struct.tags:
            section = Item(struct.tags, start)
            section.parts = (_leaf(struct.tags.count, start, at, ends),)
            section.end = ends[at]
            section.whole = True
            yield section


def _leaf(node: Node, start: int, span: int, ends: Sequence[int], index: int | None = None) -> Item:
    item = Item(node, start, index)
    item.span = span
    item.end = ends[span]
    item.whole = True
    return item


class Tree(NamedTuple):
    """A message: its root, the gap after the decoded bytes or None, and the spans of both."""

    root: Item
    gap: Item | None
    spans: Spans


class _EndOfSpansError(Exception):
    """The next span is not what the declaration expects: decoding stopped here."""


def build(entry: Entry, spans: Spans) -> Tree:
    """Return the tree of the spans of `entry`'s program. It is partial if the spans end early."""
    builder = _Builder(spans)
    root = Item(entry.root, spans.start)
    root.parts = []
    try:
        builder.struct(root, entry.root)
    except _EndOfSpansError:
        builder.close(root)
    gap = None
    if builder.at < len(spans.node):
        gap = Item(spans.program.leaves[p.GAP], builder.pos)
        gap.span = builder.at
        gap.end = spans.end[-1]
    return Tree(root, gap, spans)


class _Builder:
    """A position in the spans, and one method per kind of node that takes its spans from there."""

    def __init__(self, spans: Spans) -> None:
        self.spans = spans
        self.data = spans.data
        self.nodes = spans.node
        self.ends = spans.end
        self.leaves = spans.program.leaves
        self.at = 0
        self.count = len(spans.node)
        self.pos = spans.start

    def leaf(self, item: Item, node: Leaf) -> None:
        at = self.at
        if at >= self.count or self.nodes[at] != node.id:
            raise _EndOfSpansError
        item.span = at
        self.pos = item.end = self.ends[at]
        item.whole = True
        self.at = at + 1

    def row(self, item: Row, count: int) -> Row:
        """Give an item the next `count` spans."""
        self.at += count
        self.pos = item.end = self.ends[self.at - 1]
        return item

    def flat(self, node: Struct) -> int:
        """Return the number of the next spans that belong to a struct of leaves.

        Return 0 unless the spans of all leaves exist and the struct has no tags.
        """
        last = self.at + node.flat - 1
        if not node.tags:
            return node.flat if last < self.count and self.nodes[last] == node.fields[-1].id else 0  # type: ignore[union-attr]
        last += 1
        if last >= self.count or self.nodes[last] != node.tags.count.id:
            return 0
        start = self.ends[last - 1]
        return node.flat + 1 if self.ends[last] == start + 1 and self.data[start] == 0 else 0

    def part(self, parent: Item, node: Node, index: int | None = None) -> Item:
        parts = cast("list[Item]", parent.parts)
        kind = type(node)
        if kind is Struct and node.flat and (count := self.flat(node)):  # type: ignore[union-attr,arg-type]
            parts.append(self.row(Row(node, self.pos, index, self.at, self.spans), count))
            return parts[-1]
        if kind is Choice:
            return self.choice(parent, node)  # type: ignore[arg-type]
        item = Item(node, self.pos, index)
        parts.append(item)
        if kind is Leaf:
            self.leaf(item, node)  # type: ignore[arg-type]
            return item
        item.parts = []
        if kind is Struct:
            self.struct(item, node)  # type: ignore[arg-type]
        elif kind is Array:
            parts[-1] = item = self.array(item, node)  # type: ignore[arg-type]
        elif kind is Tags:
            self.tags(item, node)  # type: ignore[arg-type]
        elif kind is Series:
            self.series(item, node)  # type: ignore[arg-type]
        else:
            self.nullable(item, node)  # type: ignore[arg-type]
        return item

    def done(self, item: Item) -> None:
        item.end = self.pos
        item.whole = True

    def struct(self, item: Item, node: Struct) -> None:
        for field in node.fields:
            self.part(item, field)
        if node.tags:
            self.part(item, node.tags)
        self.done(item)

    def array(self, item: Item, node: Array) -> Item:
        at = self.at
        count = read_count(self.part(item, node.count), self.data)
        if (
            count >= LONG_ROW
            and type(node.element) is Leaf
            and at + count < self.count
            and self.nodes[at + count] == node.element.id
        ):
            return self.row(Row(node, item.start, item.index, at, self.spans), count)
        for i in range(max(count, 0)):
            self.part(item, node.element, i)
        self.done(item)
        return item

    def series(self, item: Item, node: Series) -> None:
        if node.size:
            self.part(item, node.size)
        index = 0
        while self.next() == node.first:
            self.part(item, node.element, index)
            index += 1
        self.done(item)

    def choice(self, parent: Item, node: Choice) -> Item:
        """Return the present form of a field, or the struct itself if no form is present."""
        form = node.forms.get(self.next(), node.empty)
        return self.part(parent, form) if form else parent

    def next(self) -> int:
        """Return the node of the next span. At the gap this is the node that was expected, if any."""
        number = self.nodes[self.at] if self.at < self.count else -1
        return self.spans.lost if number == p.GAP else number

    def nullable(self, item: Item, node: Nullable) -> None:
        if not is_null(self.part(item, node.presence), self.data):
            self.part(item, node.struct)
        self.done(item)

    def tags(self, item: Item, node: Tags) -> None:
        for _ in range(read_count(self.part(item, node.count), self.data)):
            if self.at >= self.count:
                raise _EndOfSpansError
            number = self.nodes[self.at]
            field = node.known.get(number)
            if field:
                self.part(item, self.leaves[number])
                self.part(item, field[0])
            else:
                header = self.part(item, node.unknown_header)
                header.tag = UVARINT.read(_first_varint(self.data, header.start))
                self.part(item, node.unknown_data).tag = header.tag
        self.done(item)

    def close(self, item: Item) -> None:
        """Set the end of all open items to the end of the decoded bytes."""
        while not item.whole:
            item.end = self.pos
            if not item.parts:
                break
            item = item.parts[-1]


def _first_varint(data: Any, at: int) -> Any:
    end = at
    while data[end] > 0x7F:
        end += 1
    return data[at : end + 1]


def read_count(item: Item, data: Any) -> int:
    """Return the number in a count or tag count; it is negative for a null array."""
    decl = item.leaf.decl
    raw = data[item.start : item.end]
    return int(decl.prefix.read(raw)) - decl.compact if isinstance(decl, ArrayOf) else int(UVARINT.read(raw))


def is_null(item: Item, data: Any) -> bool:
    """Return whether this presence marker, string, bytes or records leaf is null."""
    decl = item.leaf.decl
    raw = data[item.start : item.end]
    if isinstance(decl, Sized):
        return item.end - item.start <= 5 and int(decl.prefix.read(_prefix(decl, raw))) - decl.compact < 0
    return bool(decl.is_null(decl.presence.read(raw)))


def _prefix(decl: Sized, raw: Any) -> Any:
    return _first_varint(raw, 0) if isinstance(decl.prefix, Varint) else raw[: decl.prefix.length]


def tagged_parts(item: Item) -> Iterator[tuple[Item, Item]]:
    """Yield the pairs of header and field in a tag section."""
    parts = item.parts
    for i in range(1, len(parts) - 1, 2):
        yield parts[i], parts[i + 1]


def places(item: Item, *, keep: bool = True) -> Iterator[tuple[str, Item]]:
    """Yield every item with its path, in wire order: `topics[0].partitions[3].leaderId`. A tag section is `_tags`.

    The items belong to `parts`. Without `keep` they are temporary objects, which saves memory.
    """
    yield "", item
    # One loop with a stack of open items. Nested generators would pass every item through all levels.
    still_open = [("", item, iter(item.parts) if keep else item.each())]
    while still_open:
        path, parent, parts = still_open[-1]
        for part in parts:
            inner = path_of(part, parent, path)
            yield inner, part
            if type(part.node) is not Leaf:
                still_open.append((inner, part, iter(part.parts) if keep else part.each()))
                break
        else:
            still_open.pop()


def path_of(part: Item, parent: Item, path: str) -> str:
    """Return the path of a part of an item; `path` is the path of the item."""
    if part.index is not None:
        return f"{path}[{part.index}]"
    if part.tag is not None:
        return f"{path}[{part.tag}]"
    kind = type(parent.node)
    if kind is Array or kind is Nullable or kind is Series:
        return path
    if kind is Tags:
        # the section is a part of its struct, its fields are the struct's
        return path if part.node is parent.node.count else path.removesuffix("_tags") + part.node.name  # type: ignore[union-attr]
    return f"{path}.{part.node.name}" if path else part.node.name


def leaves(tree: Tree) -> Iterator[Span]:
    """Yield the spans with their paths. The gap is last, under the path of the field that could not be read."""
    spans = tree.spans
    lost = ""
    start = spans.start
    for path, item in places(tree.root, keep=False):
        if item.span >= 0 and item.whole:
            at = item.span
            yield Span(path, item.leaf.kind, start, spans.value[at], spans.end[at], spans.flags.get(at, 0))
            start = spans.end[at]
        elif not item.whole:
            lost = path
    if tree.gap:
        at = tree.gap.span
        yield Span(lost, "gap", start, spans.value[at], spans.end[at], spans.flags.get(at, 0))
