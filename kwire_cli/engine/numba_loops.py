"""Loops that numba compiles, and the folder for their machine code.

The loops fill arrays of the caller, so that numba needs no Python objects. Importing this module is fast, because numba
itself is only imported by `compiled`.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire_cli.engine import codes, kernel, program as p

if TYPE_CHECKING:
    from collections.abc import Callable


# The folder for cached machine code. It is in this module and not in `compiled`, so that a query for it imports no
# large package.


def cache_folder(function: Callable[..., Any]) -> Path | None:
    """Return the folder for a function's machine code, or None if no folder of the user is writable.

    The folder is in `NUMBA_CACHE_DIR` or `XDG_CACHE_HOME` if one of these is set, else in `~/.cache`, else among
    temporary files. The code kept there is run, so a folder that others can write to does not count.
    """
    try:
        sources = [inspect.getsource(module) for module in (p, codes, kernel, sys.modules[function.__module__])]
    except (OSError, TypeError):
        return None
    name = f"kwire-{hashlib.sha256(''.join(sources).encode()).hexdigest()[:16]}"
    named = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    candidates = [Path(named)] if named else []
    with contextlib.suppress(RuntimeError):  # there is no home
        candidates.append(Path.home() / ".cache")
    owner = os.getuid() if hasattr(os, "getuid") else 0
    candidates.append(Path(tempfile.gettempdir()) / f"kwire-{owner}")
    return next((base / name for base in candidates if _is_ours(base / name)), None)


def _is_ours(folder: Path) -> bool:
    """Return whether the folder exists or could be made, and only its owner may write there.

    The owner has to be the user who runs this process. The same holds for the folder around it.
    """
    try:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        if hasattr(os, "getuid"):
            for directory in (folder, folder.parent):
                status = directory.stat()
                if status.st_uid != os.getuid() or status.st_mode & 0o022:
                    return False
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


# Loops over spans and bytes, for `compiled.compiled`: each fills arrays that the caller passes. All numbers are int64
# in two's complement.


def sort_by_node(node: Any, at: Any, order: Any) -> None:
    """Write the numbers of the spans into `order`, grouped by node and in order within a group.

    `at` is the start of each node's group, and is advanced.
    """
    for i in range(len(node)):
        k = node[i]
        order[at[k]] = i
        at[k] += 1


def sum_by_node(node: Any, start: Any, value: Any, end: Any, first: Any, which: Any, sums: Any) -> None:
    """Add to the row of each node: the bytes of prefixes, the bytes of values, the number of spans.

    The spans of message k begin at `first[k]` and are added to the rows of `sums[which[k]]`.
    """
    for job in range(len(which)):
        own = sums[which[job]]
        for i in range(first[job], first[job + 1]):
            k = node[i]
            own[k, 0] += value[i] - start[i]
            own[k, 1] += end[i] - value[i]
            own[k, 2] += 1


def sum_spans(
    node: Any, value: Any, end: Any, base: int, jobs: Any, begun: int, job: int, at: int, sums: Any
) -> tuple[int, int]:
    """Sum up as `sum_by_node` does, for the latest spans of the kernel, from the span `base` on.

    `at` is the end of the span before them. `jobs` are the kernel's jobs; `begun` of them have begun, and `job` began
    before these spans. Return `job` and `at` for the next spans.
    """
    for i in range(len(node)):
        while job < begun and jobs[job, 3] == base + i:
            at = jobs[job, 1]
            job += 1
        k = node[i]
        sums[k, 0] += value[i] - at
        sums[k, 1] += end[i] - value[i]
        sums[k, 2] += 1
        at = end[i]
    return job, at


def doubtful(data: Any, node: Any, value: Any, end: Any, first: Any, doubts: Any, mask: Any) -> None:
    """Mark the messages with a string that is not ASCII, a bool that is neither 0 nor 1, or a field that needs a tree.

    `doubts` are the checks of leaves (`program.doubt_of`).
    """
    for job in range(len(mask)):
        for i in range(first[job], first[job + 1]):
            doubt = doubts[node[i]]
            if doubt == p.DOUBTFUL or (doubt == p.FLAG and data[end[i] - 1] > 1):
                mask[job] = True
            elif doubt == p.TEXT:
                for at in range(value[i], end[i]):
                    if data[at] > 0x7F:
                        mask[job] = True


def fixed_numbers(data: Any, start: Any, length: int, signed: bool, out: Any) -> None:  # noqa: FBT001 - of a compiled function
    """Read big-endian integers of `length` bytes."""
    shift = 64 - 8 * length
    for i in range(len(start)):
        at = start[i]
        number = 0
        for k in range(length):
            number = (number << 8) | (data[at + k] & 255)
        out[i] = ((number << shift) >> shift) if signed else number


def varints(data: Any, start: Any, bits: int, zigzag: bool, out: Any) -> None:  # noqa: FBT001 - as above
    """Read varints of `bits` 16, 32 or 64 as `numbers.Varint` does: bits above the width are dropped."""
    shift = 64 - bits
    for i in range(len(start)):
        at = start[i]
        byte = data[at] & 255
        number = byte & 127
        move = 7
        while byte >= 128:
            at += 1
            byte = data[at] & 255
            if move < 64:
                number |= (byte & 127) << move
            move += 7
        if zigzag:
            low = number & 1
            number = (number >> 1) & (0x7FFFFFFFFFFFFFFF >> shift)
            out[i] = number ^ -low
        else:
            out[i] = (number << shift) >> shift


def copy_bytes(data: Any, start: Any, end: Any, out: Any, offsets: Any) -> None:
    """Concatenate the bytes of all ranges [start, end). `offsets` gets their starts in `out`, and the end of the
    last.
    """
    to = 0
    for i in range(len(start)):
        offsets[i] = to
        size = end[i] - start[i]
        # Slices of two arrays let LLVM copy many bytes at once.
        source = data[start[i] : end[i]]
        taken = out[to : to + size]
        for k in range(size):
            taken[k] = source[k]
        to += size
    offsets[len(start)] = to


def base64_texts(data: Any, start: Any, end: Any, alphabet: Any, out: Any, offsets: Any) -> None:
    """Write the base64 text, without padding, of all ranges [start, end); `out` and `offsets` as in `copy_bytes`."""
    to = 0
    for i in range(len(start)):
        offsets[i] = to
        at = start[i]
        stop = end[i]
        while stop - at >= 3:
            group = ((data[at] & 255) << 16) | ((data[at + 1] & 255) << 8) | (data[at + 2] & 255)
            for k in range(4):
                out[to + k] = alphabet[(group >> (18 - 6 * k)) & 63]
            at += 3
            to += 4
        left = stop - at
        if left > 0:
            group = (data[at] & 255) << 16
            if left == 2:
                group |= (data[at + 1] & 255) << 8
            for k in range(left + 1):
                out[to + k] = alphabet[(group >> (18 - 6 * k)) & 63]
            to += left + 1
    offsets[len(start)] = to


def count_elements(
    data: Any, node: Any, start: Any, first: Any, begin: int, number: int, counts: Any, highest: Any
) -> None:
    """Count the spans of the node `begin`, and find the highest zig-zag varint of the node `number`.

    Both are done for each message, whose spans begin at `first`. The varint is an int32. The spans are added to
    `counts`, and the varint replaces a lower one in `highest`.
    """
    for k in range(len(first) - 1):
        for i in range(first[k], first[k + 1]):
            if node[i] == begin:
                counts[k] += 1
            elif node[i] == number:
                at = start[i]
                byte = data[at] & 255
                varint = byte & 127
                move = 7
                while byte >= 128:
                    at += 1
                    byte = data[at] & 255
                    varint |= (byte & 127) << move
                    move += 7
                varint = ((varint >> 1) & 0x7FFFFFFF) ^ -(varint & 1)
                highest[k] = max(highest[k], varint)


def hop_sets(
    data: Any,
    start: Any,
    stop: Any,
    size_at: int,
    magic_at: int,
    overhead: int,
    least: int,
    magic: int,
    begin: Any,
    end: Any,
    which: Any,
) -> int:
    """Locate the batches in the record sets [start, stop) that consist only of batches of one format, by their sizes.

    Write their starts, ends and the number of their set, and return their count. A set with any other bytes is omitted.
    """
    count = 0
    for k in range(len(start)):
        at = start[k]
        first = count
        while stop[k] - at > magic_at:
            size = 0
            for i in range(4):
                size = (size << 8) | (data[at + size_at + i] & 255)
            if data[at + magic_at] & 255 != magic or size < least or size > stop[k] - at - overhead:
                break
            begin[count] = at
            end[count] = at + overhead + size
            which[count] = k
            at += overhead + size
            count += 1
        if at != stop[k]:
            count = first
    return count
