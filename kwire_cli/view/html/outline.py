"""Rows of a page's outline: fields, and messages inside them."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Array, Leaf, Nullable, Series, Struct, Tags
from kwire_cli.engine.python_source import TOPIC, TOPIC_ID
from kwire_cli.engine.tree import Item, is_null, read_count, tagged_parts
from kwire_cli.engine.values import Form, leaf_value
from kwire_cli.message.decoded import records_in
from kwire_cli.message.roles import roles
from kwire_cli.structs.lengths import Sized
from kwire_cli.structs.numbers import UVARINT
from kwire_cli.view.batch_tree import SHOWN_TEXT
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import counted
from kwire_cli.view.tree import value_segments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.tree import Tree
    from kwire_cli.message.frames import Frame
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.lines import Line


# What a page knows of one frame or batch: its bytes in buffers, and the fields in them as rows of an outline,
# in the order of the bytes.

MOST_NODES = 20_000
"""Fields of one frame or batch in a page where not all are asked for: what is beyond is not in it."""


MOST_BYTES = 256 << 10
"""Bytes of a buffer in a page where not all are asked for."""

CLASSES = {
    "number": "n",
    "text": "t",
    "bytes": "b",
    "null": "z",
    "meaning": "m",
    "dim": "d",
    "warning": "w",
    "secret": "s",
    "title": "h",
    "name": "k",
}
"""Classes of the style sheet by the names of styles."""


class Outline:
    """Rows (depth, name, kind, buffer, start, value, end, then text and class of each piece of what is shown) and the
    buffers they point into.

    Offsets are those that a buffer's bytes have in the input, or in what they were decompressed to. What is masked is
    never in the page. `left_out` counts fields for which there was no room.
    """

    def __init__(self, *, full: bool) -> None:
        self.full = full
        self.left_out = 0
        self._nodes: list[list[Any]] = []
        self._buffers: list[tuple[str, int, bytes, int]] = []
        self._masked: list[list[tuple[int, int]]] = []
        self._reached: list[int] = []

    @property
    def has_room(self) -> bool:
        """Return whether there is room for another field."""
        return self.full or len(self._nodes) < MOST_NODES

    def buffer(self, name: str, data: Any, start: int, stop: int) -> int:
        """The number of a new buffer: the bytes [start, stop) of the data."""
        end = stop if self.full else min(stop, start + MOST_BYTES)
        self._buffers.append((name, start, bytes(data[start:end]), stop - start))
        self._masked.append([])
        self._reached.append(start)
        return len(self._buffers) - 1

    def mask(self, buffer: int, start: int, stop: int) -> None:
        """Bytes that must not be seen."""
        if start < stop:
            self._masked[buffer].append((start, stop))

    def reach(self, buffer: int, end: int) -> None:
        """All up to here was told, and what is secret in it masked: where fields are left out, bytes end here too."""
        if self.has_room:
            self._reached[buffer] = max(self._reached[buffer], end)

    def node(self, depth: int, name: str, kind: str, place: tuple[int, int, int, int], line: Line) -> None:
        """A field at a place: its buffer, where it starts, where its value does, and where it ends."""
        if not self.has_room:
            self.left_out += 1
            return
        row: list[Any] = [depth, name, kind, *place]
        for text, style in line:
            if text:
                row += (text, CLASSES.get(style, ""))
        self._nodes.append(row)

    def to_json(self, anomalies: Iterable[Anomaly]) -> dict[str, Any]:
        """`{"nodes","buffers","anomalies"}`, and "leftOut" where that is not all; the bytes of a buffer are base64
        text, masked ones zero.
        """
        buffers = [self._shown(*buffer, number) for number, buffer in enumerate(self._buffers)]
        out: dict[str, Any] = {
            "buffers": buffers,
            "nodes": self._nodes,
            "anomalies": [note._asdict() for note in anomalies],
        }
        return out | ({"leftOut": self.left_out} if self.left_out else {})

    def _shown(self, name: str, start: int, data: bytes, size: int, number: int) -> dict[str, Any]:
        clear = bytearray(data[: self._reached[number] - start] if self.left_out else data)
        ranges = []
        for a, b in self._masked[number]:
            low, high = max(a - start, 0), min(b - start, len(clear))
            if low < high:
                clear[low:high] = bytes(high - low)
                ranges.append([low, high])
        return {
            "name": name,
            "at": start,
            "size": size,
            "data": base64.b64encode(clear).decode("ascii"),
            "masked": ranges,
        }


# The fields of a message as rows of an outline: every leaf of its tree, so that each byte has a row, below
# what they are in.

COUNT, PRESENCE, TAGS, GAP = "(count)", "(presence)", "(tagged fields)", "(not decoded)"
"""Names of rows that are no fields. Whatever is in brackets is no part of a path."""


@dataclass(frozen=True, slots=True)
class Place:
    """Bytes [start, end) of a buffer; the value begins at `value`."""

    buffer: int
    start: int
    value: int
    end: int

    @property
    def row(self) -> tuple[int, int, int, int]:
        """As rows have it."""
        return self.buffer, self.start, self.value, self.end


if TYPE_CHECKING:
    Below = Callable[[Outline, "Place", int], None]
    """Adds what is within a field to an outline, at a depth."""


@dataclass(slots=True)
class Part:
    """A message, or whatever else has its tree, spans and name, in a buffer. `shift` is where the data of its spans
    begin in the buffer's offsets.

    `hidden` are the spans that must not be seen. `below` has what is within a field by the offsets of its value;
    `records` adds the batches in a field of records, of a topic as far as fields before it say it.
    """

    catalog: Catalog
    body: Any
    hidden: frozenset[int]
    buffer: int
    shift: int = 0
    below: Mapping[tuple[int, int], Below] = field(default_factory=dict)
    records: Callable[[Outline, Place, int, str | None], None] | None = None
    topic: str | None = None

    def add(self, outline: Outline, depth: int) -> None:
        """Its fields, and the gap behind them where it could not be decoded to its end."""
        tree: Tree = self.body.tree
        walk = _Walk(self, outline)
        walk.struct(tree.root, depth)
        if (gap := tree.gap) and not walk.ends_in_records:
            place = walk.place(gap.start, gap.start, gap.end)
            text = (
                f"{counted(gap.end - gap.start, 'byte')} that belong to no field"
                if gap.end > gap.start
                else "the bytes end here"
            )
            outline.node(depth, GAP, "gap", place.row, [(text, "warning")])
            if gap.span in self.hidden:
                outline.mask(place.buffer, place.start, place.end)


class _Walk:
    def __init__(self, part: Part, outline: Outline) -> None:
        self.part, self.outline, self.tree = part, outline, part.body.tree
        self.form = Form(hidden=part.hidden)
        self.ends_in_records = False
        self.roles = roles(part.body.spec, part.body.entry).by_node if part.records else {}

    def place(self, start: int, value: int, end: int) -> Place:
        shift = self.part.shift
        return Place(self.part.buffer, start + shift, value + shift, end + shift)

    def struct(self, item: Item, depth: int) -> None:
        for part in item.each():
            if isinstance(part.node, Tags):
                self.tags(part, depth)
            else:
                self.item(part, part.node.name if part.index is None else f"[{part.index}]", depth)

    def tags(self, section: Item, depth: int) -> None:
        parts = section.parts
        if not parts:
            return
        self.item(parts[0], TAGS, depth)
        for header, part in tagged_parts(section):
            self.item(header, "(tag)", depth)
            if header.tag is None:
                self.item(part, part.node.name, depth)
            else:
                self.item(part, f"_tags[{header.tag}]", depth)
        if len(parts) % 2 == 0:  # the bytes end behind a header
            self.item(parts[-1], "(tag)", depth)

    def item(self, item: Item, name: str, depth: int) -> None:
        node = item.node
        if isinstance(node, Leaf):
            self.leaf(item, name, depth)
            return
        place = self.place(item.start, item.start, item.end)
        self.outline.node(depth, name, "", place.row, self.summary(item))
        if not self.outline.has_room:
            self.outline.left_out += 1
            return
        if isinstance(node, Struct):
            self.struct(item, depth + 1)
        elif isinstance(node, Array):
            self.elements(item, COUNT, depth + 1)
        elif isinstance(node, Series):
            self.elements(item, "(size)", depth + 1)
        elif isinstance(node, Nullable):
            parts = item.parts
            if parts:
                self.item(parts[0], PRESENCE, depth + 1)
            if len(parts) > 1:
                self.struct(parts[1], depth + 1)

    def elements(self, item: Item, first: str, depth: int) -> None:
        for part in item.each():
            if not self.outline.has_room:
                self.outline.left_out += 1
                return
            self.item(part, first if part.index is None else f"[{part.index}]", depth)

    def leaf(self, item: Item, name: str, depth: int) -> None:
        part, outline, spans = self.part, self.outline, self.tree.spans
        records = records_in(item, self.tree) if part.records else None
        if records and part.records and records.span not in part.hidden:
            place = self.place(item.start, records.start, records.stop)
            outline.node(
                depth, name, item.leaf.kind, place.row, [(records.text, "warning" if records.is_cut else "number")]
            )
            part.records(outline, place, depth + 1, part.topic)
            outline.reach(place.buffer, place.end)
            self.ends_in_records = records.is_cut
            return
        if not item.whole:
            outline.node(
                depth,
                name,
                item.leaf.kind,
                self.place(item.start, item.start, item.start).row,
                [("not reached", "warning")],
            )
            return
        value = spans.value[item.span]
        place = self.place(item.start, value, item.end)
        outline.node(depth, name, item.leaf.kind, place.row, self.value(item))
        if item.span in part.hidden:
            # A length may be shown, unless it is not sure that it is one.
            sure = part.body.exact and isinstance(item.leaf.decl, Sized)
            outline.mask(place.buffer, place.value if sure else place.start, place.end)
        elif self.roles.get(item.leaf.id) in {TOPIC, TOPIC_ID}:
            part.topic = str(leaf_value(item, self.tree))
        if meaning := part.below.get((place.value, place.end)):
            meaning(outline, place, depth + 1)
        outline.reach(place.buffer, place.end)

    def value(self, item: Item) -> Line:
        """Return the value of a leaf."""
        leaf, data = item.leaf, self.tree.spans.data
        if item.span not in self.form.hidden:
            if leaf.kind == "count":
                count = int(leaf_value(item, self.tree))
                return [("null", "null") if count < 0 else (str(count), "number")]
            if leaf.kind == "tag-header":
                raw = bytes(data[item.start : item.end])
                cut = next(i for i, byte in enumerate(raw) if byte < 0x80) + 1
                return [(f"tag {UVARINT.read(raw[:cut])}, size {UVARINT.read(raw[cut:])}", "dim")]
            if leaf.kind == "records" and not (isinstance(leaf.decl, Sized) and is_null(item, data)):
                return [(counted(item.end - self.tree.spans.value[item.span], "byte"), "number")]
        return value_segments(
            item, self.tree, self.part.catalog, self.part.body.message, self.form, full=self.outline.full
        )

    def summary(self, item: Item) -> Line:
        """Return the text beside a struct or array."""
        first = next(iter(item.each()), None)
        if first is None:
            return [] if item.whole else [("not reached", "warning")]
        if isinstance(item.node, Array):
            if first.span in self.form.hidden:
                return self.value(first)
            count = read_count(first, self.tree.spans.data) if first.whole else None
            return [("null", "null")] if count is not None and count < 0 else [(counted(count or 0, "element"), "dim")]
        if isinstance(item.node, Nullable) and first.whole and is_null(first, self.tree.spans.data):
            return [("null", "null")]
        return []


def gaps(parts: Iterator[tuple[int, int]], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of [start, stop) that no part covers. The parts are in order."""
    for low, high in parts:
        if start < low:
            yield start, low
        start = max(start, high)
    if start < stop:
        yield start, stop


# What is within fields: payloads and forwarded requests, found by where the field's value stands.

NOTHING: frozenset[int] = frozenset()


class Within:
    """Meanings by the offsets of what means something; `found` is what `Part` takes as `below`."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.found: dict[tuple[int, int], Below] = {}

    def text(self, at: tuple[int, int], name: str, text: str) -> None:
        """A meaning that is a text."""

        def below(outline: Outline, place: Place, depth: int) -> None:
            excerpt = text if outline.full or len(text) <= SHOWN_TEXT else f"{text[:SHOWN_TEXT]}…"
            outline.node(depth, name, "", place.row, [(excerpt, "text")])

        self.found[at] = below

    def payloads(
        self,
        payloads: Iterable[Payload],
        starts: dict[str, int],
        data: Any,
        origin: int,
        hidden: Mapping[str, frozenset[int]],
    ) -> None:
        """Payloads by their paths, and those that are within others.

        `starts` says where the values of fields stand, counted from `origin` of `data`, and gets those that are within.
        `hidden` are spans by path.
        """
        for payload in payloads:
            at = starts.get(payload.path)
            if at is None or bytes(data[at - origin : at - origin + payload.size]) != bytes(payload.data):
                continue  # of what was decompressed first there is no place
            if payload.body:
                starts |= {f"{payload.path}.{span.path}": at + span.value for span in payload.body.spans}
            self._payload(payload, (at, at + payload.size), hidden.get(payload.path, NOTHING))

    def _payload(self, payload: Payload, at: tuple[int, int], hidden: frozenset[int]) -> None:
        version = "" if payload.version is None else f" version {payload.version}"
        guess = ", guessed" if payload.guess else ""
        body = payload.body
        if not body:
            self.text(at, f"({payload.type}{version})", dumps(payload.json_data(hidden=hidden), indent=False))
            return

        def below(outline: Outline, place: Place, depth: int) -> None:
            outline.node(depth, "(means)", "", place.row, [(f"{body.message}{version}", "title"), (guess, "warning")])
            del self.found[at]  # within it, its only field may be all of it
            Part(self.catalog, body, hidden, place.buffer, at[0], self.found).add(outline, depth + 1)
            self.found[at] = below

        self.found[at] = below

    def forwarded(self, frame: Frame, at: int, hidden: Mapping[str, frozenset[int]]) -> None:
        """A request or response in a field, whose data are those around it."""

        def below(outline: Outline, place: Place, depth: int) -> None:
            for name, part in frame.parts:
                where = (place.buffer, part.start, part.start, part.stop)
                outline.node(depth, f"({name})", "", where, [(f"{part.message} version {part.version}", "dim")])
                Part(self.catalog, part, hidden.get(name, NOTHING), place.buffer).add(outline, depth + 1)

        self.found[at, frame.stop] = below
