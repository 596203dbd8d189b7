"""Telling record batches by their first bytes: by a valid checksum, or, where a batch is cut or damaged, by a header that makes sense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.records.cut import MOST_CUT, CutBatch, is_header
from kwire_cli.records.opening import source_of
from kwire_cli.records.reading import Reader
from kwire_cli.structs.records import v0
from kwire_cli.structs.records.parts import COMPRESSION, LEGACY_COMPRESSION

if TYPE_CHECKING:
    from kwire_cli.records.layouts import Layout
    from kwire_cli.records.reading import Frame

_MOST_CUT_KEY = 1 << 7
"""Bytes of a key that is longer than what is there: a longer key is likelier to be other bytes."""
_LENGTH = v0.NULLABLE_BYTES.prefix
"""Before the key and the value of a message of format v0 or v1."""


class Beginning(NamedTuple):
    """The batch that some bytes begin with. `valid` says whether its checksum is right, `whole` whether all of its bytes are there.

    It is `sure` unless it is a message of format v0 that ends before its lengths, which could be compared with its size.
    """

    layout: Layout
    size: int
    whole: bool
    valid: bool
    sure: bool

    @property
    def why(self) -> str:
        """What tells that it is a batch, for eyes."""
        what = f"a record batch of format {self.layout.name} begins here"
        if self.valid:
            return f"{what}, and its checksum is valid"
        return f"{what} by its header, but {'its checksum is wrong' if self.whole else f'it ends before its {self.size} bytes do'}"


def beginning(data: Any) -> Beginning | None:
    """Return the batch that the bytes begin with, whole or cut; None where they begin with something else. Drafts are not tried.

    Of formats v0 and v1, the header has to be whole. Of a header of format v2, the bytes up to the magic byte suffice.
    """
    reader = Reader(source_of(data))
    frame = reader.frame(0)
    if frame is None or (frame.layout.is_message and len(reader.view) < frame.layout.head.size):
        return None
    whole = frame.end <= len(reader.view)
    valid = whole and reader.right(frame, 0)
    if valid:
        return Beginning(frame.layout, frame.end, whole, valid, sure=True)
    if not whole and frame.end > MOST_CUT:
        return None
    fits = _fits(frame, reader)
    return None if fits is False else Beginning(frame.layout, frame.end, whole, valid, sure=fits is True)


def _fits(frame: Frame, reader: Reader) -> bool | None:
    """Whether the header of a batch holds only what brokers and clients write into one; None if so little of it is there that chance may do it."""
    layout, view = frame.layout, reader.view
    said = CutBatch(reader.source, 0, len(view), layout, crc_valid=None).fields()  # type: ignore[arg-type]
    attributes = said.get("attributes", 0)
    codecs = LEGACY_COMPRESSION if layout.is_message else COMPRESSION
    if attributes & ~layout.known_bits or codecs.read(attributes) not in codecs.names or not is_header(said):
        return False
    if layout.is_message:
        return _lengths_fit(frame, view)
    return True


def _lengths_fit(frame: Frame, view: memoryview) -> bool | None:
    """Whether the lengths of key and value add up to the size of a message; None if it is of format v0 and they are not all there."""
    at = frame.start + frame.layout.head.size
    for last in (False, True):
        if at + _LENGTH.length > len(view):
            return True if "timestamp" in frame.layout.head.names else None
        length = int.from_bytes(view[at : at + _LENGTH.length], signed=True)
        if not last and length > max(_MOST_CUT_KEY, len(view) - at):
            return False
        at += _LENGTH.length + max(length, 0)
        if length < -1 or (at != frame.end if last else at + _LENGTH.length > frame.end):
            return False
    return True
