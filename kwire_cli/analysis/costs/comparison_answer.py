"""The answer of `kwire compare` about messages: the bytes of the same values in other forms.

The tables contain the size of each form, the values that forms lose or add, and the bytes by kind and by field.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import chain, compress
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.forms import FLEXIBLE, INFLEXIBLE
from kwire_cli.analysis.costs.prices import TAG_HEADER, Comparison
from kwire_cli.analysis.costs.times import times_table
from kwire_cli.answer import MOST_ROWS, Answer, Column, Fact, Facts, Note, Table
from kwire_cli.errors import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.costs.prices import Total
    from kwire_cli.analysis.costs.times import Times
    from kwire_cli.answer import Block, Row


SHOWN = 48
"""Maximum length of a value that is shown as an example, in characters."""
_FORM = (
    Column("form"),
    Column("version", "id"),
    Column("flexible", "flag", wide=True),
    Column("messages", "count", keep=2),
    Column("size", "bytes", "bytes"),
    Column("overhead", "bytes", keep=3),
    Column("given", "bytes", wide=True),
    Column("difference", "bytes"),
    Column("differenceShare", "share", "share", keep=1),
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
_BOTH_WAYS = (
    Column("of"),
    Column("number", "count"),
    Column("inflexible", "bytes"),
    Column("flexible", "bytes"),
    Column("difference", "bytes"),
)


# Bytes of messages by kind.

_CARRIERS = {
    "string": "strings",
    "bytes": "byte buffers",
    "records": "records",
    "count": "arrays",
    "presence": "nullable structs",
    "tag-count": "tag sections",
    TAG_HEADER: "tag headers",
    "unknown-tag": "unknown tags",
}
"""Carriers of bytes outside values, by the kind of their spans. All other spans hold values only."""
_WITHOUT_VALUE = frozenset({"count", "presence", "tag-count", TAG_HEADER})


def by_kind(total: Total) -> dict[str, tuple[int, int]]:
    """Return the number and the bytes of each carrier, and last the number and the bytes of values.

    The bytes of all kinds add up to the size.
    """
    kinds = dict.fromkeys((*_CARRIERS.values(), "values"), (0, 0))
    for row in total.ledger.rows():
        kind = row.kinds[0] if row.kinds else ""
        if kind in _CARRIERS:
            number, size = kinds[_CARRIERS[kind]]
            kinds[_CARRIERS[kind]] = number + row.count, size + row.prefix_bytes
        if kind not in _WITHOUT_VALUE:
            number, size = kinds["values"]
            kinds["values"] = number + row.count, size + row.value_bytes
    return kinds


# The answer.


@dataclass
class Compared:
    """Messages in other forms: a comparison for each message and version, or for each combination of `counts`.

    `about` names the messages, and `values` contains the generated values. `flexible_headers` is the number of bytes
    that flexible headers add to inflexible headers. `skipped` counts messages without a price, by reason. `times`
    contains the times of the forms of a single message.
    """

    about: str
    comparisons: list[Comparison]
    counts: list[dict[str, int]] = field(default_factory=list)
    values: Any = None
    flexible_headers: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    times: Sequence[Times] = ()

    def answer(self, *, by_field: bool = False) -> Answer:
        """Return the cost and the losses of each form, and with `by_field` the bytes of each field."""
        several = len(self.comparisons) > 1
        whole = self.comparisons[0] if self.counts or not several else Comparison.of_all(self.comparisons)
        version = "" if whole.version is None else f" {whole.version}"
        blocks: list[Block] = [self._facts(whole), self._forms(wide=several)]
        if self.counts:
            blocks.append(self._by_counts())
        else:
            if several:
                blocks += [Table("total", _FORM, _form_rows(whole)), self._by_message()]
            blocks += [*self._remarks(whole), *_flexible(whole, self.flexible_headers)]
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
        columns, counts = self._by_count()
        columns += [Column("message", wide=True), Column("givenVersion", "id", wide=True)]
        columns += [column._replace(wide=column.wide or column.name == "messages") for column in _FORM]
        rows: list[Row] = []
        for one, head in zip(self.comparisons, counts, strict=True):
            rows += [(*head, one.message, one.version, *row) for row in _form_rows(one)]
        return Table("forms", columns, rows, wide=wide)

    def _by_count(self) -> tuple[list[Column], list[Sequence[int]]]:
        """Return a column for each count that varies, and the counts of each comparison."""
        columns = [Column(name, "count", name) for name in (self.counts[0] if self.counts else ())]
        return columns, [[*counts.values()] for counts in self.counts] or [()] * len(self.comparisons)

    def _by_counts(self) -> Table:
        """Return a row for each combination of counts, and a column for each form with its bytes."""
        forms = [column._replace(absent="refused") for column in _form_columns(self.comparisons)]
        columns, counts = self._by_count()
        rows = [
            (*head, *_across(one, forms, lambda total: total.size))
            for one, head in zip(self.comparisons, counts, strict=True)
        ]
        return Table("byCounts", (*columns, *forms), rows)

    def _by_message(self) -> Table:
        """Return a row for each message and version that changes, and a column for each form with its difference."""
        given, *forms = _form_columns(self.comparisons)
        columns = [Column("message"), Column("version", "id"), Column("messages", "count", keep=1)]
        columns += [Column("given", "bytes", given.name), *forms]
        rows: list[Row] = []
        for one in sorted(self.comparisons, key=lambda comparison: -comparison.given.size):
            differences = _across(one, forms, lambda total: total.difference)
            if any(difference != 0 for difference in differences):
                rows.append((one.message, one.version, one.given.messages, one.given.size, *differences))
        title = "by message: bytes as given, and how many more or fewer they are in each form"
        unchanged = len(self.comparisons) - len(rows)
        note = f"without {counted(unchanged, 'message')} that no form changes" if unchanged else ""
        return Table("byMessage", columns, rows, title, note=note)

    def _remarks(self, whole: Comparison) -> Iterator[Table]:
        """Yield the values that forms can't carry, the fields that forms add, and the reasons of refusals."""
        lost: dict[Row, list[str]] = defaultdict(list)
        filled: dict[Row, list[str]] = defaultdict(list)
        refused: dict[Row, list[str]] = defaultdict(list)
        for total in whole.totals.values():
            for loss in total.lost.values():
                kafka = "drops" if loss.ignorable else "refuses"
                lost[loss.path, loss.number, example(loss.value), kafka].append(total.name)
            for fill in total.filled.values():
                filled[fill.path, example(fill.value)].append(total.name)
            for reason in total.refused:
                refused[reason,].append(total.name)
        for name, columns, rows, title in (
            ("lost", _LOST, lost, "values that a form can't carry: Kafka's own writers drop or refuse them"),
            ("filled", _FILLED, filled, "fields that the values lack: written at their defaults"),
            ("refused", _REFUSED, refused, "forms that cannot be written"),
        ):
            named = [(*row, names_text(names), names) for row, names in rows.items()]
            yield Table(name, columns, named, title, shown=MOST_ROWS)

    def _by_field(self) -> Table:
        """Return the bytes of each field in each form. If there are two forms, include the difference."""
        columns = _form_columns(self.comparisons)
        written = [any(_is_written(one, column.name) for one in self.comparisons) for column in columns]
        forms = [column._replace(keep=0) for column in compress(columns, written)]
        pair = len(forms) == 2
        rows: list[Row] = []
        for one in self.comparisons:
            paths = [one.totals[form.name].by_path if form.name in one.totals else {} for form in forms]
            for path in dict.fromkeys(chain.from_iterable(paths)):
                sizes = [_size_at(by_path, path) for by_path in paths]
                rows.append((one.message, path, *sizes, *_difference(sizes, wanted=pair)))
        columns = [Column("message", wide=len(self.comparisons) == 1), Column("path", "text", "field"), *forms]
        columns += [Column("difference", "bytes")] if pair else []
        total = None
        if len(self.comparisons) == 1:
            sizes = [self.comparisons[0].totals[form.name].size for form in forms]
            total = (None, "all", *sizes, *_difference(sizes, wanted=pair))
        return Table("byField", columns, rows, "bytes by field, with lengths, counts and tag headers", total)


def _size_at(by_path: Mapping[str, Sequence[int]], path: str) -> int | None:
    return sum(by_path[path][1:]) if path in by_path else None


def _difference(sizes: Sequence[int | None], *, wanted: bool) -> list[int]:
    return [(sizes[1] or 0) - (sizes[0] or 0)] if wanted else []


def _flexible(whole: Comparison, headers: int) -> Iterator[Block]:
    """Yield the bytes of each kind of prefix in the inflexible and the flexible form (KIP-482)."""
    plain = whole.totals.get(INFLEXIBLE)
    flexible = whole.totals.get(FLEXIBLE)
    if not plain or not flexible or plain.messages != flexible.messages or not plain.messages:
        return
    others = by_kind(flexible)
    rows: list[Row] = []
    for kind, (number, size) in by_kind(plain).items():
        other_number, other_size = others[kind]
        if number or other_number:
            rows.append((kind, max(number, other_number), size, other_size, other_size - size))
    total = ("all", None, plain.size, flexible.size, flexible.size - plain.size)
    yield Table(
        "flexible", _BOTH_WAYS, rows, "inflexible against flexible: bytes of prefixes by what carries them", total
    )
    if headers:
        yield Note(
            f"flexible headers, which are not in this, have {counted(headers, 'byte')} more for their own tag sections"
        )


def _form_columns(comparisons: Sequence[Comparison]) -> list[Column]:
    """Return a column of bytes for each form. A narrow terminal leaves out the lowest versions first."""
    first, *names = dict.fromkeys(chain.from_iterable(comparison.totals for comparison in comparisons))
    versions = [name for name in names if name.startswith("version ")]
    goes = {name: number for number, name in enumerate(reversed(versions), 1)}
    return [Column(first, "bytes", first), *(Column(name, "bytes", name, keep=2 + goes.get(name, 0)) for name in names)]


def _is_written(comparison: Comparison, name: str) -> bool:
    return name in comparison.totals and comparison.totals[name].messages > 0


def _across(comparison: Comparison, forms: Sequence[Column], number: Callable[[Total], int]) -> list[int | None]:
    """Return a number of each form, or None if the messages cannot be written in the form."""
    return [number(comparison.totals[form.name]) if _is_written(comparison, form.name) else None for form in forms]


def _form_rows(comparison: Comparison) -> list[Row]:
    """Return the cells of `_FORM` for each form."""
    several = comparison.given.messages > 1
    rows: list[Row] = []
    for total in comparison.totals.values():
        share = round(total.difference / total.given, 6) if total.given and total.difference else None
        numbers = (total.size, total.overhead, total.given, total.difference, share)
        rows.append(
            (
                total.name,
                total.version,
                total.form.is_flexible if total.form else None,
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


def _remark(total: Total, *, several: bool) -> str:
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


def example(value: Any) -> str:
    """Return a value as JSON, cut if it is long."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def names_text(names: Sequence[str]) -> str:
    """Return names of forms. Adjacent versions are a range: `versions 0-3, 7; packed`."""
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
