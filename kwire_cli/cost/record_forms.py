"""The same records in other record formats, batches and codecs: written by kwire's own writers, and counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.cost.gathering import AS_IS, Gathering
from kwire_cli.cost.record_fitting import WITH_BATCHES, data_of, fitted
from kwire_cli.cost.record_prices import Codec, Price, Written
from kwire_cli.errors import EncodeError
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.writing import write
from kwire_cli.structs.records.parts import LEGACY_COMPRESSION

if TYPE_CHECKING:
    from kwire_cli.cost.header_keys import Register
    from kwire_cli.cost.record_fitting import Fitted
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Record

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
"""What leaves doubt whether all records of a batch are there."""
MOST_RECORDS = 1 << 18
"""Of one batch, all of which have to be in memory. With the limits that brokers and producers have by default none has as many."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to write: each form with each number of records in a batch (or AS_IS, ALL) and each codec."""

    forms: tuple[str, ...]
    batches: tuple[int | str, ...]
    codecs: tuple[Codec, ...]
    register: Register


class RecordForms:
    """The prices of a plan; batches are added as they are read. `generated` records have no form of their own to be compared with."""

    def __init__(self, plan: Plan, *, generated: bool = False) -> None:
        self.plan, self.generated = plan, generated
        self.written = Written()
        self.lost = {form: Counter[str]() for form in plan.forms}
        self.prices = [Price(form, batch, codec) for batch in plan.batches for codec in plan.codecs for form in plan.forms]
        self._ways: dict[str, list[tuple[Gathering, list[Price]]]] = {
            form: [
                (Gathering(batch, own_codec=own), prices)
                for batch in plan.batches
                for own in (True, False)
                if (prices := [price for price in self.prices if (price.form, price.batch, price.codec.name == AS_IS) == (form, batch, own)])
            ]
            for form in plan.forms
        }

    def add(self, partition: str, batch: Batch) -> list[Record] | None:
        """Price the records of a batch, and give them; None where it is passed over, since it cannot be read whole, or has more than MOST_RECORDS."""
        records = _records(batch)
        if records is None:
            self.written.skipped += 1
            self.written.skipped_bytes += batch.size
            return None
        self.written.add(partition, batch, records)
        for form, ways in self._ways.items():
            found = fitted(form, batch, records, self.plan.register, self.lost[form])
            alone = _alone(form, found) if found.rows and any(_is_alone(price, batch.compression) for _, prices in ways for price in prices) else 0
            for gathering, prices in ways:
                for price in prices:
                    price.data += found.data
                    price.size += alone if _is_alone(price, batch.compression) else 0
                for item in gathering.add(partition, found):
                    _write(item, prices)
        return records

    def end(self) -> None:
        """Price what was waiting for more records; after this the prices are whole."""
        for ways in self._ways.values():
            for gathering, prices in ways:
                for item in gathering.end():
                    _write(item, prices)

    def reference(self, price: Price) -> int | None:
        """The size that a price's ratio is to: what was read; of generated records, v2 in the same batches, if that was asked for."""
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


def _write(item: dict[str, Any], prices: list[Price]) -> None:
    """Add a batch to prices; of one that is `_is_alone` the bytes are counted already."""
    count = len(item["records"])
    own = item.pop("compression")
    for price in prices:
        codec = _codec(price, own)
        if not count and price.form not in WITH_BATCHES:
            continue
        price.refused += codec == "zstd" and LEGACY_COMPRESSION in LAYOUTS[price.form].attributes
        if not _is_alone(price, own):
            try:
                price.size += len(write([item | {"compression": codec, "compressionLevel": price.codec.level}], form=price.form))
            except EncodeError:
                price.unwritable += 1
                price.data -= sum(data_of(row) for row in item["records"])
                continue
        price.records += count
        price.batches += 1


def _codec(price: Price, own: str) -> str:
    """What batches of a price are compressed with that came with their own codec."""
    return own if price.codec.name == AS_IS else price.codec.name


def _is_alone(price: Price, own: str) -> bool:
    """Whether each record is a message by itself, whose bytes are the same whatever is sent along with it: they are written once only."""
    return price.form not in WITH_BATCHES and _codec(price, own) == "none"


def _alone(form: str, found: Fitted) -> int:
    """The bytes of records as messages by themselves."""
    return len(write([found.head | {"records": found.rows, "compression": "none"}], form=form))
