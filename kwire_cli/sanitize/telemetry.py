"""Metrics of clients (KIP-714): compressed protobuf, in whose place something as long is put that says nothing, and can still be read."""

from __future__ import annotations

from kwire_cli.codec.compression import decompress
from kwire_cli.payload.telemetry import LIMITS
from kwire_cli.sanitize.fitting import fitted

_FIELD = 15 << 3 | 2
"""The key of a field of bytes that MetricsData does not have: readers pass over it."""


def blank_metrics(codec: int, data: bytes) -> bytes | None:
    """As many bytes in the same codec as `data`, that become as many bytes; None where that can't be done."""
    unpacked = decompress(codec, data, LIMITS)
    if unpacked.code:
        return None
    message = _message(len(unpacked.data))
    if message is None:
        return None
    return fitted(codec, message, data) if codec else message


def _message(size: int) -> bytes | None:
    """A message of one field, of so many bytes; None where no message is as short."""
    if not size:
        return b""
    for width in range(1, 6):
        length = size - 1 - width
        if 0 <= length < 1 << 7 * width:
            # The length may take more bytes than it needs.
            digits = [(length >> 7 * i & 0x7F) | (0x80 if i < width - 1 else 0) for i in range(width)]
            return bytes((_FIELD, *digits)) + b"x" * length
    return None
