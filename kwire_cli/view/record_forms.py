"""What records and their headers cost in other forms: for eyes, as JSON, as csv."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.cost.gathering import AS_IS
from kwire_cli.cost.header_forms import BATCH_HEADER, HEADER_FORMS
from kwire_cli.cost.record_prices import Codec
from kwire_cli.view.grid import bar, grid_lines
from kwire_cli.view.lines import counted

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.cost.header_forms import HeaderForms
    from kwire_cli.cost.record_forms import RecordForms
    from kwire_cli.cost.record_prices import Written
    from kwire_cli.view.lines import Line

HEADING = ("batch", "codec", "form", "batches", "bytes", "per record", "overhead a record", "a batch", "ratio", "")
HEADERS_HEADING = ("form", "bytes", "without headers", "of headers", "a header", "ratio", "", "")
_DIGITS = {"per record": 1, "overhead a record": 1, "a batch": 1, "a header": 1}
_SUMS = ("form", "batch", "codec", "library", "records", "batches", "bytes", "overhead")
_COLUMNS = (*_SUMS, "bytesPerRecord", "overheadPerRecord", "overheadPerBatch", "ratio", "refusedBatches", "unwritableBatches")
_HEADER_COLUMNS = ("form", "records", "headers", "bytes", "bytesWithoutHeaders", "headerBytes", "bytesPerHeader")


def lines(forms: RecordForms, headers: HeaderForms | None, made: str | None) -> Iterator[Line]:
    """The records as they are, the prices, what is lost, and the same of headers. `made` says what generated records are."""
    yield from _written(forms.written, made)
    yield []
    most = max(price.size for price in forms.prices)
    rows = []
    for price in forms.prices:
        found = price.to_json(forms.reference(price))
        numbers = [found[name] for name in ("batches", "bytes", "bytesPerRecord", "overheadPerRecord", "overheadPerBatch", "ratio")]
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
    yield from ({"section": "form"} | price | {"cannotCarry": found["cannotCarry"][price["form"]]} for price in found["forms"])
    yield from ({"section": "headers"} | price for price in found.get("headers", ()))


def csv_rows(forms: RecordForms) -> Iterator[Sequence[Any]]:
    """Yield the heading, and a row for each price."""
    yield _COLUMNS
    for price in forms.prices:
        found = price.to_json(forms.reference(price))
        yield [found[name] for name in _COLUMNS]


def header_csv_rows(headers: HeaderForms) -> Iterator[Sequence[Any]]:
    """Yield the heading, and a row for each form of headers."""
    yield _HEADER_COLUMNS
    for price in headers.prices:
        found = price.to_json()
        yield [found[name] for name in _HEADER_COLUMNS]


def _written(written: Written, made: str | None) -> Iterator[Line]:
    if made:
        yield [("records   ", "dim"), (made, "")]
    else:
        count = f"{counted(written.records, 'record')} in {counted(written.batches, 'batch', 'batches')}"
        formats, codecs = (", ".join(f"{number} {name}" for name, number in found.items()) for found in (written.formats, written.compressed))
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
            yield [(f"{codec.label}: {codec.library}; Kafka's own compressor may make other bytes of the same records", "dim")]
    if unwritable := {price.form: price.unwritable for price in forms.prices if price.unwritable}:
        what = ", ".join(f"{counted(number, 'batch', 'batches')} in {form}" for form, number in unwritable.items())
        yield [(f"left out, since offsets go down or lie too far apart: {what}", "warning")]
    if old := sorted({price.form for price in forms.prices if price.refused}):
        yield [(f"zstd in {', '.join(old)}: written all the same; Kafka has it from v2 on and refuses to read it there", "warning")]


def _lost(lost: Mapping[str, Counter[str]]) -> Iterator[Line]:
    if lost:
        yield []
        yield [("what a form can't carry", "title")]
    same: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for form, counts in lost.items():
        same.setdefault(tuple(_counts(counts).items()), []).append(form)
    for found, names in same.items():
        yield [(", ".join(names), "name")]
        for what, count in found:
            yield [(f"{count:>8}", "number"), (f"  {what}", "")]


def _headers(headers: HeaderForms) -> Iterator[Line]:
    shipped = next((price.cost for price in headers.prices if price.form == "v2"), None)
    most = max(price.cost for price in headers.prices)
    rows = []
    for price in headers.prices:
        found = price.to_json()
        numbers = [found[name] for name in ("bytes", "bytesWithoutHeaders", "headerBytes", "bytesPerHeader")]
        ratio = round(price.cost / shipped, 3) if shipped else None
        rows.append((price.form, *numbers, ratio, bar(price.cost, most), HEADER_FORMS[price.form].says))
    yield []
    total = headers.prices[0]
    yield [
        ("headers", "title"),
        (f": {total.headers} of {counted(total.records, 'record')}; without the header of a batch, v2's of {BATCH_HEADER} bytes", "dim"),
    ]
    yield from grid_lines(HEADERS_HEADING, rows, _DIGITS)
    if shipped:
        yield [("ratio: of the bytes of headers to those as shipped (v2)", "dim")]
    yield from _lost({price.form: price.lost for price in headers.prices if any(price.lost.values())})


def _counts(lost: Mapping[str, int]) -> dict[str, int]:
    return {what: count for what, count in lost.items() if count}
