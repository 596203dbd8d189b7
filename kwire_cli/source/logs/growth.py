"""How far a segment that grows is whole: up to where its batches can be read so that nothing will be read otherwise when more has come.

What stands at its end may be half a batch, or zeros that a broker has put there for those to come: it waits until it is whole.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kwire_cli.engine import gathers
from kwire_cli.engine.compiled import compiled, octets
from kwire_cli.records.layouts import MAGIC_AT, OVERHEAD, SIZE_AT
from kwire_cli.records.reading import Reader

if TYPE_CHECKING:
    from kwire_cli.records.model import Source

_TRIES = 16
"""Batches at the end with wrong checksums that are waited for one by one; of more, all behind the last gap."""


def whole(source: Source, start: int, most: int) -> int:
    """Where to read to from `start` on, where a batch begins: about `most` bytes, one batch at least; `start` itself where none is whole.

    A batch with a wrong checksum, or bytes that are none, are taken for what they are when a right batch follows.
    """
    reader = Reader(source, start)
    target = start + most
    while True:
        end, before = _hopped(reader, start, target)
        found = None if end >= min(target, reader.stop) else reader.find(end + 1, reader.stop)
        if found is None:
            break
        start = found
        if found >= target:
            return found
    for _ in range(_TRIES):
        if end == start or reader.right_at(before) or reader.right_at(end):
            return end
        end, before = _hopped(reader, start, before)
    return start


def resumed(source: Source, at: int) -> int:
    """Where to go on behind `at`: there, unless it is in the middle of what was only half written; then where that begins."""
    if not at or Reader(source, at).right_at(at):
        return at
    return whole(replace(source, data=source.data[:at]), 0, len(source.data))


def _hopped(reader: Reader, start: int, target: int) -> tuple[int, int]:
    """From batch to batch by their sizes, to the first that begins at `target` or later: where that is, and where the one before it begins."""
    least: Any = np.zeros(max(reader.layouts, default=0) + 1, np.int64)
    for magic, layout in reader.layouts.items():
        least[magic] = layout.least
    end, before = compiled(gathers.hop)(octets(reader.view), start, reader.stop, target, SIZE_AT, MAGIC_AT, OVERHEAD, least)
    return int(end), int(before)
