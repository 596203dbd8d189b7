"""What is measured of the KIP-82 draft: messages and headers are written, and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.cost.header_forms import HEADER_FORMS, HeaderForms
from kwire_cli.cost.header_keys import Register
from kwire_cli.records.batch import Batch
from kwire_cli.records.model import Record
from kwire_cli.records.opening import items, source_of
from kwire_cli.records.writing import write
from kwire_cli.structs.records.kip82 import OPEN_SOURCE_REGISTER
from kwire_cli.structs.records.kip82_alternatives import REDUCED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.spec.catalog import Catalog

PAYLOAD = 60
"""Bytes of a message that string headers are said to dwarf."""
NAMES = tuple(each.name for each in OPEN_SOURCE_REGISTER)
HEADER_SIZE = 16
"""Bytes of a header's value: an id."""
KEY_SIZES = (10, 100, 10_000)
_DRAFT = "kip82-draft"
_NEW = {"ProduceRequest": "TransactionalId", "FetchRequest": "IsolationLevel"}
"""Fields that came with the versions in which record format v2 did."""


def first_versions(catalog: Catalog) -> tuple[int | None, ...]:
    """The first versions of Produce and Fetch that carry record format v2, by the fields that came with it; None without these fields."""
    return tuple(next((field.versions.low for field in catalog.message(name).fields if field.name == marker), None) for name, marker in _NEW.items())


def magic() -> int:
    """The magic byte of a message that is written, as a reader finds it."""
    return _read(_written(_DRAFT, {})).magic


def more_than_v1() -> tuple[int, ...]:
    """By how many bytes messages without headers are longer than those of format v1: all different numbers."""
    rows = [{"key": key, "value": value} for key in (None, _blank(0), _blank(100)) for value in (None, _blank(0), _blank(PAYLOAD))]
    return tuple(sorted({len(_written(_DRAFT, row)) - len(_written("v1", row)) for row in rows}))


def header_framing() -> tuple[int, int]:
    """The bytes that the first header adds beyond its value, and the second."""
    sizes = [len(_written(_DRAFT, {"headers": [{"key": key, "value": _blank(5)} for key in range(count)]})) for count in range(3)]
    return sizes[1] - sizes[0] - 5, sizes[2] - sizes[1] - 5


def highest_key() -> int:
    """The highest key that can be written, as it is read."""
    [record] = _read(_written(_DRAFT, {"headers": [{"key": (1 << 32) - 1, "value": _blank(0)}]})).records()
    return int(record.headers[0][0])


def header_costs() -> dict[str, list[int]]:
    """What 1 to all of NAMES cost as headers of a message with the payload, by form."""
    forms = tuple(form for form in HEADER_FORMS if form not in REDUCED)
    out: dict[str, list[int]] = {form: [] for form in forms}
    for count in range(1, len(NAMES) + 1):
        headers = tuple((name, b"x" * HEADER_SIZE) for name in NAMES[:count])
        for price in _priced(forms, Record(0, 0, -1, None, bytes(PAYLOAD), headers)):
            out[price.form].append(price.cost)
    return out


def saved(form: str, sizes: Sequence[int | None], *, of_value: bool = False) -> tuple[int, ...]:
    """The bytes that a reduction saves against the draft, for keys (or values) of these sizes."""
    out = []
    for size in sizes:
        data = None if size is None else bytes(size)
        record = Record(0, 0, -1, None if of_value else data, data if of_value else bytes(PAYLOAD), ())
        draft, reduced = _priced((_DRAFT, form), record)
        out.append(draft.size - reduced.size)
    return tuple(out)


def reduced(sizes: Sequence[int | None]) -> dict[str, list[int]]:
    """The bytes of a message beyond key and payload, for keys of these sizes, in the draft's form and each that is reduced."""
    forms = (_DRAFT, *REDUCED)
    out: dict[str, list[int]] = {form: [] for form in forms}
    for size in sizes:
        key = None if size is None else bytes(size)
        for price in _priced(forms, Record(0, 0, -1, key, bytes(PAYLOAD), ())):
            out[price.form].append(price.size - PAYLOAD - (size or 0))
    return out


def _priced(forms: Sequence[str], record: Record) -> list[Any]:
    found = HeaderForms(forms, Register())
    found.add([record])
    return found.prices


def _written(form: str, row: dict[str, Any]) -> bytes:
    return write([{"records": [row]}], form=form)


def _read(data: bytes) -> Batch:
    return next(item for item in items(source_of(data, form=_DRAFT)) if isinstance(item, Batch))


def _blank(size: int) -> dict[str, str]:
    return {"hex": "00" * size}
