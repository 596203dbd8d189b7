"""Messages and frames as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Array, Leaf, Nullable, Tags
from kwire_cli.engine.python_source import TOPIC, TOPIC_ID
from kwire_cli.engine.tree import Item, Tree, is_null, read_count, tagged_parts
from kwire_cli.engine.values import Form, leaf_value
from kwire_cli.message.decoded import InField, records_in
from kwire_cli.message.frames import PAYLOADS, Forwarded, hidden_below
from kwire_cli.message.roles import holds_records, roles
from kwire_cli.view.batch_tree import SHOWN_ELEMENTS, SHOWN_TEXT, _bytes, anomaly_lines, byte_segments, field_lines
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import Line, meaning, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.values import Body
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.spec.catalog import Catalog


# The tree view: fields by name, nested as they are, tagged fields with their tags, meanings beside numbers.

LIST_WIDTH = 100
"""How long a list of texts on one line can get; a longer one has a line for each."""


def frame_lines(
    catalog: Catalog,
    frame: Frame,
    hidden: dict[str, frozenset[int]],
    *,
    full: bool = False,
    asked: Frame | None = None,
    reading: RecordsAs | None = None,
) -> Iterator[Line]:
    """A frame: a title, then header and body, the messages in its fields, and what was odd. `full` shows long values
    whole.

    With `reading` records are shown as their batches.
    """
    frame = frame.shown(hidden)
    yield frame_title(frame)
    payloads = [] if PAYLOADS in hidden else frame.inside(asked)
    last = "payloads" if payloads else "body" if frame.body else "header"
    for name, part in frame.parts:
        if name == "size":
            continue
        layout = f" version {part.version}" if name == "header" else ""
        yield [("└─ " if name == last else "├─ ", "dim"), (name, "name"), (layout, "dim")]
        stem = "   " if name == last else "│  "
        yield from _parts(
            part.tree.root, _Look(catalog, part, hidden.get(name, frozenset()), full=full, reading=reading), stem
        )
    for payload in payloads:
        yield from _payload_lines(
            catalog, payload, hidden_below(payload.path, hidden), full=full, last=payload is payloads[-1]
        )
    yield from anomaly_lines(frame.anomalies)


def _payload_lines(
    catalog: Catalog, payload: Payload | Forwarded, hidden: dict[str, frozenset[int]], *, full: bool, last: bool
) -> Iterator[Line]:
    version = "" if payload.version is None else f" version {payload.version}"
    yield [
        ("└─ " if last else "├─ ", "dim"),
        (payload.path, "name"),
        (": ", "dim"),
        (payload.type, "title"),
        (version, "dim"),
    ]
    stem = "   " if last else "│  "
    if not isinstance(payload, Forwarded):
        if payload.body:
            yield from _parts(
                payload.body.tree.root, _Look(catalog, payload.body, hidden.get("body", frozenset()), full=full), stem
            )
        else:
            text = dumps(payload.json_data(hidden=hidden.get("body", frozenset())), indent=False)
            yield [
                (f"{stem}└─ ", "dim"),
                (text if full else text[:SHOWN_TEXT], "text"),
                ("" if full or len(text) <= SHOWN_TEXT else "…", "dim"),
            ]
        return
    for name, part in payload.frame.parts:
        ends = name == "body" or not payload.frame.body
        yield [(f"{stem}{'└─ ' if ends else '├─ '}", "dim"), (name, "name")]
        look = _Look(catalog, part, hidden.get(name, frozenset()), full=full)
        yield from _parts(part.tree.root, look, stem + ("   " if ends else "│  "))


def message_lines(
    catalog: Catalog, decoded: Decoded, hidden: frozenset[int], *, full: bool = False, reading: RecordsAs | None = None
) -> Iterator[Line]:
    """A body: a title, its fields, then what was odd. `full` and `reading` as in `frame_lines`."""
    yield message_title(decoded)
    yield from _parts(decoded.tree.root, _Look(catalog, decoded, hidden, full=full, reading=reading), "")
    yield from anomaly_lines(decoded.anomalies)


def frame_title(frame: Frame, *, labelled: bool = True) -> Line:
    """Return the title of a frame: what it is, whether that is a guess, and what its input called it."""
    name = f"{frame.api} " if frame.api else f"api key {frame.api_key} " if frame.api_key is not None else ""
    version = f" version {frame.api_version}" if frame.api_version is not None else ""
    line = [
        (f"frame {frame.number}: ", "dim"),
        (f"{name}{frame.kind}", "title"),
        (f"{version}, {_bytes(frame.size)}", "dim"),
    ]
    if frame.label and labelled:
        line.append((f"  # {frame.label}", "dim"))
    if frame.guess:
        alternatives = f"; it could also be {', '.join(frame.candidates[1:6])}" if len(frame.candidates) > 1 else ""
        line.append((f" (guessed{alternatives}; --api and --version say it outright)", "warning"))
    elif frame.body:
        line.append((_layout_guess(frame.body), "warning"))
    return line


def message_title(decoded: Decoded) -> Line:
    """Return the title of a body: the message and version that it was decoded as, and its size."""
    size = _bytes(decoded.stop - decoded.start)
    return [
        (decoded.message, "title"),
        (f" version {decoded.version}, {size}", "dim"),
        (_layout_guess(decoded), "warning"),
    ]


def _layout_guess(decoded: Decoded) -> str:
    return f" (guessed from the layout of {decoded.layout_version})" if decoded.guess else ""


class _Look:
    """The context to show an item: its message, what must not be seen, and whether long values are shown whole.

    `topic` is that of the struct at work, as far as its fields say.
    """

    def __init__(
        self, catalog: Catalog, decoded: Body, hidden: frozenset[int], *, full: bool, reading: RecordsAs | None = None
    ) -> None:
        self.catalog, self.message, self.tree, self.full = catalog, decoded.message, decoded.tree, full
        self.form = Form(hidden=hidden)
        self.reading = reading if reading and holds_records(decoded.entry) else None
        self.roles = roles(decoded.spec, decoded.entry).by_node if self.reading else {}
        self.topic: str | None = None

    def enter(self, item: Item) -> None:
        """Below a struct: its topic is that of what comes now."""
        for part in item.parts if self.reading else ():
            if part.whole and isinstance(part.node, Leaf) and self.roles.get(part.node.id) in {TOPIC, TOPIC_ID}:
                self.topic = str(leaf_value(part, self.tree))

    def records(self, item: Item) -> InField | None:
        """Return the records in a leaf whose batches are shown below it."""
        field = records_in(item, self.tree) if self.reading else None
        return None if field is None or field.span in self.form.hidden else field

    def value(self, item: Item) -> Line:
        """The value of a leaf; of records whose batches stand below it their size alone."""
        if field := self.records(item):
            return [(field.text, "warning" if field.is_cut else "number")]
        if not item.whole:
            return [("not reached", "warning")]
        return value_segments(item, self.tree, self.catalog, self.message, self.form, full=self.full)


def _parts(item: Item, look: _Look, stem: str) -> Iterator[Line]:
    """The lines below an item, with the branches of a tree before them; `stem` is drawn before all of them."""
    children = list(_children(item))
    look.enter(item)
    for i, (name, note, child) in enumerate(children):
        last = i == len(children) - 1
        head: Line = [(stem + ("└─ " if last else "├─ "), "dim"), (name, "name")]
        if note:
            head.append((f" ({note})", "dim"))
        listed = _list(child, look)
        yield head + (listed or _summary(child, look))
        below = stem + ("   " if last else "│  ")
        if isinstance(child.node, Leaf):
            yield from _batches(child, look, below)
        elif not listed:
            yield from _parts(child, look, below)


def _batches(item: Item, look: _Look, stem: str) -> Iterator[Line]:
    """The batches in a field of records, below it."""
    field = look.records(item)
    if not field or not look.reading:
        return
    for line in field_lines(look.tree.spans.data[field.start : field.stop], look.topic, look.reading, full=look.full):
        yield [(stem, "dim"), *line]


def _list(item: Item, look: _Look) -> Line:
    """An array of numbers or of a few short texts on one line; nothing for whatever takes more."""
    node = item.node
    if (
        not isinstance(node, Array)
        or not isinstance(node.element, Leaf)
        or node.element.kind in {"bytes", "records"}
        or len(item.parts) < 2
    ):
        return []
    elements = item.parts[1:]
    texts = node.element.kind == "string"
    if texts and item.end - item.start > 4 * LIST_WIDTH:
        return []
    visible = elements if look.full or texts else elements[:SHOWN_ELEMENTS]
    line: Line = [(": [", "dim")]
    for i, element in enumerate(visible):
        line += [(", " if i else "", "dim"), *look.value(element)]
    more = f", … {len(elements) - len(visible):,} more" if len(visible) < len(elements) else ""
    line.append((f"{more}]", "dim"))
    return [] if texts and sum(len(text) for text, _ in line) > LIST_WIDTH else line


def _children(item: Item) -> Iterator[tuple[str, str, Item]]:
    """Yield the items below an item as (name, note, item).

    Counts, markers and empty tag sections are not shown. Tagged fields stand beside the others.
    """
    node = item.node
    if isinstance(node, Nullable):
        if len(item.parts) > 1:
            yield from _children(item.parts[1])
        return
    for part in item.parts:
        if isinstance(part.node, Tags):
            yield from _tagged(part)
        elif not (isinstance(node, Array) and part.index is None):
            yield (part.node.name if part.index is None else f"[{part.index}]"), "", part


def _tagged(section: Item) -> Iterator[tuple[str, str, Item]]:
    declared = section.node.known if isinstance(section.node, Tags) else {}
    numbers = {node_id: tag for tag, node_id in _tag_numbers(section)}
    for header, part in tagged_parts(section):
        if header.tag is not None:
            yield f"tag {header.tag}", "unknown", part
        elif header.leaf.id in declared:
            yield part.node.name, f"tag {numbers[header.leaf.id]}", part


def _tag_numbers(section: Item) -> Iterator[tuple[int, int]]:
    """The tag of every known field of a section, with the node of its header."""
    node = section.node
    if isinstance(node, Tags):
        tags = {field.name: field.tag for field in node.count.decl.known}
        yield from ((tags[field.name], header) for header, (field, _) in node.known.items())


def _summary(item: Item, look: _Look) -> Line:
    node, data = item.node, look.tree.spans.data
    if isinstance(node, Leaf):
        return [(": ", "dim"), *look.value(item)]
    if not item.whole and not item.parts:
        return [(": ", "dim"), ("not reached", "warning")]
    if isinstance(node, Array):
        if not item.parts[0].whole:
            return [(": ", "dim"), ("not reached", "warning")]
        if item.parts[0].span in look.form.hidden:
            return [(": ", "dim"), *look.value(item.parts[0])]
        count = read_count(item.parts[0], data)
        if count < 0:
            return [(": ", "dim"), ("null", "null")]
        return [(f": {count} element{'' if count == 1 else 's'}" if count else ": []", "dim")]
    if isinstance(node, Nullable):
        null = item.parts[0].whole and is_null(item.parts[0], data)
        return [(": ", "dim"), ("null", "null")] if null else []
    return []


def value_segments(item: Item, tree: Tree, catalog: Catalog, message: str, form: Form, *, full: bool = False) -> Line:
    """The value of a leaf for eyes: text in quotes, bytes in hex and as text, numbers with their meaning. `full` shows
    long ones whole.
    """
    leaf = item.leaf
    value: Any = leaf_value(item, tree, form)
    if item.span in form.hidden:
        return [(str(value), "secret")]
    if value is None:
        return [("null", "null")]
    if leaf.kind in {"bytes", "records", "unknown-tag"}:
        return byte_segments(bytes(tree.spans.data[tree.spans.value[item.span] : item.end]), full=full)
    if leaf.kind == "string":
        cut = f"… {len(value) - SHOWN_TEXT} more characters" if len(value) > SHOWN_TEXT and not full else ""
        description = meaning(catalog, message, leaf, value)
        return [
            (quoted(value[:SHOWN_TEXT] if cut else value), "text"),
            (cut, "dim"),
            (f" {description}" if description else "", "meaning"),
        ]
    text = "true" if value is True else "false" if value is False else str(value)
    description = meaning(catalog, message, leaf, value)
    return [(text, "number"), (f" {description}" if description else "", "meaning")]
