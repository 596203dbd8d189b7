"""The answer of `kwire compare --histogram`: the numbers of one field, by the bytes that they take as varints.

The numbers are integers, lengths of strings and bytes in bytes, or counts of arrays. A histogram counts them in the
ranges of numbers that an encoding of KAFKA-9927 writes in the same number of bytes. Integers have the two encodings of
their type. Lengths and counts have the encoding of records, and the compact one of KIP-482: the number plus one.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.extremes import widths
from kwire_cli.analysis.costs.inputs import NO_MESSAGE, certain_bodies, frame_of
from kwire_cli.answer import Answer, Column, Fact, Facts, Table
from kwire_cli.errors import InputError, close_to, did_you_mean
from kwire_cli.spec.model import fields_by_path
from kwire_cli.spec.reading import ENCODABLE_TYPES, sized_encoding
from kwire_cli.structs.lengths import ArrayOf, Sized

if TYPE_CHECKING:
    from kwire_cli.answer import Row
    from kwire_cli.engine.program import Leaf, Program
    from kwire_cli.engine.values import Body

_FIELDS = (
    Column("message"),
    Column("path", "text", "field"),
    Column("type"),
    Column("count", "count", "values"),
    Column("nulls", "count"),
    Column("negative", "count"),
    Column("lowest", "id"),
    Column("highest", "id"),
    Column("mean", "number", digits=1),
)
_WIDTHS = (
    *_FIELDS[:2],
    Column("type", wide=True),
    Column("encoding"),
    Column("low", "id", "from"),
    Column("high", "id", "to"),
    Column("bytes", "bytes"),
    Column("count", "count", "values"),
    Column("bar", "bar", " ", keep=1),
)


HEADER = "header."
"""Prefix of the paths of fields of headers."""


class Encoding(NamedTuple):
    """An encoding of the numbers of a field, after `plus` is added to them, and its ranges of numbers by size."""

    name: str
    ranges: tuple[tuple[int, int, int], ...]
    plus: int = 0


_OF_LENGTHS = (Encoding("packed", widths("int32", "packed32")), Encoding("compact", widths("int32", "upacked32"), 1))
"""Encodings of lengths and counts. The length of null is -1."""


@dataclass(slots=True)
class Numbers:
    """The numbers of a field of a message. `bins` counts them by encoding and by range: lowest, highest, bytes."""

    type: str
    encodings: tuple[Encoding, ...]
    bins: Counter[tuple[int, int, int, int]] = field(default_factory=Counter)
    total: int = 0
    sum: int = 0
    nulls: int = 0
    negative: int = 0
    lowest: int | None = None
    highest: int | None = None

    def add(self, number: int) -> None:
        """Count a number. A length of -1 is null."""
        self.total += 1
        for at, (_, ranges, plus) in enumerate(self.encodings):
            low, high, size = ranges[bisect(ranges, number + plus, key=itemgetter(0)) - 1]
            self.bins[at, low - plus, high - plus, size] += 1
        if self.encodings is _OF_LENGTHS and number < 0:
            self.nulls += 1
            return
        self.negative += number < 0
        self.sum += number
        self.lowest = number if self.lowest is None else min(self.lowest, number)
        self.highest = number if self.highest is None else max(self.highest, number)


class Histogram:
    """The numbers of the fields of this path, or with this path as its end, by message. Headers are messages."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.prefix = HEADER if path.startswith(HEADER) else ""
        self.messages = 0
        self.fields: dict[tuple[str, str], Numbers] = {}
        self._known: dict[str, None] = {}
        self._leaves: dict[int, tuple[Program, dict[int, Leaf]]] = {}

    def add(self, subject: Any) -> None:
        """Add the numbers of the messages, or of the header, of a subject."""
        frame = frame_of(subject) if self.prefix else None
        bodies = [frame.header] if frame else [] if self.prefix else certain_bodies(subject)
        for body in bodies:
            if body and body.exact:
                self._add_body(body)

    def _add_body(self, body: Body) -> None:
        self.messages += 1
        spans = body.raw
        leaves = self._chosen(body)
        start = spans.start
        for node, value, end in zip(spans.node, spans.value, spans.end, strict=True):
            if leaf := leaves.get(node):
                key = body.message, self.prefix + leaf.path
                if key not in self.fields:
                    self.fields[key] = _numbers_of(leaf)
                self.fields[key].add(_number(leaf, spans.data[start:value], spans.data[value:end]))
            start = end

    @property
    def emptiness(self) -> str:
        """The reason why there is no answer, or an empty string."""
        return "" if self.messages else NO_MESSAGE

    def _chosen(self, body: Body) -> dict[int, Leaf]:
        """Return the leaves of the field in the layout of a message, by node."""
        program = body.raw.program
        if id(program) not in self._leaves:
            self._known.update(dict.fromkeys(self.prefix + path for path, _ in fields_by_path(body.spec)))
            chosen = {leaf.id: leaf for leaf in program.leaves if _has_numbers(leaf) and self._is_meant(leaf.path)}
            self._leaves[id(program)] = program, chosen
        return self._leaves[id(program)][1]

    def _is_meant(self, path: str) -> bool:
        meant = self.path.removeprefix(self.prefix)
        return path == meant or path.endswith(f".{meant}")

    def answer(self) -> Answer:
        """Return the numbers of each field. Raises InputError if no message has the field."""
        if not self.fields:
            hint = did_you_mean(close_to(self.path, self._known))
            raise InputError(
                f"--histogram {self.path}: no integer, string, bytes or array of these messages has this path{hint}"
            )
        fields: list[Row] = []
        bins: list[Row] = []
        for (message, path), numbers in self.fields.items():
            values = numbers.total - numbers.nulls
            mean = round(numbers.sum / values, 3) if values else None
            counts = numbers.total, numbers.nulls, numbers.negative
            fields.append((message, path, numbers.type, *counts, numbers.lowest, numbers.highest, mean))
            for at, encoding in enumerate(numbers.encodings):
                rows = [(*key[1:], count) for key, count in sorted(numbers.bins.items()) if key[0] == at]
                bins += [(message, path, numbers.type, encoding.name, *row, row[-1]) for row in rows]
        title = "values by the bytes that they take"
        facts = Facts([Fact("messages", self.messages, "count")])
        tables = Table("fields", _FIELDS, fields), Table("widths", _WIDTHS, bins, title)
        return Answer(f"{self.path}: {title}", [facts, *tables])


def _has_numbers(leaf: Leaf) -> bool:
    return leaf.kind in ENCODABLE_TYPES or isinstance(leaf.decl, Sized) or leaf.kind == "count"


def _numbers_of(leaf: Leaf) -> Numbers:
    if leaf.kind not in ENCODABLE_TYPES:
        return Numbers("count" if leaf.kind == "count" else "length", _OF_LENGTHS)
    names = ("packed", "upacked")
    return Numbers(
        leaf.kind, tuple(Encoding(name, widths(leaf.kind, sized_encoding(name, leaf.kind))) for name in names)
    )


def _number(leaf: Leaf, prefix: Any, value: Any) -> int:
    decl = leaf.decl
    if isinstance(decl, ArrayOf | Sized):
        return max(int(decl.prefix.read(prefix if len(prefix) else value)) - decl.compact, -1)
    return int(decl.read(value))
