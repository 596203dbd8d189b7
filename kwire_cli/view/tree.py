"""Messages, frames, batches and records as a tree."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Array, Leaf, Nullable, Tags
from kwire_cli.engine.python_source import TOPIC, TOPIC_ID
from kwire_cli.engine.tree import Item, Tree, is_null, read_count, tagged_parts
from kwire_cli.engine.values import Form, leaf_value
from kwire_cli.message.decoded import InField, records_in
from kwire_cli.message.frames import PAYLOADS, Forwarded, hidden_below
from kwire_cli.message.roles import holds_records, roles
from kwire_cli.records.batch import Batch, headers_of, payload_of
from kwire_cli.structs.messages import redacted
from kwire_cli.structs.records.kip82 import REGISTERED, key_range
from kwire_cli.view.batch_table import _compact, _flags, _time, text_in
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import Line, counted, meaning, moment, printable, quoted
from kwire_cli.view.tables import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.values import Body
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.batch import Hide, Record
    from kwire_cli.records.gaps import CutBatch, Gap
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.batch_table import Numbered


# The tree view: fields by name, nested as they are, tagged fields with their tags, meanings beside numbers.

SHOWN_BYTES, SHOWN_TEXT, SHOWN_ELEMENTS = 16, 120, 20
"""How much of bytes, of text and of a list of numbers is shown where not all of it is asked for."""


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
    for each in payloads:
        yield from _payload_lines(catalog, each, hidden_below(each.path, hidden), full=full, last=each is payloads[-1])
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


def anomaly_lines(found: Iterable[Anomaly]) -> Iterator[Line]:
    """One line for each anomaly."""
    for anomaly in found:
        where = f"{anomaly.path} " if anomaly.path else ""
        yield [
            ("! ", "warning"),
            (anomaly.code, "warning"),
            (f" {where}at byte {anomaly.offset}: {anomaly.detail}", "dim"),
        ]


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
        others = f"; it could also be {', '.join(frame.candidates[1:6])}" if len(frame.candidates) > 1 else ""
        line.append((f" (guessed{others}; --api and --version say it outright)", "warning"))
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


def _bytes(count: int) -> str:
    return f"{count} byte{'' if count == 1 else 's'}"


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
        found = records_in(item, self.tree) if self.reading else None
        return None if found is None or found.span in self.form.hidden else found

    def value(self, item: Item) -> Line:
        """The value of a leaf; of records whose batches stand below it their size alone."""
        if found := self.records(item):
            return [(found.text, "warning" if found.is_cut else "number")]
        if not item.whole:
            return [("not reached", "warning")]
        return value_segments(item, self.tree, self.catalog, self.message, self.form, full=self.full)


def _parts(item: Item, look: _Look, stem: str) -> Iterator[Line]:
    """The lines below an item, with the branches of a tree before them; `stem` is drawn before all of them."""
    shown = list(_children(item))
    look.enter(item)
    for i, (name, note, child) in enumerate(shown):
        last = i == len(shown) - 1
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
    found = look.records(item)
    if not found or not look.reading:
        return
    for line in field_lines(look.tree.spans.data[found.start : found.stop], look.topic, look.reading, full=look.full):
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
    shown = elements if look.full or texts else elements[:SHOWN_ELEMENTS]
    line: Line = [(": [", "dim")]
    for i, element in enumerate(shown):
        line += [(", " if i else "", "dim"), *look.value(element)]
    more = f", … {len(elements) - len(shown):,} more" if len(shown) < len(elements) else ""
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
    known = section.node.known if isinstance(section.node, Tags) else {}
    numbers = {node_id: tag for tag, node_id in _tag_numbers(section)}
    for header, part in tagged_parts(section):
        if header.tag is not None:
            yield f"tag {header.tag}", "unknown", part
        elif header.leaf.id in known:
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
        known = meaning(catalog, message, leaf, value)
        return [
            (quoted(value[:SHOWN_TEXT] if cut else value), "text"),
            (cut, "dim"),
            (f" {known}" if known else "", "meaning"),
        ]
    text = "true" if value is True else "false" if value is False else str(value)
    known = meaning(catalog, message, leaf, value)
    return [(text, "number"), (f" {known}" if known else "", "meaning")]


def byte_segments(data: bytes, *, full: bool = False) -> Line:
    """Bytes for eyes: how many, the first of them in hex, and those as text where they are printable."""
    line: Line = [(_bytes(len(data)), "number")]
    if data:
        shown = data if full else data[:SHOWN_BYTES]
        more = " …" if len(data) > len(shown) else ""
        line += [(f" {shown.hex(' ')}{more}", "bytes"), (f"  |{printable(shown)}{more}|", "dim")]
    return line


# Batches and records for eyes: trees, tables, csv.

SHOWN_RECORDS = 10
"""Records of a batch in a message that are shown where not all of them are asked for."""


def tree_lines(
    item: Batch | Gap, records: Numbered | None, notes: list[Anomaly], hide: Hide | None, *, full: bool, pretty: bool
) -> Iterator[Line]:
    """A batch or gap as a tree; with its records where these are given. `notes` is what was odd in them."""
    if not isinstance(item, Batch):
        yield [
            (f"at {item.position}: ", "dim"),
            (f"gap: {item.code}", "warning"),
            (f", {counted(item.size, 'byte')}", "dim"),
        ]
        if item.batch:
            yield from _cut_lines(item.batch, records, notes, hide, full=full, pretty=pretty)
        return
    yield from _batch_lines(item, counted(item.size, "byte"), records, notes, hide, full=full, pretty=pretty)


def _cut_lines(
    batch: CutBatch, records: Numbered | None, notes: list[Anomaly], hide: Hide | None, *, full: bool, pretty: bool
) -> Iterator[Line]:
    """Yield the lines of a batch whose end is missing, as far as it can be read."""
    size = f"{batch.size} of {counted(batch.whole_size, 'byte')}"
    if batch.has_head:
        yield from _batch_lines(batch, size, records, notes, hide, full=full, pretty=pretty)
        return
    yield [(f"at {batch.position}: ", "dim"), ("header of a batch", "title"), (f", {size}, {batch.layout.name}", "dim")]
    fields = batch.fields()
    for number, (name, value) in enumerate(fields.items(), 1):
        yield [("└─ " if number == len(fields) else "├─ ", "dim"), (name, "name"), (f": {value}", "number")]
    yield from anomaly_lines([*batch.notes, *notes])


def _batch_lines(
    item: Batch,
    size: str,
    records: Numbered | None,
    notes: list[Anomaly],
    hide: Hide | None,
    *,
    full: bool,
    pretty: bool,
) -> Iterator[Line]:
    head = item.head
    many = "" if head.records_count is None else f", {counted(head.records_count, 'record')}"
    offsets = (
        f"offset {head.base_offset}"
        if head.base_offset == head.last_offset
        else f"offsets {head.base_offset} to {head.last_offset}"
    )
    what = "batch" if not item.layout.is_message else "wrapper message" if head.codec else "message"
    yield [
        (f"at {item.position}: ", "dim"),
        (f"{what}, {offsets}", "title"),
        (f"{many}, {size}, {item.layout.name}", "dim"),
    ]
    fields = list(_fields(item))
    for i, field in enumerate(fields):
        last = i == len(fields) - 1 and not records
        yield [("└─ " if last else "├─ ", "dim"), *field]
    for i, (_, record) in enumerate(records or ()):
        last = i == len(records or ()) - 1
        yield from _record_lines(
            item, record, hide, "└─ " if last else "├─ ", "   " if last else "│  ", full=full, pretty=pretty
        )
    yield from anomaly_lines([*item.notes, *notes])


def field_lines(data: Any, topic: str | None, reading: RecordsAs, *, full: bool) -> Iterator[Line]:
    """The batches in a records field of a message, with their records: the first of them unless `full`."""
    for item in reading.items(data, topic):
        notes: list[Anomaly] = []
        batch = item if isinstance(item, Batch) else item.batch
        records = [*enumerate(batch.records(notes))] if batch else []
        shown = records if full else records[:SHOWN_RECORDS]
        yield from tree_lines(item, shown, notes, reading.hide, full=full, pretty=False)
        if len(shown) < len(records):
            yield [(f"   … {len(records) - len(shown):,} more records", "dim")]


def _fields(batch: Batch) -> Iterator[Line]:
    """Yield the lines of a batch's own fields, without fields that its format lacks."""
    head = batch.head
    yield [("crc", "name"), (f": {head.crc:#010x} ", "number"), _checksum(batch)]
    yield [("compression", "name"), (f": {batch.compression}", "")]
    if head.timestamp_type is not None:
        yield [
            ("maxTimestamp", "name"),
            (f": {head.max_timestamp}", "number"),
            (f" {moment(head.max_timestamp) or ''}", "meaning"),
            (f" {batch.timestamp_type}", "dim"),
        ]
    if head.producer_id != -1:
        sequences = f", sequences {head.base_sequence} to {batch.last_sequence}" if head.base_sequence >= 0 else ""
        yield [("producer", "name"), (f": id {head.producer_id}, epoch {head.producer_epoch}{sequences}", "number")]
    if head.leader_epoch != -1:
        yield [("partitionLeaderEpoch", "name"), (f": {head.leader_epoch}", "number")]
    if flags := _flags(batch):
        yield [("flags", "name"), (f": {flags}", "meaning")]
    if head.delete_horizon is not None:
        yield [
            ("deleteHorizonMs", "name"),
            (f": {head.delete_horizon}", "number"),
            (f" {moment(head.delete_horizon) or ''}", "meaning"),
        ]


def _checksum(batch: Batch) -> tuple[str, str]:
    if batch.is_cut:
        return "not compared", "dim"
    return ("right", "dim") if batch.crc_valid else ("wrong", "warning")


def _record_lines(
    batch: Batch, record: Record, hide: Hide | None, branch: str, stem: str, *, full: bool, pretty: bool
) -> Iterator[Line]:
    payload = payload_of(batch, record)
    hidden = hide.record(batch, payload.record if payload else None) if hide else {}
    sequence = f" sequence {record.sequence}" if record.sequence >= 0 else ""
    time = _time(record.timestamp)
    yield [
        (branch, "dim"),
        ("record ", "dim"),
        (str(record.offset), "number"),
        (f" {time}" if time else "", "meaning"),
        (sequence, "dim"),
    ]
    rows: list[tuple[str, Line, list[str]]] = []
    if payload:
        for name, shown in payload.to_json(hidden).items():
            rows.append((name, [(_compact(shown), "text")], _indented(shown) if pretty else []))
    if not payload or not payload.known:
        value = record.value
        rows.append(("key", _segments(record.key, hidden=bool(hidden.get("key")), full=full), []))
        rows.append(
            (
                "value",
                _segments(value, hidden=bool(hidden.get("value")), full=full),
                _parsed(value) if pretty and not hidden.get("value") else [],
            )
        )
    rows += [
        (f"header {_name(name)}", _segments(data, hidden=False, full=full), [])
        for name, data in headers_of(batch, record, hide)
    ]
    for i, (name, line, more) in enumerate(rows):
        last = i == len(rows) - 1
        yield [(stem + ("└─ " if last else "├─ "), "dim"), (name, "name"), (": ", "dim"), *([] if more else line)]
        for text in more:
            yield [(stem + ("   " if last else "│  "), "dim"), (text, "text")]


def _name(name: str | int) -> str:
    """The name of a header; of a number in the KIP-82 draft also what the sample registers call it, and the range that
    it is in.
    """
    if isinstance(name, str):
        return quoted(name)
    known = REGISTERED.get(name)
    return f"{name}{f' {known.name}' if known else ''} ({key_range(name).label})"


def _indented(document: Any) -> list[str]:
    return [text_of(line) for line in json.dumps(document, ensure_ascii=False, indent=2).splitlines()]


def _parsed(data: bytes | None) -> list[str]:
    """The lines of a value that is a JSON object or list; nothing for all else."""
    if not data or data[:1] not in b"{[":
        return []
    try:
        return _indented(json.loads(data))
    except (ValueError, RecursionError):
        return []


def _segments(data: bytes | None, *, hidden: bool, full: bool) -> Line:
    if data is None:
        return [("null", "null")]
    if hidden:
        return [(redacted(len(data)), "secret")]
    text = (
        text_in(data if full else data[: 4 * SHOWN_TEXT + 4])
        if full or len(data) <= 4 * SHOWN_TEXT
        else text_in(_whole(data[: 4 * SHOWN_TEXT]))
    )
    if text is None or not data:
        return byte_segments(data, full=full)
    cut = len(text) > SHOWN_TEXT and not full
    more = f"… {counted(len(data), 'byte')}" if cut else ""
    return [(quoted(text[:SHOWN_TEXT] if cut else text), "text"), (more, "dim")]


def _whole(data: bytes) -> bytes:
    """Cut text without the part of a character at its end."""
    for size in range(len(data), max(len(data) - 4, 0), -1):
        if size == len(data) and data[-1] < 0x80:
            return data
        if data[size - 1] >= 0xC0:
            return data[: size - 1]
    return data
