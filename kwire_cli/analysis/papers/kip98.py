"""The KIP-98 draft of late 2016 measured: its message set against the format before it, and the one that was shipped.

Everything is written, or counted by its declaration where the bytes would be too many to make.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.papers.claims import Figures, Table
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.reading import items, source_of
from kwire_cli.records.writing import write
from kwire_cli.structs.records import kip98, v1, v2
from kwire_cli.structs.records.parts import Blank, size_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.records.batch import Record
    from kwire_cli.records.layouts import Layout
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.structs.records.parts import Bits

BATCHES = (1, 3, 10, 50, 100)


KEY, DATA = 100, 1024
"""The document's messages: "a fixed message size of 1K with 100 byte keys"."""
SIZES = (None, 0, 1, 100, 1024, 1 << 20)
"""Keys and values with which the old format is tried; None is null."""
TWO_MORE, THREE_MORE, FOUR_MORE = 1 << 14, 1 << 21, 1 << 28
"""The numbers from which on unsigned varints are 3, 4 and 5 bytes long."""
_DRAFT = "kip98-draft"


def overheads(form: str, batches: Sequence[int] = BATCHES, data: int = DATA) -> tuple[int, ...]:
    """Return the bytes beyond keys and values of batches with these numbers of the document's messages."""
    rows = [row(bytes(KEY), bytes(data - KEY), timestamp=1_480_000_000_000 + number) for number in range(max(batches))]
    return tuple(len(written(form, rows[:count])) - count * data for count in batches)


def added(most: int) -> tuple[int, ...]:
    """Return the different overheads that a message adds to a set of the draft with fewer than `most`."""
    sizes = overheads(_DRAFT, range(1, most + 1))
    return tuple(sorted({after - before for before, after in pairwise(sizes)}))


def row(key: bytes | None, value: bytes | None, **more: Any) -> dict[str, Any]:
    """Return a record as writers take it."""
    return {
        "key": None if key is None else {"hex": key.hex()},
        "value": None if value is None else {"hex": value.hex()},
    } | more


def written(form: str, rows: list[dict[str, Any]], **more: Any) -> bytes:
    """Return a batch of these records."""
    return write([{"records": rows} | more], form=form)


def beyond(key: int | None, value: int | None, delta: int = 0) -> int:
    """Return the bytes of a message of the draft beyond its key and value, which have these sizes."""
    attributes = (kip98.NULL_KEY.mask if key is None else 0) | (kip98.NULL_VALUE.mask if value is None else 0)
    message = {"attributes": attributes, "timestamp": 0, "offsetDelta": delta, "crc": 0}
    return size_of(
        kip98.MESSAGE,
        message | {name: Blank(size) for name, size in (("key", key), ("value", value)) if size is not None},
    ) - _data(key, value)


def beyond_old(key: int | None, value: int | None) -> int:
    """Return the same of a message of format v1."""
    sizes = {name: None if size is None else Blank(size) for name, size in (("key", key), ("value", value))}
    return size_of(v1.MESSAGE, {"offset": 0, "crc": 0, "magic": 1, "attributes": 0, "timestamp": 0} | sizes) - _data(
        key, value
    )


def inputs() -> tuple[tuple[str, int], ...]:
    """Return the inputs that reach the ends: a description of each message, and its bytes beyond key and value."""
    return tuple(
        (says, beyond(*how))
        for says, how in (
            ("null key, null value, first of its set", (None, None)),
            ("null key, value of 113 bytes", (None, 113)),
            ("null key, value of 114 bytes: Length takes 2 bytes", (None, 114)),
            ("key of 100 bytes, null value: no KeyLen", (100, None)),
            (f"key of {KEY} bytes, value of {DATA - KEY}: the document's", (KEY, DATA - KEY)),
            (f"key of {TWO_MORE} bytes, after {TWO_MORE} messages: varints of 3 bytes", (TWO_MORE, 0, TWO_MORE)),
            (
                f"key of {THREE_MORE} bytes, after {THREE_MORE} messages: varints of 4 bytes",
                (THREE_MORE, 0, THREE_MORE),
            ),
            (
                f"key of {FOUR_MORE} bytes, after {FOUR_MORE} messages, null value: no KeyLen",
                (FOUR_MORE, None, FOUR_MORE),
            ),
            (f"key of {FOUR_MORE} bytes, after {FOUR_MORE} messages: varints of 5 bytes", (FOUR_MORE, 0, FOUR_MORE)),
        )
    )


def largest_written() -> tuple[int, int]:
    """Return the overhead of a message with varints of 3 bytes, and the size of the smallest set with it. All of the
    set is written.
    """
    rows = [row(None, None)] * TWO_MORE
    before, whole = len(written(_DRAFT, rows)), len(written(_DRAFT, [*rows, row(bytes(TWO_MORE), b"")]))
    return whole - before - TWO_MORE, whole


def same_values() -> tuple[int, int]:
    """Return the sizes of values, from and to, that cost beside a key of KEY bytes what the document's cost."""
    wanted = beyond(KEY, DATA - KEY)
    least = next(size for size in range(DATA) if beyond(KEY, size) == wanted)
    low, high = DATA - KEY, 1 << 20
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if beyond(KEY, middle) == wanted else (low, middle)
    return least, low


def bits(known: Sequence[Bits], width: int) -> tuple[int, ...]:
    """Return the width of each part of an attributes field, and what is left."""
    return (*(attribute.width for attribute in known), width - sum(attribute.width for attribute in known))


def uncovered(layout: Layout, header: Any) -> list[str]:
    """Return the fields of a header of which a bit can be turned over without the checksum changing."""
    data = written(layout.name, [])
    right, out, at = layout.checksum(data[layout.crc_from :]), [], 0
    for field in header.subcons:
        after = at + field.sizeof()
        turned = [data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :] for place in range(at, after)]
        if any(layout.checksum(flipped[layout.crc_from :]) == right for flipped in turned):
            out.append(field.name)
        at = after
    return out


def offset_delta() -> int:
    """Return the offsetDelta of a set of 3 messages from offset 10 on."""
    delta: int = kip98.HEADER.parse(written(_DRAFT, [row(None, b"")] * 3, baseOffset=10))["offsetDelta"]
    return delta


def marker_numbers(form: str) -> tuple[int, ...]:
    """Return the types that the keys of a COMMIT and an ABORT have when they are written in a format."""
    key = v2.CONTROL_RECORD_KEY if form == "v2" else kip98.CONTROL_MESSAGE_KEY
    return tuple(
        [*key.parse(_records(form, [{"control": {"type": name}}])[0].key).values()][1] for name in ("COMMIT", "ABORT")
    )


def highest_sequence() -> int:
    """Return the sequence before the one that is lower."""
    sequences = [
        record.sequence for record in _records(_DRAFT, [row(None, b"")] * 3, baseSequence=2147483646, producerId=1)
    ]
    return next(one for one, after in pairwise(sequences) if after < one)


def _records(form: str, rows: list[dict[str, Any]], **more: Any) -> list[Record]:
    """Write the rows as a batch and return the records that are read from it."""
    return [record for batch in items(source_of(written(form, rows, **more), form=form)) for record in batch.records()]  # type: ignore[union-attr]


def _data(key: int | None, value: int | None) -> int:
    return (key or 0) + (value or 0)


def figures(catalog: Catalog) -> Figures:  # noqa: ARG001 - the same for all papers
    """Return what the claims name."""
    totals = [total for _, total in inputs()]
    largest, set_size = largest_written()
    first, last = same_values()
    forms = f"--batch all --key-size {KEY} --value-size {DATA - KEY} --record-forms v1,{_DRAFT},v2"
    return {
        "encode": f"kwire encode --as-records --record-format {_DRAFT}",
        "batches_command": f"for N in {' '.join(map(str, BATCHES))}; do kwire compare --record-count $N {forms}; done",
        "attribute_bits": bits(kip98.ATTRIBUTES, 16),
        "highest_sequence": highest_sequence(),
        "offset_delta": offset_delta(),
        "message_attribute_bits": bits(kip98.MESSAGE_ATTRIBUTES, 8),
        "markers": marker_numbers(_DRAFT),
        "shipped_markers": marker_numbers("v2"),
        "uncovered": ", ".join(uncovered(LAYOUTS[_DRAFT], kip98.HEADER)),
        "shipped_uncovered": ", ".join(uncovered(LAYOUTS["v2"], v2.HEADER)),
        "old_overhead": tuple(sorted({beyond_old(key, value) for key in SIZES for value in SIZES})),
        "set_overhead": len(written(_DRAFT, [])),
        "least_and_most": (min(totals), max(totals)),
        "least_and_largest": (min(totals), largest),
        "largest_set": set_size,
        "old_overheads": overheads("v1"),
        "new_overheads": overheads(_DRAFT),
        "added": added(max(BATCHES)),
        "first_value": first,
        "last_value": last,
    }


def tables(catalog: Catalog, *, times: bool | None) -> tuple[Table, ...]:  # noqa: ARG001 - the same for all papers
    """Return the overhead of batches, and the overhead of messages at the ends of their ranges."""
    return _overhead_table(), _range_table()


def _overhead_table() -> Table:
    rows = zip(BATCHES, *(overheads(form) for form in ("v1", "kip98-draft", "v2")), strict=True)
    return Table(
        f"Overhead of batches of messages with {DATA} bytes of data, {KEY} of which are the key",
        ("batch", "old (v1)", "draft", "shipped (v2)", "old a message", "draft a message", "shipped a message"),
        tuple((count, *sizes, *(round(size / count, 2) for size in sizes)) for count, *sizes in rows),
        "bytes beyond keys and values, counted from encoded batches; timestamps are a millisecond apart, "
        "which matters to v2 alone",
    )


def _range_table() -> Table:
    note = "by the declaration, field by field: the bytes of huge keys are counted and not made"
    return Table("Bytes of a message of the draft beyond its key and value", ("message", "bytes"), inputs(), note)
