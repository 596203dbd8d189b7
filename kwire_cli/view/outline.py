"""The outline: decoded frames, messages and batches as rows that all views share.

A message has fields, a records field has batches, a batch has records, a record or a field may contain a message, and
an Envelope contains a frame. Only this module follows that recursion. Trees, annotated hex, pages, the terminal
interface and explanations format its rows, so that all of them show the same fields and hide the same secrets. Rows are
created lazily, when a view iterates over them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.program import holds_records
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.errors import counted
from kwire_cli.message.decoded import cut_records
from kwire_cli.message.frames import PAYLOADS, Forwarded, hidden_below
from kwire_cli.message.roles import roles
from kwire_cli.message.secrets import OUTSIDE
from kwire_cli.records.batch import Batch, has_payloads, visible_payload
from kwire_cli.records.schemas.record import ReadPart
from kwire_cli.records.v2 import area_of
from kwire_cli.structs.records import kip98, v2
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import SHOWN_TEXT, Line
from kwire_cli.view.rows import NOTHING, Buffer, Extent, Field, Part, Row, Title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.engine.program import Entry
    from kwire_cli.engine.tree import Tree
    from kwire_cli.engine.values import Body
    from kwire_cli.message.frames import Frame
    from kwire_cli.records.batch import Area, Record
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.view.rows import Within

    Hidden = dict[str, frozenset[int]]

OUT = "(not part of any field)"
"""Name of the row for bytes outside all parts of a frame."""
PACKED_RECORDS = {"v2": v2.RECORDS, "kip98-draft": kip98.MESSAGES}
"""Declaration of the decompressed records of a batch, by format. In other formats they are a message set."""


def declared(entry: Entry, data: Any, start: int, stop: int) -> tuple[Tree, bool]:
    """Decode the bytes [start, stop). Return the tree, and whether the declaration covers all bytes."""
    spans = walk(entry, data, start, stop)
    return build(entry, spans), spans.lost < 0 and spans.used == spans.stop


def body_part(
    extent: Extent, name: str, body: Body, hidden: frozenset[int] = NOTHING, buffer: Buffer | None = None, **more: Any
) -> Part:
    """Return the part of a decoded size, header, body or payload. Its records are shown if `extent` has a reading."""
    buffer = buffer or Buffer(body.message, body.data, body.start, body.stop)
    part = Part(extent, name, body.message, body, body.exact, hidden, buffer, **more)
    if extent.reading and holds_records(body.entry):
        part.roles = roles(body.spec, body.entry).by_node
        part.opens = _batch_titles
        cut = cut_records(body.raw)
        part.cut = None if cut is None or cut.span in hidden else cut
    return part


def _batch_titles(row: Field) -> Iterator[Title]:
    """Yield the batches in a records field, and the gaps between them."""
    above = row.json_path
    for number, item in enumerate(row.items()):
        name = f"[{number}]"
        path = above + name if above else None
        yield item_row(row.part.extent, item, row.buffer, row.topic, row.depth + 1, name, path)


def frame_buffer(frame: Frame) -> Buffer:
    """Return a buffer with the bytes of a frame."""
    return Buffer(f"frame {frame.number}", frame.data, frame.start, frame.stop)


def frame_rows(
    extent: Extent,
    frame: Frame,
    hidden: Hidden,
    *,
    asked: Frame | None = None,
    buffer: Buffer | None = None,
    depth: int = 0,
    carried: bool = False,
) -> Iterator[Title]:
    """Yield the parts of a frame, and the bytes outside all parts.

    If `extent.messages` is `behind`, messages in fields follow the parts. `hidden` contains the secret spans by part.
    `asked` is the request if the frame is a response. A frame that is `carried` in a field of another frame uses the
    bytes of that frame.
    """
    buffer = buffer or frame_buffer(frame)
    messages = frame.inside(asked) if extent.messages and frame.body and PAYLOADS not in hidden else []
    within: Within = {}
    if extent.messages == "within" and frame.body and messages:
        starts = {span.path: span.value for span in frame.body.spans}
        for message in messages:
            below = hidden_below(message.path, hidden)
            if isinstance(message, Forwarded):
                within[starts[message.path], message.frame.stop] = partial(_forwarded_rows, message.frame, below)
            else:
                _place(message, within, starts, frame.data, 0, below.get("body", NOTHING))
    at = frame.start
    for name, body in frame.parts:
        yield from _unassigned_bytes(buffer, at, body.start, hidden, depth)
        above: str | None = f"{name}."
        if carried:
            above = None
        elif name == "body":
            above = ""
        part = body_part(extent, name, body, hidden.get(name, NOTHING), buffer, json_path=above, within=within)
        line: Line = [(f"{body.message} version {body.version}" if name != "size" else "", "dim")]
        place = body.start, body.start, body.stop
        rows = partial(part.rows, depth + 1)
        title = f"({name})" if carried or name == "body" else name
        yield Title(depth, title, "", buffer, place, line, part, rows, json_path=(above or "")[:-1])
        at = body.stop
    yield from _unassigned_bytes(buffer, at, frame.stop, hidden, depth)
    if extent.messages == "behind":
        for message in messages:
            yield message_row(extent, message, hidden_below(message.path, hidden), depth)


def _unassigned_bytes(buffer: Buffer, start: int, stop: int, hidden: Hidden, depth: int) -> Iterator[Title]:
    if start < stop:
        line: Line = [(counted(stop - start, "byte"), "warning")]
        secret = start if OUTSIDE in hidden else None
        yield Title(depth, OUT, "gap", buffer, (start, start, stop), line, secret=secret)


def _forwarded_rows(frame: Frame, hidden: Hidden, row: Field) -> Iterator[Title]:
    """Return the rows of a request or response in a field. Its offsets count in the buffer of the field."""
    return frame_rows(row.part.extent, frame, hidden, buffer=row.buffer, depth=row.depth + 1, carried=True)


def message_row(extent: Extent, message: Payload | Forwarded, hidden: Hidden, depth: int, path: str = "") -> Title:
    """Return the row of a message in a field, with a separate buffer. `hidden` contains the secret spans by part."""
    path = path or message.path
    line: Line = [(message.type, "title"), ("" if message.version is None else f" version {message.version}", "dim")]
    if isinstance(message, ReadPart):
        line = [(read_as(message), "title"), (_reason_suffix(message), "warning")]
    if isinstance(message, Forwarded):
        frame = message.frame
        buffer = Buffer(path, frame.data, frame.start, frame.stop)
        rows = partial(frame_rows, extent, frame, hidden, buffer=buffer, depth=depth + 1, carried=True)
        return Title(depth, path, "", buffer, (frame.start, frame.start, frame.stop), line, message, rows)
    buffer = Buffer(path, message.data, 0, message.size, own=True)
    place = 0, message.start, message.size
    secret = hidden.get("body", NOTHING)
    if message.body:
        part = body_part(replace(extent, reading=None), path, message.body, secret, buffer, json_path=None)
        part.payload = message
        return Title(depth, path, "", buffer, place, line, part, partial(part.rows, depth + 1))
    below = Title(depth + 1, "", "", buffer, place, _excerpt(extent, message.json_data(hidden=secret)))
    return Title(depth, path, "", buffer, place, line, message, lambda: (below,) if message.is_known else ())


def _excerpt(extent: Extent, document: Any) -> Line:
    text = dumps(document, indent=False)
    if extent.full or len(text) <= SHOWN_TEXT:
        return [(text, "text")]
    return [(text[:SHOWN_TEXT], "text"), ("…", "dim")]


def _place(
    payload: Payload, within: Within, starts: dict[str, int], data: Any, origin: int, hidden: frozenset[int]
) -> None:
    """Add a payload to `within`, at the bytes of its field's value.

    `starts` has the offset of the value of each field, counted from `origin` of `data`. The fields of the payload are
    added to it.
    """
    at = starts.get(payload.path)
    if at is None or bytes(data[at - origin : at - origin + payload.size]) != bytes(payload.data):
        return  # the payload was decompressed, so `data` does not contain its bytes
    if payload.body:
        starts |= {f"{payload.path}.{span.path}": at + span.value for span in payload.body.spans}
    within[at, at + payload.size] = partial(_payload, payload, hidden)


def _payload(payload: Payload, hidden: frozenset[int], row: Field) -> Iterator[Title]:
    place = row.place
    depth = row.depth + 1
    extent = row.part.extent
    version = "" if payload.version is None else f" version {payload.version}"
    if body := payload.body:
        where = {"shift": place[1], "json_path": None, "within": row.part.within, "whole": place[1:]}
        part = body_part(replace(extent, reading=None), payload.path, body, hidden, row.buffer, **where)
        line = [(f"{body.message}{version}", "title"), (", guessed" if payload.guess else "", "warning")]
        yield Title(depth, "(means)", "", row.buffer, place, line, payload, partial(part.rows, depth + 1))
    elif isinstance(payload, ReadPart):
        line = [(read_as(payload), "title"), (_reason_suffix(payload), "warning")]
        rows = partial(_json_rows, payload.plain, row, depth)
        yield Title(depth, "(means)", "", row.buffer, place, line, payload, rows)
    else:
        yield _text(f"({payload.type}{version})", payload.json_data(hidden=hidden), row)


def read_as(part: ReadPart) -> str:
    """Return the format and the type that a key or value was decoded with."""
    return " ".join(filter(None, (part.format, part.type)))


def _reason_suffix(part: ReadPart) -> str:
    return f": {part.reason}" if part.reason else ""


def _json_rows(value: Any, row: Field, depth: int) -> Iterator[Title]:
    """Yield the members of a decoded JSON value, or the value itself if it is a scalar. All rows have the same place,
    because the offsets of single members are unknown.
    """
    members: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = enumerate(value)
    for name, part in members:
        has_parts = isinstance(part, dict | list) and bool(part)
        line: Line = [(counted(len(part), "part"), "dim")] if has_parts else _excerpt(row.part.extent, part)
        rows = partial(_json_rows, part, row, depth + 1) if has_parts else tuple
        label = f"[{name}]" if isinstance(name, int) else name
        yield Title(depth + 1, label, "", row.buffer, row.place, line, rows=rows)
    if not isinstance(value, dict | list) and value is not None:
        yield Title(depth + 1, "", "", row.buffer, row.place, _excerpt(row.part.extent, value))


def _text(name: str, document: Any, row: Field) -> Title:
    return Title(row.depth + 1, name, "", row.buffer, row.place, _excerpt(row.part.extent, document))


def item_row(
    extent: Extent,
    item: Batch | Gap,
    buffer: Buffer,
    topic: str | None,
    depth: int = 0,
    name: str = "",
    json_path: str | None = "",
) -> Title:
    """Return the row of a batch or gap. The row of a gap contains its truncated batch, if it has one.

    `topic` is a name or an id.
    """
    place = item.position, item.position, item.end
    above = f"{json_path}." if json_path else json_path
    row = Title(depth, name, "", buffer, place, [], item, json_path=json_path or "")
    if isinstance(item, Batch):
        rows = partial(batch_rows, extent, item, buffer, depth + 1, above)
        return replace(row, line=[(batch_title(item), "dim")], rows=rows)
    line: Line = [(f"{item.code}, {counted(item.size, 'byte')}", "warning")]
    topic = extent.reading.topic(topic) if topic and extent.reading else topic
    secret = item.position if extent.hide is not None and extent.hide.gap(topic) else None
    row = replace(row, kind="gap", line=line, secret=secret)
    return replace(row, rows=partial(batch_rows, extent, item.batch, buffer, depth + 1, above)) if item.batch else row


def batch_of(item: Batch | Gap) -> Batch | None:
    """Return a batch itself, or the truncated batch in a gap."""
    return item if isinstance(item, Batch) else item.batch


def batch_title(batch: Batch) -> str:
    """Return the kind, offsets, codec and format of a batch, for a title."""
    codec = f", {batch.compression}" if batch.head.codec else ""
    return f"{_batch_kind(batch)}, {offsets(batch)}{codec}, {batch.layout.name}"


def _batch_kind(batch: Batch) -> str:
    if batch.head.control:
        return "control batch"
    if not batch.layout.is_message:
        return "batch"
    return "wrapper message" if batch.head.codec else "message"


def offsets(batch: Batch) -> str:
    """Return the offsets of a batch, as `offsets 3 to 5`."""
    first = batch.head.base_offset
    last = batch.head.last_offset
    return f"offset {first}" if first == last else f"offsets {first} to {last}"


def batch_rows(
    extent: Extent, batch: Batch, buffer: Buffer | None = None, depth: int = 0, json_path: str | None = ""
) -> Iterator[Row]:
    """Yield the fields of a batch, then its decompressed records and the messages in its records."""
    part, titles = batch_parts(extent, batch, buffer, depth, json_path)
    yield from part.rows(depth)
    yield from titles


def batch_parts(
    extent: Extent, batch: Batch, buffer: Buffer | None = None, depth: int = 0, json_path: str | None = ""
) -> tuple[Part, Iterator[Title]]:
    """Return the part of a batch, and the rows that follow its fields.

    Offsets of the part count in the source of the batch. The rows are the decompressed records, and the messages in
    records if `extent.messages` is `behind`.
    """
    secret = extent.hide is not None and extent.hide.batch(batch)
    buffer = buffer or Buffer(f"batch at {batch.position}", batch.data, batch.position, batch.end)
    stop = batch.end if extent.most is None else min(batch.end, batch.position + extent.most)
    part = _declared(extent, batch, buffer, batch.layout.decl, batch.position, stop, secret=secret)
    part.json_path = json_path
    if not batch.head.codec and _is_v2(batch):
        part.within = _meanings(extent, batch, None)
    return part, _following_titles(extent, batch, depth, secret=secret)


def _is_v2(batch: Batch) -> bool:
    return batch.layout.name == "v2" and batch.size >= batch.layout.head.size


def _declared(extent: Extent, batch: Batch, buffer: Buffer, decl: Any, start: int, stop: int, *, secret: bool) -> Part:
    """Return the part of bytes of a batch, decoded with a declaration of `structs.records`."""
    tree, exact = declared(records_entry(decl), buffer.data, start, stop)
    hidden = extent.hide.spans(tree) if extent.hide and secret else NOTHING
    return Part(extent, "batch", "RecordBatch", tree, exact, hidden, buffer, batch=batch)


def _following_titles(extent: Extent, batch: Batch, depth: int, *, secret: bool) -> Iterator[Title]:
    if extent.deep and batch.head.codec:
        packed = PACKED_RECORDS.get(batch.layout.name)
        if packed is None and not secret:
            yield _wrapped(extent, batch, depth)
        elif packed is not None and batch.size >= batch.layout.head.size:
            yield _packed(extent, batch, packed, depth, secret=secret)
    if extent.messages == "behind" and has_payloads(batch):
        for number, record in enumerate(batch.records()):
            yield from _messages(extent, batch, record, f"records[{number}].", depth)


def _packed(extent: Extent, batch: Batch, decl: Any, depth: int, *, secret: bool) -> Title:
    """Return the row of the decompressed records of a batch."""
    area = area_of(batch, [])
    buffer, row = _decompressed(batch, area, depth)
    stop = buffer.stop if extent.most is None else min(buffer.stop, extent.most)
    part = _declared(extent, batch, buffer, decl, 0, stop, secret=secret)
    part.name = "records"
    part.json_path = None
    part.within = _meanings(extent, batch, area) if _is_v2(batch) else {}
    return replace(row, subject=part, rows=partial(part.rows, depth + 1))


def _wrapped(extent: Extent, batch: Batch, depth: int) -> Title:
    """Return the row of the messages in a wrapper message. Compressed messages among them are not decompressed."""
    from kwire_cli.records.legacy import inner_messages, unpacked  # noqa: PLC0415 - few batches are wrappers

    area = unpacked(batch)
    buffer, row = _decompressed(batch, area, depth)
    inner = replace(extent, deep=False)

    def rows() -> Iterator[Title]:
        for number, item in enumerate(inner_messages(batch, area)):
            yield item_row(inner, item, buffer, batch.source.topic, depth + 1, f"[{number}]", None)

    return replace(row, rows=rows)


def _decompressed(batch: Batch, area: Area, depth: int) -> tuple[Buffer, Title]:
    size = len(area.data)
    buffer = Buffer(f"decompressed records of the batch at {batch.position}", area.data, 0, size, own=True)
    line: Line = [(f"{counted(size, 'byte')} by {batch.compression}", "dim")]
    return buffer, Title(depth, "(decompressed)", "", buffer, (0, 0, size), line)


def _meanings(extent: Extent, batch: Batch, area: Area | None) -> Within:
    """Return the decoded keys and values of internal topics by their bytes, if messages are shown within fields."""
    within: Within = {}
    if extent.messages != "within" or not has_payloads(batch):
        return within
    area = area or area_of(batch, [])
    origin = 0 if area.compressed else area.origin
    for record in batch.records():
        payload, hidden = visible_payload(batch, record, extent.hide)
        if payload and payload.record:
            starts = {"key": origin + record.key_at, "value": origin + record.value_at}
            starts = {name: at for name, at in starts.items() if at >= origin}
            for inner in payload.record.payloads:
                _place(inner, within, starts, area.data, origin, hidden.get(inner.path, NOTHING))
        elif payload and payload.control and record.key_at >= 0:
            at = origin + record.key_at
            within[at, at + len(record.key or b"")] = partial(_control, payload.control.to_json())
    return within


def _control(document: Any, row: Field) -> Iterator[Title]:
    yield _text("(control)", document, row)


def _messages(extent: Extent, batch: Batch, record: Record, above: str, depth: int) -> Iterator[Title]:
    payloads, hidden = visible_payload(batch, record, extent.hide)
    if payloads:
        parts = (payloads.record.key, payloads.record.value) if payloads.record else ()
        unfit = [part for part in parts if isinstance(part, ReadPart) and not part.fits]
        for payload in (*payloads.messages, *unfit):
            secret = {"body": hidden.get(payload.path, NOTHING)}
            yield message_row(extent, payload, secret, depth, above + payload.path)
