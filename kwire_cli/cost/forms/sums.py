"""The prices of many messages added up by form, beside what the same messages cost as they were given."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.cost.forms.model import parts_in
from kwire_cli.cost.sums import Sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.cost.forms.model import Filled, Loss, Part, Price
    from kwire_cli.engine.program import Program

KINDS = {
    "string": "strings",
    "bytes": "byte buffers",
    "records": "records",
    "count": "arrays",
    "presence": "nullable structs",
    "tag-count": "tag sections",
    "tag-header": "tag headers",
    "unknown-tag": "unknown tags",
}
"""What carries bytes that are no value, by the kind of its spans; everything else is nothing but values."""
WITHOUT_VALUE = frozenset({"count", "presence", "tag-count", "tag-header"})
VALUES = "values"


@dataclass(slots=True)
class Sum:
    """Messages in one form. `given` are the bytes that the very messages that could be written have as they were given.

    `cut` of them lost some of their values; `refused` counts by reason those that could not be written. `counted` are the spans of all of them, by
    layout. `integers` are by encoding what all of them are in a best or worst case.
    """

    name: str
    version: int | None
    flexible: bool | None
    messages: int = 0
    size: int = 0
    given: int = 0
    cut: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    lost: dict[str, Loss] = field(default_factory=dict)
    filled: dict[str, Filled] = field(default_factory=dict)
    counted: list[Sums] = field(default_factory=list)
    integers: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All of it but the fields."""
        written = {"size": self.size, "overhead": self.overhead, "given": self.given, "difference": self.difference}
        lost = [
            {
                "path": loss.path,
                "values": loss.number,
                "first": loss.value,
                "kafka": "drops" if loss.ignorable else "refuses",
            }
            for loss in self.lost.values()
        ]
        return {
            "form": self.name,
            "version": self.version,
            "flexible": self.flexible,
            "messages": self.messages,
            **(written if self.messages else dict.fromkeys(written)),
            "cut": self.cut,
            "lost": lost,
            "filled": [{"path": fill.path, "fields": fill.number, "default": fill.value} for fill in self.filled.values()],
            "refused": [{"messages": number, "why": why} for why, number in self.refused.items()],
            **({"integers": self.integers} if self.integers else {}),
            "kinds": {name: {"number": number, "bytes": size} for name, (number, size) in self.by_kind.items()},
        }

    @property
    def difference(self) -> int:
        """Bytes more than as given; negative where it is less."""
        return self.size - self.given

    @property
    def overhead(self) -> int:
        """The bytes that are no field's value."""
        return sum(sum(sums.prefix) for sums in self.counted)

    def add(self, price: Price, given: int) -> None:
        """One more message, of so many bytes as it was given."""
        if price.spans is None:
            self.refused[price.refusal or ""] += 1
            return
        self.messages += 1
        self.size += price.size or 0
        self.given += given
        self.cut += bool(price.lost)
        self.integers |= price.form.integers
        self._counts_of(price.spans.program).add(price.spans)
        self._add_changes(price.lost, price.filled)

    def merge(self, other: Sum, message: str) -> None:
        """All messages of another sum, which are of another kind: paths of what was lost begin with the message's name."""
        self.messages += other.messages
        self.size += other.size
        self.given += other.given
        self.cut += other.cut
        self.refused += other.refused
        self.integers |= other.integers
        self.counted += other.counted
        lost = [loss._replace(path=f"{message}.{loss.path}") for loss in other.lost.values()]
        self._add_changes(lost, [fill._replace(path=f"{message}.{fill.path}") for fill in other.filled.values()])

    def _counts_of(self, program: Program) -> Sums:
        found = next((sums for sums in self.counted if sums.program is program), None)
        if found is None:
            found = Sums(program)
            self.counted.append(found)
        return found

    def _parts(self) -> Iterator[Part]:
        return (part for sums in self.counted for part in parts_in(sums))

    def _add_changes(self, lost: Iterable[Loss], filled: Iterable[Filled]) -> None:
        for loss in lost:
            known = self.lost.get(loss.path)
            self.lost[loss.path] = known._replace(number=known.number + loss.number) if known else loss
        for fill in filled:
            had = self.filled.get(fill.path)
            self.filled[fill.path] = had._replace(number=had.number + fill.number) if had else fill

    @property
    def by_kind(self) -> dict[str, tuple[int, int]]:
        """How many there are of what KINDS names, and their bytes that are no value; last the values: of how many fields, and their bytes."""
        found = dict.fromkeys((*KINDS.values(), VALUES), (0, 0))
        for _, kind, count, prefix, value in self._parts():
            if kind in KINDS:
                found[KINDS[kind]] = (found[KINDS[kind]][0] + count, found[KINDS[kind]][1] + prefix)
            if kind not in WITHOUT_VALUE:
                found[VALUES] = (found[VALUES][0] + count, found[VALUES][1] + value)
        return {name: numbers for name, numbers in found.items() if any(numbers)}

    @property
    def by_path(self) -> dict[str, tuple[int, int, int]]:
        """By field: how often it is there, bytes that are no value, and bytes of its values."""
        found: dict[str, tuple[int, int, int]] = {}
        for path, kind, count, prefix, value in self._parts():
            old = found.get(path, (0, 0, 0))
            found[path] = (old[0] + (0 if kind == "tag-header" else count), old[1] + prefix, old[2] + value)
        return found


@dataclass(slots=True)
class Comparison:
    """The messages of one name and version, or of all, in each form by its name; first as they were given."""

    message: str | None
    version: int | None
    sums: dict[str, Sum] = field(default_factory=dict)

    def add(self, given: Price, prices: Iterable[Price]) -> None:
        """One more message: its price as given, and those in other forms."""
        size = given.size or 0
        for price in (given, *prices):
            self._sum(price.form.name, price.form.version, flexible=price.form.is_flexible).add(price, size)

    def _sum(self, name: str, version: int | None, *, flexible: bool | None) -> Sum:
        found = self.sums.get(name)
        if found is None:
            found = self.sums[name] = Sum(name, version, flexible)
        return found

    @property
    def given(self) -> Sum:
        """The messages as they were given."""
        return next(iter(self.sums.values()))

    def to_json(self) -> dict[str, Any]:
        """The message, and each form."""
        return {"message": self.message, "version": self.version, "forms": [each.to_json() for each in self.sums.values()]}

    @classmethod
    def of_all(cls, comparisons: Iterable[Comparison]) -> Comparison:
        """Comparisons of several kinds of messages together: what a form has none of is missing from its count."""
        total = cls(None, None)
        for comparison in comparisons:
            for each in comparison.sums.values():
                total._sum(each.name, None, flexible=None).merge(each, comparison.message or "")
        return total


def difference_by_kind(a: Sum, b: Sum) -> list[tuple[str, int, int, int]]:
    """Where two forms of the same messages differ: what, how many there are, and the bytes in each form, which add up to the sizes."""
    first, second = a.by_kind, b.by_kind
    rows = []
    for name in (*KINDS.values(), VALUES):
        many, size = first.get(name, (0, 0))
        other_many, other_size = second.get(name, (0, 0))
        if many or other_many:
            rows.append((name, max(many, other_many), size, other_size))
    return rows
