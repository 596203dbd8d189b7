"""Explanations of messages and batches: the rows of the outline become headings, steps and remarks.

A frame is explained part by part, and a record set batch by batch: all formats byte by byte, then compressed records,
then the keys and values of internal topics. A response can contain thousands of similar batches, so batches and
messages of a kind that was shown before are only counted, unless `every` is set or the item has an anomaly.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.lower import records_entry
from kwire_cli.errors import counted
from kwire_cli.message.frames import Forwarded
from kwire_cli.records.batch import Batch, has_payloads, visible_payload
from kwire_cli.records.formats import RECORD_FORMATS
from kwire_cli.records.schemas.record import ReadPart
from kwire_cli.structs import messages
from kwire_cli.view.explain.model import Event, Heading, Piece, Remark, Skipped, Step
from kwire_cli.view.explain.walk import steps_of
from kwire_cli.view.lines import plain
from kwire_cli.view.outline import batch_parts, body_part, declared, frame_rows, item_row, offsets, read_as
from kwire_cli.view.rows import NOTHING, Buffer, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.engine.values import Body
    from kwire_cli.message.frames import Frame
    from kwire_cli.records.batch import Source
    from kwire_cli.records.gaps import Gap
    from kwire_cli.view.explain.model import Look
    from kwire_cli.view.rows import Row

    Hidden = dict[str, frozenset[int]]

INDEX = re.compile(r"\[\d+\]")


def explain_frame(frame: Frame, hidden: Hidden, look: Look, *, asked: Frame | None = None) -> Iterator[Event]:
    """Yield the explanation of a frame from its first byte to its last.

    `hidden` contains the secret spans by part. `asked` is the request if the frame is a response.
    """
    yield from _frame(frame, frame_rows(look.extent, frame, hidden, asked=asked), look, 0)


def _frame(frame: Frame, outline: Iterable[Row], look: Look, level: int) -> Iterator[Event]:
    yield from (Remark("", level, note) for note in (*frame.notes, *frame.fits))
    shown: set[Any] = set()
    left = 0
    for row in outline:
        part = row.subject
        if row.kind == "gap":
            yield _bare(row, "gap.outside", level)
        elif isinstance(part, Part) and not part.payload:
            prefix = "header." if part.name == "header" else ""
            yield from _message(part, look, level, _end(frame, part.name), prefix)
        elif _is_shown(row, look, shown):
            left += 1
        else:
            yield from _inside(row, look, level + 1)
    if left:
        yield Remark(f"… {left} more messages in fields, of kinds shown before", level + 1)


def _is_shown(row: Row, look: Look, shown: set[Any]) -> bool:
    """Return whether a message of this kind was shown before and this one has no anomaly. Add the kind to `shown`."""
    message: Any = row.subject.payload if isinstance(row.subject, Part) else row.subject
    kind = _type(message)
    is_known = kind in shown and not look.every and not message.anomalies
    shown.add(kind)
    return is_known


def _type(message: Any) -> tuple[str, str, int | None]:
    """Return the kind of a message in a field: its path without indexes, its type and its version."""
    return INDEX.sub("", message.path), message.type, message.version


def _end(frame: Frame, name: str) -> str:
    """Return the consequence of the end of a part."""
    if name == "body":
        further = ": the next frame on the connection begins with its size" * frame.prefixed
        return f"the message and the frame end here{further}"
    names = [name for name, _ in frame.parts]
    if name == names[-1]:
        return ""
    following = names[names.index(name) + 1]
    ends = "" if name == "size" else f"the {name} ends here: "
    return f"{ends}next comes the {following}" + (f" of the {frame.api} {frame.kind}" * (following == "body"))


def _bare(row: Row, rule: str, level: int) -> Step:
    """Return the step of bytes without a layout."""
    start, _, end = row.place
    piece = Piece(start, end, "gap", rule, (counted(end - start, "byte"),), row.secret is not None)
    return Step(None, row.buffer.data, level, "", start, end, "gap", (piece,))


def explain_body(
    body: Body,
    look: Look,
    *,
    hidden: frozenset[int] = NOTHING,
    name: str = "body",
    last: str = "the message ends here",
) -> Iterator[Event]:
    """Yield the steps of a message, with the batches of its records below. `last` is the consequence of its end."""
    yield from _message(body_part(look.extent, name, body, hidden), look, 0, last)


def _message(part: Part, look: Look, level: int, last: str, prefix: str = "") -> Iterator[Event]:
    body = part.body
    assert body  # noqa: S101 - for the type checker
    guess = f", a guess for version {body.version}" if body.guess else ""
    title = f"{body.message} version {body.layout_version}{guess}"
    yield Heading(part, "the size of the frame" if part.name == "size" else title, level)
    yield from (Remark("", level, note) for note in body.notes)
    for step in steps_of(part, look, level, prefix, last):
        yield step
        if isinstance(step, Step) and step.row and step.row.records:
            yield from _items(step.row.below(), look, level + 1)


def _inside(row: Row, look: Look, level: int) -> Iterator[Event]:
    """Yield the explanation of a message in a field. The field itself was shown as plain bytes."""
    part = row.subject
    if isinstance(part, ReadPart):
        schema = "" if part.schema_id is None else f", by schema {part.schema_id}"
        yield Remark(f"{row.name}: {read_as(part)}{schema}", level)
        yield from (Remark("", level, note) for note in part.anomalies)
        yield from (Remark(plain(below.line), level, plain=True) for below in row.below())
    elif isinstance(part, Forwarded):
        yield Remark(f"in {part.path}: {part.type}, with its own header and without a size", level)
        yield from _frame(part.frame, row.below(), look, level)
    elif isinstance(part, Part) and part.payload and part.body:
        if part.body.start:
            yield from _prefix(part, look, level)
        yield from _message(part, look, level, "the message ends here")


def _prefix(part: Part, look: Look, level: int) -> Iterator[Event]:
    """Yield the prefix before the message in a payload, which identifies the message."""
    assert part.body  # noqa: S101 - for the type checker
    assert part.payload  # noqa: S101 - as above
    first = "the type of the record" if part.payload.type.isdecimal() else "the version of the message that follows"
    for decl, title in ((messages.VERSION, first), (messages.METADATA_FRAME, "the frame of a metadata record")):
        tree, exact = declared(records_entry(decl), part.payload.data, 0, part.body.start)
        if exact:
            prefix = Part(part.extent, f"{part.name} prefix", "prefix", tree, exact, NOTHING, part.buffer)
            yield Heading(prefix, title, level)
            yield from steps_of(prefix, replace(look, every=True), level)
            return


def explain_items(items: Iterable[Batch | Gap], look: Look, source: Source) -> Iterator[Event]:
    """Yield the explanation of the batches and gaps of a record set."""
    yield from _items((_item_row(look, item, source) for item in items), look, 0)


def _item_row(look: Look, item: Batch | Gap, source: Source) -> Row:
    buffer = Buffer("records", source.view(item.position, item.end), 0, source.size)
    return item_row(look.extent, item, buffer, source.topic)


def _items(outline: Iterable[Row], look: Look, level: int) -> Iterator[Event]:
    shown: set[Any] = set()
    """Kinds of batches, and kinds of records of internal topics."""
    run: list[Batch] = []  # the first and the last omitted batch
    count = 0
    for row in outline:
        item = row.subject
        if isinstance(item, Batch) and not look.every and _is_like_those(item, shown, look):
            run = [*run[:1], item]
            count += 1
            continue
        if run:
            yield _left_out(run, count, level)
            run = []
            count = 0
        if isinstance(item, Batch):
            shown.add(_batch_kind(item))
            yield from _batch(item, row, look, shown, level)
            continue
        what = f"of a batch of {item.batch.whole_size} bytes" if item.batch else "outside any batch"
        yield Remark(f"{item.code} at byte {item.position}: {item.size} bytes {what}", level)
        if item.batch:
            yield from _batch(item.batch, row, look, shown, level)
        else:
            yield _bare(row, "gap.batch", level)
    if run:
        yield _left_out(run, count, level)


def _is_like_those(batch: Batch, shown: set[Any], look: Look) -> bool:
    """Return whether a batch has no anomaly, and its kind and the kinds of its records were shown before."""
    if _batch_kind(batch) not in shown or not batch.crc_valid or batch.notes:
        return False
    if not has_payloads(batch):
        return True
    for record in batch.records():
        payload, _ = visible_payload(batch, record, look.extent.hide)
        if payload and any(_type(message) not in shown for message in payload.messages):
            return False
    return True


def _batch_kind(batch: Batch) -> tuple[str, int, bool]:
    return batch.layout.name, batch.head.attributes, bool(batch.head.records_count)


def _left_out(run: list[Batch], count: int, level: int) -> Skipped:
    first = run[0]
    last = run[-1]
    names = f"batch at byte {first.position}", f"batch at byte {last.position}"
    return Skipped(None, *names, count, first.position, last.end, level=level)


def _batch(batch: Batch, row: Row, look: Look, shown: set[Any], level: int) -> Iterator[Event]:
    part, titles = batch_parts(replace(look.extent, deep=not row.buffer.own), batch, row.buffer)
    yield Heading(part, f"{RECORD_FORMATS[batch.layout.name].about}, {offsets(batch)}, {batch.size} bytes", level)
    yield from steps_of(part, look, level)
    origin = f"decompressed with {batch.compression}; offsets below count in these bytes"
    for title in titles:
        packed = title.subject
        if packed is None:
            yield Remark(f"the value, {origin}", level + 1)
            yield from _items(title.below(), look, level + 1)
        elif isinstance(packed, Part) and not packed.payload:
            yield Heading(packed, f"{len(packed.data)} bytes, {origin}", level + 1)
            yield from steps_of(packed, look, level + 1)
        elif not _is_shown(title, look, shown):
            yield from _inside(title, look, level + 1)
