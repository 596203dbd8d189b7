"""The answer of `kwire compare` about records: their costs in other formats, batches, codecs and forms of headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.costs.header_forms import HEADER_FORMS
from kwire_cli.analysis.costs.record_forms import AS_IS, Codec
from kwire_cli.answer import MOST_ROWS, Answer, Column, Fact, Facts, Note, Table
from kwire_cli.errors import counted
from kwire_cli.structs.records import v2

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.analysis.costs.header_forms import HeaderKeys, HeaderPrice
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
_LOST = (Column("form"), Column("count", "count"), Column("what"))


def records_answer(forms: RecordForms, made: str | None = None) -> Answer:
    """Return the cost of records in each form and the losses of each form, and the same for headers.

    `made` is a description of generated records, whose sizes are compared with format v2. Other sizes are compared with
    the input.
    """
    shipped = {(price.batch, price.codec): price.size for price in forms.prices if price.form == "v2"}
    read = forms.read["bytes"]
    rows = [_record_row(price, shipped.get((price.batch, price.codec)) if made else read) for price in forms.prices]
    note = f"ratio: to {'v2 in the same batches' if made else 'the bytes that were read'}"
    blocks: list[Block] = [_facts(forms, made), Table("forms", _FORMS, rows, note=note)]
    blocks += [*_notes(forms), _lost("cannotCarry", "what a form can't carry", forms.keys)]
    if forms.headers and (forms.bare or forms.read["headers"]):
        blocks += _headers(forms.headers)
    return Answer("Records in other forms", blocks)


def _lost(name: str, title: str, keys: Mapping[str, HeaderKeys]) -> Table:
    rows: list[Row] = []
    for form, found in keys.items():
        rows += [(form, count, what) for what, count in found.lost.items() if count]
    return Table(name, _LOST, rows, title, shown=MOST_ROWS)


def _facts(forms: RecordForms, made: str | None) -> Facts:
    read = forms.read
    data = read["keyBytes"] + read["valueBytes"] + read["headerValueBytes"]
    facts = [
        Fact("generated", made),
        Fact("records", read["records"], "count"),
        Fact("batches", read["batches"], "count"),
        Fact("partitions", len(forms.partitions), "count"),
        Fact("bytes", read["bytes"], "bytes"),
        Fact("formats", dict(forms.formats), "map"),
        Fact("compression", dict(forms.compressed), "map"),
        Fact("dataBytes", data, "bytes", "data (all else is overhead)"),
        Fact("keyBytes", read["keyBytes"], "bytes", "keys"),
        Fact("valueBytes", read["valueBytes"], "bytes", "values"),
        Fact("headerValueBytes", read["headerValueBytes"], "bytes", "values of headers"),
        Fact("headerNameBytes", read["headerNameBytes"], "bytes", "names of headers"),
        Fact("headers", read["headers"], "count"),
        Fact("skippedBatches", read["skippedBatches"], "count", level="warning"),
        Fact("skippedBytes", read["skippedBytes"], "bytes", level="warning"),
    ]
    left_out = _OF_INPUTS if made else {"generated"}
    left_out |= set() if read["skippedBatches"] else {"skippedBatches", "skippedBytes"}
    return Facts([fact for fact in facts if fact.name not in left_out])


_OF_INPUTS = {"batches", "partitions", "bytes", "formats", "compression"}
"""Facts that generated records lack."""


def _record_row(price: RecordPrice, reference: int | None) -> Row:
    form = price.form, price.batch, price.codec.label, price.codec.library
    per_record = _share(price.size, price.records), _share(price.overhead, price.records)
    ratios = *per_record, _share(price.overhead, price.batches), _share(price.size, reference)
    sizes = price.records, price.batches, price.size, price.overhead
    return *form, *sizes, *ratios, price.size, price.refused, price.unwritable


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
    rows: list[Row] = []
    for price in prices:
        numbers = price.records, price.headers, price.size, price.bare, price.cost
        ratios = _share(price.cost, price.headers), _share(price.cost, shipped)
        rows.append((price.form, *numbers, *ratios, price.cost, HEADER_FORMS[price.form].says))
    of = f"{prices[0].headers} of {counted(prices[0].records, 'record')}"
    title = f"headers: {of}; without the header of a batch, v2's of {v2.HEADER.sizeof()} bytes"
    note = "ratio: of the bytes of headers to those as shipped (v2)" if shipped else ""
    yield Table("headers", _HEADERS, rows, title, note=note)
    keys = {price.form: price.keys for price in prices}
    yield _lost("headersCannotCarry", "what a form of headers can't carry", keys)
