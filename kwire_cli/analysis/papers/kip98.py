"""The KIP-98 draft beside measurements: a message set with its own header."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.papers.model import Claim, Paper, Table
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


# What is measured of the KIP-98 draft: everything by writing it, or by its declaration where the bytes would
# be too many to make.

BATCHES = (1, 3, 10, 50, 100)


KEY, DATA = 100, 1024
"""The document's messages: "a fixed message size of 1K with 100 byte keys"."""
SIZES = (None, 0, 1, 100, 1024, 1 << 20)
"""Keys and values with which the old format is tried; None is null."""
TWO_MORE, THREE_MORE, FOUR_MORE = 1 << 14, 1 << 21, 1 << 28
"""Where unsigned varints become 3, 4 and 5 bytes long."""
_DRAFT = "kip98-draft"


def overheads(form: str, batches: Sequence[int] = BATCHES, data: int = DATA) -> tuple[int, ...]:
    """Return the bytes beyond keys and values of batches with these numbers of the document's messages."""
    rows = [row(bytes(KEY), bytes(data - KEY), timestamp=1_480_000_000_000 + number) for number in range(max(batches))]
    return tuple(len(written(form, rows[:count])) - count * data for count in batches)


def added(most: int) -> tuple[int, ...]:
    """The different overheads that a message adds to a set of the draft with fewer than `most`."""
    sizes = overheads(_DRAFT, range(1, most + 1))
    return tuple(sorted({after - before for before, after in pairwise(sizes)}))


def row(key: bytes | None, value: bytes | None, **more: Any) -> dict[str, Any]:
    """A record as writers take it."""
    return {
        "key": None if key is None else {"hex": key.hex()},
        "value": None if value is None else {"hex": value.hex()},
    } | more


def written(form: str, rows: list[dict[str, Any]], **more: Any) -> bytes:
    """A batch of these records."""
    return write([{"records": rows} | more], form=form)


def beyond(key: int | None, value: int | None, delta: int = 0) -> int:
    """The bytes of a message of the draft beyond its key and value, which have these sizes."""
    attributes = (kip98.NULL_KEY.mask if key is None else 0) | (kip98.NULL_VALUE.mask if value is None else 0)
    message = {"attributes": attributes, "timestamp": 0, "offsetDelta": delta, "crc": 0}
    return size_of(
        kip98.MESSAGE,
        message | {name: Blank(size) for name, size in (("key", key), ("value", value)) if size is not None},
    ) - _data(key, value)


def beyond_old(key: int | None, value: int | None) -> int:
    """The same of a message of format v1."""
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
    """The overhead of a message with varints of 3 bytes, and the size of the smallest set with it, all of which is
    written.
    """
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
    return (*(attribute.width for attribute in known), width - sum(attribute.width for attribute in known))


def uncovered(layout: Layout, header: Any) -> list[str]:
    """The fields of a header of which a bit can be turned over without the checksum changing."""
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
    """The types that the keys of a COMMIT and an ABORT have when they are written in a format."""
    key = v2.CONTROL_RECORD_KEY if form == "v2" else kip98.CONTROL_MESSAGE_KEY
    return tuple(
        [*key.parse(_records(form, [{"control": {"type": name}}])[0].key).values()][1] for name in ("COMMIT", "ABORT")
    )


def highest_sequence() -> int:
    """The sequence before the one that is lower."""
    sequences = [
        record.sequence for record in _records(_DRAFT, [row(None, b"")] * 3, baseSequence=2147483646, producerId=1)
    ]
    return next(one for one, after in pairwise(sequences) if after < one)


def _records(form: str, rows: list[dict[str, Any]], **more: Any) -> list[Record]:
    """Write the rows as a batch and return the records that are read from it."""
    return [record for batch in items(source_of(written(form, rows, **more), form=form)) for record in batch.records()]  # type: ignore[union-attr]


def _data(key: int | None, value: int | None) -> int:
    return (key or 0) + (value or 0)


# KIP-98's draft of late 2016: its message set against the format before it, and the one that was shipped.

OLD, NEW = (34, 102, 340, 1700, 3400), (62, 96, 215, 895, 1745)
"""The document's table."""


LIMIT = 1_000_000
"""1 MB, of a message set."""
_COMPARE = f"--batch all --key-size {KEY} --value-size {DATA - KEY} --record-forms v1,kip98-draft,v2"
_REPEAT = f"for N in {' '.join(map(str, BATCHES))}; do kwire compare --records $N {_COMPARE}; done"
_ENCODE = "kwire encode --records --record-format kip98-draft"
_DECLARATION = "by the declaration: kwire_cli.structs.records.kip98"
_PROPOSED = (
    "A header of 45 bytes for a whole message set, with producer id, epoch and sequence; messages in it with varint "
    "lengths, offsets that count from the set's, and a CRC of their own."
)
_SHIPPED = (
    "Record format v2 (Kafka 0.11): a header of 61 bytes, which also has a leader epoch, a base timestamp and a count; "
    "records with zig-zag lengths, timestamps as deltas, headers, and no CRC of their own. Its magic is 2 as well: the "
    "draft's bytes can't be told from it, and are read only with --record-format kip98-draft."
)


def paper(catalog: Catalog, *, times: bool) -> Paper:  # noqa: ARG001 - the same for all papers
    """The document's numbers and kwire's."""
    title = "KIP-98, draft of late 2016: a message set with its own header"
    return Paper("kip98", title, _PROPOSED, _SHIPPED, (*_fields(), *_space()), (_overhead_table(), _range_table()))


def _fields() -> tuple[Claim, ...]:
    """Return the claims about fields, which come before any claim about sizes."""
    commit, abort = marker_numbers("v2")
    return (
        Claim(
            "Message Format",
            "bits of a set's attributes: compression, timestamp type, transactional, unused",
            (3, 1, 1, 11),
            bits(kip98.ATTRIBUTES, 16),
            repeat=_DECLARATION,
        ),
        Claim(
            "Message Format",
            "highest sequence, after which it wraps",
            (2147483647,),
            (highest_sequence(),),
            "the epoch was to wrap too, at 32767; shipped Kafka gives out a new producer id instead",
            f'{_ENCODE} \'{{"baseSequence":2147483647,"records":[{{}},{{}}]}}\' -f raw | kwire dump --deep '
            f"--record-format kip98-draft",
        ),
        Claim(
            "Message Set Fields",
            "OffsetDelta of a set of 3 messages from offset 10 on",
            (3,),
            (offset_delta(),),
            'the next set is to begin at "offset + offset delta" (13 = 10 + 3), and in the same sentence that '
            'is "an easy way to compute the last '
            'offset" (12 = 10 + 2); kwire reads it as last minus first, as it was shipped (lastOffsetDelta). '
            "Messages may be missing at the end",
            f'{_ENCODE} \'{{"baseOffset":10,"records":[{{}},{{}},{{}}]}}\'',
            "explained",
        ),
        Claim(
            "Message Fields",
            "bits of a message's attributes: null key, null value, control flag, unused",
            (1, 1, 1, 5),
            bits(kip98.MESSAGE_ATTRIBUTES, 8),
            repeat=_DECLARATION,
        ),
        Claim(
            "Message Fields",
            "control message types of COMMIT and ABORT",
            (0, 1),
            marker_numbers("kip98-draft"),
            repeat=f'{_ENCODE} \'{{"records":[{{"control":{{"type":"ABORT"}}}}]}}\'',
        ),
        Claim(
            "Message Fields",
            "the same in shipped Kafka",
            (0, 1),
            (commit, abort),
            "they were swapped before they were shipped; kwire names each marker by its own format",
            'kwire encode --records \'{"records":[{"control":{"type":"ABORT"}}]}\'',
            "explained",
        ),
        Claim(
            "Discussion on Message-level Schema",
            "fields of the header that the set's CRC leaves out",
            ("none: it covers the header and message data",),
            (", ".join(uncovered(LAYOUTS["kip98-draft"], kip98.HEADER)),),
            "a CRC can't cover itself, nor the offset, which brokers rewrite; kwire has it cover all that is behind "
            f"it. As shipped it leaves out {', '.join(uncovered(LAYOUTS['v2'], v2.HEADER))}. Which CRC it is the text "
            "does not say: kwire takes CRC-32 (IEEE), as before",
            "a bit of each byte of the header turned over, and the checksum computed anew",
            "explained",
        ),
    )


def _space() -> tuple[Claim, ...]:
    """The space comparison."""
    where, batches = "Space Comparison", ", ".join(map(str, BATCHES))
    totals = [total for _, total in inputs()]
    largest, set_size = largest_written()
    first, last = same_values()
    return (
        Claim(
            where,
            "overhead of a message in the old format",
            (34,),
            tuple(sorted({beyond_old(key, value) for key in SIZES for value in SIZES})),
            repeat=f"by the declaration, with keys and values that are null and of "
            f"{', '.join(str(size) for size in SIZES[1:])} bytes",
        ),
        Claim(
            where,
            "overhead of a message set",
            (45,),
            (len(written("kip98-draft", [])),),
            repeat=f"{_ENCODE} '{{\"records\":[]}}'",
        ),
        Claim(
            where,
            "least and most overhead of a message",
            (14, 25),
            (min(totals), max(totals)),
            "Attributes, Timestamp and CRC take 13 bytes, Length and OffsetDelta at least 1 each: 15, never 14. 25 is "
            "with varints of 4 bytes; they go up to 5, which Length and KeyLen take from a key of 256 MiB on",
            "see the table of inputs below",
        ),
        Claim(
            where,
            f"the same where a message set may have {LIMIT} bytes",
            (14, 25),
            (min(totals), largest),
            f"a key of {TWO_MORE} bytes behind {TWO_MORE} empty messages, in a set of {set_size} bytes, has "
            f"varints of 3 bytes. For one of 4 it "
            f"takes a message of {THREE_MORE} bytes, or as many messages; a compressed set may hold such",
            "the set is written",
        ),
        Claim(where, f"overhead of batches of {batches}, old format", OLD, overheads("v1"), repeat=_REPEAT),
        Claim(where, f"overhead of batches of {batches}, new format", NEW, overheads("kip98-draft"), repeat=_REPEAT),
        Claim(
            where,
            "bytes that each additional message adds",
            (17,),
            added(max(BATCHES)),
            f"so it is with all values of {first} to {last} bytes beside a key of {KEY}, up to the 128th message of a "
            "set; whether 1K is the message or its key and value makes no difference",
            _REPEAT,
        ),
    )


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
