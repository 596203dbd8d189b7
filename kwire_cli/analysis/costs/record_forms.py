"""Record sets gathered, and priced in other formats."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.header_forms import HeaderPrice
from kwire_cli.analysis.costs.record_carrying import WITH_BATCHES, fitted
from kwire_cli.errors import EncodeError
from kwire_cli.records.compression import library
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.writing import write
from kwire_cli.structs.records.parts import COMPRESSION, LEGACY_COMPRESSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.costs.record_carrying import Fitted
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch, Record
    from kwire_cli.records.registers import Register


# Records gathered into other batches than those that they came in.

AS_IS = "as-is"
ALL = "all"


class Gathering:
    """The records of one form in batches of `size`, by partition and producer, as a producer with other settings would
    have sent them.

    AS_IS leaves batches as they are, ALL puts all records of a producer into one. A control batch is not joined with
    others, and ends the batches of its producer. With `own_codec`, batches with different compression are not joined.
    """

    def __init__(self, size: int | str, *, own_codec: bool) -> None:
        self.size = size
        self.own_codec = own_codec
        self.waiting: dict[tuple[Any, ...], dict[tuple[Any, ...], dict[str, Any]]] = {}
        """By partition and producer id, then by the other values that the records of a batch share."""

    def add(self, partition: str, found: Fitted) -> Iterator[dict[str, Any]]:
        """Yield the batches that are full with these records."""
        if self.size == AS_IS:
            rows = [row | {"offset": offset} for row, offset in zip(found.rows, found.offsets, strict=True)]
            yield found.head | found.place | {"records": rows, "data": sum(found.data)}
            return
        producer = (partition, found.group[0])
        key = (*found.group[1:], found.head["compression"] if self.own_codec else None)
        if found.control:
            yield from self.waiting.pop(producer, {}).values()
            yield found.head | {"records": found.rows, "data": sum(found.data)}
            return
        waiting = self.waiting.setdefault(producer, {})
        at = 0
        while at < len(found.rows):
            first = {"baseOffset": found.offsets[at]} | (
                {"baseSequence": found.rows[at]["sequence"]} if "baseSequence" in found.place else {}
            )
            item = waiting.setdefault(key, found.head | first | {"records": [], "data": 0})
            room = len(found.rows) if self.size == ALL else int(self.size) - len(item["records"])
            item["records"] += found.rows[at : at + room]
            item["data"] += sum(found.data[at : at + room])
            at += room
            if self.size != ALL and len(item["records"]) == self.size:
                yield waiting.pop(key)

    def end(self) -> Iterator[dict[str, Any]]:
        """Yield the batches that are left."""
        for waiting in self.waiting.values():
            yield from waiting.values()
        self.waiting = {}


# What records cost as they came, and in another form: sums, and the JSON of them.

_CODECS = {name: number for number, name in COMPRESSION.names.items()}


class Codec(NamedTuple):
    """The compression of batches: a name of COMPRESSION or AS_IS, and a level or None for Kafka's own level."""

    name: str
    level: int | None = None

    @property
    def label(self) -> str:
        """`gzip`, `zstd:19`."""
        return self.name if self.level is None else f"{self.name}:{self.level}"

    @property
    def library(self) -> str | None:
        """Return the library that compresses, or None if nothing is compressed or each batch keeps its own codec."""
        return None if self.name in {AS_IS, "none"} else library(_CODECS[self.name], self.level)


@dataclass(slots=True)
class Written:
    """The records as they came: batches, records, their bytes, and what of these are keys, values, and headers' values
    and names.

    `skipped` are batches that were passed over, `skipped_bytes` their bytes; the other numbers are without them.
    `formats` and `compressed` are batches by format and codec.
    """

    size: int = 0
    batches: int = 0
    records: int = 0
    keys: int = 0
    values: int = 0
    headers: int = 0
    header_names: int = 0
    header_values: int = 0
    skipped: int = 0
    skipped_bytes: int = 0
    partitions: set[str] = field(default_factory=set)
    formats: Counter[str] = field(default_factory=Counter)
    compressed: Counter[str] = field(default_factory=Counter)

    @property
    def data(self) -> int:
        """Bytes of keys, values and headers' values: what is not overhead."""
        return self.keys + self.values + self.header_values

    def add(self, partition: str, batch: Batch, records: list[Record]) -> None:
        """Count a batch."""
        self.partitions.add(partition)
        self.formats[batch.layout.name] += 1
        self.compressed[batch.compression] += 1
        self.size += batch.size
        self.batches += 1
        self.records += len(records)
        for record in records:
            self.keys += len(record.key or b"")
            self.values += len(record.value or b"")
            self.headers += len(record.headers)
            self.header_names += sum(len(key.encode()) for key, _ in record.headers if isinstance(key, str))
            self.header_values += sum(len(value or b"") for _, value in record.headers)


@dataclass(slots=True)
class Price:
    """All records in one form: their bytes, and in how many batches. `data` are those of keys, values and headers'
    values that the form carries.

    In v0, v1 and the KIP-82 draft a batch that is not compressed is as many messages as it has records. `refused` are
    batches compressed with zstd in a format that is older than it: kwire writes them, and Kafka refuses to read them.
    `unwritable` are batches left out, since the form can't hold their offsets, which go down or lie too far apart.
    """

    form: str
    batch: int | str
    codec: Codec
    gathering: Gathering
    records: int = 0
    batches: int = 0
    size: int = 0
    data: int = 0
    refused: int = 0
    unwritable: int = 0

    @property
    def overhead(self) -> int:
        """Bytes that are neither key nor value nor a header's value; below 0 where compression saves more than there
        is.
        """
        return self.size - self.data

    def add(self, item: dict[str, Any]) -> None:
        """Write a batch, and count its bytes."""
        records = item["records"]
        data = item.pop("data")
        if not records and self.form not in WITH_BATCHES:
            return
        codec = item["compression"] if self.codec.name == AS_IS else self.codec.name
        self.refused += codec == "zstd" and LEGACY_COMPRESSION in LAYOUTS[self.form].attributes
        try:
            written = write([item | {"compression": codec, "compressionLevel": self.codec.level}], form=self.form)
        except EncodeError:
            self.unwritable += 1
            return
        self.size += len(written)
        self.data += data
        self.records += len(records)
        self.batches += 1


# The same records in other record formats, batches and codecs: written by kwire's own writers, and counted.

FORMS = tuple(LAYOUTS)
_UNREADABLE = frozenset(
    {
        "COUNT_MISMATCH",
        "CORRUPT",
        "CRC_MISMATCH",
        "DECOMPRESSION_FAILED",
        "DECOMPRESSION_LIMIT",
        "INVALID_LENGTH",
        "RECORD_SIZE_MISMATCH",
        "TRUNCATED",
        "UNKNOWN_COMPRESSION",
        "VARINT_TOO_LONG",
    }
)
"""Anomalies that leave doubt whether all records of a batch are there."""
MOST_RECORDS = 1 << 18
"""Of one batch, all of which have to be in memory. With the limits that brokers and producers have by default none has
as many."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The forms to write: each format with each batch size and each codec, and forms of headers.

    A batch size is a number of records in a batch, or AS_IS or ALL. Records without headers are written in the forms
    of headers if `bare` is set.
    """

    forms: tuple[str, ...]
    batches: tuple[int | str, ...]
    codecs: tuple[Codec, ...]
    register: Register
    headers: tuple[str, ...] = ()
    bare: bool = False


class RecordForms:
    """The prices of a plan; batches are added as they are read. `generated` records have no form of their own to be
    compared with.
    """

    def __init__(self, plan: Plan, *, generated: bool = False) -> None:
        self.plan = plan
        self.generated = generated
        self.written = Written()
        self.lost = {form: Counter[str]() for form in plan.forms}
        self.headers = [HeaderPrice(form) for form in plan.headers]
        self.prices = [
            Price(form, batch, codec, Gathering(batch, own_codec=codec.name == AS_IS))
            for batch in plan.batches
            for codec in plan.codecs
            for form in plan.forms
        ]

    def add(self, partition: str, batch: Batch) -> None:
        """Price the records of a batch, unless it cannot be read whole, or has more than MOST_RECORDS."""
        records = _records(batch)
        if records is None:
            self.written.skipped += 1
            self.written.skipped_bytes += batch.size
            return
        self.written.add(partition, batch, records)
        carried = {form: fitted(form, batch, records, self.plan.register, self.lost[form]) for form in self.plan.forms}
        for price in self.prices:
            for item in price.gathering.add(partition, carried[price.form]):
                price.add(item)
        with_headers = [record for record in records if record.headers or self.plan.bare]
        for header_price in self.headers if with_headers else ():
            header_price.add(records[0], with_headers, self.plan.register)

    def end(self) -> None:
        """Price the batches that waited for more records. Then the prices are complete."""
        for price in self.prices:
            for item in price.gathering.end():
                price.add(item)

    def reference(self, price: Price) -> int | None:
        """Return the size that a price is compared with: the bytes read, or the price of generated records as v2 in the
        same batches, if the plan has v2.
        """
        if not self.generated:
            return self.written.size
        like = ("v2", price.batch, price.codec)
        return next((other.size for other in self.prices if (other.form, other.batch, other.codec) == like), None)


def _records(batch: Batch) -> list[Record] | None:
    notes: list[Anomaly] = []
    records: list[Record] = []
    for piece in batch.pieces(notes):
        records += piece
        if len(records) > MOST_RECORDS:
            return None
    whole = batch.crc_valid and not any(note.code in _UNREADABLE for note in (*batch.notes, *notes))
    return records if whole else None
