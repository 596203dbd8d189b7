"""The answer of `kwire compare` about messages: what the same values cost in other forms."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.form_comparison import Comparison, Sum, difference_by_kind
from kwire_cli.analysis.costs.registry import FLEXIBLE, INFLEXIBLE
from kwire_cli.analysis.costs.times import times_table
from kwire_cli.answer import MOST_ROWS, Answer, Column, Fact, Facts, Note, Table
from kwire_cli.errors import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.costs.times import Times
    from kwire_cli.answer import Block, Row


SHOWN = 48
"""Characters of a value that is shown as an example."""
_FORM = (
    Column("form"),
    Column("version", "id"),
    Column("flexible", "flag", wide=True),
    Column("messages", "count", keep=2),
    Column("size", "bytes", "bytes"),
    Column("overhead", "bytes", keep=3),
    Column("given", "bytes", wide=True),
    Column("difference", "bytes"),
    Column("differenceShare", "share", "of it", keep=1),
    Column("bar", "bar", " ", keep=5),
    Column("remark", "text", " ", keep=4),
    Column("cut", "count", wide=True),
    Column("refused", "count", wide=True),
    Column("integers", "map", wide=True),
)
_NAMES = (Column("forms"), Column("formNames", "list", wide=True))
_LOST = (
    Column("path", "text", "field"),
    Column("values", "count"),
    Column("first", "text", "the first"),
    Column("kafka", "text", "by Kafka"),
    *_NAMES,
)
_FILLED = (Column("path", "text", "field"), Column("default"), *_NAMES)
_REFUSED = (Column("why"), *_NAMES)
_TAGGED = (Column("path", "text", "field"), Column("whenSet", "bytes", "when set"), *_NAMES)
_KINDS = (Column("form"), Column("kind"), Column("number", "count"), Column("bytes", "bytes"))
_BOTH_WAYS = (
    Column("of"),
    Column("number", "count"),
    Column("inflexible", "bytes"),
    Column("flexible", "bytes"),
    Column("difference", "bytes"),
)


@dataclass
class Compared:
    """Messages in other forms: a comparison for each message and version, or for each combination of `counts`.

    `about` says what the messages are, `values` are those that were generated. `flexible_headers` are the bytes that
    flexible headers have more than inflexible ones. `skipped` counts messages without a price, by reason. `times` are
    those of the forms of a single message.
    """

    about: str
    comparisons: list[Comparison]
    counts: list[dict[str, int]] = field(default_factory=list)
    values: Any = None
    flexible_headers: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    times: Sequence[Times] = ()

    def answer(self, *, by_field: bool = False) -> Answer:
        """Return what each form costs, what it can't carry, and with `by_field` the bytes of each field."""
        comparisons, several = self.comparisons, len(self.comparisons) > 1
        whole = comparisons[0] if self.counts or not several else Comparison.of_all(comparisons)
        version = "" if whole.version is None else f" {whole.version}"
        blocks: list[Block] = [self._facts(whole), self._forms(wide=several)]
        if self.counts:
            blocks.append(self._by_counts())
        else:
            if several:
                blocks += [Table("total", _FORM, _form_rows(whole)), self._by_message()]
            blocks += [*_changes(whole), self._tagged(), *self._both_ways(whole)]
            if by_field:
                blocks.append(self._by_field())
            if self.times:
                blocks.append(times_table(self.times))
        title = f"{whole.message or 'all messages'}{version}: bytes of the body in other forms"
        return Answer(title, blocks)

    def _facts(self, whole: Comparison) -> Facts:
        return Facts(
            [
                Fact("message", whole.message),
                Fact("version", whole.version, "id"),
                Fact("input", self.about),
                Fact("messages", sum(comparison.given.messages for comparison in self.comparisons), "count"),
                Fact("skipped", dict(self.skipped), "map", level="warning"),
                Fact("flexibleHeaders", self.flexible_headers, "bytes", wide=True),
                Fact("values", self.values, "map", wide=True),
            ]
        )

    def _forms(self, *, wide: bool) -> Table:
        """Return a row for each form of each comparison."""
        heads = [(*self._count(at), one.message, one.version) for at, one in enumerate(self.comparisons)]
        rows = [
            (*head, *row)
            for head, comparison in zip(heads, self.comparisons, strict=True)
            for row in _form_rows(comparison)
        ]
        given = (*self._count_columns(), Column("message", wide=True), Column("givenVersion", "id", wide=True))
        single = [column._replace(wide=column.wide or column.name == "messages") for column in _FORM]
        return Table("forms", (*given, *single), rows, wide=wide)

    def _count_columns(self) -> list[Column]:
        return [Column(name, "count", name) for name in (self.counts[0] if self.counts else ())]

    def _count(self, at: int) -> list[int]:
        return [*self.counts[at].values()] if self.counts else []

    def _by_counts(self) -> Table:
        """Return a row for each combination of counts, and a column for each form with its bytes."""
        names = _form_names(self.comparisons)
        rows = [
            (*self._count(at), *(_of(comparison, name, lambda total: total.size) for name in names))
            for at, comparison in enumerate(self.comparisons)
        ]
        forms = [Column(names[0], "bytes", names[0]), *_form_columns(names[1:])]
        columns = (*self._count_columns(), *(column._replace(absent="refused") for column in forms))
        return Table("byCounts", columns, rows)

    def _by_message(self) -> Table:
        """Return a row for each message and version, and a column for each form with its difference in bytes."""
        ordered = sorted(self.comparisons, key=lambda comparison: -comparison.given.size)
        names = _form_names(ordered)[1:]
        rows = [
            (
                *(one.message, one.version, one.given.messages, one.given.size),
                *(_of(one, name, lambda total: total.difference) for name in names),
            )
            for one in ordered
        ]
        columns = [Column("message"), Column("version", "id"), Column("messages", "count", keep=1)]
        columns += [Column("given", "bytes", "as given"), *_form_columns(names)]
        title = "by message: bytes as given, and how many more or fewer they are in each form"
        return Table("byMessage", columns, rows, title)

    def _tagged(self) -> Table:
        """Return what tagged fields cost when they are set, which values at their defaults do not show."""
        rows: dict[str, dict[int, list[str]]] = {}
        for comparison in self.comparisons:
            above = f"{comparison.message}." if len(self.comparisons) > 1 else ""
            for total in comparison.sums.values():
                for path, size in total.when_set:
                    names = rows.setdefault(above + path, {}).setdefault(size, [])
                    names += [] if total.name in names else [total.name]
        by_size: dict[Row, list[str]] = {
            (path, size): names for path, sizes in rows.items() for size, names in sizes.items()
        }
        title = "tagged fields: how many bytes each adds when it is set to its smallest value"
        return Table("tagged", _TAGGED, _named(by_size), title, shown=MOST_ROWS)

    def _both_ways(self, whole: Comparison) -> Iterator[Block]:
        """Yield what flexible versions save and cost (KIP-482), by array, string, buffer and tag section."""
        kinds = [
            (total.name, kind, number, size)
            for total in whole.sums.values()
            for kind, (number, size) in total.by_kind.items()
        ]
        yield Table("kinds", _KINDS, kinds, wide=True)
        plain, flexible = whole.sums.get(INFLEXIBLE), whole.sums.get(FLEXIBLE)
        if not plain or not flexible or plain.messages != flexible.messages or not plain.messages:
            return
        rows = [(*row, row[3] - row[2]) for row in difference_by_kind(plain, flexible)]
        yield _flexible(rows, ("all", None, plain.size, flexible.size, flexible.size - plain.size))
        if self.flexible_headers:
            more = f"{counted(self.flexible_headers, 'byte')} more for their own tag sections"
            yield Note(f"flexible headers, which are not in this, have {more}")

    def _by_field(self) -> Table:
        """Return the bytes of each field in each form; of two forms also the difference."""
        names = [name for name in _form_names(self.comparisons) if any(_written(one, name) for one in self.comparisons)]
        pair = names if len(names) == 2 else []
        rows = [
            (comparison.message, *row)
            for comparison in self.comparisons
            for row in _field_rows([comparison.sums.get(name) for name in names], differ=bool(pair))
        ]
        columns = [Column("message", wide=len(self.comparisons) == 1), Column("path", "text", "field")]
        columns += [Column(name, "bytes", name) for name in names]
        columns += [Column("difference", "bytes")] if pair else []
        total = None
        if len(self.comparisons) == 1:
            sizes = [self.comparisons[0].sums[name].size for name in names]
            total = (None, "all", *sizes, *([sizes[1] - sizes[0]] if pair else []))
        return Table("byField", columns, rows, "bytes by field, with lengths, counts and tag headers", total)


def _form_names(comparisons: Sequence[Comparison]) -> list[str]:
    return [*dict.fromkeys(name for comparison in comparisons for name in comparison.sums)]


def _form_columns(names: Sequence[str]) -> list[Column]:
    """Return a column of bytes for each form. The lowest versions are the first to go on a narrow terminal."""
    versions = [name for name in names if name.startswith("version ")]
    goes = {name: number for number, name in enumerate(reversed(versions), 1)}
    return [Column(name, "bytes", name, keep=2 + goes.get(name, 0)) for name in names]


def _written(comparison: Comparison, name: str) -> bool:
    return name in comparison.sums and comparison.sums[name].messages > 0


def _of(comparison: Comparison, name: str, number: Callable[[Sum], int]) -> int | None:
    """Return a number of a form; None if the messages cannot be written in it."""
    return number(comparison.sums[name]) if _written(comparison, name) else None


def _flexible(rows: list[Row], total: Row | None = None) -> Table:
    title = "inflexible against flexible: bytes of prefixes by what carries them"
    return Table("flexible", _BOTH_WAYS, rows, title, total=total)


def _form_rows(comparison: Comparison) -> list[Row]:
    """Return the cells of `_FORM` for each form."""
    several = comparison.given.messages > 1
    rows: list[Row] = []
    for total in comparison.sums.values():
        share = round(total.difference / total.given, 6) if total.given and total.difference else None
        numbers = (total.size, total.overhead, total.given, total.difference, share)
        rows.append(
            (
                total.name,
                total.version,
                total.flexible,
                total.messages,
                *(numbers if total.messages else (None,) * len(numbers)),
                total.size,
                _remark(total, several=several),
                total.cut,
                total.refused.total(),
                total.integers,
            )
        )
    return rows


def _remark(total: Sum, *, several: bool) -> str:
    said = []
    if total.integers:
        said.append(f"all {', '.join(sorted(f'{name} {number}' for name, number in total.integers.items()))}")
    if total.refused:
        said.append(f"{counted(total.refused.total(), 'message')} refused" if several else "cannot be written")
    if total.cut:
        fields = counted(len(total.lost), "field") if total.lost else "values"
        said.append(f"{fields} lost" + (f" in {counted(total.cut, 'message')}" if several else ""))
    if total.filled and total.messages:
        said.append(f"{counted(len(total.filled), 'field')} at default")
    return ", ".join(said)


def _changes(comparison: Comparison) -> Iterator[Table]:
    """Yield the values that forms can't carry, the fields that they need beside the values, and why forms fail."""
    lost: dict[Row, list[str]] = {}
    filled: dict[Row, list[str]] = {}
    refused: dict[Row, list[str]] = {}
    for total in comparison.sums.values():
        for loss in total.lost.values():
            kafka = "drops" if loss.ignorable else "refuses"
            lost.setdefault((loss.path, loss.number, example(loss.value), kafka), []).append(total.name)
        for fill in total.filled.values():
            filled.setdefault((fill.path, example(fill.value)), []).append(total.name)
        for reason in total.refused:
            refused.setdefault((reason,), []).append(total.name)
    title = "values that a form can't carry: Kafka's own writers drop or refuse them"
    yield Table("lost", _LOST, _named(lost), title, shown=MOST_ROWS)
    title = "fields that the values lack: written at their defaults"
    yield Table("filled", _FILLED, _named(filled), title, shown=MOST_ROWS)
    yield Table("refused", _REFUSED, _named(refused), "forms that cannot be written", shown=MOST_ROWS)


def _named(rows: Mapping[Row, list[str]]) -> list[Row]:
    return [(*row, names_text(names), names) for row, names in rows.items()]


def _field_rows(sums: Sequence[Sum | None], *, differ: bool) -> Iterator[Row]:
    costs = [total.by_path if total else {} for total in sums]
    for path in dict.fromkeys(path for paths in costs for path in paths):
        sizes = [sum(paths[path][1:]) if path in paths else None for paths in costs]
        yield path, *sizes, *([(sizes[1] or 0) - (sizes[0] or 0)] if differ else [])


def example(value: Any) -> str:
    """Return a value as JSON, cut if it is long."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def names_text(names: Sequence[str]) -> str:
    """Return names of forms, versions that follow one another as a range: `versions 0-3, 7; packed`."""
    spans: list[list[int]] = []
    unnumbered = []
    for name in names:
        word, _, number = name.partition(" ")
        if word != "version" or not number.isdigit():
            unnumbered.append(name)
        elif spans and spans[-1][1] == int(number) - 1:
            spans[-1][1] = int(number)
        else:
            spans.append([int(number)] * 2)
    texts = [f"{low}-{high}" if low < high else str(low) for low, high in spans]
    word = "version" if len(texts) == 1 and texts[0].isdigit() else "versions"
    return "; ".join([f"{word} {', '.join(texts)}"] * bool(texts) + unnumbered)
