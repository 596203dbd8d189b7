"""What is measured of the KIP-98 draft: everything by writing it, or by its declaration where the bytes would be too many to make."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kwire_cli.records.opening import items, source_of
from kwire_cli.records.writing import write
from kwire_cli.structs.records import kip98, v1, v2
from kwire_cli.structs.records.sizes import Blank, size_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.records.layouts import Layout
    from kwire_cli.records.model import Record
    from kwire_cli.structs.records.parts import Bits

BATCHES = (1, 3, 10, 50, 100)
KEY, DATA = 100, 1024
"""The document's messages: "a fixed message size of 1K with 100 byte keys"."""
SIZES = (None, 0, 1, 100, 1024, 1 << 20)
"""Keys and values with which the old format is tried; None is null."""
TWO_MORE, THREE_MORE, FOUR_MORE = 1 << 14, 1 << 21, 1 << 28
"""Where unsigned varints become 3, 4 and 5 bytes long."""
_DRAFT = "kip98-draft"


def overheads(form: str, batches: Sequence[int] = BATCHES, data: int = DATA) -> tuple[int, ...]:
    """What batches of so many of the document's messages have beyond keys and values."""
    rows = [row(bytes(KEY), bytes(data - KEY), timestamp=1_480_000_000_000 + number) for number in range(max(batches))]
    return tuple(len(written(form, rows[:count])) - count * data for count in batches)


def added(most: int) -> tuple[int, ...]:
    """The different overheads that a message adds to a set of the draft with fewer than `most`."""
    found = overheads(_DRAFT, range(1, most + 1))
    return tuple(sorted({after - before for before, after in pairwise(found)}))


def row(key: bytes | None, value: bytes | None, **more: Any) -> dict[str, Any]:
    """A record as writers take it."""
    return {"key": None if key is None else {"hex": key.hex()}, "value": None if value is None else {"hex": value.hex()}} | more


def written(form: str, rows: list[dict[str, Any]], **more: Any) -> bytes:
    """A batch of these records."""
    return write([{"records": rows} | more], form=form)


def beyond(key: int | None, value: int | None, delta: int = 0) -> int:
    """The bytes of a message of the draft beyond its key and value, which have these sizes."""
    attributes = (kip98.NULL_KEY.mask if key is None else 0) | (kip98.NULL_VALUE.mask if value is None else 0)
    message = {"attributes": attributes, "timestamp": 0, "offsetDelta": delta, "crc": 0}
    return size_of(kip98.MESSAGE, message | {name: Blank(size) for name, size in (("key", key), ("value", value)) if size is not None}) - _data(
        key, value
    )


def beyond_old(key: int | None, value: int | None) -> int:
    """The same of a message of format v1."""
    sizes = {name: None if size is None else Blank(size) for name, size in (("key", key), ("value", value))}
    return size_of(v1.MESSAGE, {"offset": 0, "crc": 0, "magic": 1, "attributes": 0, "timestamp": 0} | sizes) - _data(key, value)


def inputs() -> tuple[tuple[str, int], ...]:
    """What reaches the ends: what a message is, and its bytes beyond key and value."""
    return tuple(
        (says, beyond(*how))
        for says, how in (
            ("null key, null value, first of its set", (None, None)),
            ("null key, value of 113 bytes", (None, 113)),
            ("null key, value of 114 bytes: Length takes 2 bytes", (None, 114)),
            ("key of 100 bytes, null value: no KeyLen", (100, None)),
            (f"key of {KEY} bytes, value of {DATA - KEY}: the document's", (KEY, DATA - KEY)),
            (f"key of {TWO_MORE} bytes, after {TWO_MORE} messages: varints of 3 bytes", (TWO_MORE, 0, TWO_MORE)),
            (f"key of {THREE_MORE} bytes, after {THREE_MORE} messages: varints of 4 bytes", (THREE_MORE, 0, THREE_MORE)),
            (f"key of {FOUR_MORE} bytes, after {FOUR_MORE} messages, null value: no KeyLen", (FOUR_MORE, None, FOUR_MORE)),
            (f"key of {FOUR_MORE} bytes, after {FOUR_MORE} messages: varints of 5 bytes", (FOUR_MORE, 0, FOUR_MORE)),
        )
    )


def largest_written() -> tuple[int, int]:
    """The overhead of a message with varints of 3 bytes, and the size of the smallest set with it, all of which is written."""
    rows = [row(None, None)] * TWO_MORE
    before, whole = len(written(_DRAFT, rows)), len(written(_DRAFT, [*rows, row(bytes(TWO_MORE), b"")]))
    return whole - before - TWO_MORE, whole


def same_values() -> tuple[int, int]:
    """The sizes of values, from and to, that cost beside a key of KEY bytes what the document's cost."""
    wanted = beyond(KEY, DATA - KEY)
    least = next(size for size in range(DATA) if beyond(KEY, size) == wanted)
    low, high = DATA - KEY, 1 << 20
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if beyond(KEY, middle) == wanted else (low, middle)
    return least, low


def bits(known: Sequence[Bits], width: int) -> tuple[int, ...]:
    """The width of each part of an attributes field, and what is left."""
    return (*(each.width for each in known), width - sum(each.width for each in known))


def uncovered(layout: Layout, header: Any) -> list[str]:
    """The fields of a header of which a bit can be turned over without the checksum changing."""
    data = written(layout.name, [])
    right, out, at = layout.checksum(data[layout.crc_from :]), [], 0
    for field in header.subcons:
        after = at + field.sizeof()
        turned = [data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :] for place in range(at, after)]
        if any(layout.checksum(each[layout.crc_from :]) == right for each in turned):
            out.append(field.name)
        at = after
    return out


def offset_delta() -> int:
    """That of a set of 3 messages from offset 10 on."""
    found: int = kip98.HEADER.parse(written(_DRAFT, [row(None, b"")] * 3, baseOffset=10))["offsetDelta"]
    return found


def marker_numbers(form: str) -> tuple[int, ...]:
    """The types that the keys of a COMMIT and an ABORT have when they are written in a format."""
    key = v2.CONTROL_RECORD_KEY if form == "v2" else kip98.CONTROL_MESSAGE_KEY
    return tuple([*key.parse(_records(form, [{"control": {"type": name}}])[0].key).values()][1] for name in ("COMMIT", "ABORT"))


def highest_sequence() -> int:
    """The sequence before the one that is lower."""
    sequences = [record.sequence for record in _records(_DRAFT, [row(None, b"")] * 3, baseSequence=2147483646, producerId=1)]
    return next(one for one, after in pairwise(sequences) if after < one)


def _records(form: str, rows: list[dict[str, Any]], **more: Any) -> list[Record]:
    """What is read of what was written."""
    return [record for batch in items(source_of(written(form, rows, **more), form=form)) for record in batch.records()]  # type: ignore[union-attr]


def _data(key: int | None, value: int | None) -> int:
    return (key or 0) + (value or 0)
