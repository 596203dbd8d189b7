"""Messages and batches explained."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import in_payload
from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.values import anomalies
from kwire_cli.errors import counted
from kwire_cli.message.frames import Forwarded
from kwire_cli.records.batch import Batch, has_payloads, visible_payload
from kwire_cli.records.schemas.record import ReadPart
from kwire_cli.structs import messages
from kwire_cli.view.explain.model import FORMATS, Event, Facts, Heading, Piece, Remark, Skipped, Step, specials
from kwire_cli.view.explain.walk import steps
from kwire_cli.view.lines import plain
from kwire_cli.view.outline import (
    PACKED_RECORDS,
    batch_parts,
    body_part,
    declared,
    frame_rows,
    item_row,
    offsets,
    read_as,
)
from kwire_cli.view.rows import NOTHING, Buffer, Extent, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.engine.values import Body
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.batch import Hide, Source
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.records.registers import Register
    from kwire_cli.view.rows import Row, Title

    Hidden = dict[str, frozenset[int]]
    Type = tuple[str, str, int | None]
    """The kind of a payload: its path without indexes, its type and its version."""

INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True)
class Look:
    """The extent of an explanation: `every` element or each kind once, and `reading`, how records are read.

    `reading` also says which parts of records are secret. `register` has the names of header keys of the KIP-82 draft.
    """

    every: bool
    reading: RecordsAs
    register: Register | None = None

    @property
    def extent(self) -> Extent:
        """The extent of the outline that is explained."""
        return Extent(self.reading.catalog, self.reading, full=self.every, messages="behind")


# Frames and bodies explained: their parts, what stands between these, the records and messages in their fields.


def explain_frame(frame: Frame, hidden: Hidden, look: Look, *, asked: Frame | None = None) -> Iterator[Event]:
    """A frame from its first byte to its last; `hidden` has the secret spans by part, `asked` is a response's
    request.
    """
    yield from _frame(frame, frame_rows(look.extent, frame, hidden, asked=asked), look, 0)


def _frame(frame: Frame, outline: Iterable[Row], look: Look, level: int) -> Iterator[Event]:
    for note in (*frame.notes, *frame.fits):
        yield Remark(f"{note.code}: {note.detail}", level, note)
    types: set[Type] = set()
    left = 0
    for row in outline:
        part = row.subject
        if row.kind == "gap":
            yield _bare(row, "gap.outside", level)
        elif isinstance(part, Part) and part.body and not part.payload:
            prefix = "header." if part.name == "header" else ""
            yield from _message(part, part.body, look, level, _end(frame, part.name), prefix)
        else:
            message: Any = part.payload if isinstance(part, Part) else part
            if look.every or _type(message) not in types or message.anomalies:
                types.add(_type(message))
                yield from _inside(row, look, level + 1)
            else:
                left += 1
    if left:
        yield Remark(f"… {left} more messages in fields, of kinds that were shown", level + 1)


def _end(frame: Frame, name: str) -> str:
    """Return what follows because a part has ended."""
    if name == "body":
        return "the message ends here, and the frame with it" + (
            ": the next one on the connection begins with its own size" * frame.prefixed
        )
    names = [name for name, _ in frame.parts]
    following = names[names.index(name) + 1] if name != names[-1] else ""
    if not following:
        return ""
    ends = "" if name == "size" else f"the {name} ends here: "
    return f"{ends}next comes the {following}" + (f" of the {frame.api} {frame.kind}" * (following == "body"))


def _bare(row: Row, rule: str, level: int) -> Step:
    """Bytes without a layout."""
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
    """The steps of a message, and below its records their batches; `last` is what follows its last field."""
    yield from _message(body_part(look.extent, name, body, hidden), body, look, 0, last)


def _message(part: Part, body: Body, look: Look, level: int, last: str, prefix: str = "") -> Iterator[Event]:
    version = f"{body.message} version {body.layout_version}"
    guess = f", by which {body.version} is read as a guess" if body.guess else ""
    yield Heading(part, "the size of the frame" if part.name == "size" else version + guess, level)
    for note in body.notes:
        yield Remark(f"{note.code}: {note.detail}", level, note)
    odd = (in_payload(body.anomalies) if level else body.anomalies)[len(body.notes) :]
    facts = Facts(Facts.where_they_are(odd if part.name != "size" else ()))
    for step in steps(part, facts, every=look.every, level=level, prefix=prefix, last=last):
        yield step
        if isinstance(step, Step) and step.row and step.row.records:
            yield from _items(step.row.below(), look, level + 1)


def _inside(row: Row, look: Look, level: int) -> Iterator[Event]:
    """A message in a field, whose bytes were shown there as they are."""
    part = row.subject
    if isinstance(part, ReadPart):
        schema = "" if part.schema_id is None else f", by schema {part.schema_id}"
        yield Remark(f"{row.name}: {read_as(part)}{schema}", level)
        yield from (Remark("", level, note) for note in part.anomalies)
        yield from (Remark(plain(below.line), level, plain=True) for below in row.below())
    elif isinstance(part, Forwarded):
        yield Remark(f"in {part.path}: {part.type}, with a header of its own and without a size", level)
        yield from _frame(part.frame, row.below(), look, level)
    elif isinstance(part, Part) and part.payload and part.body:
        if part.body.start:
            yield from _prefix(part, part.payload, level)
        yield from _message(part, part.body, look, level, "the message ends here")


def _prefix(part: Part, payload: Payload, level: int) -> Iterator[Event]:
    """Yield the prefix before the message in a payload, which says which message it is."""
    assert part.body  # noqa: S101 - for the type checker
    first = "the type of the record" if payload.type.isdecimal() else "the version of what follows"
    for decl, title in ((messages.VERSION, first), (messages.METADATA_FRAME, "the frame of a metadata record")):
        tree, exact = declared(records_entry(decl), payload.data, 0, part.body.start)
        if exact:
            prefix = Part(part.extent, f"{part.name} prefix", "prefix", tree, exact, NOTHING, part.buffer)
            yield Heading(prefix, title, level)
            yield from steps(prefix, every=True, level=level)
            return


# Record sets explained: batches and messages of all formats byte by byte, what is packed in them, and what Kafka's own
# records mean.


@dataclass
class _Shown:
    """The parts of a record set that were shown.

    These are kinds of batches, and the types and versions of records of Kafka's own topics.
    """

    batches: set[tuple[str, int, bool]] = field(default_factory=set)
    payloads: set[Type] = field(default_factory=set)


def explain_items(items: Iterable[Batch | Gap], look: Look, source: Source) -> Iterator[Event]:
    """The batches and gaps of a record set, one after the other. Batches of a kind that was shown are only counted,
    unless something is odd.

    `source` is what they were read from.
    """
    yield from _items((_item_row(look, item, source) for item in items), look, 0)


def _item_row(look: Look, item: Batch | Gap, source: Source) -> Row:
    buffer = Buffer("records", source.view(item.position, item.end), 0, source.size)
    return item_row(look.extent, item, buffer, source.topic)


def _items(outline: Iterable[Row], look: Look, level: int) -> Iterator[Event]:
    shown = _Shown()
    run: list[Batch] = []  # the first and the last of those that are left out
    count = 0
    for row in outline:
        item = row.subject
        if isinstance(item, Batch) and not look.every and _is_like_those(item, shown, look.extent.hide):
            run = [run[0] if run else item, item]
            count += 1
            continue
        if run:
            yield _left_out(run, count, level)
            run, count = [], 0
        if isinstance(item, Batch):
            shown.batches.add(_kind(item))
            yield from _batch(item, row, look, shown, level)
        elif item.batch:
            text = f"{item.size} bytes of a batch of {item.batch.whole_size}"
            yield Remark(f"{item.code} at byte {item.position}: {text}", level)
            yield from _batch(item.batch, row, look, shown, level)
        else:
            yield Remark(f"{item.code} at byte {item.position}: {item.size} bytes that are no batch", level)
            yield _bare(row, "gap.batch", level)
    if run:
        yield _left_out(run, count, level)


def _is_like_those(batch: Batch, shown: _Shown, hide: Hide | None) -> bool:
    """Return whether a batch has nothing that was not shown before, and no anomaly."""
    if _kind(batch) not in shown.batches or not batch.crc_valid or batch.notes:
        return False
    if not has_payloads(batch):
        return True
    payloads = (visible_payload(batch, record, hide)[0] for record in batch.records())
    return all(_type(message) in shown.payloads for payload in payloads if payload for message in payload.messages)


def _kind(batch: Batch) -> tuple[str, int, bool]:
    return batch.layout.name, batch.head.attributes, bool(batch.head.records_count)


def _type(message: Payload | Forwarded) -> Type:
    return INDEX.sub("", message.path), message.type, message.version


def _left_out(run: list[Batch], count: int, level: int) -> Skipped:
    first, last = run
    names = f"batch at byte {first.position}", f"batch at byte {last.position}"
    return Skipped(None, *names, count, first.position, last.end, level=level)


def _batch(batch: Batch, row: Row, look: Look, shown: _Shown, level: int) -> Iterator[Event]:
    extent = replace(look.extent, deep=not row.buffer.own)
    part, behind = batch_parts(extent, batch, row.buffer)
    yield Heading(part, f"{FORMATS[batch.layout.name]}, {offsets(batch)}, {batch.size} bytes", level)
    yield from steps(part, batch_facts(batch, part, look.register), every=look.every, level=level)
    for title in behind:
        subject = title.subject
        payload = subject if isinstance(subject, ReadPart) else subject.payload if subject else None
        if payload is None:
            yield from _packed(batch, title, look, level + 1)
        elif look.every or payload.anomalies or _type(payload) not in shown.payloads:
            shown.payloads.add(_type(payload))
            yield from _inside(title, look, level + 1)


def batch_facts(batch: Batch, part: Part, register: Register | None = None) -> Facts:
    """Return the facts of a batch: anomalies at their fields, special fields, and bases of differences."""
    places = {item.node.name: item.start for item in part.tree.root.parts}
    odd = tuple(
        (places.get(note.path, note.offset) if note.offset == batch.position else note.offset, note)
        for note in (batch.notes if batch.head.codec else batch.anomalies)
    )
    return Facts(odd, specials(batch.layout.decl), _bases(batch), register)


def _bases(batch: Batch) -> dict[str, int]:
    """Return the values that differences in records count from.

    With LogAppendTime timestamps do not count from a base.
    """
    head = batch.head
    return {"baseOffset": head.base_offset} | (
        {"baseTimestamp": head.base_timestamp} if not head.timestamp_type else {}
    )


def _packed(batch: Batch, title: Title, look: Look, level: int) -> Iterator[Event]:
    """The records that a batch's codec packed, or the messages in a wrapper message."""
    part = title.subject
    if part is None:
        yield Remark(f"what {batch.compression} packed in the value; from here on offsets count in that", level)
        yield from _items(title.below(), look, level)
        return
    size = len(part.data)
    text = f"{size} bytes that {batch.compression} packed; from here on offsets count in these"
    yield Heading(part, text, level)
    facts = Facts(
        Facts.where_they_are(anomalies(part.tree)), specials(PACKED_RECORDS[batch.layout.name]), _bases(batch)
    )
    yield from steps(part, facts, every=look.every, level=level)
