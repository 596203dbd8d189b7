"""KIP-98's draft of late 2016: its message set against the format before it, and the one that was shipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.cost.papers import kip98_measured as measured
from kwire_cli.cost.papers.kip98_measured import BATCHES, DATA, KEY, SIZES, THREE_MORE, TWO_MORE
from kwire_cli.cost.papers.model import Claim, Paper, Table
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.structs.records import kip98, v2

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog

OLD, NEW = (34, 102, 340, 1700, 3400), (62, 96, 215, 895, 1745)
"""The document's table."""
LIMIT = 1_000_000
"""1 MB, of a message set."""
_COMPARE = f"--batch all --key-size {KEY} --value-size {DATA - KEY} --record-forms v1,kip98-draft,v2"
_REPEAT = f"for N in {' '.join(map(str, BATCHES))}; do kwire compare --records $N {_COMPARE}; done"
_ENCODE = "kwire encode --records --record-format kip98-draft"
_DECLARATION = "by the declaration: kwire_cli.structs.records.kip98"
_PROPOSED = (
    "A header of 45 bytes for a whole message set, with producer id, epoch and sequence; messages in it with varint lengths, offsets that count from "
    "the set's, and a CRC of their own."
)
_SHIPPED = (
    "Record format v2 (Kafka 0.11): a header of 61 bytes, which also has a leader epoch, a base timestamp and a count; records with zig-zag lengths, "
    "timestamps as deltas, headers, and no CRC of their own. Its magic is 2 as well: the draft's bytes can't be told from it, and are read only with "
    "--record-format kip98-draft."
)


def paper(catalog: Catalog, *, times: bool) -> Paper:  # noqa: ARG001 - the same for all papers
    """The document's numbers and kwire's."""
    title = "KIP-98, draft of late 2016: a message set with its own header"
    return Paper("kip98", title, _PROPOSED, _SHIPPED, (*_fields(), *_space()), (_overhead_table(), _range_table()))


def _fields() -> tuple[Claim, ...]:
    """What is said of fields before any size is."""
    commit, abort = measured.marker_numbers("v2")
    return (
        Claim(
            "Message Format",
            "bits of a set's attributes: compression, timestamp type, transactional, unused",
            (3, 1, 1, 11),
            measured.bits(kip98.ATTRIBUTES, 16),
            repeat=_DECLARATION,
        ),
        Claim(
            "Message Format",
            "highest sequence, after which it wraps",
            (2147483647,),
            (measured.highest_sequence(),),
            "the epoch was to wrap too, at 32767; shipped Kafka gives out a new producer id instead",
            f'{_ENCODE} \'{{"baseSequence":2147483647,"records":[{{}},{{}}]}}\' -f raw | kwire dump --deep --record-format kip98-draft',
        ),
        Claim(
            "Message Set Fields",
            "OffsetDelta of a set of 3 messages from offset 10 on",
            (3,),
            (measured.offset_delta(),),
            'the next set is to begin at "offset + offset delta" (13 = 10 + 3), and in the same sentence that is "an easy way to compute the last '
            'offset" (12 = 10 + 2); kwire reads it as last minus first, as it was shipped (lastOffsetDelta). Messages may be missing at the end',
            f'{_ENCODE} \'{{"baseOffset":10,"records":[{{}},{{}},{{}}]}}\'',
            "explained",
        ),
        Claim(
            "Message Fields",
            "bits of a message's attributes: null key, null value, control flag, unused",
            (1, 1, 1, 5),
            measured.bits(kip98.MESSAGE_ATTRIBUTES, 8),
            repeat=_DECLARATION,
        ),
        Claim(
            "Message Fields",
            "control message types of COMMIT and ABORT",
            (0, 1),
            measured.marker_numbers("kip98-draft"),
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
            (", ".join(measured.uncovered(LAYOUTS["kip98-draft"], kip98.HEADER)),),
            "a CRC can't cover itself, nor the offset, which brokers rewrite; kwire has it cover all that is behind it. As shipped it leaves out "
            f"{', '.join(measured.uncovered(LAYOUTS['v2'], v2.HEADER))}. Which CRC it is the text does not say: kwire takes CRC-32 (IEEE), as before",
            "a bit of each byte of the header turned over, and the checksum computed anew",
            "explained",
        ),
    )


def _space() -> tuple[Claim, ...]:
    """The space comparison."""
    where, batches = "Space Comparison", ", ".join(map(str, BATCHES))
    totals = [total for _, total in measured.inputs()]
    largest, set_size = measured.largest_written()
    first, last = measured.same_values()
    return (
        Claim(
            where,
            "overhead of a message in the old format",
            (34,),
            tuple(sorted({measured.beyond_old(key, value) for key in SIZES for value in SIZES})),
            repeat=f"by the declaration, with keys and values that are null and of {', '.join(str(size) for size in SIZES[1:])} bytes",
        ),
        Claim(where, "overhead of a message set", (45,), (len(measured.written("kip98-draft", [])),), repeat=f"{_ENCODE} '{{\"records\":[]}}'"),
        Claim(
            where,
            "least and most overhead of a message",
            (14, 25),
            (min(totals), max(totals)),
            "Attributes, Timestamp and CRC take 13 bytes, Length and OffsetDelta at least 1 each: 15, never 14. 25 is with varints of 4 bytes; they "
            "go up to 5, which Length and KeyLen take from a key of 256 MiB on",
            "see the table of inputs below",
        ),
        Claim(
            where,
            f"the same where a message set may have {LIMIT} bytes",
            (14, 25),
            (min(totals), largest),
            f"a key of {TWO_MORE} bytes behind {TWO_MORE} empty messages, in a set of {set_size} bytes, has varints of 3 bytes. For one of 4 it "
            f"takes a message of {THREE_MORE} bytes, or as many messages; a compressed set may hold such",
            "the set is written",
        ),
        Claim(where, f"overhead of batches of {batches}, old format", OLD, measured.overheads("v1"), repeat=_REPEAT),
        Claim(where, f"overhead of batches of {batches}, new format", NEW, measured.overheads("kip98-draft"), repeat=_REPEAT),
        Claim(
            where,
            "bytes that each additional message adds",
            (17,),
            measured.added(max(BATCHES)),
            f"so it is with all values of {first} to {last} bytes beside a key of {KEY}, up to the 128th message of a set; whether 1K is the message "
            "or its key and value makes no difference",
            _REPEAT,
        ),
    )


def _overhead_table() -> Table:
    rows = zip(BATCHES, *(measured.overheads(form) for form in ("v1", "kip98-draft", "v2")), strict=True)
    return Table(
        f"Overhead of batches of messages with {DATA} bytes of data, {KEY} of which are the key",
        ("batch", "old (v1)", "draft", "shipped (v2)", "old a message", "draft a message", "shipped a message"),
        tuple((count, *sizes, *(round(size / count, 2) for size in sizes)) for count, *sizes in rows),
        "bytes beyond keys and values, counted from encoded batches; timestamps are a millisecond apart, which matters to v2 alone",
    )


def _range_table() -> Table:
    note = "by the declaration, field by field: the bytes of huge keys are counted and not made"
    return Table("Bytes of a message of the draft beyond its key and value", ("message", "bytes"), measured.inputs(), note)
