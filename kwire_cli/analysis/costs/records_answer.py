"""The answer of `kwire compare` about records: their costs in other formats, batches, codecs and forms of headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.costs.header_forms import BATCH_HEADER, HEADER_FORMS
from kwire_cli.analysis.costs.record_forms import AS_IS, Codec
from kwire_cli.answer import MOST_ROWS, Answer, Column, Fact, Facts, Note, Table
from kwire_cli.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.analysis.costs.header_forms import HeaderPrice
    from kwire_cli.analysis.costs.record_forms import RecordForms, RecordPrice
    from kwire_cli.answer import Block, Row

_FORMS = (
    Column("form"),
    Column("batch", "id"),
    Column("codec"),
    Column("library", wide=True),
    Column("records", "count", wide=True),
    Column("batches", "count", keep=2),
    Column("bytes", "bytes"),
    Column("overhead", "bytes", wide=True),
    Column("bytesPerRecord", "number", "per record", keep=3, digits=1),
    Column("overheadPerRecord", "number", "overhead a record", keep=1, digits=1),
    Column("overheadPerBatch", "number", "a batch", keep=4, digits=1),
    Column("ratio", "number"),
    Column("bar", "bar", " ", keep=5),
    Column("refusedBatches", "count", wide=True),
    Column("unwritableBatches", "count", wide=True),
)
_HEADERS = (
    Column("form"),
    Column("records", "count", wide=True),
    Column("headers", "count", wide=True),
    Column("bytes", "bytes"),
    Column("bytesWithoutHeaders", "bytes", "without headers", keep=4),
    Column("headerBytes", "bytes", "of headers"),
    Column("bytesPerHeader", "number", "a header", keep=1, digits=1),
    Column("ratio", "number", keep=2),
    Column("bar", "bar", " ", keep=5),
    Column("says", "text", "what", keep=3),
)
_LOST_RECORDS = (Column("form"), Column("count", "count"), Column("what"))


def records_answer(forms: RecordForms, made: str | None = None) -> Answer:
    """Return the cost of records in each form and the losses of each form, and the same for headers.

    `made` is a description of generated records.
    """
    has_headers = forms.headers and (forms.bare or forms.read["headers"])
    return Answer("Records in other forms", [*_records(forms, made), *(_headers(forms.headers) if has_headers else ())])


def _records(forms: RecordForms, made: str | None) -> Iterator[Block]:
    yield _facts(forms, made)
    reference = "v2 in the same batches" if forms.generated else "the bytes that were read"
    yield Table("forms", _FORMS, [_price(forms, price) for price in forms.prices], note=f"ratio: to {reference}")
    yield from _notes(forms)
    yield _lost_table("cannotCarry", "what a form can't carry", forms.lost)


def _lost_table(name: str, title: str, lost: Mapping[str, Mapping[str, int]]) -> Table:
    rows: list[Row] = []
    for form, counts in lost.items():
        rows += [(form, count, what) for what, count in counts.items() if count]
    return Table(name, _LOST_RECORDS, rows, title, shown=MOST_ROWS)


def _facts(forms: RecordForms, made: str | None) -> Facts:
    read = forms.read
    data = read["keyBytes"] + read["valueBytes"] + read["headerValueBytes"]
    facts = [Fact("generated", made)] if made else []
    facts.append(Fact("records", read["records"], "count"))
    if not made:
        facts += [
            Fact("batches", read["batches"], "count"),
            Fact("partitions", len(forms.partitions), "count"),
            Fact("bytes", read["bytes"], "bytes"),
            Fact("formats", dict(forms.formats), "map"),
            Fact("compression", dict(forms.compressed), "map"),
        ]
    facts += [
        Fact("dataBytes", data, "bytes", "data (all else is overhead)"),
        Fact("keyBytes", read["keyBytes"], "bytes", "keys"),
        Fact("valueBytes", read["valueBytes"], "bytes", "values"),
        Fact("headerValueBytes", read["headerValueBytes"], "bytes", "values of headers"),
        Fact("headerNameBytes", read["headerNameBytes"], "bytes", "names of headers"),
        Fact("headers", read["headers"], "count"),
    ]
    if read["skippedBatches"]:
        facts += [
            Fact("skippedBatches", read["skippedBatches"], "count", level="warning"),
            Fact("skippedBytes", read["skippedBytes"], "bytes", level="warning"),
        ]
    return Facts(facts)


def _price(forms: RecordForms, price: RecordPrice) -> Row:
    return (
        price.form,
        price.batch,
        price.codec.label,
        price.codec.library,
        price.records,
        price.batches,
        price.size,
        price.overhead,
        _share(price.size, price.records),
        _share(price.overhead, price.records),
        _share(price.overhead, price.batches),
        _share(price.size, forms.reference(price)),
        price.size,
        price.refused,
        price.unwritable,
    )


def _share(part: int, whole: int | None) -> float | None:
    return round(part / whole, 3) if whole else None


def _notes(forms: RecordForms) -> Iterator[Note]:
    used = {price.codec for price in forms.prices if price.codec.name != AS_IS}
    if any(price.codec.name == AS_IS for price in forms.prices):
        used |= {Codec(name) for name in forms.compressed}
    for codec in sorted(used, key=lambda codec: codec.label):
        if codec.library:
            yield Note(
                f"{codec.label}: {codec.library}; Kafka's own compressor may make other bytes of the same records"
            )
    if unwritable := {price.form: price.unwritable for price in forms.prices if price.unwritable}:
        what = ", ".join(f"{counted(number, 'batch', 'batches')} in {form}" for form, number in unwritable.items())
        yield Note(f"left out, since offsets go down or lie too far apart: {what}", "warning")
    if old := sorted({price.form for price in forms.prices if price.refused}):
        refuses = "written all the same; Kafka has it from v2 on and refuses to read it there"
        yield Note(f"zstd in {', '.join(old)}: {refuses}", "warning")


def _headers(prices: Sequence[HeaderPrice]) -> Iterator[Block]:
    shipped = next((price.cost for price in prices if price.form == "v2"), None)
    rows = [
        (
            price.form,
            price.records,
            price.headers,
            price.size,
            price.bare,
            price.cost,
            _share(price.cost, price.headers),
            _share(price.cost, shipped),
            price.cost,
            HEADER_FORMS[price.form].says,
        )
        for price in prices
    ]
    total = prices[0]
    of = f"{total.headers} of {counted(total.records, 'record')}"
    title = f"headers: {of}; without the header of a batch, v2's of {BATCH_HEADER} bytes"
    note = "ratio: of the bytes of headers to those as shipped (v2)" if shipped else ""
    yield Table("headers", _HEADERS, rows, title, note=note)
    lost = {price.form: price.lost for price in prices}
    yield _lost_table("headersCannotCarry", "what a form of headers can't carry", lost)
