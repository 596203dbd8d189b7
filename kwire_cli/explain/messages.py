"""Frames and bodies explained: their parts, what stands between these, the records and messages in their fields."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import in_payload
from kwire_cli.engine.lower_records import records_entry
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import leaf_value
from kwire_cli.explain.model import Event, Part, Piece, Remark, Step
from kwire_cli.explain.walk import steps
from kwire_cli.message.frames import PAYLOADS, Frame, hidden_below
from kwire_cli.message.inside import Forwarded
from kwire_cli.message.record_fields import holds_records
from kwire_cli.message.record_sets import records_in
from kwire_cli.message.roles import TOPIC, TOPIC_ID, roles
from kwire_cli.message.secrets import OUTSIDE
from kwire_cli.structs.payloads import prefixes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kwire_cli.engine.body import Body
    from kwire_cli.message.record_fields import RecordsAs
    from kwire_cli.payload.model import Payload

Hidden = dict[str, frozenset[int]]
INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True)
class Look:
    """What of an explanation is wanted: `every` element, or each kind once; and how records are read, which says what of them is secret too."""

    every: bool
    reading: RecordsAs


def body_part(name: str, body: Body, hidden: frozenset[int] = frozenset(), *, level: int = 0, prefix: str = "", own: bool = False) -> Part:
    """A message's bytes as a part; one of a `level` above 0 is inside another."""
    found = in_payload(body.anomalies) if level else body.anomalies
    title = f"{body.message} version {body.layout_version}" + (f", by which {body.version} is read as a guess" if body.guess else "")
    return Part(
        name,
        title,
        body.message,
        body.message,
        body.tree,
        Part.where_they_are(found[len(body.notes) :]),
        body.exact,
        hidden,
        level=level,
        prefix=prefix,
        own=own,
    )


def explain_frame(frame: Frame, hidden: Hidden, look: Look, *, asked: Frame | None = None, level: int = 0) -> Iterator[Event]:
    """A frame from its first byte to its last; `hidden` has the secret spans by part, `asked` is a response's request."""
    for note in frame.anomalies[: len(frame.notes)]:
        yield Remark(f"{note.code}: {note.detail}", level, note)
    at = frame.start
    names = [name for name, _ in frame.parts]
    for name, body in frame.parts:
        yield from _outside(frame, at, body.start, hidden, level)
        secret = hidden.get(name, frozenset())
        if name == "size":
            made = Part(name, "the size of the frame", "FrameSize", body.message, body.tree, (), body.exact, secret, level=level)
        else:
            made = body_part(name, body, secret, level=level, prefix="header." if name == "header" else "")
        yield from explain_body(made, body, look, last=_ends(frame, names, name))
        at = body.tree.gap.end if body.tree.gap else body.raw.used
    yield from _outside(frame, at, frame.stop, hidden, level)
    shown: set[tuple[str, str, int | None]] = set()
    left = 0
    for each in [] if PAYLOADS in hidden else frame.inside(asked):
        kind = (INDEX.sub("", each.path), each.type, each.version)
        if kind in shown and not look.every and not each.anomalies:
            left += 1
            continue
        shown.add(kind)
        yield from explain_payload(each, hidden_below(each.path, hidden), look, level + 1)
    if left:
        yield Remark(f"… {left} more messages in fields, of kinds that were shown", level + 1)


def _ends(frame: Frame, names: list[str], name: str) -> str:
    """What follows because a part has ended."""
    if name == "body":
        return "the message ends here, and the frame with it" + (": the next one on the connection begins with its own size" * frame.prefixed)
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
            from kwire_cli.explain.batches import explain_items  # noqa: PLC0415 - few messages hold records

            items = look.reading.items(part.data, topic, records.start, records.stop)
            yield from explain_items(items, look, data=part.data, topic=topic, level=part.level + 1)


def explain_payload(each: Payload | Forwarded, hidden: Mapping[str, frozenset[int]], look: Look, level: int) -> Iterator[Event]:
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
    """What stands before the message in a payload, and says which one it is."""
    assert payload.body  # noqa: S101 - for the type checker
    stop = payload.body.start
    first = "the type of the record" if payload.type.isdecimal() else "the version of what follows"
    for decl, title in ((prefixes.VERSION, first), (prefixes.METADATA_FRAME, "the frame of a metadata record")):
        entry = records_entry(decl)
        spans = walk(entry, payload.data, 0, stop)
        if spans.lost < 0 and spans.used == stop:
            part = Part(f"{payload.path} prefix", title, "prefix", "", build(entry, spans), level=level, own=True)
            yield part
            yield from steps(part, every=True)
            return
