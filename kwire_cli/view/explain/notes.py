"""Notes on the fields of frames, headers and record formats.

`notes.toml` contains the notes. Some fields of record formats are more than numbers: `BITS`, `CHECKSUMS` and `SUMS`
list them by format and path without indexes. The bits, and the fields that a checksum covers, are taken from the
declarations of the formats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.records.formats import RECORD_FORMATS
from kwire_cli.structs.records import kip98
from kwire_cli.view.explain.rules import read_texts

if TYPE_CHECKING:
    from kwire_cli.structs.records.parts import Bits
    from kwire_cli.view.rows import Part

BITS: dict[tuple[str, str], tuple[Bits, ...]] = {
    **{(name, "attributes"): form.declared.ATTRIBUTES for name, form in RECORD_FORMATS.items()},
    ("v2", "records[].attributes"): (),
    ("kip98-draft", "messages[].attributes"): kip98.MESSAGE_ATTRIBUTES,
}
CHECKSUMS: dict[tuple[str, str], tuple[str, str]] = {
    **{(name, "crc"): (form.declared.CRC, form.declared.CRC_FROM) for name, form in RECORD_FORMATS.items()},
    ("kip98-draft", "messages[].crc"): (kip98.CRC, kip98.MESSAGE_CRC_FROM),
}
"""The rule of each checksum, and the first field that it covers."""
SUMS = {
    ("v2", "lastOffsetDelta"): ("baseOffset", "the last offset"),
    ("v2", "records[].offsetDelta"): ("baseOffset", "its offset"),
    ("v2", "records[].timestampDelta"): ("baseTimestamp", "its timestamp"),
}
"""Fields that are a difference to a base field: the base field, and the name of the sum."""

NOTES: dict[str, dict[str, str]] = read_texts("notes.toml")
"""Notes by layout and path without indexes. The notes of `records` apply to all record formats."""


def note_on(part: Part, path: str) -> str:
    """Return the note on a field of a part, or an empty string."""
    layouts = (layout_of(part), "records") if part.batch else (layout_of(part),)
    return next((NOTES[layout][path] for layout in layouts if path in NOTES.get(layout, ())), "")


def layout_of(part: Part) -> str:
    """Return the key of a part in `NOTES`: the message of a header, or a record format."""
    if part.name == "size":
        return "FrameSize"
    return part.batch.layout.name if part.batch else part.message
