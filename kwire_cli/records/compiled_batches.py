"""Batches with valid checksums, found in one call by loops that numba compiles.

CRC-32C is an instruction of x86-64 and ARM processors, which takes eight bytes. Elsewhere tables take its place.

This module imports numba. Only `bulk_batches` imports it, when batches have to be found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import config, njit, types
from numba.extending import intrinsic

POLYNOMIAL = 0x82F63B78
"""The polynomial of CRC-32C (Castagnoli), lowest bit first."""
INSTRUCTIONS = {"x86_64": ("sse4.2", "llvm.x86.sse42.crc32.64.64", 64), "aarch64": ("crc", "llvm.aarch64.crc32cx", 32)}
"""By architecture: the feature that brings the instruction, LLVM's name for it, and the bits of its result."""


def _contributions() -> Any:
    """Return the contribution of each byte (second index) to a checksum by the number of bytes after it (first
    index).
    """
    first: Any = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = (first >> 1) ^ (first & 1) * np.uint32(POLYNOMIAL)
    rows = [first]
    while len(rows) < 8:
        rows.append((rows[-1] >> 8) ^ first[rows[-1] & 255])
    return np.array(rows)


TABLES = _contributions()


def word_by_instruction(name: str, bits: int) -> Any:
    """Return a function that takes eight bytes into a checksum by an instruction of the processor."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        crc = arguments[0]
        short = ir.IntType(bits)
        long = ir.IntType(64)
        array = context.make_array(signature.args[1])(context, builder, arguments[1])
        place = builder.gep(array.data, [arguments[2]])
        word = builder.load(builder.bitcast(place, long.as_pointer()), align=1)
        step = builder.module.declare_intrinsic(name, (), ir.FunctionType(short, [short, long]))
        if short == long:
            return builder.call(step, [crc, word])
        return builder.zext(builder.call(step, [builder.trunc(crc, short), word]), long)

    def typed(_: Any, crc: Any, data: Any, at: Any) -> Any:  # noqa: ARG001 - numba passes arguments by these names
        return types.int64(types.int64, data, types.int64), code

    return intrinsic(typed)


def word_by_tables(crc: Any, data: Any, at: Any) -> Any:
    """Take eight bytes into a checksum."""
    for k in range(4):
        crc ^= (data[at + k] & 255) << (8 * k)
    word = 0
    for k in range(4):
        word ^= TABLES[7 - k, (crc >> (8 * k)) & 255] ^ TABLES[3 - k, data[at + 4 + k]]
    return word


def _word() -> Any:
    feature, name, bits = INSTRUCTIONS.get(binding.get_default_triple().partition("-")[0], ("", "", 0))
    named = config.CPU_NAME or config.CPU_FEATURES  # type: ignore[attr-defined] # settings of numba's environment
    usable = not named and binding.get_host_cpu_features().get(feature)
    return word_by_instruction(name, bits) if usable else njit(word_by_tables)


def checksum_by(word: Any) -> Any:
    """Return the function that computes the CRC-32C of the bytes [at, stop) by such a function."""

    def crc32c(data: Any, at: int, stop: int) -> int:
        crc = 0xFFFFFFFF
        while stop - at >= 8:
            crc = word(crc, data, at)
            at += 8
        while at < stop:
            crc = (crc >> 8) ^ TABLES[0, (crc ^ data[at]) & 255]
            at += 1
        return crc ^ 0xFFFFFFFF

    return njit(nogil=True)(crc32c)


crc32c = checksum_by(_word())


@njit(nogil=True)
def _end_of_batch(data: Any, at: int, stop: int, places: Any) -> int:
    """Return where the batch with a valid checksum ends that begins at `at`; -1 if none does."""
    least, magic, size_at, magic_at, crc_at, crc_from = places
    overhead = size_at + 4
    if stop - at < overhead + least:
        return -1
    size = said = 0
    for k in range(4):
        size = (size << 8) | (data[at + size_at + k] & 255)
        said = (said << 8) | (data[at + crc_at + k] & 255)
    end = at + overhead + size
    if size < least or size >= 0x80000000 or end > stop or data[at + magic_at] != magic:
        return -1
    return end if crc32c(data, at + crc_from, end) == said else -1


def find_batches(data: Any, at: int, stop: int, full: int, places: Any, bounds: Any) -> int:
    """Find batches of one format with valid checksums that follow each other from `at` on, until they reach `full`.

    Return their number. `bounds` gets where the first one begins, and where each one ends. `places` are the least size
    and the magic byte of the format, and where size, magic byte, checksum and the bytes of the checksum begin; a size
    does not count the bytes up to its own end.
    """
    count = 0
    bounds[0] = at
    while at < full and count + 1 < len(bounds):
        end = _end_of_batch(data, at, stop, places)
        if end < 0:
            break
        count += 1
        bounds[count] = at = end
    return count


def odd_sets(data: Any, start: Any, stop: Any, places: Any, header: Any, odd: Any) -> None:
    """Mark in `odd` the record sets [start, stop) that are anything but batches of one format with valid checksums and
    well-formed headers.

    `places` are as in `find_batches`. `header` are the place of the attributes, their unknown bits, and the place of
    the last offset delta, which is negative if its first bit is set.
    """
    attributes_at, strange_bits, delta_at = header
    for k in range(len(start)):
        at = start[k]
        while at < stop[k]:
            end = _end_of_batch(data, at, stop[k], places)
            attributes = (
                ((data[at + attributes_at] & 255) << 8) | (data[at + attributes_at + 1] & 255) if end > 0 else 0
            )
            if end < 0 or attributes & strange_bits or data[at + delta_at] & 128:
                odd[k] = True
                break
            at = end
