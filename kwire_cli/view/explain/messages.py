"""Messages and batches explained."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import in_payload
from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.python_source import TOPIC, TOPIC_ID
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import anomalies, leaf_value
from kwire_cli.message.decoded import records_in
from kwire_cli.message.frames import PAYLOADS, Forwarded, Frame, hidden_below
from kwire_cli.message.roles import holds_records, roles
from kwire_cli.message.secrets import OUTSIDE
from kwire_cli.records.batch import Batch, has_payloads, payload_of
from kwire_cli.structs import messages
from kwire_cli.structs.records import kip98, v2
from kwire_cli.view.explain.model import FORMATS, Event, Part, Piece, Remark, Skipped, Step, specials
from kwire_cli.view.explain.walk import steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire_cli.engine.values import Body
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.batch import Record
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.payload_model import Payload


# Record sets explained: batches and messages of all formats byte by byte, what is packed in them, and what
# Kafka's own records mean.

_RECORDS = {"v2": v2.RECORDS, "kip98-draft": kip98.MESSAGES}
"""What the packed records of a batch are; in the other formats it is a message set again."""


@dataclass
class _Shown:
    """The parts of a record set that were shown.

    These are kinds of batches, and the types and versions of records of Kafka's own topics.
    """

    batches: set[tuple[str, int, bool]] = field(default_factory=set)
    payloads: set[tuple[str, str, int | None]] = field(default_factory=set)


def explain_items(
    items: Iterable[Batch | Gap],
    look: Look,
    *,
    data: Any = None,
    topic: str | None = None,
    level: int = 0,
    inner: bool = False,
) -> Iterator[Event]:
    """The batches and gaps of a record set, one after the other. Batches of a kind that was shown are only counted,
    unless something is odd.

    `data` is what the places of gaps count in, where that is at hand; `topic` is that of the records, by name or id;
    `inner` says that they are messages in a wrapper.
    """
    explained = _Shown()
    run: list[Batch] = []  # the first and the last of those that are left out
    count = 0
    for item in items:
        batch = item if isinstance(item, Batch) else None
        if batch and not look.every and _is_like_those(batch, explained):
            run = [run[0] if run else batch, batch]
            count += 1
            continue
        if run:
            yield _left_out(run, count, level)
            run, count = [], 0
        if batch:
            explained.batches.add(_kind(batch))
            yield from _explain_batch(batch, look, explained, level=level, inner=inner)
        else:
            yield from _gap(item, data, look, explained, level, topic)  # type: ignore[arg-type]
    if run:
        yield _left_out(run, count, level)


def _is_like_those(batch: Batch, shown: _Shown) -> bool:
    """Return whether a batch has nothing that was not shown before, and no anomaly."""
    if _kind(batch) not in shown.batches or not batch.crc_valid or batch.notes:
        return False
    return not has_payloads(batch) or all(
        _type(payload) in shown.payloads for record in batch.records() for payload in _payloads(batch, record)
    )


def _kind(batch: Batch) -> tuple[str, int, bool]:
    return batch.layout.name, batch.head.attributes, bool(batch.head.records_count)


def _left_out(run: list[Batch], count: int, level: int) -> Skipped:
    first, last = run
    return Skipped(
        None,
        f"batch at byte {first.position}",
        f"batch at byte {last.position}",
        count,
        first.position,
        last.end,
        level=level,
    )


def _gap(gap: Gap, data: Any, look: Look, shown: _Shown, level: int, topic: str | None) -> Iterator[Event]:
    hide = look.reading.hide
    if gap.batch:
        yield Remark(f"{gap.code} at byte {gap.position}: {gap.size} bytes of a batch of {gap.batch.whole_size}", level)
        yield from _explain_batch(gap.batch, look, shown, level=level, inner=False)
        return
    yield Remark(f"{gap.code} at byte {gap.position}: {gap.size} bytes that are no batch", level)
    if data is not None:
        yield bare(data, gap.position, gap.end, "gap.batch", level, secret=hide is not None and hide.gap(topic))


def _explain_batch(batch: Batch, look: Look, shown: _Shown, *, level: int, inner: bool) -> Iterator[Event]:
    hide = look.reading.hide
    secret = hide is not None and hide.batch(batch)
    notes = tuple(batch.notes if batch.head.codec else batch.anomalies)
    part = batch_part(batch, level)
    places = {field.node.name: field.start for field in part.tree.root.parts}
    odd = tuple(
        (places.get(note.path, note.offset) if note.offset == batch.position else note.offset, note) for note in notes
    )
    part = replace(part, odd=odd, hidden=hide.spans(part.tree) if hide and secret else frozenset(), own=inner)
    yield part
    yield from steps(part, every=look.every)
    if batch.head.codec and not inner:
        yield from _packed(batch, look, secret=secret, level=level + 1)
    if has_payloads(batch):
        for number, record in enumerate(batch.records()):
            yield from _record(batch, number, record, look, shown, level + 1)


def batch_part(batch: Batch, level: int = 0) -> Part:
    """The bytes of a batch as a part, with nothing hidden."""
    part = _part(
        _title(batch), batch.layout.name, batch.layout.decl, batch.source.data, (batch.position, batch.end), level
    )
    return replace(part, bases=_bases(batch))


def _bases(batch: Batch) -> dict[str, int]:
    """Return the values that differences in records count from.

    With LogAppendTime timestamps do not count from a base.
    """
    head = batch.head
    return {"baseOffset": head.base_offset} | (
        {"baseTimestamp": head.base_timestamp} if not head.timestamp_type else {}
    )


def _part(title: str, layout: str, decl: Any, data: Any, place: tuple[int, int], level: int) -> Part:
    entry = records_entry(decl)
    spans = walk(entry, data, *place)
    exact = spans.lost < 0 and spans.used == spans.stop
    return Part(
        "batch", title, layout, "RecordBatch", build(entry, spans), (), exact, specials=specials(decl), level=level
    )


def _title(batch: Batch) -> str:
    head = batch.head
    offsets = (
        f"offset {head.last_offset}"
        if head.base_offset == head.last_offset
        else f"offsets {head.base_offset} to {head.last_offset}"
    )
    return f"{FORMATS[batch.layout.name]}, {offsets}, {batch.size} bytes"


def _packed(batch: Batch, look: Look, *, secret: bool, level: int) -> Iterator[Event]:
    """The records that a batch's codec packed, or the messages in a wrapper message."""
    decl = _RECORDS.get(batch.layout.name)
    if decl is None and secret:
        return
    if decl is None:
        from kwire_cli.records.legacy import inner_messages  # noqa: PLC0415 - most are not compressed

        yield Remark(f"what {batch.compression} packed in the value; from here on offsets count in that", level)
        yield from explain_items(inner_messages(batch), look, level=level, inner=True)
        return
    from kwire_cli.records.v2 import area_of  # noqa: PLC0415 - as above

    area = area_of(batch, [])
    title = f"{len(area.data)} bytes that {batch.compression} packed; from here on offsets count in these"
    part = _part(title, batch.layout.name, decl, area.data, (0, len(area.data)), level)
    odd = Part.where_they_are(anomalies(part.tree))
    part = replace(
        part,
        name="records",
        odd=odd,
        bases=_bases(batch),
        own=True,
        hidden=frozenset(range(len(part.tree.spans.node))) if secret else frozenset(),
    )
    yield part
    yield from steps(part, every=look.every)


def _record(batch: Batch, number: int, record: Record, look: Look, shown: _Shown, level: int) -> Iterator[Event]:
    """Yield the meaning of the key and value of a record of Kafka's own topics, each type once."""
    payloads = payload_of(batch, record)
    hide = look.reading.hide
    hidden = hide.record(batch, payloads.record if payloads else None) if hide else {}
    for payload in _payloads(batch, record):
        if look.every or payload.anomalies or _type(payload) not in shown.payloads:
            shown.payloads.add(_type(payload))
            placed = replace(payload, path=f"records[{number}].{payload.path}")
            yield from explain_payload(placed, {"body": hidden.get(payload.path, frozenset())}, look, level)


def _payloads(batch: Batch, record: Record) -> Iterator[Payload]:
    """The messages in a record: its key and value, and what is in their fields."""
    payloads = payload_of(batch, record)
    whole = (payloads.control or payloads.record) if payloads else None
    if payloads and whole:
        for payload in (whole.key, whole.value, *(payloads.record.inside if payloads.record else ())):
            if payload and payload.body:
                yield payload


def _type(payload: Payload) -> tuple[str, str, int | None]:
    return INDEX.sub("", payload.path), payload.type, payload.version


# Frames and bodies explained: their parts, what stands between these, the records and messages in their
# fields.

Hidden = dict[str, frozenset[int]]


INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True)
class Look:
    """The extent of an explanation: `every` element or each kind once, and `reading`, how records are read.

    `reading` also says which parts of records are secret.
    """

    every: bool
    reading: RecordsAs


def body_part(
    name: str, body: Body, hidden: frozenset[int] = frozenset(), *, level: int = 0, prefix: str = "", own: bool = False
) -> Part:
    """A message's bytes as a part; one of a `level` above 0 is inside another."""
    faults = in_payload(body.anomalies) if level else body.anomalies
    title = f"{body.message} version {body.layout_version}" + (
        f", by which {body.version} is read as a guess" if body.guess else ""
    )
    return Part(
        name,
        title,
        body.message,
        body.message,
        body.tree,
        Part.where_they_are(faults[len(body.notes) :]),
        body.exact,
        hidden,
        level=level,
        prefix=prefix,
        own=own,
    )


def explain_frame(
    frame: Frame, hidden: Hidden, look: Look, *, asked: Frame | None = None, level: int = 0
) -> Iterator[Event]:
    """A frame from its first byte to its last; `hidden` has the secret spans by part, `asked` is a response's
    request.
    """
    for note in frame.anomalies[: len(frame.notes)]:
        yield Remark(f"{note.code}: {note.detail}", level, note)
    at = frame.start
    names = [name for name, _ in frame.parts]
    for name, body in frame.parts:
        yield from _outside(frame, at, body.start, hidden, level)
        secret = hidden.get(name, frozenset())
        if name == "size":
            part = Part(
                name, "the size of the frame", "FrameSize", body.message, body.tree, (), body.exact, secret, level=level
            )
        else:
            part = body_part(name, body, secret, level=level, prefix="header." if name == "header" else "")
        yield from explain_body(part, body, look, last=_ends(frame, names, name))
        at = body.tree.gap.end if body.tree.gap else body.raw.used
    yield from _outside(frame, at, frame.stop, hidden, level)
    kinds: set[tuple[str, str, int | None]] = set()
    left = 0
    for payload in [] if PAYLOADS in hidden else frame.inside(asked):
        kind = (INDEX.sub("", payload.path), payload.type, payload.version)
        if kind in kinds and not look.every and not payload.anomalies:
            left += 1
            continue
        kinds.add(kind)
        yield from explain_payload(payload, hidden_below(payload.path, hidden), look, level + 1)
    if left:
        yield Remark(f"… {left} more messages in fields, of kinds that were shown", level + 1)


def _ends(frame: Frame, names: list[str], name: str) -> str:
    """Return what follows because a part has ended."""
    if name == "body":
        return "the message ends here, and the frame with it" + (
            ": the next one on the connection begins with its own size" * frame.prefixed
        )
    following = names[names.index(name) + 1] if name != names[-1] else ""
    if not following:
        return ""
    ends = "" if name == "size" else f"the {name} ends here: "
    return f"{ends}next comes the {following}" + (f" of the {frame.api} {frame.kind}" * (following == "body"))


def _outside(frame: Frame, start: int, end: int, hidden: Hidden, level: int) -> Iterator[Event]:
    if start < end:
        yield bare(frame.data, start, end, "gap.outside", level, secret=OUTSIDE in hidden)


def bare(data: Any, start: int, end: int, rule: str, level: int, *, secret: bool = False) -> Step:
    """Bytes without a layout."""
    text = f"{end - start} byte{'s' * (end - start != 1)}"
    return Step(None, data, level, "", start, end, "gap", (Piece(start, end, "gap", rule, (text,), secret),))


def explain_body(part: Part, body: Body, look: Look, *, last: str = "the message ends here") -> Iterator[Event]:
    """The steps of a message, and below its records their batches."""
    yield part
    for note in body.notes:
        yield Remark(f"{note.code}: {note.detail}", part.level, note)
    carries = holds_records(body.entry)
    topics = roles(body.spec, body.entry).by_node if carries else {}
    topic: str | None = None
    for step in steps(part, every=look.every, last=last):
        yield step
        if not isinstance(step, Step) or step.item is None or not carries:
            continue
        leaf = step.item.leaf
        if topics.get(leaf.id) in {TOPIC, TOPIC_ID}:
            topic = str(leaf_value(step.item, part.tree))
        records = records_in(step.item, part.tree)
        if records and records.span not in part.hidden:
            items = look.reading.items(part.data, topic, records.start, records.stop)
            yield from explain_items(items, look, data=part.data, topic=topic, level=part.level + 1)


def explain_payload(
    each: Payload | Forwarded, hidden: Mapping[str, frozenset[int]], look: Look, level: int
) -> Iterator[Event]:
    """A message in a field, whose bytes were shown there as they are."""
    if isinstance(each, Forwarded):
        yield Remark(f"in {each.path}: {each.type}, with a header of its own and without a size", level)
        yield from explain_frame(each.frame, dict(hidden), look, level=level)
        return
    if not each.body:
        return
    body, secret = each.body, hidden.get("body", frozenset())
    if body.start:
        yield from prefix_steps(each, level)
    part = body_part(each.path, body, secret, level=level, own=True)
    yield from explain_body(part, body, look)


def prefix_steps(payload: Payload, level: int) -> Iterator[Event]:
    """Yield the prefix before the message in a payload, which says which message it is."""
    assert payload.body  # noqa: S101 - for the type checker
    stop = payload.body.start
    first = "the type of the record" if payload.type.isdecimal() else "the version of what follows"
    for decl, title in ((messages.VERSION, first), (messages.METADATA_FRAME, "the frame of a metadata record")):
        entry = records_entry(decl)
        spans = walk(entry, payload.data, 0, stop)
        if spans.lost < 0 and spans.used == stop:
            part = Part(f"{payload.path} prefix", title, "prefix", "", build(entry, spans), level=level, own=True)
            yield part
            yield from steps(part, every=True)
            return
