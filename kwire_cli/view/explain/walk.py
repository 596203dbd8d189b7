"""The steps of an explanation: they cover every byte of a part once, in order.

An array of a thousand structs would repeat the same steps, so an element is left out if all of its fields were shown
before with the same case: null, empty, or a value. Consecutive omitted elements are one `Skipped`. If the bytes end
before the message does, the last step states the missing field and the bytes it needs.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import COUNT_MISMATCH, TRAILING_BYTES, TRUNCATED, in_payload
from kwire_cli.engine.program import Leaf
from kwire_cli.engine.tree import is_null, places, read_count
from kwire_cli.engine.values import anomalies
from kwire_cli.errors import counted
from kwire_cli.message.decoded import cut_records
from kwire_cli.structs.composites import Rest
from kwire_cli.structs.lengths import Prefixed, Sized
from kwire_cli.structs.numbers import UVARINT, Varint
from kwire_cli.view.explain.model import Piece, Skipped, Step
from kwire_cli.view.explain.notes import note_on
from kwire_cli.view.explain.pieces import pieces_of
from kwire_cli.view.explain.rules import leaf_type
from kwire_cli.view.rows import Title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.tree import Item
    from kwire_cli.view.explain.model import Look
    from kwire_cli.view.rows import Field, Part, Row

SHOWN_VALUES = 20
"""Maximum number of omitted elements whose values are shown."""


def steps_of(part: Part, look: Look, level: int = 0, prefix: str = "", last: str = "") -> Iterator[Step | Skipped]:
    """Yield the steps of a part, each with the path of the next one.

    `prefix` is the start of the paths of its fields, and `last` the consequence of its end.
    """
    previous: Step | Skipped | None = None
    for step in _Walk(part, look, level, prefix).steps():
        if isinstance(previous, Step):
            yield replace(previous, next=step.path if isinstance(step, Step) else step.first)
        elif previous is not None:
            yield previous
        previous = step
    if isinstance(previous, Step) and previous.type != "gap":
        previous = replace(previous, then="; ".join(filter(None, (previous.then, last))))
    if previous is not None:
        yield previous


def _placed_anomalies(part: Part, level: int) -> list[tuple[int, Anomaly]]:
    """Return the anomalies of a part in order, each with the offset of the byte at which to show it."""
    body = part.body
    batch = part.batch
    if part.name == "size":
        return []
    if batch and part.name == "batch":
        places = {item.node.name: item.start for item in part.tree.root.parts}
        found = [
            (places.get(note.path, note.offset) if note.offset == batch.position else note.offset, note)
            for note in (batch.notes if batch.head.codec else batch.anomalies)
        ]
    elif body:
        notes = in_payload(body.anomalies) if level else body.anomalies
        found = [(note.offset, note) for note in notes[len(body.notes) :]]
    else:
        found = [(note.offset, note) for note in anomalies(part.tree)]
    return sorted(found, key=itemgetter(0))


class _Walk:
    """One pass over the rows of a part."""

    def __init__(self, part: Part, look: Look, level: int, prefix: str) -> None:
        self.part = part
        self.look = look
        self.level = level
        self.prefix = prefix
        self.anomalies = _placed_anomalies(part, level)
        self.seen: set[tuple[int, int]] = set()
        """The leaves that were shown, each with its case."""
        self.cut: Field | None = None
        """The records field in which the bytes end."""

    def steps(self) -> Iterator[Step | Skipped]:
        yield from self._inside(self.part.rows())
        if self.part.tree.gap:
            yield self._gap()

    def _between(self, start: int, end: int) -> tuple[Anomaly, ...]:
        """Return the anomalies in the bytes [start, end)."""
        low, high = (bisect_left(self.anomalies, at, key=itemgetter(0)) for at in (start, end))
        return tuple(anomaly for _, anomaly in self.anomalies[low:high])

    def _inside(self, rows: Iterable[Row]) -> Iterator[Step | Skipped]:
        run: list[Field] = []
        for row in rows:
            if isinstance(row, Title):
                continue  # `_gap` yields the gap at the end
            if not self.look.every and row.item.index and self._is_known(row.item):
                run.append(row)
                continue
            if run:
                yield self._skipped(run)
                run = []
            if not row.kind:
                yield from self._inside(row.below())
            elif row.item.whole:
                yield self._step(row)
            else:
                self.cut = row
        if run:
            yield self._skipped(run)

    def _is_known(self, item: Item) -> bool:
        """Return whether an element is complete and without anomaly, and all its leaves and cases were shown before."""
        if not item.whole or self._between(item.start, max(item.end, item.start + 1)):
            return False
        return all(key in self.seen for key in _keys(item, self.part.data))

    def _skipped(self, run: list[Field]) -> Skipped:
        first = run[0]
        last = run[-1]
        items = tuple(row.item for row in run[:SHOWN_VALUES]) if first.kind else ()
        names = self.prefix + first.path, self.prefix + last.path
        return Skipped(self.part, *names, len(run), first.item.start, last.item.end, items, self.level)

    def _step(self, row: Field) -> Step:
        item = row.item
        self.seen.update(_keys(item, self.part.data))
        pieces, then = pieces_of(row, self.look.register)
        note = row.about
        if not note and row.kind not in {"tag-count", "unknown-tag"}:
            note = note_on(self.part, item.leaf.path)
        found = self._between(item.start, item.end)
        return self._at(item, row.path, leaf_type(item.leaf), pieces, row=row, anomalies=found, then=then, note=note)

    def _at(self, item: Item, path: str, kind: str, pieces: Sequence[Piece], **more: Any) -> Step:
        part = self.part
        path = self.prefix + path
        return Step(part, part.data, self.level, path, item.start, item.end, kind, tuple(pieces), **more)

    def _gap(self) -> Step:
        """Return the step of the bytes that could not be decoded. They are empty if the bytes ended before a field.

        If the bytes end within a records field, the step also contains the first part of the records.
        """
        part = self.part
        gap = part.tree.gap
        assert gap  # noqa: S101 - for the type checker
        found = self._between(gap.start, gap.start + 1)
        spans = part.tree.spans
        secret = gap.span in part.hidden
        flags = spans.flags.get(gap.span, 0)
        if flags & TRAILING_BYTES:
            working: tuple[str, ...] = (counted(gap.end - gap.start, "byte"),)
            pieces = [Piece(gap.start, gap.end, "gap", "gap.rest", working, secret)]
            return self._at(gap, "", "gap", pieces, anomalies=found)
        items = places(part.tree.root, keep=False)
        unread = [path for path, item in items if not item.whole and isinstance(item.node, Leaf)]
        lost = spans.program.leaves[spans.lost] if spans.lost > 0 else None
        cut = not flags or bool(flags & (TRUNCATED | COUNT_MISMATCH))
        working = ()
        if lost and cut:
            raw = bytes(part.data[gap.start : gap.end])
            working = (f"{leaf_type(lost)}: {needs(lost, raw, hidden=secret)}",)
        elif lost:
            working = (f"expected {leaf_type(lost)}",)
        records = None if secret else cut_records(spans)
        end = records.start if records else gap.end
        pieces = [Piece(gap.start, end, "gap", "gap.cut" if cut else "gap.unreadable", working, secret)]
        if records:
            pieces.append(Piece(end, gap.end, "value", "records"))
        path = unread[-1] if unread else ""
        return self._at(gap, path, "gap", pieces, row=self.cut, anomalies=found)


def _keys(item: Item, data: Any) -> Iterator[tuple[int, int]]:
    """Yield the leaves of an item, each with its case: -1 for null, 0 for empty, 1 for a value."""
    if not isinstance(item.node, Leaf):
        for part in item.each():
            yield from _keys(part, data)
        return
    leaf = item.leaf
    case = 0
    if leaf.kind in {"count", "tag-count"}:
        number = read_count(item, data)
        case = (number > 0) - (number < 0)
    elif leaf.kind == "presence" or isinstance(leaf.decl, Sized):
        case = -1 if is_null(item, data) else 1
    yield leaf.id, case


def needs(leaf: Leaf, raw: bytes, *, hidden: bool = False) -> str:
    """Return the number of bytes that a truncated leaf needs, as text. `raw` contains the bytes up to the end of the
    message. With `hidden` the text does not depend on their values.
    """
    decl = leaf.decl
    have = len(raw)
    here = f"{counted(have, 'byte')} here" if raw else "no bytes here"
    if leaf.kind == "tag-header":
        return f"a tag and a size, at least 2 bytes; {here}"
    prefix = _first_number(leaf)
    length = getattr(prefix, "length", None)
    if isinstance(prefix, Varint):
        length = next((i + 1 for i, byte in enumerate(raw) if byte < 0x80), None)
        if length is None:
            return f"a varint, at least {counted(have + 1, 'byte')}; {here}"
    elif length is None or leaf.kind == "unknown-tag":
        return f"more bytes than are left; {here}"
    elif have < length:
        size = f"{'its length has ' if prefix is not decl else ''}{counted(length, 'byte')}"
        return f"{size}; {here}: {length - have} more"
    if not isinstance(decl, Prefixed) or leaf.kind == "count":
        return f"{counted(length, 'byte')}; {here}"
    if hidden:
        return f"more than the {counted(have, 'byte')} here"
    wanted = int(decl.prefix.read(raw[:length])) - decl.compact
    left = have - length
    return f"its length says {counted(wanted, 'byte')}; {counted(left, 'byte')} here: {wanted - left} more"


def _first_number(leaf: Leaf) -> Any:
    """Return the declaration of the number or length at the start of a leaf. Return None if it has neither."""
    decl = leaf.decl
    if leaf.kind == "tag-count":
        return UVARINT
    if leaf.kind == "presence":
        return decl.presence
    if isinstance(decl, Prefixed):
        return decl.prefix
    return None if isinstance(decl, Rest) else decl
