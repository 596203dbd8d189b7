"""The size of record sets in other formats, batch sizes and codecs.

Records of the input are regrouped into batches of the requested size, by partition and producer. kwire's own writers
write each batch in each form, so that sizes include compression and are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.record_carrying import WITH_BATCHES, data_of
from kwire_cli.errors import EncodeError, InputError
from kwire_cli.records.compression import compress, library
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.writing import write
from kwire_cli.structs.records.parts import COMPRESSION, LEGACY_COMPRESSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.costs.record_carrying import Fitted

AS_IS = "as-is"
ALL = "all"
BATCH_SIZES = (AS_IS, "1", "10", "100")
FORMS = tuple(LAYOUTS)
_CODECS = {name: number for number, name in COMPRESSION.names.items()}


class Codec(NamedTuple):
    """The compression of batches: a name of COMPRESSION or AS_IS, and a level or None for Kafka's own level."""

    name: str
    level: int | None = None

    @classmethod
    def parse(cls, text: str) -> Codec:
        """Return the codec in `gzip` or `zstd:19`. Raise InputError for an unknown codec or level."""
        name, colon, level = text.strip().partition(":")
        number = _CODECS.get(name)
        if number is None and name != AS_IS:
            raise InputError(f"--codec takes {', '.join(_CODECS)} and {AS_IS}, not {text!r}")
        if not colon:
            return cls(name)
        if not number:
            raise InputError(f"--codec {text}: {name} has no compression levels")
        try:
            compress(number, b"", level=int(level))
        except ValueError:
            raise InputError(f"--codec {text}: a level is a number") from None
        except EncodeError as error:
            raise InputError(f"--codec {text}: {error.reason}") from None
        return cls(name, int(level))

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


def batch_size(size: int | str) -> int | str:
    """Return a number of records in a batch, AS_IS or ALL. Raise InputError for other text."""
    text = str(size).strip()
    if text in {ALL, AS_IS}:
        return text
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not int(text):
        raise InputError(f"--batch takes numbers of records from 1 up, {AS_IS}, {ALL}, not {text!r}")
    return int(text)
