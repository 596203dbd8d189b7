"""Rows of an outline: the fields of one message, header or batch with their places, values and secrets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from kwire_cli.engine.program import Array, Leaf, Nullable, Struct, Tags
from kwire_cli.engine.python_source import TOPIC, TOPIC_ID
from kwire_cli.engine.tree import Item, Tree, is_null, path_of, read_count, tagged_parts
from kwire_cli.engine.values import Form, leaf_value
from kwire_cli.errors import counted
from kwire_cli.message.decoded import InField, records_in
from kwire_cli.structs.lengths import Sized, redacted
from kwire_cli.structs.numbers import UVARINT
from kwire_cli.view.lines import SHOWN_TEXT, Line, byte_segments, meaning, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kwire_cli.engine.values import Body
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.batch import Batch, Hide
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.spec.catalog import Catalog

    Place = tuple[int, int, int]
    """The bytes [start, end) of a buffer whose value begins at `value`: start, value, end."""
    Within = dict[tuple[int, int], Callable[["Field"], Iterable["Title"]]]
    """The rows within a field, by the begin and end of the field's value in its buffer."""

COUNT, PRESENCE, TAGS, TAG, SIZE = "(count)", "(presence)", "(tagged fields)", "(tag)", "(size)"
"""Names of rows that are no fields."""
MARKERS = frozenset({COUNT, PRESENCE, TAGS, TAG, SIZE})
NOUNS = {"count": "elements", "presence": "presence", "tag-count": "tagged fields"}
"""The nouns for the number in a count or marker."""
NOTHING: frozenset[int] = frozenset()
_BYTES = frozenset({"bytes", "records", "unknown-tag"})
_OWN_TEXT = frozenset({"count", "tag-header", "records"})
_TOPICS = frozenset({TOPIC, TOPIC_ID})


@dataclass(frozen=True, slots=True)
class Extent:
    """The extent of an outline.

    Records are shown as batches if there is a `reading`, which also says what is secret in them; compressed ones as
    what they become if `deep`. `full` shows long values whole. Messages in fields stand `within` these fields, `behind`
    the message or batch that has the fields, or nowhere. Of a batch the first `most` bytes are read.
    """

    catalog: Catalog | None
    reading: RecordsAs | None = None
    full: bool = False
    messages: Literal["", "within", "behind"] = ""
    deep: bool = True
    most: int | None = None

    @property
    def hide(self) -> Hide | None:
        """The secrets in records."""
        return self.reading.hide if self.reading else None


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """The bytes [start, stop) of `data` that rows point into: of the input, or its `own` where offsets do not count in
    the input, as they were decompressed or are the value of a field.
    """

    name: str
    data: Any
    start: int
    stop: int
    own: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Title:
    """A row that is no field: a part of a frame, a batch, a message in a field, or bytes without a layout (kind gap).

    `subject` is what the row is about. Bytes from `secret` on must not be shown.
    """

    depth: int
    name: str
    kind: str
    buffer: Buffer
    place: Place
    line: Line
    subject: Any = None
    rows: Callable[[], Iterable[Row]] = tuple
    secret: int | None = None
    json_path: str = ""

    def below(self) -> Iterable[Row]:
        """The rows below this one."""
        return self.rows()


class Field:
    """A row that is a field, or a count, marker or tag: an item of the tree of its part, and the item that it is in.

    `path` is that in the part. A field whose `records` are shown has them below, of a topic as far as fields before say
    it. A tagged field has its `header`.
    """

    __slots__ = ("depth", "header", "item", "kind", "name", "parent", "part", "path", "records", "topic")

    def __init__(self, part: Part, item: Item, parent: Item, name: str, path: str, depth: int) -> None:
        self.part, self.item, self.parent, self.name, self.path, self.depth = part, item, parent, name, path, depth
        node = item.node
        self.kind = node.kind if type(node) is Leaf else ""
        """The type of the value, or count, presence, tag-count, tag-header; empty for what has rows below."""
        self.header: Item | None = None
        self.records: InField | None = None
        self.topic: str | None = None

    @property
    def subject(self) -> Any:
        """A field is about nothing else."""
        return None

    @property
    def buffer(self) -> Buffer:
        """The buffer that the place is in."""
        return self.part.buffer

    @property
    def place(self) -> Place:
        """The place of the field's bytes."""
        item, part = self.item, self.part
        start, shift = item.start, part.shift
        if self.records:
            value, end = self.records.start, self.records.stop
        else:
            value, end = start if item.span < 0 else part.tree.spans.value[item.span], item.end
        return (start + shift, value + shift, end + shift) if shift else (start, value, end)

    @property
    def secret(self) -> int | None:
        """The first byte that must not be shown. A length may be shown, unless it is not sure that it is one."""
        item, part = self.item, self.part
        if item.span not in part.hidden or self.records:
            return None
        sure = part.exact and isinstance(item.leaf.decl, Sized)
        return part.shift + (part.tree.spans.value[item.span] if sure else item.start)

    @property
    def line(self) -> Line:
        """The value for eyes."""
        if self.records:
            return [(self.records.text, "warning" if self.records.is_cut else "number")]
        return self.part.text(self.item) if self.kind else self.part.summary(self.item)

    @property
    def json_path(self) -> str:
        """The path in the JSON form of the whole; empty for what has no value of its own there."""
        above = self.part.json_path
        return "" if above is None or self.kind == "tag-header" else above + self.path

    @property
    def tag(self) -> int | None:
        """The tag of a tagged field."""
        return None if self.header is None else tag_and_size(self.header, self.part.tree)[0]

    def below(self) -> Iterable[Row]:
        """The rows below this one."""
        part, item = self.part, self.item
        if self.kind:
            if self.records:
                return part.opens(self) if part.opens else ()
            within = part.within.get(self.place[1:]) if part.within else None
            return within(self) if within and self.place[1:] != part.whole else ()
        if type(item.node) is Struct:
            return part.fields(item, self.path, self.depth + 1)
        return part.parts(item, self.path, self.depth + 1)

    def items(self, *, own: bool = False) -> Iterator[Batch | Gap]:
        """The batches in a field of records, and the gaps between; with `own` offsets count from the first of them."""
        reading, records, data = self.part.extent.reading, self.records, self.part.tree.spans.data
        assert reading is not None  # noqa: S101 - for the type checker: without it there are no records
        assert records is not None  # noqa: S101 - as above
        if own:
            return reading.items(data[records.start : records.stop], self.topic)
        return reading.items(data, self.topic, records.start, records.stop)


Row = Field | Title


def leaves(rows: Iterable[Row]) -> Iterator[Row]:
    """The fields with values, counts and markers in order, and the titles between them."""
    still_open = [iter(rows)]
    while still_open:
        for row in still_open[-1]:
            if type(row) is Field and not row.kind:
                still_open.append(iter(row.below()))
                break
            yield row
        else:
            still_open.pop()


@dataclass(slots=True, eq=False)
class Part:
    """Bytes with a layout of their own: a size, header or body, a batch, packed records, or a message in a field.

    `name` says what it is to what is around it. `hidden` are the spans with secrets, `exact` tells whether the layout
    took all bytes. Offsets of the spans and `shift` make those of the buffer. `json_path` is what stands before paths
    of fields in the JSON form, None for what is not in it. `within` are messages in fields; `whole` is where the part
    itself stands, which is none of them. `cut` are the records in which the bytes end.
    """

    extent: Extent
    name: str
    message: str
    source: Body | Tree
    exact: bool
    hidden: frozenset[int]
    buffer: Buffer
    shift: int = 0
    json_path: str | None = ""
    batch: Batch | None = None
    payload: Payload | None = None
    within: Within = field(default_factory=dict)
    whole: tuple[int, int] | None = None
    topic: str | None = None
    cut: InField | None = None
    opens: Callable[[Field], Iterable[Row]] | None = None
    roles: Mapping[int, str] | None = None
    form: Form = field(init=False)

    def __post_init__(self) -> None:
        self.form = Form(hidden=self.hidden)

    @property
    def tree(self) -> Tree:
        """The fields; that of a body is built when it is asked for."""
        return self.source if isinstance(self.source, Tree) else self.source.tree

    @property
    def body(self) -> Body | None:
        """The body of a message; None for a batch and its records."""
        return None if isinstance(self.source, Tree) else self.source

    @property
    def data(self) -> Any:
        """The data in which the offsets of the spans count."""
        return self.tree.spans.data

    def rows(self, depth: int = 0) -> Iterator[Row]:
        """The fields, and the gap behind them if the bytes could not be decoded to their end."""
        yield from self.fields(self.tree.root, "", depth)
        gap = self.tree.gap
        if gap and not self.cut:
            size = counted(gap.end - gap.start, "byte")
            text = f"{size} that belong to no field" if gap.end > gap.start else "the bytes end here"
            start = gap.start + self.shift
            place = start, start, gap.end + self.shift
            secret = start if gap.span in self.hidden else None
            yield Title(depth, "(not decoded)", "gap", self.buffer, place, [(text, "warning")], secret=secret)

    def fields(self, item: Item, path: str, depth: int) -> Iterator[Field]:
        """The fields of a struct, tagged ones beside the others."""
        dot = f"{path}." if path else ""
        for part in item.each():
            node = part.node
            if type(node) is Tags:
                yield from self._tags(part, f"{dot}_tags", depth)
            else:
                yield self._row(part, item, node.name, dot + node.name, depth)

    def parts(self, item: Item, path: str, depth: int) -> Iterator[Field]:
        """Yield the count or marker and the elements of an array, series or nullable struct."""
        kind = type(item.node)
        first = PRESENCE if kind is Nullable else COUNT if kind is Array else SIZE
        for number, part in enumerate(item.each()):
            if part.index is not None:
                name = f"[{part.index}]"
                yield self._row(part, item, name, path + name, depth)
            elif number:
                yield from self.fields(part, path, depth)  # those of a nullable struct
            else:
                yield self._row(part, item, first, path, depth)

    def _tags(self, section: Item, path: str, depth: int) -> Iterator[Field]:
        parts = section.parts
        if not parts:
            return
        yield self._row(parts[0], section, TAGS, path, depth)
        for header, part in tagged_parts(section):
            yield self._row(header, section, TAG, path_of(header, section, path), depth)
            name = part.node.name if header.tag is None else f"_tags[{header.tag}]"
            tagged = self._row(part, section, name, path_of(part, section, path), depth)
            tagged.header = header
            yield tagged
        if len(parts) % 2 == 0:  # the bytes end behind a header
            yield self._row(parts[-1], section, TAG, path_of(parts[-1], section, path), depth)

    def _row(self, item: Item, parent: Item, name: str, path: str, depth: int) -> Field:
        row = Field(self, item, parent, name, path, depth)
        if self.roles is not None and row.kind:
            if not item.whole:
                row.records, row.topic = self.cut, self.topic
            elif row.kind == "records":
                records = records_in(item, self.tree)
                row.records, row.topic = records if item.span not in self.hidden else None, self.topic
            elif self.roles.get(item.leaf.id) in _TOPICS:
                self.topic = str(leaf_value(item, self.tree))
        return row

    def text(self, item: Item) -> Line:
        """The value of a leaf for eyes."""
        if not item.whole:
            return [("not reached", "warning")]
        leaf, tree = item.leaf, self.tree
        if leaf.kind in _OWN_TEXT and item.span not in self.hidden:
            if leaf.kind == "count":
                count = read_count(item, tree.spans.data)
                return [("null", "null") if count < 0 else (str(count), "number")]
            if leaf.kind == "tag-header":
                return [("tag {}, size {}".format(*tag_and_size(item, tree)), "dim")]
            if self.extent.reading and not (isinstance(leaf.decl, Sized) and is_null(item, tree.spans.data)):
                return [(counted(item.end - tree.spans.value[item.span], "byte"), "number")]
        return value_segments(item, tree, self.extent.catalog, self.message, self.form, full=self.extent.full)

    def summary(self, item: Item) -> Line:
        """The text beside a struct or array."""
        first = next(iter(item.each()), None)
        if first is None:
            return [] if item.whole else [("not reached", "warning")]
        if isinstance(item.node, Array):
            if first.span in self.hidden or not first.whole:
                return self.text(first)
            count = read_count(first, self.data)
            return [("null", "null") if count < 0 else (counted(count, "element"), "dim")]
        null = isinstance(item.node, Nullable) and first.whole and is_null(first, self.data)
        return [("null", "null")] if null else []


def value_segments(
    item: Item, tree: Tree, catalog: Catalog | None, message: str, form: Form, *, full: bool = False
) -> Line:
    """The value of a leaf for eyes: text in quotes, bytes in hex and as text, numbers with their meaning. `full` shows
    long ones whole.
    """
    leaf = item.leaf
    kind = leaf.kind
    if item.span in form.hidden:
        text = redacted(item.end - item.start) if kind == "tag-header" else str(leaf_value(item, tree, form))
        return [(text, "secret")]
    value: Any = leaf_value(item, tree, form)
    if value is None:
        return [("null", "null")]
    if kind in _BYTES:
        return byte_segments(bytes(tree.spans.data[tree.spans.value[item.span] : item.end]), full=full)
    description = meaning(catalog, message, leaf, value) if catalog else None
    meant = (f" {description}" if description else "", "meaning")
    if kind == "string":
        cut = f"… {len(value) - SHOWN_TEXT} more characters" if len(value) > SHOWN_TEXT and not full else ""
        return [(quoted(value[:SHOWN_TEXT] if cut else value), "text"), (cut, "dim"), meant]
    return [("true" if value is True else "false" if value is False else str(value), "number"), meant]


def tag_and_size(item: Item, tree: Tree) -> tuple[int, int]:
    """The numbers in the header of a tagged field."""
    raw = bytes(tree.spans.data[item.start : item.end])
    cut = next(i for i, byte in enumerate(raw) if byte < 0x80) + 1
    return int(UVARINT.read(raw[:cut])), int(UVARINT.read(raw[cut:]))
