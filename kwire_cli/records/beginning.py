"""Telling record batches by their first bytes: by a valid checksum, or, where a batch is cut or damaged, by a header that makes sense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.records.opening import source_of
from kwire_cli.records.reading import Reader
from kwire_cli.structs.records import v0
from kwire_cli.structs.records.parts import COMPRESSION, LEGACY_COMPRESSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cli.records.layouts import Layout
    from kwire_cli.records.reading import Frame

_LATEST = 1 << 48
"""Milliseconds since 1970 (in the year 10889) that no timestamp of a real log reaches."""
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
    """Return the batch that the bytes begin with, whole or cut behind its header; None where they begin with something else. Drafts are not tried."""
    reader = Reader(source_of(data))
    frame = reader.frame(0)
    if frame is None or len(reader.view) < frame.layout.head.size:
        return None
    whole = frame.end <= len(reader.view)
    valid = whole and reader.right(frame, 0)
    if valid:
        return Beginning(frame.layout, frame.end, whole, valid, sure=True)
    fits = _fits(frame, reader.view)
    return None if fits is False else Beginning(frame.layout, frame.end, whole, valid, sure=fits is True)


def _fits(frame: Frame, view: memoryview) -> bool | None:
    """Whether the header of a batch holds only what brokers and clients write into one; None if so little of it is there that chance may do it."""
    numbers = frame.layout.numbers(view, frame.start)
    attributes = numbers["attributes"]
    if attributes & ~frame.layout.known_bits:
        return False
    if not frame.layout.is_message:
        return COMPRESSION.read(attributes) in COMPRESSION.names and _is_batch_header(numbers)
    if numbers["offset"] < 0 or LEGACY_COMPRESSION.read(attributes) not in COMPRESSION.names or not -1 <= numbers.get("timestamp", -1) < _LATEST:
        return False
    return _lengths_fit(frame, view)


def _is_batch_header(said: Mapping[str, int]) -> bool:
    absent = all(said[name] >= -1 for name in ("partitionLeaderEpoch", "producerId", "producerEpoch", "baseSequence", "recordsCount"))
    times = all(-1 <= said[name] < _LATEST for name in ("baseTimestamp", "maxTimestamp"))
    return said["baseOffset"] >= 0 and said["lastOffsetDelta"] >= 0 and absent and times and said["recordsCount"] <= said["lastOffsetDelta"] + 1


def _lengths_fit(frame: Frame, view: memoryview) -> bool | None:
    """Whether the lengths of key and value add up to the size of a message; None if it is of format v0 and they are not all there."""
    at = frame.start + frame.layout.head.size
    for last in (False, True):
        if at + _LENGTH.length > len(view):
            return True if "timestamp" in frame.layout.head.names else None
        length = int.from_bytes(view[at : at + _LENGTH.length], signed=True)
        at += _LENGTH.length + max(length, 0)
        if length < -1 or (at != frame.end if last else at + _LENGTH.length > frame.end):
            return False
    return True
