"""Loops over the bytes of captures, for `compiled.compiled`: from one packet to the next, and which packets belong together."""

from __future__ import annotations

from typing import Any


def hop_records(data: Any, at: int, stop: int, header: int, captured_at: int, little: Any, longest: int, out: Any) -> tuple[int, int]:
    """Where pcap's packets begin, as many as `out` has room for: how many that are, and where the first begins that is not whole, or is too long."""
    count = 0
    while count < len(out) and at + header <= stop:
        k = at + captured_at
        one, two, three, four = data[k] & 255, data[k + 1] & 255, data[k + 2] & 255, data[k + 3] & 255
        size = one | two << 8 | three << 16 | four << 24 if little else four | three << 8 | two << 16 | one << 24
        if size > longest or at + header + size > stop:
            break
        out[count] = at
        count += 1
        at += header + size
    return count, at


def hop_blocks(
    data: Any, at: int, stop: int, least: int, length_at: int, trailer: int, kind: int, little: Any, longest: int, out: Any
) -> tuple[int, int]:
    """Where pcapng's blocks of one kind begin, that follow each other and whose two lengths are right; else as `hop_records`."""
    count = 0
    while count < len(out) and at + least <= stop:
        k = at
        one, two, three, four = data[k] & 255, data[k + 1] & 255, data[k + 2] & 255, data[k + 3] & 255
        found = one | two << 8 | three << 16 | four << 24 if little else four | three << 8 | two << 16 | one << 24
        k = at + length_at
        one, two, three, four = data[k] & 255, data[k + 1] & 255, data[k + 2] & 255, data[k + 3] & 255
        size = one | two << 8 | three << 16 | four << 24 if little else four | three << 8 | two << 16 | one << 24
        if found != kind or size % 4 or size < least or size > longest or at + size > stop:
            break
        k = at + size - trailer
        same = data[k] & 255 == one and data[k + 1] & 255 == two and data[k + 2] & 255 == three and data[k + 3] & 255 == four
        if not same:
            break
        out[count] = at
        count += 1
        at += size
    return count, at


def in_order(
    direction: Any, sequence: Any, acknowledgment: Any, size: Any, missing: Any, flags: Any, deciding: int, expected: int, state: Any
) -> int:
    """How many segments come as they should: the next one of their direction, nothing cut off, acknowledging nothing that is yet to come.

    `state` has of each direction the number of the next byte, the bytes delivered, and what was last acknowledged: it is moved on.
    """
    mask = 0xFFFFFFFF
    for i in range(len(direction)):
        d = direction[i]
        if flags[i] & deciding != expected or missing[i] or sequence[i] != state[d, 0]:
            return i
        if size[i] and (state[1 - d, 0] - acknowledgment[i]) & mask >= 0x80000000:
            return i
        state[d, 0] = (state[d, 0] + size[i]) & mask
        state[d, 1] += size[i]
        state[d, 2] = acknowledgment[i]
    return len(direction)


def hop_frames(data: Any, at: int, width: int, most: int, out: Any) -> tuple[int, int]:
    """Where the whole frames begin, as many as there are; and where the rest begins, or -1 where a size is none."""
    count = 0
    while at + width <= len(data):
        size = 0
        for k in range(width):
            size = size << 8 | (data[at + k] & 255)
        if size > most:
            return count, -1
        if at + width + size > len(data):
            break
        out[count] = at
        count += 1
        at += width + size
    return count, at


def group_rows(rows: Any, table: Any, first: Any, group: Any) -> int:
    """Number the different rows of octets in the order in which they come; how many there are.

    `group` gets the number of each row, `first` the row in which each number came first. `table` has a power of two of entries, at least twice as
    many as there are rows, all -1.
    """
    mask = len(table) - 1
    width = rows.shape[1]
    count = 0
    for i in range(len(rows)):
        mixed = 1469598103934665603
        for k in range(width):
            mixed = (mixed ^ (rows[i, k] & 255)) * 1099511628211
        slot = (mixed ^ (mixed >> 29)) & mask
        while True:
            found = table[slot]
            if found < 0:
                table[slot] = count
                first[count] = i
                group[i] = count
                count += 1
                break
            j = first[found]
            k = 0
            while k < width and rows[i, k] == rows[j, k]:
                k += 1
            if k == width:
                group[i] = found
                break
            slot = (slot + 1) & mask
    return count
