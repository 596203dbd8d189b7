"""The size of record sets in other formats, batch sizes and codecs, and of headers in other forms.

Records of the input are regrouped into batches of the requested size, by partition and producer. kwire's own writers
write each batch in each form, so that sizes include compression and are exact.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.header_forms import HeaderKeys, HeaderPrice
from kwire_cli.analysis.costs.record_carrying import WITH_BATCHES, data_of, fitted
from kwire_cli.engine.codes import UNREAD
from kwire_cli.errors import EncodeError
from kwire_cli.records.compression import library
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.writing import write
from kwire_cli.structs.records.parts import COMPRESSION, LEGACY_COMPRESSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


@dataclass(slots=True)
class RecordPrice:
    """The size of all records in one form. `data` is the size of the keys, values and headers' values in it.

    `batch` is the number of records in a batch. AS_IS keeps the batches, and ALL puts all records of a producer into
    one batch. A control batch is not joined with others, and ends the open batch of its producer. If batches keep their
    codec, batches with different compression are not joined.

    In v0, v1 and the KIP-82 draft an uncompressed batch is one message per record. `refused` is the number of batches
    that are compressed with zstd in a format without zstd: kwire writes them, and Kafka refuses to read them.
    `unwritable` is the number of batches that were left out because the form cannot store their offsets, which are not
    ascending or too far apart.
    """

    form: str
    batch: int | str
    codec: Codec
    records: int = 0
    batches: int = 0
    size: int = 0
    data: int = 0
    refused: int = 0
    unwritable: int = 0
    _waiting: dict[tuple[Any, ...], dict[tuple[Any, ...], dict[str, Any]]] = field(default_factory=dict)
    """Open batches by partition and producer id, then by the other values that the records of a batch share."""

    @property
    def overhead(self) -> int:
        """Bytes other than keys, values and headers' values. Negative if compression saves more than these bytes."""
        return self.size - self.data

    def add(self, partition: str, fit: Fitted) -> None:
        """Write the batches that are complete with the records of a batch."""
        for item in self._regroup(partition, fit):
            self._write(item)

    def end(self) -> None:
        """Write the open batches."""
        for waiting in self._waiting.values():
            for item in waiting.values():
                self._write(item)
        self._waiting.clear()

    def _regroup(self, partition: str, fit: Fitted) -> Iterator[dict[str, Any]]:
        if self.batch == AS_IS:
            rows = [row | {"offset": offset} for row, offset in zip(fit.rows, fit.offsets, strict=True)]
            yield fit.head | fit.place | {"records": rows}
            return
        producer = (partition, fit.group[0])
        if fit.control:
            yield from self._waiting.pop(producer, {}).values()
            yield fit.head | {"records": fit.rows}
            return
        key = (*fit.group[1:], fit.head["compression"] if self.codec.name == AS_IS else None)
        waiting = self._waiting.setdefault(producer, {})
        for offset, row in zip(fit.offsets, fit.rows, strict=True):
            if key not in waiting:
                waiting[key] = fit.head | {"baseOffset": offset, "records": []}
                if "baseSequence" in fit.place:
                    waiting[key]["baseSequence"] = row["sequence"]
            waiting[key]["records"].append(row)
            if len(waiting[key]["records"]) == self.batch:
                yield waiting.pop(key)

    def _write(self, item: dict[str, Any]) -> None:
        records = item["records"]
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
        self.data += sum(map(data_of, records))
        self.records += len(records)
        self.batches += 1


class RecordForms:
    """Records in forms: each format with each batch size and each codec, and forms of headers.

    Records without headers are written in the forms of headers if `bare` is set. Batches are added in the order in
    which they are read.
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
    ) -> None:
        self.bare = bare
        self.read: Counter[str] = Counter()
        """Numbers of the records in the input, by the names of facts. Skipped batches are not in the other numbers."""
        self.partitions: set[str] = set()
        self.formats: Counter[str] = Counter()
        self.compressed: Counter[str] = Counter()
        self.keys = {form: HeaderKeys(register) for form in forms}
        self.headers = [HeaderPrice(form, HeaderKeys(register)) for form in headers]
        self.prices = [RecordPrice(form, batch, codec) for batch, codec, form in product(batches, codecs, forms)]

    def add(self, partition: str, batch: Batch) -> None:
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

    def end(self) -> None:
        """Price the batches that waited for more records. Then the prices are complete."""
        for price in self.prices:
            price.end()


def _records(batch: Batch) -> list[Record] | None:
    notes: list[Anomaly] = []
    records: list[Record] = []
    for piece in batch.pieces(notes):
        records += piece
        if len(records) > MOST_RECORDS:
            return None
    is_complete = batch.crc_valid and not any(note.code in _UNREADABLE for note in (*batch.notes, *notes))
    return records if is_complete else None
