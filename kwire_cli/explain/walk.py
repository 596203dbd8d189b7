"""From the tree of a part to its steps: every byte once and in order, with elements that bring nothing new left out."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Leaf
from kwire_cli.engine.tree import is_null, path_of, read_count
from kwire_cli.explain.ending import gap_step
from kwire_cli.explain.fields import NOTES
from kwire_cli.explain.forms import leaf_type
from kwire_cli.explain.model import Part, Skipped, Step
from kwire_cli.explain.pieces import is_array, pieces_of
from kwire_cli.structs.sized import Sized

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.tree import Item

SHOWN_VALUES = 20
"""Elements left out whose values are given all the same, where these are leaves."""


def steps(part: Part, *, every: bool, last: str = "") -> Iterator[Step | Skipped]:
    """The steps of a part, each with the path of the next one; `last` is what follows because its last field has been read.

    Unless `every` element is wanted, those that are read by nothing but what was shown become one Skipped, as far as nothing is odd about them.
    """
    held: Step | Skipped | None = None
    for each in _Walk(part, every=every).all():
        if held is not None:
            yield replace(held, next=each.path if isinstance(each, Step) else each.first) if isinstance(held, Step) else held
        held = each
    if isinstance(held, Step) and held.type != "gap":
        yield replace(held, then="; ".join(text for text in (held.then, last) if text))
    elif held is not None:
        yield held


class _Walk:
    """One pass over a tree. `seen` are the leaves that were shown, with what hangs on their value: whether there was any."""

    def __init__(self, part: Part, *, every: bool) -> None:
        self.part, self.every = part, every
        self.seen: set[tuple[int, int]] = set()
        self.notes = NOTES.get(part.layout, {})
        self.odd = sorted(part.odd, key=lambda each: each[0])
        self.places = [place for place, _ in self.odd]

    def all(self) -> Iterator[Step | Skipped]:
        tree = self.part.tree
        yield from self.inside(tree.root, "")
        if tree.gap:
            yield gap_step(self.part, self.between(tree.gap.start, tree.gap.start + 1))

    def between(self, start: int, end: int) -> Sequence[Anomaly]:
        """What is odd about these bytes."""
        return [anomaly for _, anomaly in self.odd[bisect_left(self.places, start) : bisect_left(self.places, end)]]

    def inside(self, item: Item, path: str) -> Iterator[Step | Skipped]:
        run: list[Item] = []
        first = ""
        for part in item.each():
            inner = path_of(part, item, path)
            if not self.every and part.index and is_array(item) and self.known(part):
                first = first or inner
                run.append(part)
                continue
            if run:
                yield self.skipped(run, first, path)
                run, first = [], ""
            if isinstance(part.node, Leaf):
                if part.whole:
                    yield self.step(part, inner, item)
            else:
                yield from self.inside(part, inner)
        if run:
            yield self.skipped(run, first, path)

    def known(self, item: Item) -> bool:
        """Whether an element is whole, has nothing odd, and nothing that was not shown before."""
        if not item.whole or self.between(item.start, max(item.end, item.start + 1)):
            return False
        return all(key in self.seen for key in _keys(item, self.part.data))

    def skipped(self, run: list[Item], first: str, path: str) -> Skipped:
        shown = tuple(run[:SHOWN_VALUES]) if isinstance(run[0].node, Leaf) else ()
        prefix = self.part.prefix
        return Skipped(
            self.part, prefix + first, f"{prefix}{path}[{run[-1].index}]", len(run), run[0].start, run[-1].end, shown, self.part.level
        )  # fmt: skip

    def step(self, item: Item, path: str, parent: Item) -> Step:
        part = self.part
        self.seen.add(_key(item, part.data))
        pieces, then = pieces_of(part, item, parent)
        note = self.notes.get(item.leaf.path, "") if item.leaf.kind not in {"tag-count", "unknown-tag"} else ""
        anomalies = tuple(self.between(item.start, item.end))
        return Step(part, part.data, part.level, part.prefix + path, item.start, item.end, leaf_type(item.leaf), pieces, item, anomalies, then, note)


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
