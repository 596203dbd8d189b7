"""What records cost as they came, and in another form: sums, and the JSON of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.codec.libraries import library
from kwire_cli.cost.gathering import AS_IS
from kwire_cli.structs.records.parts import COMPRESSION

if TYPE_CHECKING:
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Record

_CODECS = {name: number for number, name in COMPRESSION.names.items()}


class Codec(NamedTuple):
    """How batches are compressed: a name of COMPRESSION or AS_IS, and a level or None for Kafka's own."""

    name: str
    level: int | None = None

    @property
    def label(self) -> str:
        """`gzip`, `zstd:19`."""
        return self.name if self.level is None else f"{self.name}:{self.level}"

    @property
    def library(self) -> str | None:
        """What compresses; None where nothing does, or each batch keeps its own codec."""
        return None if self.name in {AS_IS, "none"} else library(_CODECS[self.name], self.level)


@dataclass(slots=True)
class Written:
    """The records as they came: batches, records, their bytes, and what of these are keys, values, and headers' values and names.

    `skipped` are batches that were passed over, `skipped_bytes` their bytes; the other numbers are without them. `formats` and `compressed`
    are batches by format and codec.
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
    """All records in one form: their bytes, and in how many batches. `data` are those of keys, values and headers' values that the form carries.

    In v0, v1 and the KIP-82 draft a batch that is not compressed is as many messages as it has records. `refused` are batches compressed with zstd
    in a format that is older than it: kwire writes them, and Kafka refuses to read them. `unwritable` are batches left out, since the form can't hold
    their offsets, which go down or lie too far apart.
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

    @property
    def overhead(self) -> int:
        """Bytes that are neither key nor value nor a header's value; below 0 where compression saves more than there is."""
        return self.size - self.data

    def to_json(self, reference: int | None) -> dict[str, Any]:
        """The numbers, with the size's ratio to `reference`."""
        return {
            "form": self.form,
            "batch": self.batch,
            "codec": self.codec.label,
            "library": self.codec.library,
            "records": self.records,
            "batches": self.batches,
            "bytes": self.size,
            "overhead": self.overhead,
            "bytesPerRecord": _share(self.size, self.records),
            "overheadPerRecord": _share(self.overhead, self.records),
            "overheadPerBatch": _share(self.overhead, self.batches),
            "ratio": _share(self.size, reference),
            "refusedBatches": self.refused,
            "unwritableBatches": self.unwritable,
        }


def _share(part: int, whole: int | None) -> float | None:
    return round(part / whole, 3) if whole else None
