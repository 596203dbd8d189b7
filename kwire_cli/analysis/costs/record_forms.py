"""The size of record sets in other formats, batch sizes and codecs.

Records of the input are regrouped into batches of the requested size, by partition and producer. kwire's own writers
write each batch in each form, so that sizes include compression and are exact.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.header_forms import HeaderPrice
from kwire_cli.analysis.costs.record_carrying import WITH_BATCHES, data_of, fitted
from kwire_cli.engine.codes import UNREAD
from kwire_cli.errors import EncodeError
from kwire_cli.records.compression import library
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.writing import write
from kwire_cli.structs.records.parts import COMPRESSION, LEGACY_COMPRESSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.analysis.costs.record_carrying import Fitted
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch, Record
    from kwire_cli.records.registers import Register


AS_IS = "as-is"
ALL = "all"
FORMS = tuple(LAYOUTS)
_CODECS = {name: number for number, name in COMPRESSION.names.items()}
_UNREADABLE = UNREAD | {"CRC_MISMATCH", "RECORD_SIZE_MISMATCH"}
"""Anomalies after which a batch may lack records."""
MOST_RECORDS = 1 << 18
"""Maximum number of records in a batch, which are all in memory at once. Larger batches are skipped.

The default limits of brokers and producers do not allow batches of this size.
"""


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


class Gathering:
    """Regroups the records of one form into batches of `size` by partition and producer.

    AS_IS keeps the batches, and ALL puts all records of a producer into one batch. A control batch is not joined with
    others, and ends the open batch of its producer. With `own_codec`, batches with different compression are not
    joined.
    """

    def __init__(self, size: int | str, *, own_codec: bool) -> None:
        self.size = size
        self.own_codec = own_codec
        self.waiting: dict[tuple[Any, ...], dict[tuple[Any, ...], dict[str, Any]]] = {}
        """Open batches by partition and producer id, then by the other values that the records of a batch share."""

    def add(self, partition: str, found: Fitted) -> Iterator[dict[str, Any]]:
        """Add a batch, and yield the batches that are full with it."""
        if self.size == AS_IS:
            rows = [row | {"offset": offset} for row, offset in zip(found.rows, found.offsets, strict=True)]
            yield found.head | found.place | {"records": rows}
            return
        producer = (partition, found.group[0])
        if found.control:
            yield from self.waiting.pop(producer, {}).values()
            yield found.head | {"records": found.rows}
            return
        key = (*found.group[1:], found.head["compression"] if self.own_codec else None)
        waiting = self.waiting.setdefault(producer, {})
        for offset, row in zip(found.offsets, found.rows, strict=True):
            if key not in waiting:
                waiting[key] = found.head | {"baseOffset": offset, "records": []}
                if "baseSequence" in found.place:
                    waiting[key]["baseSequence"] = row["sequence"]
            waiting[key]["records"].append(row)
            if len(waiting[key]["records"]) == self.size:
                yield waiting.pop(key)

    def end(self) -> Iterator[dict[str, Any]]:
        """Yield the batches that are left."""
        for waiting in self.waiting.values():
            yield from waiting.values()
        self.waiting = {}


@dataclass(slots=True)
class RecordPrice:
    """The size of all records in one form. `data` is the size of the keys, values and headers' values in it.

    In v0, v1 and the KIP-82 draft an uncompressed batch is one message per record. `refused` is the number of batches
    that are compressed with zstd in a format without zstd: kwire writes them, and Kafka refuses to read them.
    `unwritable` is the number of batches that were left out because the form cannot store their offsets, which are not
    ascending or too far apart.
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
        """Bytes other than keys, values and headers' values. Negative if compression saves more than these bytes."""
        return self.size - self.data

    def add(self, items: Iterable[dict[str, Any]]) -> None:
        """Write batches, and count their bytes."""
        for item in items:
            records = item["records"]
            if not records and self.form not in WITH_BATCHES:
                continue
            codec = item["compression"] if self.codec.name == AS_IS else self.codec.name
            self.refused += codec == "zstd" and LEGACY_COMPRESSION in LAYOUTS[self.form].attributes
            try:
                written = write([item | {"compression": codec, "compressionLevel": self.codec.level}], form=self.form)
            except EncodeError:
                self.unwritable += 1
                continue
            self.size += len(written)
            self.data += sum(map(data_of, records))
            self.records += len(records)
            self.batches += 1


class RecordForms:
    """Records in forms: each format with each batch size and each codec, and forms of headers.

    A batch size is a number of records in a batch, or AS_IS or ALL. Records without headers are written in the forms
    of headers if `bare` is set. With `generated`, the records do not come from an input, so prices are compared with
    format v2. Batches are added in the order in which they are read.
    """

    def __init__(
        self,
        forms: Sequence[str],
        batches: Sequence[int | str],
        codecs: Sequence[Codec],
        register: Register,
        headers: Sequence[str] = (),
        *,
        bare: bool = False,
        generated: bool = False,
    ) -> None:
        self.generated = generated
        self.bare = bare
        self.read: Counter[str] = Counter()
        """Numbers of the records in the input, by the names of facts. Skipped batches are not in the other numbers."""
        self.partitions: set[str] = set()
        self.formats: Counter[str] = Counter()
        self.compressed: Counter[str] = Counter()
        self.lost = {form: Counter[str]() for form in forms}
        self.headers = [HeaderPrice(form) for form in headers]
        self.prices = [
            RecordPrice(form, batch, codec, Gathering(batch, own_codec=codec.name == AS_IS))
            for batch, codec, form in product(batches, codecs, forms)
        ]
        self._register = register

    def add(self, partition: str, batch: Batch) -> None:
        """Price the records of a batch. Skip batches that are incomplete or have more than MOST_RECORDS records."""
        records = _records(batch)
        if records is None:
            self.read.update(skippedBatches=1, skippedBytes=batch.size)
            return
        self.partitions.add(partition)
        self.formats[batch.layout.name] += 1
        self.compressed[batch.compression] += 1
        headers = [header for record in records for header in record.headers]
        self.read.update(
            batches=1,
            bytes=batch.size,
            records=len(records),
            keyBytes=sum(len(record.key or b"") for record in records),
            valueBytes=sum(len(record.value or b"") for record in records),
            headers=len(headers),
            headerNameBytes=sum(len(name.encode()) for name, _ in headers if isinstance(name, str)),
            headerValueBytes=sum(len(value or b"") for _, value in headers),
        )
        fitting = {form: fitted(form, batch, records, self._register, lost) for form, lost in self.lost.items()}
        for price in self.prices:
            price.add(price.gathering.add(partition, fitting[price.form]))
        with_headers = [record for record in records if record.headers or self.bare]
        for header_price in self.headers if with_headers else ():
            header_price.add(records[0], with_headers, self._register)

    def end(self) -> None:
        """Price the batches that waited for more records. Then the prices are complete."""
        for price in self.prices:
            price.add(price.gathering.end())

    def reference(self, price: RecordPrice) -> int | None:
        """Return the size to compare a price with: the size of the input, or of generated records in format v2.

        Return None for generated records if v2 is not one of the forms.
        """
        if not self.generated:
            return self.read["bytes"]
        like = ("v2", price.batch, price.codec)
        return next((other.size for other in self.prices if (other.form, other.batch, other.codec) == like), None)


def _records(batch: Batch) -> list[Record] | None:
    notes: list[Anomaly] = []
    records: list[Record] = []
    for piece in batch.pieces(notes):
        records += piece
        if len(records) > MOST_RECORDS:
            return None
    is_complete = batch.crc_valid and not any(note.code in _UNREADABLE for note in (*batch.notes, *notes))
    return records if is_complete else None
