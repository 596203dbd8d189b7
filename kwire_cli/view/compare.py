"""Prices of messages and records in other forms."""

from __future__ import annotations

import json
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.form_comparison import FLEXIBLE, INFLEXIBLE, difference_by_kind
from kwire_cli.analysis.costs.header_forms import BATCH_HEADER, HEADER_FORMS
from kwire_cli.analysis.costs.record_forms import AS_IS, Codec
from kwire_cli.view.lines import counted, quoted
from kwire_cli.view.tables import bar, grid_lines

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.analysis.costs.form_comparison import Comparison, Sum
    from kwire_cli.analysis.costs.header_forms import HeaderForms
    from kwire_cli.analysis.costs.record_forms import RecordForms, Written
    from kwire_cli.view.lines import Line

    Cell = int | float | str | None


# Messages in other forms: a line a form with a bar, what a form can't carry, what flexible versions save,
# ranges, bytes by field side by side.

CSV = (
    "counts", "message", "version", "form", "formVersion", "flexible", "messages", "size", "overhead", "given",
    "difference", "cut", "refused",
)  # fmt: skip


SHOWN = 48
"""Characters of a value that is shown as an example."""
WIDTH = 110
MOST = 40
"""Rows of what forms can't carry; json has them all."""


def title_lines(comparison: Comparison, remark: str) -> Iterator[Line]:
    """Yield the title of a comparison, and the remark about it."""
    version = "" if comparison.version is None else f" {comparison.version}"
    yield [(f"{comparison.message or 'all messages'}{version}", "title"), ("  bytes of the body", "dim")]
    yield from ([(line, "dim")] for line in wrap(remark, WIDTH, break_long_words=False, break_on_hyphens=False))
    yield []


def form_lines(comparison: Comparison) -> Iterator[Line]:
    """A line a form: bytes, those that are no value, and how many more or fewer than as given."""
    sums = [*comparison.sums.values()]
    several = comparison.given.messages > 1
    most = max((total.size for total in sums), default=0)
    heading = ("form", "version", *(("messages",) if several else ()), "bytes", "overhead", "difference", "", "", "")
    signs = _padded([_signed(total) for total in sums])
    shares = _padded([_share(total) for total in sums])
    rows: list[tuple[Cell, ...]] = []
    for total, sign, share in zip(sums, signs, shares, strict=True):
        numbers = (total.size, total.overhead) if total.messages else (None, None)
        many = (total.messages,) if several else ()
        rows.append(
            (
                total.name,
                total.version,
                *many,
                *numbers,
                sign,
                share,
                bar(total.size, most),
                _remark(total, several=several),
            )
        )
    yield from grid_lines(heading, rows)


def loss_lines(comparison: Comparison) -> Iterator[Line]:
    """Yield the values that forms can't carry, and the fields that forms need beside the values."""
    lost: dict[tuple[str, str, str, int], list[str]] = {}
    filled: dict[tuple[str, str], list[str]] = {}
    refused: dict[str, list[str]] = {}
    for total in comparison.sums.values():
        for loss in total.lost.values():
            kafka = "dropped" if loss.ignorable else "refused"
            lost.setdefault((loss.path, example(loss.value), kafka, loss.number), []).append(total.name)
        for fill in total.filled.values():
            filled.setdefault((fill.path, example(fill.value)), []).append(total.name)
        for reason in total.refused:
            refused.setdefault(reason, []).append(total.name)
    if lost:
        yield []
        rows = [(path, number, value, kafka, names_text(names)) for (path, value, kafka, number), names in lost.items()]
        yield [("values that a form can't carry", "title"), ("  Kafka's own writers drop or refuse them", "dim")]
        yield from _cut(("field", "values", "the first", "by Kafka", "forms"), rows)
    if filled:
        yield []
        yield [("fields that the values lack", "title"), ("  written at their defaults", "dim")]
        yield from _cut(
            ("field", "default", "forms"), [(path, value, names_text(names)) for (path, value), names in filled.items()]
        )
    if refused:
        yield []
        yield [("forms that cannot be written", "title")]
        yield from _cut(("why", "forms"), [(reason[:100], names_text(names)) for reason, names in refused.items()])


def flexible_lines(comparison: Comparison, headers: int = 0) -> Iterator[Line]:
    """Yield what flexible versions save and cost (KIP-482), by array, string, buffer and tag section.

    `headers` is what flexible headers cost beside bodies, in bytes.
    """
    plain, flexible = comparison.sums.get(INFLEXIBLE), comparison.sums.get(FLEXIBLE)
    if not plain or not flexible or plain.messages != flexible.messages or not plain.messages:
        return
    rows: list[tuple[Cell, ...]] = [*difference_by_kind(plain, flexible), ("all", None, plain.size, flexible.size)]
    signs = _padded([_between(row[1:]) for row in rows])
    yield []
    yield [("inflexible against flexible", "title"), ("  bytes of prefixes by what carries them", "dim")]
    yield from grid_lines(
        ("of", "number", INFLEXIBLE, FLEXIBLE, "difference"),
        [(*row, sign) for row, sign in zip(rows, signs, strict=True)],
    )
    if headers:
        yield [
            (
                (
                    f"flexible headers, which are not in this, have {counted(headers, 'byte')} more for their own tag "
                    f"sections"
                ),
                "dim",
            )
        ]


def field_lines(columns: Mapping[str, Sum]) -> Iterator[Line]:
    """Bytes by field, a column a form; of two also the difference."""
    paths = {name: total.by_path for name, total in columns.items()}
    fields = dict.fromkeys(path for costs in paths.values() for path in costs)
    rows: list[list[Cell]] = []
    for path in fields:
        sizes = [sum(costs[path][1:]) if path in costs else None for costs in paths.values()]
        rows.append([path, *sizes])
    rows.append(["all", *(total.size for total in columns.values())])
    heading = ["field", *columns]
    if len(columns) == 2:
        heading.append("difference")
        for row, sign in zip(rows, _padded([_between(row) for row in rows]), strict=True):
            row.append(sign)
    yield []
    yield [("bytes by field", "title"), ("  with lengths, counts and tag headers", "dim")]
    yield from grid_lines(heading, rows)


def range_lines(rows: Sequence[tuple[dict[str, int], Comparison]]) -> Iterator[Line]:
    """A line a combination of counts, a column a form with its bytes."""
    names = dict.fromkeys(name for _, comparison in rows for name in comparison.sums)
    heading = (*rows[0][0], *names)
    cells = [
        (
            *counts.values(),
            *(total.size if (total := comparison.sums.get(name)) and total.messages else "refused" for name in names),
        )
        for counts, comparison in rows
    ]
    yield from grid_lines(heading, cells)


def message_lines(comparisons: Sequence[Comparison]) -> Iterator[Line]:
    """A line a message and version: how many, their bytes as given, and the difference in each form; those with the
    most bytes first.
    """
    ordered = sorted(comparisons, key=lambda each: -each.given.size)
    names = [
        name for name in dict.fromkeys(name for each in ordered for name in each.sums) if name != ordered[0].given.name
    ]
    texts = [[_signed(each.sums[name]) if name in each.sums else "" for each in ordered] for name in names]
    columns = [_padded(column) for column in texts]
    yield []
    yield [("by message", "title"), ("  bytes as given, and how many more or fewer they are in each form", "dim")]
    rows = [
        (each.message, each.version, each.given.messages, each.given.size, *(column[at] for column in columns))
        for at, each in enumerate(ordered)
    ]
    yield from grid_lines(("message", "version", "messages", "as given", *names), rows)


def csv_cells(counts: Mapping[str, int], comparison: Comparison, each: Sum) -> list[Any]:
    """The cells of CSV."""
    said = ";".join(f"{name}={number}" for name, number in counts.items())
    numbers = [
        each.messages,
        *((each.size, each.overhead) if each.messages else (None, None)),
        each.given,
        each.difference if each.messages else None,
    ]
    return [
        said,
        comparison.message,
        comparison.version,
        each.name,
        each.version,
        None if each.flexible is None else str(each.flexible).lower(),
        *numbers,
        each.cut,
        each.refused.total(),
    ]


def example(value: Any) -> str:
    """A value, cut where it is long."""
    text = quoted(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=True)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def names_text(names: Sequence[str]) -> str:
    """Names of forms, versions that follow one another as a range: `versions 0-3, 7; packed`."""
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
    word = "version" if texts == [text for text in texts if text.isdigit()] and len(texts) == 1 else "versions"
    return "; ".join([f"{word} {', '.join(texts)}"] * bool(texts) + unnumbered)


def _cut(heading: Sequence[str], rows: Sequence[tuple[Cell, ...]]) -> Iterator[Line]:
    yield from grid_lines(heading, rows[:MOST])
    if len(rows) > MOST:
        yield [(f"and {len(rows) - MOST} more, which --format json has", "dim")]


def _signed(each: Sum) -> str:
    return _sign(each.difference) if each.messages else ""


def _share(each: Sum) -> str:
    return f"{100 * each.difference / each.given:+.1f} %" if each.messages and each.given and each.difference else ""


def _between(row: Sequence[Cell]) -> str:
    first, second = (int(cell) if isinstance(cell, int) else 0 for cell in row[1:3])
    return _sign(second - first)


def _sign(number: int) -> str:
    return f"{number:+}" if number else "0"


def _padded(texts: Sequence[str]) -> list[str]:
    width = max(map(len, texts), default=0)
    return [f"{text:>{width}}" for text in texts]


def _remark(each: Sum, *, several: bool) -> str:
    said = (
        [f"all {', '.join(sorted(f'{name} {number}' for name, number in each.integers.items()))}"]
        if each.integers
        else []
    )
    if each.refused:
        said.append(f"{counted(each.refused.total(), 'message')} refused" if several else "cannot be written")
    if each.cut:
        fields = counted(len(each.lost), "field") if each.lost else "values"
        said.append(f"{fields} lost" + (f" in {counted(each.cut, 'message')}" if several else ""))
    if each.filled and each.messages:
        said.append(f"{counted(len(each.filled), 'field')} at default")
    return ", ".join(said)


# What records and their headers cost in other forms: for eyes, as JSON, as csv.

HEADING = ("batch", "codec", "form", "batches", "bytes", "per record", "overhead a record", "a batch", "ratio", "")


HEADERS_HEADING = ("form", "bytes", "without headers", "of headers", "a header", "ratio", "", "")
_DIGITS = {"per record": 1, "overhead a record": 1, "a batch": 1, "a header": 1}
_SUMS = ("form", "batch", "codec", "library", "records", "batches", "bytes", "overhead")
_COLUMNS = (
    *_SUMS,
    "bytesPerRecord",
    "overheadPerRecord",
    "overheadPerBatch",
    "ratio",
    "refusedBatches",
    "unwritableBatches",
)
_HEADER_COLUMNS = ("form", "records", "headers", "bytes", "bytesWithoutHeaders", "headerBytes", "bytesPerHeader")


def lines(forms: RecordForms, headers: HeaderForms | None, made: str | None) -> Iterator[Line]:
    """The records as they are, the prices, what is lost, and the same of headers. `made` says what generated records
    are.
    """
    yield from _written(forms.written, made)
    yield []
    most = max(price.size for price in forms.prices)
    rows = []
    for price in forms.prices:
        row = price.to_json(forms.reference(price))
        numbers = [
            row[name]
            for name in ("batches", "bytes", "bytesPerRecord", "overheadPerRecord", "overheadPerBatch", "ratio")
        ]
        rows.append((str(price.batch), price.codec.label, price.form, *numbers, bar(price.size, most)))
    yield from grid_lines(HEADING, rows, _DIGITS)
    yield from _notes(forms)
    yield from _lost({form: lost for form, lost in forms.lost.items() if any(lost.values())})
    if headers:
        yield from _headers(headers)


def document(forms: RecordForms, headers: HeaderForms | None, made: str | None) -> dict[str, Any]:
    """All of it in one object."""
    written = forms.written
    out: dict[str, Any] = {
        "records": {
            "generated": made,
            "bytes": None if made else written.size,
            "batches": None if made else written.batches,
            "records": written.records,
            "partitions": None if made else len(written.partitions),
            "formats": None if made else dict(written.formats),
            "compression": None if made else dict(written.compressed),
            "keyBytes": written.keys,
            "valueBytes": written.values,
            "headers": written.headers,
            "headerNameBytes": written.header_names,
            "headerValueBytes": written.header_values,
            "skippedBatches": written.skipped,
            "skippedBytes": written.skipped_bytes,
        },
        "forms": [price.to_json(forms.reference(price)) for price in forms.prices],
        "cannotCarry": {form: _counts(lost) for form, lost in forms.lost.items()},
    }
    if headers:
        out["headers"] = [price.to_json() for price in headers.prices]
    return out


def flat(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same as objects of one line each, of which `section` says what they are."""
    yield {"section": "records"} | found["records"]
    yield from (
        {"section": "form"} | price | {"cannotCarry": found["cannotCarry"][price["form"]]} for price in found["forms"]
    )
    yield from ({"section": "headers"} | price for price in found.get("headers", ()))


def csv_rows(forms: RecordForms) -> Iterator[Sequence[Any]]:
    """Yield the heading, and a row for each price."""
    yield _COLUMNS
    for price in forms.prices:
        row = price.to_json(forms.reference(price))
        yield [row[name] for name in _COLUMNS]


def header_csv_rows(headers: HeaderForms) -> Iterator[Sequence[Any]]:
    """Yield the heading, and a row for each form of headers."""
    yield _HEADER_COLUMNS
    for price in headers.prices:
        row = price.to_json()
        yield [row[name] for name in _HEADER_COLUMNS]


def _written(written: Written, made: str | None) -> Iterator[Line]:
    if made:
        yield [("records   ", "dim"), (made, "")]
    else:
        count = f"{counted(written.records, 'record')} in {counted(written.batches, 'batch', 'batches')}"
        formats, codecs = (
            ", ".join(f"{number} {name}" for name, number in counter.items())
            for counter in (written.formats, written.compressed)
        )
        yield [
            ("records   ", "dim"),
            (f"{count} of {counted(len(written.partitions), 'partition')}, ", ""),
            (counted(written.size, "byte"), "number"),
        ]
        yield [("batches   ", "dim"), (f"{formats}; compression: {codecs}", "")]
    parts = f"keys {written.keys}, values {written.values}, values of headers {written.header_values}"
    yield [("data      ", "dim"), (counted(written.data, "byte"), "number"), (f": {parts}; all else is overhead", "")]


def _notes(forms: RecordForms) -> Iterator[Line]:
    reference = "v2 in the same batches" if forms.generated else "the bytes that were read"
    yield [(f"ratio: to {reference}", "dim")]
    used = {price.codec for price in forms.prices if price.codec.name != AS_IS}
    if any(price.codec.name == AS_IS for price in forms.prices):
        used |= {Codec(name) for name in forms.written.compressed}
    for codec in sorted(used, key=lambda codec: codec.label):
        if codec.library:
            yield [
                (
                    f"{codec.label}: {codec.library}; Kafka's own compressor may make other bytes of the same records",
                    "dim",
                )
            ]
    if unwritable := {price.form: price.unwritable for price in forms.prices if price.unwritable}:
        what = ", ".join(f"{counted(number, 'batch', 'batches')} in {form}" for form, number in unwritable.items())
        yield [(f"left out, since offsets go down or lie too far apart: {what}", "warning")]
    if old := sorted({price.form for price in forms.prices if price.refused}):
        yield [
            (
                f"zstd in {', '.join(old)}: written all the same; Kafka has it from v2 on and refuses to read it there",
                "warning",
            )
        ]


def _lost(lost: Mapping[str, Counter[str]]) -> Iterator[Line]:
    if lost:
        yield []
        yield [("what a form can't carry", "title")]
    same: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for form, counts in lost.items():
        same.setdefault(tuple(_counts(counts).items()), []).append(form)
    for losses, names in same.items():
        yield [(", ".join(names), "name")]
        for what, count in losses:
            yield [(f"{count:>8}", "number"), (f"  {what}", "")]


def _headers(headers: HeaderForms) -> Iterator[Line]:
    shipped = next((price.cost for price in headers.prices if price.form == "v2"), None)
    most = max(price.cost for price in headers.prices)
    rows = []
    for price in headers.prices:
        row = price.to_json()
        numbers = [row[name] for name in ("bytes", "bytesWithoutHeaders", "headerBytes", "bytesPerHeader")]
        ratio = round(price.cost / shipped, 3) if shipped else None
        rows.append((price.form, *numbers, ratio, bar(price.cost, most), HEADER_FORMS[price.form].says))
    yield []
    total = headers.prices[0]
    yield [
        ("headers", "title"),
        (
            (
                f": {total.headers} of {counted(total.records, 'record')}; without the header of a batch, v2's of "
                f"{BATCH_HEADER} bytes"
            ),
            "dim",
        ),
    ]
    yield from grid_lines(HEADERS_HEADING, rows, _DIGITS)
    if shipped:
        yield [("ratio: of the bytes of headers to those as shipped (v2)", "dim")]
    yield from _lost({price.form: price.lost for price in headers.prices if any(price.lost.values())})


def _counts(lost: Mapping[str, int]) -> dict[str, int]:
    return {what: count for what, count in lost.items() if count}
