"""The answer of `kwire compare` about messages: the bytes of the same values in other forms.

The tables contain the size of each form, the values that forms lose, and the bytes by kind and by field.
"""

from __future__ import annotations

import json
from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.forms import FLEXIBLE, INFLEXIBLE
from kwire_cli.analysis.costs.prices import TAG_HEADER, given_total, merged
from kwire_cli.answer import MOST_ROWS, Answer, Column, Fact, Facts, Note, Table
from kwire_cli.errors import counted
from kwire_cli.spec.model import ranges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.analysis.costs.prices import Total, Totals
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
)
_NAMES = (Column("forms"), Column("formNames", "list", wide=True))
_LOST = (
    Column("path", "text", "field"),
    Column("values", "count"),
    Column("first", "text", "the first"),
    Column("kafka", "text", "by Kafka"),
    *_NAMES,
)
_REFUSED = (Column("why"), *_NAMES)
_BOTH_WAYS = (
    Column("of"),
    Column("number", "count"),
    Column("inflexible", "bytes"),
    Column("flexible", "bytes"),
    Column("difference", "bytes"),
)
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


def comparison_answer(
    several: Sequence[Totals],
    *,
    by_field: bool = False,
    flexible_headers: int = 0,
    skipped: Mapping[str, int] = MappingProxyType({}),
) -> Answer:
    """Return the cost and the losses of each form, and with `by_field` the bytes of each field.

    `several` contains the totals of each message and version. `flexible_headers` is the number of bytes that flexible
    headers add to inflexible headers. `skipped` counts messages without a price, by reason.
    """
    is_sum = len(several) > 1
    whole = merged(several) if is_sum else several[0]
    given = given_total(whole)
    facts = [
        Fact("message", given.message),
        Fact("version", given.version, "id"),
        Fact("messages", given.messages, "count"),
        Fact("skipped", dict(skipped), "map", level="warning"),
        Fact("flexibleHeaders", flexible_headers, "bytes", wide=True),
    ]
    blocks: list[Block] = [Facts(facts), Table("forms", _FORM, _form_rows(whole))]
    if is_sum:
        blocks.append(_by_message(several))
    blocks += [*_remarks(whole), *_flexible(whole, flexible_headers)]
    if by_field:
        blocks.append(_by_field(several))
    title = "all messages" if given.message is None else f"{given.message} {given.version}"
    return Answer(f"{title}: bytes of the body in other forms", blocks)


def _form_rows(totals: Totals) -> list[Row]:
    """Return the cells of `_FORM` for each form."""
    rows: list[Row] = []
    for total in totals.values():
        flexible = total.form and total.form.is_flexible
        numbers: Row = (None,) * 5
        if total.messages:
            overhead = sum(row.prefix_bytes for row in total.ledger.rows())
            share = round(total.difference / total.given, 6) if total.given and total.difference else None
            numbers = total.size, overhead, total.given, total.difference, share
        remark = _remark(total, several=given_total(totals).messages > 1)
        cells = total.name, total.version, flexible, total.messages, *numbers
        rows.append((*cells, total.size, remark, total.cut, total.refused.total()))
    return rows


def _remark(total: Total, *, several: bool) -> str:
    remarks = []
    if total.form and total.form.case and total.messages:
        numbers = total.form.integers(total.form.case)
        remarks.append(f"all {', '.join(sorted(f'{name} {number}' for name, number in numbers.items()))}")
    if total.refused:
        remarks.append(f"{counted(total.refused.total(), 'message')} refused" if several else "cannot be written")
    if total.cut:
        fields = counted(len(total.lost), "field") if total.lost else "values"
        remarks.append(f"{fields} lost" + (f" in {counted(total.cut, 'message')}" if several else ""))
    return ", ".join(remarks)


# Tables with a column for each form.


def _form_columns(several: Sequence[Totals]) -> list[Column]:
    """Return a column of bytes for each form. A narrow terminal leaves out the lowest versions first."""
    names: dict[str, None] = {}
    for totals in several:
        names.update(dict.fromkeys(totals))
    versions = [name for name in names if name.startswith("version ")]
    keep = dict.fromkeys([*names][1:], 2) | {name: 2 + at for at, name in enumerate(reversed(versions), 1)}
    return [Column(name, "bytes", name, keep=keep.get(name, 0)) for name in names]


def _written(totals: Totals, forms: Sequence[Column]) -> list[Total | None]:
    """Return the messages in each form, or None if they cannot be written in it."""
    found = [totals.get(form.name) for form in forms]
    return [total if total and total.messages else None for total in found]


def _by_message(several: Sequence[Totals]) -> Table:
    """Return a row for each message and version that changes, and a column for each form with its difference."""
    first, *forms = _form_columns(several)
    columns = [Column("message"), Column("version", "id"), Column("messages", "count", keep=1)]
    columns += [Column("given", "bytes", first.name), *forms]
    rows: list[Row] = []
    for totals in sorted(several, key=lambda totals: -given_total(totals).size):
        own = given_total(totals)
        differences = [total and total.difference for total in _written(totals, forms)]
        if any(difference != 0 for difference in differences):
            rows.append((own.message, own.version, own.messages, own.size, *differences))
    title = "by message: bytes as given, and how many more or fewer they are in each form"
    unchanged = len(several) - len(rows)
    note = f"without {counted(unchanged, 'message')} that no form changes" if unchanged else ""
    return Table("byMessage", columns, rows, title, note=note)


def _by_field(several: Sequence[Totals]) -> Table:
    """Return the bytes of each field in each form. If there are two forms, include the difference."""
    forms = _form_columns(several)
    written = [any(found) for found in zip(*(_written(totals, forms) for totals in several), strict=True)]
    forms = [form._replace(keep=0) for form, is_written in zip(forms, written, strict=True) if is_written]
    columns = [Column("message", wide=len(several) == 1), Column("path", "text", "field"), *forms]

    def row(message: str | None, path: str, by_form: Mapping[str, int]) -> Row:
        sizes = [by_form.get(form.name) for form in forms]
        return (message, path, *sizes, *([(sizes[1] or 0) - (sizes[0] or 0)] if len(forms) == 2 else []))

    if len(forms) == 2:
        columns.append(Column("difference", "bytes"))
    rows: list[Row] = []
    for totals in several:
        sizes: dict[str, dict[str, int]] = {}
        for name, total in totals.items():
            for path, (_, prefix, value) in total.by_path.items():
                sizes.setdefault(path, {})[name] = prefix + value
        rows += [row(given_total(totals).message, path, by_form) for path, by_form in sizes.items()]
    last = row(None, "all", {name: total.size for name, total in several[0].items()}) if len(several) == 1 else None
    return Table("byField", columns, rows, "bytes by field, with lengths, counts and tag headers", last)


# Values that forms lose, and bytes by kind.


def _remarks(whole: Totals) -> Iterator[Table]:
    """Yield the values that forms can't carry, and the reasons of refusals."""
    lost: dict[Row, list[str]] = defaultdict(list)
    refused: dict[Row, list[str]] = defaultdict(list)
    for total in whole.values():
        for loss in total.lost.values():
            kafka = "drops" if loss.ignorable else "refuses"
            lost[loss.path, loss.number, example(loss.value), kafka].append(total.name)
        for reason in total.refused:
            refused[reason,].append(total.name)
    for name, columns, rows, title in (
        ("lost", _LOST, lost, "values that a form can't carry: Kafka's own writers drop or refuse them"),
        ("refused", _REFUSED, refused, "forms that cannot be written"),
    ):
        named = [(*row, names_text(names), names) for row, names in rows.items()]
        yield Table(name, columns, named, title, shown=MOST_ROWS)


def example(value: Any) -> str:
    """Return a value as JSON, cut if it is long."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def names_text(names: Sequence[str]) -> str:
    """Return names of forms. Adjacent versions are a range: `versions 0-3, 7; packed`."""
    versions = [name.removeprefix("version ") for name in names]
    numbers = [int(version) for version in versions if version.isdigit()]
    others = [name for name, version in zip(names, versions, strict=True) if not version.isdigit()]
    if numbers:
        others.insert(0, f"{'versions' if len(numbers) > 1 else 'version'} {', '.join(map(str, ranges(numbers)))}")
    return "; ".join(others)


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


def _flexible(whole: Totals, headers: int) -> Iterator[Block]:
    """Yield the bytes of each kind of prefix in the inflexible and the flexible form (KIP-482)."""
    plain = whole.get(INFLEXIBLE)
    flexible = whole.get(FLEXIBLE)
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
