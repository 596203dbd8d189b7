"""Checksums of record sets and of LZ4 headers."""

from __future__ import annotations

import zlib
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_MASK = 0xFFFFFFFF
_PRIME1, _PRIME2, _PRIME3, _PRIME4, _PRIME5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1


def crc32(data: Any) -> int:
    """CRC-32 (IEEE, as in zlib) of bytes-likes: that of messages of magic 0 and 1, as an unsigned number."""
    return zlib.crc32(data)


def crc32c(data: Any) -> int:
    """CRC-32C (Castagnoli) of bytes-likes: that of record batches (magic 2), as an unsigned number."""
    return _crc32c_function()(data)


@cache
def _crc32c_function() -> Callable[[Any], int]:
    """The function of the library crc32c, without its package: importing that looks up its version, which takes longer than a small log."""
    from importlib.machinery import PathFinder  # noqa: PLC0415 - start-up is a feature
    from importlib.util import find_spec, module_from_spec  # noqa: PLC0415

    package = find_spec("crc32c")
    found = PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations) if package else None
    if found is None or found.loader is None:
        import crc32c as library  # noqa: PLC0415

        return library.crc32c
    module = module_from_spec(found)
    found.loader.exec_module(module)
    function: Callable[[Any], int] = module.crc32c
    return function


def xxh32_short(data: Any) -> int:
    """XxHash32 with seed 0 of fewer than 16 bytes, which is all that an LZ4 header has (the long form hashes in four lanes first).

    Source: the xxHash algorithm description, version 0.1.1, steps 1 (short input) and 4 to 6.
    """
    state = _PRIME5 + len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        state = (_rotated(state + int.from_bytes(data[at : at + 4], "little") * _PRIME3, 17) * _PRIME4) & _MASK
    for byte in data[whole:]:
        state = (_rotated(state + byte * _PRIME5, 11) * _PRIME1) & _MASK
    state = ((state ^ state >> 15) * _PRIME2) & _MASK
    state = ((state ^ state >> 13) * _PRIME3) & _MASK
    return state ^ state >> 16


def _rotated(number: int, bits: int) -> int:
    number &= _MASK
    return (number << bits | number >> 32 - bits) & _MASK
