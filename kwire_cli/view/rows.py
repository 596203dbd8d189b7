"""Rows of an outline: the fields of a message, header or batch with their places, values and secrets.

A `Part` is a range of bytes with one layout. It yields its fields as `Field` rows. A `Title` is a row that is not a
field, such as a batch or a gap. `outline` combines both. A row computes its place, value and children on access,
because an outline can have millions of rows and a view shows only a few of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from kwire_cli.engine.program import Array, Leaf, Nullable, Struct, Tags
from kwire_cli.engine.python_source import TOPIC, TOPIC_ID
from kwire_cli.engine.tree import Item, Tree, is_null, path_of, read_count, tagged_parts
from kwire_cli.engine.values import Form, leaf_value
from kwire_cli.errors import counted
from kwire_cli.message.decoded import InField, records_in
from kwire_cli.spec.texts import texts_of
from kwire_cli.structs.lengths import Sized, redacted
from kwire_cli.structs.numbers import UVARINT
from kwire_cli.view.lines import SHOWN_TEXT, Line, byte_segments, quoted
from kwire_cli.view.meanings import meaning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kwire_cli.engine.values import Body
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.batch import Batch, Hide
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.spec.catalog import Catalog

    Place = tuple[int, int, int]
    """Offsets in a buffer: start of the field, start of its value after a length, end."""
    Within = dict[tuple[int, int], Callable[["Field"], Iterable["Title"]]]
    """Rows within a field, by the start and end of the field's value in its buffer."""

COUNT = "(count)"
PRESENCE = "(presence)"
TAGS = "(tagged fields)"
TAG = "(tag)"
SIZE = "(size)"
MARKERS = frozenset({COUNT, PRESENCE, TAGS, TAG, SIZE})
"""Names of rows for counts, markers and tags, which are not fields."""
NOUNS = {"count": "elements", "presence": "presence", "tag-count": "tagged fields"}
"""The nouns for the number in a count or marker."""
NOTHING: frozenset[int] = frozenset()
_BYTES = frozenset({"bytes", "records", "unknown-tag"})
_WITHOUT_TEXT = frozenset({"", "presence", "tag-count", "tag-header", "unknown-tag"})
"""Kinds of rows that no field of a definition describes."""
_OWN_TEXT = frozenset({"count", "tag-header", "records"})
_TOPICS = frozenset({TOPIC, TOPIC_ID})


@dataclass(frozen=True, slots=True)
class Extent:
    """The extent of an outline.

    Attributes:
        reading: Decodes records as batches and knows their secrets. Without it a records field is bytes.
        full: Show long values completely.
        messages: Position of messages in fields: `within` their field, `behind` the message or batch that contains the
            field, or nowhere.
        deep: Decompress records.
        most: Maximum number of bytes of a batch to decode.

    """

    catalog: Catalog | None
    reading: RecordsAs | None = None
    full: bool = False
    messages: Literal["", "within", "behind"] = ""
    deep: bool = True
    most: int | None = None

    @property
    def hide(self) -> Hide | None:
        """The filter of secrets in records."""
        return self.reading.hide if self.reading else None


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """The bytes [start, stop) of `data` that rows point into.

    `own` is True if offsets do not count in the input, because the bytes were decompressed or are the value of a field.
    """

    name: str
    data: Any
    start: int
    stop: int
    own: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Title:
    """A row for a part of a frame, a batch, a message in a field, or bytes without a layout (kind gap).

    `subject` is that part, batch, message or gap. Bytes from `secret` on must not be shown.
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
        """Return the rows below this one."""
        return self.rows()


class Field:
    """A row for a field, count, marker or tag.

    Attributes:
        item: The item in the tree of the part.
        parent: The item that contains `item`.
        path: The path within the part.
        kind: The type of the value, or count, presence, tag-count, tag-header. Empty for a struct or array.
        header: The item of the tag and size before a tagged field.
        records: The span of a records field whose batches are the rows below.
        topic: The topic of the records, if a field before them has its name or id.

    """

    __slots__ = ("depth", "header", "item", "kind", "name", "parent", "part", "path", "records", "topic")

    def __init__(self, part: Part, item: Item, parent: Item, name: str, path: str, depth: int) -> None:
        self.part = part
        self.item = item
        self.parent = parent
        self.name = name
        self.path = path
        self.depth = depth
        node = item.node
        self.kind = node.kind if type(node) is Leaf else ""
        self.header: Item | None = None
        self.records: InField | None = None
        self.topic: str | None = None

    @property
    def subject(self) -> Any:
        """None: a field has no subject. Titles have one."""
        return None

    @property
    def buffer(self) -> Buffer:
        """The buffer that the place is in."""
        return self.part.buffer

    @property
    def place(self) -> Place:
        """The place of the field's bytes."""
        item = self.item
        part = self.part
        start = item.start
        shift = part.shift
        if self.records:
            value = self.records.start
            end = self.records.stop
        else:
            value = start if item.span < 0 else part.tree.spans.value[item.span]
            end = item.end
        return (start + shift, value + shift, end + shift) if shift else (start, value, end)

    @property
    def secret(self) -> int | None:
        """The offset of the first byte that must not be shown, or None.

        The length before a secret is shown. If the layout does not cover all bytes, the length may be a part of the
        secret, so it is hidden too.
        """
        item = self.item
        part = self.part
        if item.span not in part.hidden or self.records:
            return None
        has_length = part.exact and isinstance(item.leaf.decl, Sized)
        return part.shift + (part.tree.spans.value[item.span] if has_length else item.start)

    @property
    def line(self) -> Line:
        """The value for display."""
        if self.records:
            return [(self.records.text, "warning" if self.records.is_cut else "number")]
        return self.part.text(self.item) if self.kind else self.part.summary(self.item)

    @property
    def about(self) -> str:
        """Kafka's own text about the field. Empty if the definition has none."""
        body = self.part.body
        if body is None or self.kind in _WITHOUT_TEXT:
            return ""
        return texts_of(body.spec).get(self.item.leaf.path, "")

    @property
    def json_path(self) -> str:
        """The path in the JSON document of the frame or message. Empty if the document has no such value."""
        above = self.part.json_path
        return "" if above is None or self.kind == "tag-header" else above + self.path

    @property
    def tag(self) -> int | None:
        """The tag of a tagged field."""
        return None if self.header is None else tag_and_size(self.header, self.part.tree)[0]

    def below(self) -> Iterable[Row]:
        """Return the rows below this one."""
        part = self.part
        item = self.item
        if self.kind:
            if self.records:
                return part.opens(self) if part.opens else ()
            within = part.within.get(self.place[1:]) if part.within else None
            return within(self) if within and self.place[1:] != part.whole else ()
        if type(item.node) is Struct:
            return part.fields(item, self.path, self.depth + 1)
        return part.parts(item, self.path, self.depth + 1)

    def items(self, *, own: bool = False) -> Iterator[Batch | Gap]:
        """Return the batches in a records field, and the gaps between them.

        With `own`, offsets count from the first batch.
        """
        reading = self.part.extent.reading
        records = self.records
        data = self.part.tree.spans.data
        assert reading is not None  # noqa: S101 - for the type checker: without it there are no records
        assert records is not None  # noqa: S101 - as above
        if own:
            return reading.items(data[records.start : records.stop], self.topic)
        return reading.items(data, self.topic, records.start, records.stop)


Row = Field | Title


def leaves(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the fields with values, the counts and the markers in order, and the titles between them."""
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
    """A range of bytes with one layout: a size, header or body, a batch, packed records, or a message in a field.

    Attributes:
        name: Its role, such as header or body.
        exact: Whether the layout covers all bytes.
        hidden: The spans with secrets.
        shift: The difference between offsets in the buffer and offsets in the tree.
        json_path: The prefix of JSON paths of its fields. None if the JSON document does not contain them.
        within: The messages in its fields.
        whole: The place of the part itself, so that a field that covers all of it does not contain the part again.
        cut: The records field in which the bytes end.
        opens: Returns the batches of a records field.
        roles: The roles of fields, such as topic, by node.

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
        """The fields. The tree of a body is built on first access."""
        return self.source if isinstance(self.source, Tree) else self.source.tree

    @property
    def body(self) -> Body | None:
        """The body of a message; None for a batch and its records."""
        return None if isinstance(self.source, Tree) else self.source

    @property
    def data(self) -> Any:
        """The data that offsets of the spans refer to."""
        return self.tree.spans.data

    def rows(self, depth: int = 0) -> Iterator[Row]:
        """Yield the fields, and the gap after them if the bytes could not be decoded completely."""
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
        """Yield the fields of a struct, and its tagged fields at the same depth."""
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
        first_name = SIZE
        if kind is Nullable:
            first_name = PRESENCE
        elif kind is Array:
            first_name = COUNT
        for number, part in enumerate(item.each()):
            if part.index is not None:
                name = f"[{part.index}]"
                yield self._row(part, item, name, path + name, depth)
            elif number:
                yield from self.fields(part, path, depth)  # the struct after its presence marker
            else:
                yield self._row(part, item, first_name, path, depth)

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
        if len(parts) % 2 == 0:  # the bytes end after a header
            yield self._row(parts[-1], section, TAG, path_of(parts[-1], section, path), depth)

    def _row(self, item: Item, parent: Item, name: str, path: str, depth: int) -> Field:
        row = Field(self, item, parent, name, path, depth)
        if self.roles is not None and row.kind:
            if not item.whole:
                row.records = self.cut
                row.topic = self.topic
            elif row.kind == "records":
                records = records_in(item, self.tree)
                row.records = records if item.span not in self.hidden else None
                row.topic = self.topic
            elif self.roles.get(item.leaf.id) in _TOPICS:
                self.topic = str(leaf_value(item, self.tree))
        return row

    def text(self, item: Item) -> Line:
        """Return the value of a leaf for display."""
        if not item.whole:
            return [("not reached", "warning")]
        leaf = item.leaf
        tree = self.tree
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
        """Return the text next to the name of a struct or array: the number of elements, or null."""
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
    """Return the value of a leaf for display: text in quotes, bytes in hex and as text, numbers with their meaning.

    `full` shows long values completely.
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
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return [(shown, "number"), meant]


def tag_and_size(item: Item, tree: Tree) -> tuple[int, int]:
    """Return the tag and the size in the header of a tagged field."""
    raw = bytes(tree.spans.data[item.start : item.end])
    tag_end = next(i for i, byte in enumerate(raw) if byte < 0x80) + 1
    return int(UVARINT.read(raw[:tag_end])), int(UVARINT.read(raw[tag_end:]))
