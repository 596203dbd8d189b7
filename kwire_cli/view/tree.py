"""The tree view of messages, frames and batches: fields by name, nested, with the meaning of numbers.

It formats the rows of the outline and leaves out counts, markers and gaps, which the hex view shows. Short arrays
are on one line. The values of records are cut, and a records field in a message shows the first ten records, so that a
Produce request with thousands of records stays readable. `full` shows everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.engine.program import Array, Leaf
from kwire_cli.errors import counted
from kwire_cli.message.guess import describe_candidates
from kwire_cli.message.redaction import note_of_guess
from kwire_cli.records.batch import Batch, headers_of, note_payloads, visible_payload
from kwire_cli.records.registers import Register
from kwire_cli.structs.lengths import redacted
from kwire_cli.view.batch_table import compact, flags_of, text_in, time_text
from kwire_cli.view.lines import SHOWN_ELEMENTS, SHOWN_TEXT, Line, anomaly_lines, byte_segments, quoted
from kwire_cli.view.meanings import moment
from kwire_cli.view.outline import batch_of, body_part, frame_rows, offsets
from kwire_cli.view.rows import MARKERS, Extent, Field, Part, Title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.values import Body
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.batch import Hide, Record
    from kwire_cli.records.gaps import CutBatch, Gap
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.batch_table import Numbered
    from kwire_cli.view.rows import Row


LIST_WIDTH = 100
"""Maximum number of characters of a list of strings on one line. A longer list has one line for each string."""


def frame_lines(
    catalog: Catalog,
    frame: Frame,
    hidden: dict[str, frozenset[int]],
    *,
    full: bool = False,
    asked: Frame | None = None,
    reading: RecordsAs | None = None,
) -> Iterator[Line]:
    """Yield the title of a frame, its header and body, the messages in its fields, and its anomalies.

    `full` shows long values completely. With `reading`, records are shown as batches.
    """
    frame = frame.shown(hidden)
    yield frame_title(frame)
    if note := note_of_guess(frame, hidden):
        yield [(note, "warning")]
    extent = Extent(catalog, reading, full=full, messages="behind")
    yield from _lines([row for row in frame_rows(extent, frame, hidden, asked=asked) if row.name != "size"], "")
    yield from anomaly_lines(frame.anomalies)


def message_lines(
    catalog: Catalog, decoded: Decoded, hidden: frozenset[int], *, full: bool = False, reading: RecordsAs | None = None
) -> Iterator[Line]:
    """Yield the title of a body, its fields, then its anomalies. `full` and `reading` are as in `frame_lines`."""
    yield message_title(decoded)
    yield from _lines(body_part(Extent(catalog, reading, full=full), "body", decoded, hidden).rows(), "")
    yield from anomaly_lines(decoded.anomalies)


def frame_title(frame: Frame, *, labelled: bool = True) -> Line:
    """Return the title of a frame: its api, kind, version and size, its label in the input, and a note on a guess."""
    name = ""
    if frame.api:
        name = f"{frame.api} "
    elif frame.api_key is not None:
        name = f"api key {frame.api_key} "
    version = f" version {frame.api_version}" if frame.api_version is not None else ""
    line = [
        (f"frame {frame.number}: ", "dim"),
        (f"{name}{frame.kind}", "title"),
        (f"{version}, {counted(frame.size, 'byte')}", "dim"),
    ]
    if frame.label and labelled:
        line.append((f"  # {frame.label}", "dim"))
    if frame.guess:
        others = describe_candidates(frame.candidates)
        alternatives = f"; it could also be {others}" if others else ""
        line.append((f" (guessed{alternatives}; --api and --message-version say it outright)", "warning"))
    elif frame.body:
        line.append((_layout_guess(frame.body), "warning"))
    return line


def message_title(decoded: Body) -> Line:
    """Return the title of a body: its message, version and size."""
    size = counted(decoded.stop - decoded.start, "byte")
    if decoded.start:
        prefix = "type" if decoded.spec.type == "coordinator-key" else "version"
        size += f" after its {prefix} in {counted(decoded.start, 'byte')}"
    return [
        (decoded.message, "title"),
        (f" version {decoded.version}, {size}", "dim"),
        (_layout_guess(decoded), "warning"),
    ]


def _layout_guess(decoded: Body) -> str:
    return f" (guessed from the layout of {decoded.layout_version})" if decoded.guess else ""


def _lines(rows: Iterable[Row], stem: str) -> Iterator[Line]:
    """Yield rows with the branches of a tree, after `stem`. Markers and gaps are left out."""
    visible = [row for row in rows if row.name not in MARKERS and row.kind != "gap"]
    for row in visible:
        branch, below = ("└─ ", "   ") if row is visible[-1] else ("├─ ", "│  ")
        if isinstance(row, Title):
            yield [(stem + branch, "dim"), *_title(row)]
            yield from _lines(row.below(), stem + below)
        elif row.kind:
            yield [(stem + branch, "dim"), *_name(row), (": ", "dim"), *row.line]
            if row.records:
                for line in _record_set(row):
                    yield [(stem + below, "dim"), *line]
        else:
            listed = _list(row)
            yield [(stem + branch, "dim"), *_name(row), *(listed or _value(row))]
            if not listed:
                yield from _lines(row.below(), stem + below)


def _title(row: Title) -> Line:
    part = row.subject
    if not isinstance(part, Part) or part.payload or not part.body:
        return [(row.name, "name"), (": ", "dim"), *row.line] if row.name else row.line
    layout = f" version {part.body.version}" if part.name == "header" and not row.depth else ""
    return [(part.name, "name"), (layout, "dim")]


def _name(row: Field) -> Line:
    if row.header is None:
        return [(row.name, "name")]
    tag = f"tag {row.tag}"
    if row.item.tag is None:
        return [(row.name, "name"), (f" ({tag})", "dim")]
    return [(tag, "name"), (" (unknown)", "dim")]


def _value(row: Field) -> Line:
    line = row.line
    if isinstance(row.item.node, Array) and line[0][1] == "dim":
        return [(": []" if line[0][0].startswith("0 ") else f": {line[0][0]}", "dim")]
    return [(": ", "dim"), *line] if line else []


def _list(row: Field) -> Line:
    """Return an array of numbers, or of a few short strings, on one line. Return an empty line for other fields."""
    item = row.item
    node = item.node
    full = row.part.extent.full
    if (
        not isinstance(node, Array)
        or not isinstance(node.element, Leaf)
        or node.element.kind in {"bytes", "records"}
        or len(item.parts) < 2
    ):
        return []
    elements = item.parts[1:]
    has_strings = node.element.kind == "string"
    if has_strings and item.end - item.start > 4 * LIST_WIDTH:
        return []
    visible = elements if full or has_strings else elements[:SHOWN_ELEMENTS]
    line: Line = [(": [", "dim")]
    for i, element in enumerate(visible):
        line += [(", " if i else "", "dim"), *row.part.text(element)]
    more = f", … {len(elements) - len(visible):,} more" if len(visible) < len(elements) else ""
    line.append((f"{more}]", "dim"))
    return [] if has_strings and sum(len(text) for text, _ in line) > LIST_WIDTH else line


SHOWN_RECORDS = 10
"""Number of records of a batch in a message that are shown without `full`."""


@dataclass(frozen=True)
class RecordLook:
    """Options for records: the secrets to hide, whether to show long values completely, and names of header keys."""

    hide: Hide | None = None
    full: bool = False
    register: Register = field(default_factory=Register)


def tree_lines(item: Batch | Gap, records: Numbered | None, notes: list[Anomaly], look: RecordLook) -> Iterator[Line]:
    """Yield a batch or gap as a tree, with `records` if they are not None. `notes` contains their anomalies."""
    if not isinstance(item, Batch):
        yield [
            (f"at {item.position}: ", "dim"),
            (f"gap: {item.code}", "warning"),
            (f", {counted(item.size, 'byte')}", "dim"),
        ]
        if item.batch:
            yield from _cut_lines(item.batch, records, notes, look)
        return
    yield from _batch_lines(item, counted(item.size, "byte"), records, notes, look)


def _cut_lines(batch: CutBatch, records: Numbered | None, notes: list[Anomaly], look: RecordLook) -> Iterator[Line]:
    """Yield the lines of the readable part of a truncated batch."""
    size = f"{batch.size} of {counted(batch.whole_size, 'byte')}"
    if batch.has_head:
        yield from _batch_lines(batch, size, records, notes, look)
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
    look: RecordLook,
) -> Iterator[Line]:
    head = item.head
    many = "" if head.records_count is None else f", {counted(head.records_count, 'record')}"
    what = "batch"
    if item.layout.is_message:
        what = "wrapper message" if head.codec else "message"
    yield [
        (f"at {item.position}: ", "dim"),
        (f"{what}, {offsets(item)}", "title"),
        (f"{many}, {size}, {item.layout.name}", "dim"),
    ]
    fields = list(_fields(item))
    for i, text in enumerate(fields):
        last = i == len(fields) - 1 and not records
        yield [("└─ " if last else "├─ ", "dim"), *text]
    for i, (_, record) in enumerate(records or ()):
        last = i == len(records or ()) - 1
        yield from _record_lines(item, record, look, "└─ " if last else "├─ ", "   " if last else "│  ")
    yield from anomaly_lines([*item.notes, *notes])


def _record_set(row: Field) -> Iterator[Line]:
    """Yield the batches in a records field with their first records, or with all records if `full` is set."""
    extent = row.part.extent
    for item in row.items(own=True):
        notes: list[Anomaly] = []
        batch = batch_of(item)
        records = list(enumerate(batch.records(notes))) if batch else []
        if batch:
            note_payloads(batch, records, notes, extent.hide)
        visible = records if extent.full else records[:SHOWN_RECORDS]
        yield from tree_lines(item, visible, notes, RecordLook(extent.hide, full=extent.full))
        if len(visible) < len(records):
            yield [(f"   … {len(records) - len(visible):,} more records", "dim")]


def _fields(batch: Batch) -> Iterator[Line]:
    """Yield a line for each field of the header of a batch that its format has."""
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
    if flags := flags_of(batch):
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
    return ("valid", "dim") if batch.crc_valid else ("invalid", "warning")


def _record_lines(batch: Batch, record: Record, look: RecordLook, branch: str, stem: str) -> Iterator[Line]:
    payload, hidden = visible_payload(batch, record, look.hide)
    sequence = f" sequence {record.sequence}" if record.sequence >= 0 else ""
    time = time_text(record.timestamp)
    yield [
        (branch, "dim"),
        ("record ", "dim"),
        (str(record.offset), "number"),
        (f" {time}" if time else "", "meaning"),
        (sequence, "dim"),
    ]
    rows: list[tuple[str, Line]] = []
    if payload:
        rows += [(name, [(compact(part), "text")]) for name, part in payload.to_json(hidden).items()]
    if not payload or not payload.known:
        rows.append(("key", _segments(record.key, hidden=bool(hidden.get("key")), full=look.full)))
        rows.append(("value", _segments(record.value, hidden=bool(hidden.get("value")), full=look.full)))
    rows += [
        (f"header {_header_name(name, look.register)}", _segments(data, hidden=False, full=look.full))
        for name, data in headers_of(batch, record, look.hide)
    ]
    for i, (name, line) in enumerate(rows):
        last = i == len(rows) - 1
        yield [(stem + ("└─ " if last else "├─ "), "dim"), (name, "name"), (": ", "dim"), *line]


def _header_name(name: str | int, register: Register) -> str:
    return quoted(name) if isinstance(name, str) else f"{name} {register.label(name)}"


def _segments(data: bytes | None, *, hidden: bool, full: bool) -> Line:
    if data is None:
        return [("null", "null")]
    if hidden:
        return [(redacted(len(data)), "secret")]
    excerpt = data if full else data[: 4 * SHOWN_TEXT]
    text = text_in(excerpt, is_cut=len(excerpt) < len(data))
    if text is None or not data:
        return byte_segments(data, full=full)
    cut = len(text) > SHOWN_TEXT and not full
    more = f"… {counted(len(data), 'byte')}" if cut else ""
    return [(quoted(text[:SHOWN_TEXT] if cut else text), "text"), (more, "dim")]
