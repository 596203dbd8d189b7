"""Bytes by leaf: what the spans of many messages of one layout add up to, and what these sums are as parts of the whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.cost.kinds import Kind, KindsOf
    from kwire_cli.engine.program import Program
    from kwire_cli.engine.spans import Spans


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of one field over all of its occurrences, as in `cost.ledger.Row`, with the kinds of both."""

    path: str
    prefix_kind: Kind
    value_kind: Kind
    prefix_bytes: int
    value_bytes: int
    count: int


class Sums:
    """Prefix bytes, value bytes and spans by leaf of a program."""

    __slots__ = ("count", "prefix", "program", "value")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.prefix: list[int] = []
        self.value: list[int] = []
        self.count: list[int] = []
        self._grow()

    def _grow(self) -> None:
        """Room for the leaves that there are: those of record formats are lowered as they are met."""
        for column in (self.prefix, self.value, self.count):
            column.extend([0] * (len(self.program.leaves) - len(column)))

    def add(self, spans: Spans, times: int = 1, first: int = 0, last: int | None = None) -> None:
        """Count the spans of a message that came so many times, or of these its spans from `first` up to `last`."""
        if len(self.count) < len(self.program.leaves):
            self._grow()
        prefix, value, count = self.prefix, self.value, self.count
        start = spans.end[first - 1] if first else spans.start
        rows = (spans.node, spans.value, spans.end) if last is None else (column[first:last] for column in (spans.node, spans.value, spans.end))
        for node, middle, end in zip(*rows, strict=True):
            prefix[node] += times * (middle - start)
            value[node] += times * (end - middle)
            count[node] += times
            start = end

    def move(self, node: int, size: int) -> None:
        """Take bytes away from the values of a leaf: they are accounted for elsewhere."""
        self.value[node] -= size

    def parts(self, prefix: str, kinds: KindsOf) -> Iterable[Part]:
        """What was counted, with `prefix` before the paths."""
        for leaf, before, value, count in zip(self.program.leaves, self.prefix, self.value, self.count, strict=False):
            if count:
                yield Part(prefix + (leaf.path or "gap"), *kinds(leaf), before, value, count)
