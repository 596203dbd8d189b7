"""Fillings: bytes that say nothing, in place of bytes that could not be read. Reading stops at them for the same reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTHING = b"\xff"
"""Repeated: no size of a frame or batch, no api, and a varint that does not end."""
VARINT_BEYOND = b"\xfe\xff\xff\xff\x0f"
"""The zigzag varint of the largest length, which ends behind all bytes."""
COMPACT_BEYOND = b"\xff\xff\xff\xff\x07"
"""The same as an unsigned varint."""
BEYOND = b"\x7f\xff\xff\xff"
"""The same as an int32, and as an int16."""


def fillings(size: int) -> Iterator[bytes]:
    """Yield fillings of this size, in the order in which they are tried."""
    yield bytes(size)
    for start in (BEYOND, COMPACT_BEYOND, VARINT_BEYOND):
        yield start[:size].ljust(size, b"\0")
    yield BEYOND[:1] * size  # wherever a length stands, it ends behind a short message
    yield NOTHING * size
