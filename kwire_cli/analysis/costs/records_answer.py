"""The comparison of records: their costs in other formats, batches, codecs and forms of headers, as an Answer."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.header_forms import HEADER_FORMS, HeaderKeys, HeaderPrice
from kwire_cli.analysis.costs.inputs import batches_of
from kwire_cli.analysis.costs.record_carrying import fitted
from kwire_cli.analysis.costs.record_forms import AS_IS, BATCH_SIZES, FORMS, Codec, RecordPrice, batch_size
from kwire_cli.answer import MOST_ROWS, Answer, Column, Fact, Facts, Note, Table
from kwire_cli.engine.codes import UNREAD
from kwire_cli.errors import counted
from kwire_cli.records.registers import Register
from kwire_cli.source.log_inputs import LogItem
from kwire_cli.structs.records import v2

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.answer import Block, Row
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch, Record
    from kwire_cli.spec.catalog import Catalog

_FORMS = (
    Column("form"),
    Column("batch", "id"),
    Column("codec"),
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
    Column("bar", "bar", " ", keep=5),
    Column("says", "text", "what", keep=3),
)
_LOST = (Column("form"), Column("count", "count"), Column("what"))


_UNREADABLE = UNREAD | {"CRC_MISMATCH", "RECORD_SIZE_MISMATCH"}
"""Anomalies after which a batch may lack records."""
MOST_RECORDS = 1 << 18
"""Maximum number of records in a batch, which are all in memory at once. Larger batches are skipped.

The default limits of brokers and producers do not allow batches of this size.
"""


class RecordForms:
    """Records in forms: each format with each batch size and each codec, and forms of headers.

    `names` are the chosen formats and forms of headers. Without them, all are used. Records without headers are
    written in the forms of headers only if a chosen form of headers is not a format. Subjects are added in the order
    in which they are read.
    """

    def __init__(
        self,
        catalog: Catalog,
        names: Sequence[str] = (),
        batches: Sequence[int | str] = BATCH_SIZES,
        codecs: Sequence[str] = (AS_IS,),
        register: Register | None = None,
    ) -> None:
        forms = [name for name in FORMS if name in names] or FORMS
        headers = [name for name in HEADER_FORMS if name in names]
        sizes = dict.fromkeys(map(batch_size, batches))
        register = register or Register()
        self._catalog = catalog
        self.bare = not {*headers} <= {*FORMS}
        self.read: Counter[str] = Counter()
        """Numbers of the records in the input, by the names of facts. Skipped batches are not in the other numbers."""
        self.partitions: set[str] = set()
        self.formats: Counter[str] = Counter()
        self.compressed: Counter[str] = Counter()
        self.keys = {form: HeaderKeys(register) for form in forms}
        self.headers = [HeaderPrice(form, HeaderKeys(register)) for form in headers or HEADER_FORMS]
        chosen_codecs = dict.fromkeys(map(Codec.parse, codecs))
        self.prices = [RecordPrice(form, size, codec) for size, codec, form in product(sizes, chosen_codecs, forms)]

    def add(self, subject: Any) -> None:
        """Price the batches of a subject, and count the bytes outside batches."""
        if isinstance(subject, LogItem) and subject.is_unread:
            self.read["skippedBytes"] += subject.item.size
        for partition, batch in batches_of(subject, self._catalog):
            self.add_batch(partition, batch)

    def add_batch(self, partition: str, batch: Batch) -> None:
        """Price the records of a batch. Skip batches that are incomplete or have more than MOST_RECORDS records."""
        records = _records(batch)
        if records is None:
            self.read.update(skippedBatches=1, skippedBytes=batch.size)
            return
        self.partitions.add(partition)
        self.formats[batch.layout.name] += 1
        self.compressed[batch.compression] += 1
        self.read.update(batches=1, bytes=batch.size, records=len(records))
        for record in records:
            names = [name.encode() for name, _ in record.headers if isinstance(name, str)]
            self.read.update(
                keyBytes=len(record.key or b""),
                valueBytes=len(record.value or b""),
                headers=len(record.headers),
                headerNameBytes=sum(map(len, names)),
                headerValueBytes=sum(len(value or b"") for _, value in record.headers),
            )
        fits = {form: fitted(form, batch, records, keys) for form, keys in self.keys.items()}
        for price in self.prices:
            price.add(partition, fits[price.form])
        with_headers = [record for record in records if record.headers or self.bare]
        for header_price in self.headers if with_headers else ():
            header_price.add(records[0], with_headers)

    @property
    def libraries(self) -> dict[str, str]:
        """The libraries that compressed batches, by codec."""
        codecs = {price.codec for price in self.prices}
        if Codec(AS_IS) in codecs:
            codecs |= {Codec(name) for name in self.compressed}
        return {codec.label: codec.library for codec in codecs if codec.library}

    @property
    def skipped(self) -> dict[str, int]:
        """The numbers of skipped batches and bytes, by reason."""
        return {
            f"batches that cannot be read whole or have more than {MOST_RECORDS} records": self.read["skippedBatches"],
            "bytes in these batches and outside any batch": self.read["skippedBytes"],
        }

    @property
    def emptiness(self) -> str:
        """The reason why there is no answer, or an empty string."""
        if self.read["batches"]:
            return ""
        if self.read["skippedBatches"]:
            return "not all records of any batch can be read; kwire dump --verify says what is wrong"
        return "there are no record batches in this"

    def answer(self) -> Answer:
        """Write the batches that waited for more records. Return the cost of the records in each form."""
        for price in self.prices:
            price.end()
        rows = [_record_row(price, self.read["bytes"]) for price in self.prices]
        blocks: list[Block] = [_facts(self), Table("forms", _FORMS, rows, note="ratio: to the bytes that were read")]
        blocks += [*_notes(self), _lost(self)]
        if self.bare or self.read["headers"]:
            blocks.append(_headers(self.headers))
        return Answer("Records in other forms", blocks)


def _records(batch: Batch) -> list[Record] | None:
    notes: list[Anomaly] = []
    records: list[Record] = []
    for piece in batch.pieces(notes):
        records += piece
        if len(records) > MOST_RECORDS:
            return None
    is_complete = batch.crc_valid and not any(note.code in _UNREADABLE for note in (*batch.notes, *notes))
    return records if is_complete else None


# The answer.


def _lost(forms: RecordForms) -> Table:
    rows: list[Row] = []
    for form, found in forms.keys.items():
        rows += [(form, count, what) for what, count in found.lost.items() if count]
    return Table("cannotCarry", _LOST, rows, "what a form can't carry", shown=MOST_ROWS)


def _facts(forms: RecordForms) -> Facts:
    read = forms.read
    data = read["keyBytes"] + read["valueBytes"] + read["headerValueBytes"]
    facts = [
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
    return Facts([fact for fact in facts if fact.value or not fact.level])


def _record_row(price: RecordPrice, reference: int) -> Row:
    form = price.form, price.batch, price.codec.label
    per_record = _share(price.size, price.records), _share(price.overhead, price.records)
    ratios = *per_record, _share(price.overhead, price.batches), _share(price.size, reference)
    sizes = price.records, price.batches, price.size, price.overhead
    return *form, *sizes, *ratios, price.size, price.refused, price.unwritable


def _share(part: int, whole: int | None) -> float | None:
    return round(part / whole, 3) if whole else None


def _notes(forms: RecordForms) -> Iterator[Note]:
    for label, library in sorted(forms.libraries.items()):
        yield Note(f"{label}: {library}; Kafka's own compressor may make other bytes of the same records")
    if unwritable := {price.form: price.unwritable for price in forms.prices if price.unwritable}:
        what = ", ".join(f"{counted(number, 'batch', 'batches')} in {form}" for form, number in unwritable.items())
        yield Note(f"left out, since offsets go down or lie too far apart: {what}", "warning")
    if old := sorted({price.form for price in forms.prices if price.refused}):
        refuses = "written all the same; Kafka has it from v2 on and refuses to read it there"
        yield Note(f"zstd in {', '.join(old)}: {refuses}", "warning")


def _headers(prices: Sequence[HeaderPrice]) -> Table:
    rows: list[Row] = []
    for price in prices:
        numbers = price.records, price.headers, price.size, price.bare, price.cost, _share(price.cost, price.headers)
        rows.append((price.form, *numbers, price.cost, HEADER_FORMS[price.form].says))
    of = f"{prices[0].headers} of {counted(prices[0].records, 'record')}"
    title = f"headers: {of}; without the header of a batch, v2's of {v2.HEADER.sizeof()} bytes"
    return Table("headers", _HEADERS, rows, title)
