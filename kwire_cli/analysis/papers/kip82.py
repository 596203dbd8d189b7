"""The KIP-82 draft measured: headers with integer keys in the message, against what it rejects, what it leaves out, and
what was shipped. Messages and headers are written, and counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.header_forms import HEADER_FORMS, HeaderForms, Register
from kwire_cli.analysis.papers.claims import Cell, Figures, Table
from kwire_cli.records.batch import Batch, Record
from kwire_cli.records.reading import items, source_of
from kwire_cli.records.writing import write
from kwire_cli.structs.records import kip82
from kwire_cli.structs.records.kip82 import (
    KEY_RANGES,
    LOCAL_REGISTER,
    OPEN_SOURCE_REGISTER,
    REDUCED,
    REGISTERED,
    key_range,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.spec.catalog import Catalog

PAYLOAD = 60
"""Bytes of a message that string headers are said to dwarf."""
NAMES = tuple(header.name for header in OPEN_SOURCE_REGISTER)
HEADER_SIZE = 16
"""Bytes of a header's value: an id."""
KEY_SIZES = (10, 100, 10_000)
_DRAFT = "kip82-draft"
_NEW = {"ProduceRequest": "TransactionalId", "FetchRequest": "IsolationLevel"}
"""Fields that came with the versions in which record format v2 did."""


def first_versions(catalog: Catalog) -> tuple[int | None, ...]:
    """Return the first versions of Produce and Fetch that carry record format v2, by the fields that came with it; None
    without these fields.
    """
    return tuple(
        next((field.versions.low for field in catalog.message(name).fields if field.name == marker), None)
        for name, marker in _NEW.items()
    )


def magic() -> int:
    """Return the magic byte of a message that is written, as a reader finds it."""
    return _read(_written(_DRAFT, {})).magic


def more_than_v1() -> tuple[int, ...]:
    """Return by how many bytes messages without headers are longer than those of format v1: all different numbers."""
    rows = [
        {"key": key, "value": value}
        for key in (None, _blank(0), _blank(100))
        for value in (None, _blank(0), _blank(PAYLOAD))
    ]
    return tuple(sorted({len(_written(_DRAFT, row)) - len(_written("v1", row)) for row in rows}))


def header_framing() -> tuple[int, int]:
    """Return the bytes that the first header adds beyond its value, and the second."""
    sizes = [
        len(_written(_DRAFT, {"headers": [{"key": key, "value": _blank(5)} for key in range(count)]}))
        for count in range(3)
    ]
    return sizes[1] - sizes[0] - 5, sizes[2] - sizes[1] - 5


def highest_key() -> int:
    """Return the highest key that can be written, as it is read."""
    [record] = _read(_written(_DRAFT, {"headers": [{"key": (1 << 32) - 1, "value": _blank(0)}]})).records()
    return int(record.headers[0][0])


def header_costs() -> dict[str, list[int]]:
    """Return the costs of 1 to all of NAMES as headers of a message with the payload, by form."""
    forms = tuple(form for form in HEADER_FORMS if form not in REDUCED)
    out: dict[str, list[int]] = {form: [] for form in forms}
    for count in range(1, len(NAMES) + 1):
        headers = tuple((name, b"x" * HEADER_SIZE) for name in NAMES[:count])
        for price in _priced(forms, Record(0, 0, -1, None, bytes(PAYLOAD), headers)):
            out[price.form].append(price.cost)
    return out


def saved(form: str, sizes: Sequence[int | None], *, of_value: bool = False) -> tuple[int, ...]:
    """Return the bytes that a reduction saves against the draft, for keys (or values) of these sizes."""
    out = []
    for size in sizes:
        data = None if size is None else bytes(size)
        record = Record(0, 0, -1, None if of_value else data, data if of_value else bytes(PAYLOAD), ())
        draft, reduced = _priced((_DRAFT, form), record)
        out.append(draft.size - reduced.size)
    return tuple(out)


def reduced(sizes: Sequence[int | None]) -> dict[str, list[int]]:
    """Return the bytes of a message beyond key and payload, for keys of these sizes, in the draft's form and each
    reduced one.
    """
    forms = (_DRAFT, *REDUCED)
    out: dict[str, list[int]] = {form: [] for form in forms}
    for size in sizes:
        key = None if size is None else bytes(size)
        for price in _priced(forms, Record(0, 0, -1, key, bytes(PAYLOAD), ())):
            out[price.form].append(price.size - PAYLOAD - (size or 0))
    return out


def _priced(forms: Sequence[str], record: Record) -> list[Any]:
    header_forms = HeaderForms(forms, Register())
    header_forms.add([record])
    return header_forms.prices


def _written(form: str, row: dict[str, Any]) -> bytes:
    return write([{"records": [row]}], form=form)


def _read(data: bytes) -> Batch:
    return next(item for item in items(source_of(data, form=_DRAFT)) if isinstance(item, Batch))


def _blank(size: int) -> dict[str, str]:
    return {"hex": "00" * size}


def figures(catalog: Catalog) -> Figures:
    """Return what the claims name."""
    vendors = tuple(header.key for header in OPEN_SOURCE_REGISTER if header.by != "Apache Kafka")
    own = tuple(header.key for header in LOCAL_REGISTER)
    client = next(keys for keys in KEY_RANGES if (keys.space, keys.use) == ("Local", "Client"))
    costs = {form: sizes[-1] for form, sizes in header_costs().items()}
    names, numbers, values = sum(map(len, NAMES)), 4 * len(NAMES), HEADER_SIZE * len(NAMES)
    lengths, shipped_lengths = costs[_DRAFT] - numbers - values, costs["v2"] - names - values
    saved_without_key_length, saved_of_a_key = saved("no-key-length", (None, 0))
    return {
        "encode": f"kwire encode --as-records --record-format {_DRAFT}",
        "first_versions": first_versions(catalog),
        "magic": magic(),
        "headers_bit": kip82.HAS_HEADERS.shift,
        "headers_mask": f"{kip82.HAS_HEADERS.mask:#04x}",
        "more_than_v1": more_than_v1(),
        "header_framing": header_framing(),
        "highest_key": highest_key(),
        "key_of_kafka": 0x00000010,
        "key_used_internally": 0x00100010,
        "range_used_internally": key_range(0x00100010).label,
        "key_of_a_plugin": 0x00220010,
        "range_of_a_plugin": key_range(0x00220010).label,
        "key_of_a_test": 0x0034010,
        "range_of_a_test": key_range(0x0034010).label,
        "range_of_3407888": key_range(3407888).label,
        "vendors": " and ".join(map(str, vendors)),
        "vendor": vendors[0],
        "vendor_hex": f"{vendors[0]:#010x}",
        "vendor_range": key_range(vendors[0]).label,
        "vendor_spaces": tuple(key_range(key).space for key in vendors),
        "own": " and ".join(map(str, own)),
        "own_hex": " and ".join(f"{key:#010x}" for key in own),
        "own_range": key_range(own[0]).label,
        "own_spaces": tuple(key_range(key).space for key in own),
        "first_client": client.first,
        "short_of_client": client.first - own[0],
        "header_costs": tuple(costs[form] for form in ("map-pairs", "map-json", "map-avro", _DRAFT, "v2")),
        "names": names,
        "numbers": numbers,
        "values": values,
        "names_less_numbers": names - numbers,
        "lengths": lengths,
        "shipped_lengths": shipped_lengths,
        "lengths_more": lengths - shipped_lengths,
        "headers_command": f"kwire compare --record-count 1 --key-size -1 --value-size {PAYLOAD} "
        f"{' '.join(f'--header-name {name}' for name in NAMES)} --header-size {HEADER_SIZE} --headers-as all",
        "saved_without_key_length": saved_without_key_length,
        "saved_of_a_key": saved_of_a_key,
        "saved_by_varint_key_length": saved("varint-key-length", KEY_SIZES),
        "saved_by_varint_value_length": saved("varint-value-length", KEY_SIZES, of_value=True),
    }


def tables(catalog: Catalog, *, times: bool | None) -> tuple[Table, ...]:  # noqa: ARG001 - the same for all papers
    """Return the ranges of keys and the registers, and what headers and reductions cost."""
    return _range_table(), _register_table(), _header_table(), _reduction_table()


def _range_table() -> Table:
    rows = tuple(
        (f"{interval.first:#010x}", f"{interval.last:#010x}", interval.first, interval.last, interval.label)
        for interval in KEY_RANGES
    )
    return Table("The key space", ("from", "to", "from, decimal", "to, decimal", "range"), rows)


def _register_table() -> Table:
    rows = tuple(
        (header.key, f"{header.key:#010x}", header.name, header.by, key_range(header.key).label)
        for header in REGISTERED.values()
    )
    return Table("The sample registers", ("key", "as hex", "name", "by", "range that it is in"), rows)


def _header_table() -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple((form, *sizes) for form, sizes in header_costs().items())
    counts = tuple(f"{count} header{'s' * (count > 1)}" for count in range(1, len(NAMES) + 1))
    note = (
        f"with and without them, written and counted: values of {HEADER_SIZE} bytes, names "
        f"{', '.join(NAMES)} in this order"
    )
    return Table(
        f"Bytes that headers add to a message with a payload of {PAYLOAD} bytes", ("form", *counts), rows, note
    )


def _reduction_table() -> Table:
    sizes = (None, *KEY_SIZES)
    rows: tuple[tuple[Cell, ...], ...] = tuple((form, *byte_counts) for form, byte_counts in reduced(sizes).items())
    heading = ("form", *("null key" if size is None else f"key of {size}" for size in sizes))
    return Table(
        f"Bytes of a message without headers and with a payload of {PAYLOAD} bytes, beyond key and payload",
        heading,
        rows,
    )
