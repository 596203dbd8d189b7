"""Frames split from bytes, and the likeliest reading of each.

Size prefixes lead from one frame to the next. If they do not lead to the exact end, the bytes are one message without a
prefix, or their end is missing. Both readings are tried, and the one that explains the bytes with fewer bits is
returned (`guess`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.message.decoded import as_bytes
from kwire_cli.message.frames import (
    MAX_SIZE,
    SIZE_BYTES,
    Frame,
    Hints,
    _is_left_to_bytes,
    read,
    says_size,
)
from kwire_cli.structs.numbers import INTS

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog

# Reading frames from bytes: where they begin and end, and whether some bytes are a request, or which
# response.

API_KEY_BYTES = INTS["int16"].length


def split(data: Any, start: int = 0, stop: int | None = None) -> list[tuple[int, int, bool]]:
    """Split bytes into frames: (start, stop, whether the frame is complete).

    Size prefixes lead from one frame to the next. The last frame has the remaining bytes if a prefix does not fit.
    Bytes that begin with an impossible size are returned as one piece.
    """
    data = as_bytes(data)
    stop = len(data) if stop is None else stop
    frames = []
    at = start
    while stop - at >= 8:
        size = says_size(data, at, stop) or 0
        if not 4 <= size <= stop - at - SIZE_BYTES:
            break
        frames.append((at, at + SIZE_BYTES + size, True))
        at += SIZE_BYTES + size
    return [*frames, (at, stop, False)] if at < stop else frames


def read_all(catalog: Catalog, data: Any, hints: Hints, *, first: int = 1, framed: bool | None = None) -> list[Frame]:
    """Read the frames in some bytes, numbered from `first`.

    `framed` determines whether size prefixes precede the frames; with None the bytes decide.
    """
    data = as_bytes(data)
    pieces = split(data) if framed is not False else [(0, len(data), False)]
    if not pieces:
        return []

    def read_pieces(parts: list[tuple[int, int, bool]], *, prefixed: bool) -> list[Frame]:
        spots = enumerate(parts, first)
        return [read(catalog, data, hints, number=i, start=a, stop=b, prefixed=prefixed) for i, (a, b, _) in spots]

    if framed is not None or pieces[-1][2]:
        return read_pieces(pieces, prefixed=framed is not False)
    said = says_size(data, 0, len(data)) or 0
    if said < 0 and _is_left_to_bytes(hints):
        return read_pieces(pieces, prefixed=True)
    # Either one message without a prefix, or frames with a truncated last one. Choose the reading with fewer bits.
    bare = read_pieces([(0, len(data), False)], prefixed=False)
    if bare[0].sure or (len(pieces) == 1 and not 0 <= said <= MAX_SIZE):
        return bare
    cut = read_pieces(pieces, prefixed=True)
    if bare[0].guess and _ends_in_api_key(catalog, data):
        return cut
    return min(bare, cut, key=lambda frames: sum(frame.bits for frame in frames))


def _ends_in_api_key(catalog: Catalog, data: Any) -> bool:
    """Return whether the bytes may be only a request's size and api key: too few to distinguish them from a response
    without a size.
    """
    key = bytes(data[SIZE_BYTES : SIZE_BYTES + API_KEY_BYTES])
    request_api = (
        len(data) < 2 * SIZE_BYTES
        and len(key) == API_KEY_BYTES
        and any(key)
        and catalog.api_by_key(int.from_bytes(key, "big"))
    )
    return bool(request_api) and 2 * SIZE_BYTES <= (says_size(data, 0, len(data)) or 0) <= MAX_SIZE


def unrecognised(frame: Frame) -> Frame:
    """Return the frame as bytes that are neither a request nor a response."""
    notes = tuple(note for note in frame.notes if note.code != "UNKNOWN_API")
    return Frame(
        frame.catalog,
        frame.number,
        "unknown",
        frame.data,
        frame.start,
        frame.stop,
        prefixed=frame.prefixed,
        notes=notes,
    )
