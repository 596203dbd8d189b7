"""Steps that cover each byte of a tree, and its end."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import COUNT_MISMATCH, TRAILING_BYTES, TRUNCATED
from kwire_cli.engine.program import Array, Leaf, Nullable, Struct
from kwire_cli.engine.tree import Item, is_null, places, read_count
from kwire_cli.errors import counted
from kwire_cli.message.decoded import cut_records
from kwire_cli.structs.composites import Rest
from kwire_cli.structs.lengths import Prefixed, Sized
from kwire_cli.structs.numbers import UVARINT, Varint
from kwire_cli.view.explain.model import NOTES, Facts, Piece, Skipped, Step, layout_of
from kwire_cli.view.explain.pieces import pieces_of
from kwire_cli.view.explain.rules import element_text, leaf_type, node_type
from kwire_cli.view.rows import Title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.view.rows import Field, Part, Row


# The end of a message that ends too early or too late: which field is missing, how many bytes it would need,
# and what would come after it.

AFTER = 6
"""Fields that are named of those that would come after the one that is missing."""


def gap_step(part: Part, level: int, prefix: str, anomalies: Sequence[Anomaly], row: Field | None) -> Step:
    """The bytes that could not be read, or none where they ended; `row` is the field of records that they cut."""
    gap = part.tree.gap
    assert gap  # noqa: S101 - for the type checker
    spans = part.tree.spans
    flags = spans.flags.get(gap.span, 0)
    secret = gap.span in part.hidden
    if flags & TRAILING_BYTES:
        pieces = [Piece(gap.start, gap.end, "gap", "gap.rest", (counted(gap.end - gap.start, "byte"),), secret)]
        return _step(part, level, prefix, gap, pieces, anomalies)
    path = next((path for path, item in reversed([*_unfinished(part.tree.root)]) if isinstance(item.node, Leaf)), "")
    lost = spans.program.leaves[spans.lost] if spans.lost > 0 else None
    cut = not flags or bool(flags & (TRUNCATED | COUNT_MISMATCH))
    working: tuple[str, ...] = ()
    if lost and cut:
        raw = bytes(part.data[gap.start : gap.end])
        working = (f"{leaf_type(lost)}: {needs(lost, raw, hidden=secret)}",)
    elif lost:
        working = (f"{leaf_type(lost)} should stand here",)
    after = [*islice(remaining(part.tree.root, part.data), AFTER + 1)]
    then = ", then ".join(after[:AFTER]) + (", and so on" if len(after) > AFTER else "")
    rule = "gap.cut" if cut else "gap.unreadable"
    records = None if secret else cut_records(spans)
    pieces = [Piece(gap.start, records.start if records else gap.end, "gap", rule, working, secret)]
    if records:
        pieces.append(Piece(records.start, gap.end, "value", "records"))
    return _step(part, level, prefix + path, gap, pieces, anomalies, f"then would come {then}" if then else "", row)


def _step(
    part: Part,
    level: int,
    path: str,
    item: Item,
    pieces: Sequence[Piece],
    anomalies: Sequence[Anomaly],
    then: str = "",
    row: Field | None = None,
) -> Step:
    start, end = item.start, item.end
    return Step(part, part.data, level, path, start, end, "gap", tuple(pieces), row, tuple(anomalies), then)


def _unfinished(root: Item) -> Iterator[tuple[str, Item]]:
    return ((path, item) for path, item in places(root, keep=False) if not item.whole)


def needs(leaf: Leaf, raw: bytes, *, hidden: bool = False) -> str:
    """Return how many bytes a leaf would need; `raw` are the fewer bytes that are there.

    With `hidden` the text does not tell what these bytes say.
    """
    decl = leaf.decl
    here = f"{counted(len(raw), 'byte')} here" if raw else "none is here"
    if leaf.kind == "tag-header":
        return f"a tag and a size, at least 2 bytes; {here}"
    if leaf.kind == "unknown-tag":
        return f"more bytes than are left; {here}"
    prefix = _prefix_of(leaf)
    if isinstance(prefix, Varint):
        length = next((i + 1 for i, byte in enumerate(raw) if byte < 0x80), None)
        if length is None:
            return f"a varint, at least {counted(len(raw) + 1, 'byte')}; {here}"
    elif hasattr(prefix, "length"):
        length = prefix.length
        if len(raw) < length:
            size = f"{'its length has ' if prefix is not decl else ''}{counted(length, 'byte')}"
            return f"{size}; {here}: {length - len(raw)} more"
    else:
        return f"more bytes than are left; {here}"
    if not isinstance(decl, Prefixed) or leaf.kind == "count":
        return f"{counted(length, 'byte')}; {here}"
    if hidden:
        return f"more than the {counted(len(raw), 'byte')} here"
    wanted = int(decl.prefix.read(raw[:length])) - decl.compact
    left = len(raw) - length
    return f"its length says {counted(wanted, 'byte')}; {counted(left, 'byte')} here: {wanted - left} more"


def _prefix_of(leaf: Leaf) -> Any:
    """Return the declaration of what a leaf's bytes begin with: the number itself, or its length.

    Return None if the leaf begins with neither.
    """
    decl = leaf.decl
    if leaf.kind == "tag-count":
        return UVARINT
    if leaf.kind == "presence":
        return decl.presence
    return decl.prefix if isinstance(decl, Prefixed) else None if isinstance(decl, Rest) else decl


def remaining(root: Item, data: Any) -> Iterator[str]:
    """Yield what would come after the field in which the bytes ended, the innermost first."""
    chain = [root]
    while chain[-1].parts and not chain[-1].parts[-1].whole:
        chain.append(chain[-1].parts[-1])
    for item in reversed(chain):
        node, parts = item.node, item.parts
        if isinstance(node, Struct):
            names = {part.node.name for part in parts}
            yield from (f"{field.name} {node_type(field)}" for field in node.fields if field.name not in names)
            if node.tags and "_tags" not in names:
                yield "the tag section"
        elif isinstance(node, Array) and parts and parts[0].whole:
            left = read_count(parts[0], data) - (len(parts) - 1)
            if left > 0:
                yield f"{left} more element{'s' * (left > 1)} of {node.name}"
        elif isinstance(node, Array):
            yield f"its elements, each {element_text(node.element)}"
        elif isinstance(node, Nullable) and len(parts) == 1 and not parts[0].whole:
            yield f"{node.name}, if it is there"


# From the tree of a part to its steps: every byte once and in order, with elements that bring nothing new
# left out.

NO_FACTS = Facts()
SHOWN_VALUES = 20
"""Elements left out whose values are given all the same, where these are leaves."""


def steps(
    part: Part, facts: Facts = NO_FACTS, *, every: bool, level: int = 0, prefix: str = "", last: str = ""
) -> Iterator[Step | Skipped]:
    """The steps of a part, each with the path of the next one. `prefix` stands before the paths of its fields, `last`
    is what follows because its last field has been read.

    Unless `every` element is wanted, those that are read by nothing but what was shown become one Skipped, as far as
    nothing is odd about them.
    """
    held: Step | Skipped | None = None
    for step in _Walk(part, facts, level, prefix, every=every).all():
        if isinstance(held, Step):
            yield replace(held, next=step.path if isinstance(step, Step) else step.first)
        elif held is not None:
            yield held
        held = step
    if isinstance(held, Step) and held.type != "gap":
        yield replace(held, then="; ".join(text for text in (held.then, last) if text))
    elif held is not None:
        yield held


class _Walk:
    """One pass over the rows of a part. `seen` are the leaves that were shown, with what hangs on their value: whether
    there was any. `cut` is the field of records in which the bytes end.
    """

    def __init__(self, part: Part, facts: Facts, level: int, prefix: str, *, every: bool) -> None:
        self.part, self.facts, self.level, self.prefix, self.every = part, facts, level, prefix, every
        self.seen: set[tuple[int, int]] = set()
        self.cut: Field | None = None
        self.notes = NOTES.get(layout_of(part), {})
        self.odd = sorted(facts.odd, key=lambda place: place[0])
        self.places = [place for place, _ in self.odd]

    def all(self) -> Iterator[Step | Skipped]:
        yield from self.inside(self.part.rows())
        if gap := self.part.tree.gap:
            yield gap_step(self.part, self.level, self.prefix, self.between(gap.start, gap.start + 1), self.cut)

    def between(self, start: int, end: int) -> Sequence[Anomaly]:
        """Return the anomalies in these bytes."""
        return [anomaly for _, anomaly in self.odd[bisect_left(self.places, start) : bisect_left(self.places, end)]]

    def inside(self, rows: Iterable[Row]) -> Iterator[Step | Skipped]:
        run: list[Field] = []
        for row in rows:
            if isinstance(row, Title):
                continue  # the gap, which comes last
            if not self.every and row.item.index and self.known(row.item):
                run.append(row)
                continue
            if run:
                yield self.skipped(run)
                run = []
            if not row.kind:
                yield from self.inside(row.below())
            elif row.item.whole:
                yield self.step(row)
            else:
                self.cut = row
        if run:
            yield self.skipped(run)

    def known(self, item: Item) -> bool:
        """Return whether an element is whole, has no anomaly, and has nothing that was not shown before."""
        if not item.whole or self.between(item.start, max(item.end, item.start + 1)):
            return False
        return all(key in self.seen for key in _keys(item, self.part.data))

    def skipped(self, run: list[Field]) -> Skipped:
        first, last = run[0], run[-1]
        samples = tuple(row.item for row in run[:SHOWN_VALUES]) if first.kind else ()
        names = self.prefix + first.path, self.prefix + last.path
        return Skipped(self.part, *names, len(run), first.item.start, last.item.end, samples, self.level)

    def step(self, row: Field) -> Step:
        part, item, kind = self.part, row.item, row.kind
        self.seen.add(_key(item, part.data))
        pieces, then = pieces_of(row, self.facts)
        return Step(
            part,
            part.data,
            self.level,
            self.prefix + row.path,
            item.start,
            item.end,
            leaf_type(item.leaf),
            pieces,
            row,
            tuple(self.between(item.start, item.end)),
            then,
            self.notes.get(item.leaf.path, "") if kind not in {"tag-count", "unknown-tag"} else "",
        )


def _keys(item: Item, data: Any) -> Iterator[tuple[int, int]]:
    if isinstance(item.node, Leaf):
        yield _key(item, data)
        return
    for part in item.each():
        yield from _keys(part, data)


def _key(item: Item, data: Any) -> tuple[int, int]:
    """A leaf and its case: null, empty, or something."""
    leaf = item.leaf
    if leaf.kind in {"count", "tag-count"}:
        number = read_count(item, data)
        return leaf.id, (number > 0) - (number < 0)
    if leaf.kind == "presence" or isinstance(leaf.decl, Sized):
        return leaf.id, -1 if is_null(item, data) else 1
    return leaf.id, 0
