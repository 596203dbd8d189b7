"""The KIP-82 draft beside measurements: record headers with integer keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.header_forms import HEADER_FORMS, HeaderForms, Register
from kwire_cli.analysis.papers.model import Claim, Paper, Table
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

    from kwire_cli.analysis.papers.model import Cell
    from kwire_cli.spec.catalog import Catalog


# What is measured of the KIP-82 draft: messages and headers are written, and counted.

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
    """The first versions of Produce and Fetch that carry record format v2, by the fields that came with it; None
    without these fields.
    """
    return tuple(
        next((field.versions.low for field in catalog.message(name).fields if field.name == marker), None)
        for name, marker in _NEW.items()
    )


def magic() -> int:
    """The magic byte of a message that is written, as a reader finds it."""
    return _read(_written(_DRAFT, {})).magic


def more_than_v1() -> tuple[int, ...]:
    """By how many bytes messages without headers are longer than those of format v1: all different numbers."""
    rows = [
        {"key": key, "value": value}
        for key in (None, _blank(0), _blank(100))
        for value in (None, _blank(0), _blank(PAYLOAD))
    ]
    return tuple(sorted({len(_written(_DRAFT, row)) - len(_written("v1", row)) for row in rows}))


def header_framing() -> tuple[int, int]:
    """The bytes that the first header adds beyond its value, and the second."""
    sizes = [
        len(_written(_DRAFT, {"headers": [{"key": key, "value": _blank(5)} for key in range(count)]}))
        for count in range(3)
    ]
    return sizes[1] - sizes[0] - 5, sizes[2] - sizes[1] - 5


def highest_key() -> int:
    """The highest key that can be written, as it is read."""
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
    """The bytes that a reduction saves against the draft, for keys (or values) of these sizes."""
    out = []
    for size in sizes:
        data = None if size is None else bytes(size)
        record = Record(0, 0, -1, None if of_value else data, data if of_value else bytes(PAYLOAD), ())
        draft, reduced = _priced((_DRAFT, form), record)
        out.append(draft.size - reduced.size)
    return tuple(out)


def reduced(sizes: Sequence[int | None]) -> dict[str, list[int]]:
    """The bytes of a message beyond key and payload, for keys of these sizes, in the draft's form and each that is
    reduced.
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


# KIP-82's draft: headers with integer keys in the message, against what it rejects, what it leaves out, and
# what was shipped.

_ALLOCATION, _REGISTERS, _SCOPE = "Example Key Allocation", "Sample register", "Out of Scope"


_DECLARATION = "by the declaration: kwire_cli.structs.records.kip82"
_HEADERS = " ".join(f"--header-name {name}" for name in NAMES)
_COMPARE = (
    f"kwire compare --records 1 --key-size -1 --value-size {PAYLOAD} {_HEADERS} --header-size "
    f"{HEADER_SIZE} --headers-as all"
)
_EACH = f"for N in {' '.join(map(str, KEY_SIZES))}; do"
_ENCODE = "kwire encode --records --record-format kip82-draft"
_PROPOSED = (
    "Headers in the message of format v1, between key and value: an int32 length, then for each header, in ascending "
    "order of its integer key, the key, the length of its value and the value. A bit of the attributes says that there "
    "are any; registers say what a key means."
)
_SHIPPED = (
    "Headers in records of format v2 (Kafka 0.11): names as strings with varint lengths, values that may be null, in "
    "the producer's order, and the same name as often as it likes. Its magic is 2 as well: the draft's bytes can't be "
    "told from it, and are read only with --record-format kip82-draft."
)


def paper(catalog: Catalog, *, times: bool) -> Paper:  # noqa: ARG001 - the same for all papers
    """The document's numbers and kwire's."""
    claims = (*_format(catalog), *_keys(), *_prices())
    tables = (_range_table(), _register_table(), _header_table(), _reduction_table())
    return Paper("kip82", "KIP-82, draft: record headers with integer keys", _PROPOSED, _SHIPPED, claims, tables)


def _format(catalog: Catalog) -> tuple[Claim, ...]:
    """Return the claims about the message."""
    where = "Wire protocol change"
    return (
        Claim(
            "Public Interfaces",
            "versions of Produce and Fetch with the new format",
            (3, 3),
            first_versions(catalog),
            "record format v2 came with Produce v3, which has a transactionalId, and with Fetch v4, which has an "
            "isolationLevel; Fetch v3 was taken by then (KIP-74)",
            "kwire spec show ProduceRequest; kwire spec show FetchRequest",
            "explained",
        ),
        Claim(
            where,
            "magic byte",
            (2,),
            (magic(),),
            "the shipped format has the same, so that kwire never takes bytes for the draft's by themselves",
            f"{_ENCODE} '{{\"records\":[{{}}]}}'",
        ),
        Claim(
            where,
            "attribute bit that says that there are headers",
            (4,),
            (kip82.HAS_HEADERS.shift,),
            f"counted from 0, so that its value is {kip82.HAS_HEADERS.mask:#04x}: bits 0 to 2 are the codec, "
            f"bit 3 the timestamp type",
            _DECLARATION,
        ),
        Claim(
            where,
            "bytes that a message without headers has more than one of format v1",
            (0,),
            more_than_v1(),
            repeat="kwire compare --records 10 --record-forms v1,kip82-draft",
        ),
        Claim(
            "Wire protocol of the headers bytes",
            "bytes of the first header, and of each other, beyond its value",
            (12, 8),
            header_framing(),
            "HeadersLength, Key and ValueLength are int32",
            f'{_ENCODE} \'{{"records":[{{"headers":[{{"key":1,"value":""}}]}}]}}\'',
        ),
    )


def _keys() -> tuple[Claim, ...]:
    """Return the claims about keys."""
    vendors = tuple(entry.key for entry in OPEN_SOURCE_REGISTER if entry.by != "Apache Kafka")
    own = tuple(entry.key for entry in LOCAL_REGISTER)
    client = next(entry for entry in KEY_RANGES if (entry.space, entry.use) == ("Local", "Client"))
    return (
        Claim(
            _ALLOCATION,
            "highest key",
            (0xFFFFFFFF,),
            (highest_key(),),
            "written and read back; as the Java int that a key is, it is -1. kwire shows and orders keys as unsigned",
            f'{_ENCODE} \'{{"records":[{{"headers":[{{"key":4294967295,"value":""}}]}}]}}\' -f raw | kwire '
            f"dump --deep --record-format kip82-draft",
        ),
        Claim(_ALLOCATION, "0x00000010, a Kafka header", (10,), (0x00000010,), "the hexadecimal number is 16"),
        Claim(
            _ALLOCATION,
            "0x00100010, a header used internally",
            (1048592,),
            (0x00100010,),
            f"in {key_range(0x00100010).label}",
        ),
        Claim(
            _ALLOCATION,
            "0x00220010, a plugin for annotating the location",
            (2228240,),
            (0x00220010,),
            f"in {key_range(0x00220010).label}",
        ),
        Claim(
            _ALLOCATION,
            "0x0034010, an application that is testing",
            (3407888,),
            (0x0034010,),
            f"a digit is missing: 3407888 is {3407888:#010x}, in {key_range(3407888).label}; the key as "
            f"printed is in {key_range(0x0034010).label}",
        ),
        Claim(
            _REGISTERS,
            f"spaces of {_listed(vendors)}, in the register of the open source space",
            ("Kafka open source",) * len(vendors),
            tuple(key_range(key).space for key in vendors),
            f"{vendors[0]} is {vendors[0]:#010x}, in {key_range(vendors[0]).label}: there anybody can grab a "
            f"number, and no register is kept",
        ),
        Claim(
            _REGISTERS,
            f"spaces of {_listed(own)}, in the register of an organisation",
            ("Local",) * len(own),
            tuple(key_range(key).space for key in own),
            f"app.name and charge.tag, {own[0]:#010x} and {own[1]:#010x}, are both in {key_range(own[0]).label}; the "
            f"first is a producer's, and {client.first - own[0]} short of the first client key, {client.first}",
        ),
    )


def _prices() -> tuple[Claim, ...]:
    """Return the claims about the cost of headers, and about what the reductions save."""
    costs = {form: sizes[-1] for form, sizes in header_costs().items()}
    names, numbers, values = sum(map(len, NAMES)), 4 * len(NAMES), HEADER_SIZE * len(NAMES)
    lengths, shipped_lengths = costs["kip82-draft"] - numbers - values, costs["v2"] - names - values
    sizes = ", ".join(map(str, KEY_SIZES))
    with_bit, without_bit = saved("no-key-length", (None, 0))
    return (
        Claim(
            "Rejected Alternatives",
            f"a payload of {PAYLOAD} bytes is dwarfed by headers with string keys: {len(NAMES)} with values of "
            f"{HEADER_SIZE} bytes, as a=b&c=d, as JSON, as Avro, then in the draft's form, and as shipped",
            (f"more than {PAYLOAD}",),
            tuple(costs[form] for form in ("map-pairs", "map-json", "map-avro", "kip82-draft", "v2")),
            f"it is, and so it is by the draft's own headers: values take {values} bytes in any form. The names have "
            f"{names}, numbers in their place {numbers}; of the {names - numbers} bytes saved the draft loses "
            f"{lengths - shipped_lengths} to its int32 lengths: {lengths} bytes, and {shipped_lengths} as shipped",
            _COMPARE,
            "explained",
        ),
        Claim(
            _SCOPE,
            "bytes saved without a KeyLength, by an attribute bit",
            (4,),
            (with_bit,),
            f'with a null key; with any other nothing is ({without_bit}). The text has "when no headers", '
            f'where it must mean "when no key"',
            "kwire compare --records 1 --key-size -1 --headers-as kip82-draft,no-key-length",
        ),
        Claim(
            _SCOPE,
            f"bytes saved by a KeyLength of variable length, for keys of {sizes} bytes",
            (4,) * len(KEY_SIZES),
            saved("varint-key-length", KEY_SIZES),
            "of the 4 bytes, 1 and more stay: zig-zag varints, as shipped, so that -1 is a null key",
            f"{_EACH} kwire compare --records 1 --key-size $N --headers-as kip82-draft,varint-key-length; done",
            "explained",
        ),
        Claim(
            _SCOPE,
            f"bytes saved by a ValueLength of variable length, for values of {sizes} bytes",
            (4,) * len(KEY_SIZES),
            saved("varint-value-length", KEY_SIZES, of_value=True),
            "as above",
            f"{_EACH} kwire compare --records 1 --value-size $N --headers-as kip82-draft,varint-value-length; done",
            "explained",
        ),
    )


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(map(str, numbers))


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
