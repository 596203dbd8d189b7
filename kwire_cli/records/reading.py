"""From bytes to batches: where each one begins, whether its checksum is right, and where reading goes on after bytes that are none.

Everything is done in one pass over a view of the bytes, in memory that does not grow with them. Work is in proportion to the input whatever the sizes
in it say: bytes that are hashed again and again, as hostile sizes would have it, are counted.
"""

from __future__ import annotations

import mmap
import re
import struct
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.records.batch import Batch
from kwire_cli.records.layouts import FRAME, MAGIC_AT, OVERHEAD, SIZE_AT
from kwire_cli.records.model import CORRUPT, PADDING, TRUNCATED, Gap, Source
from kwire_cli.stores import let_go
from kwire_cli.stores.shrinking import check, lost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.records.cut import CutBatch
    from kwire_cli.records.layouts import Layout

    Item = Batch | Gap

_BLOCK = 1 << 20
_WINDOW = 16 << 20
"""Bytes of a mapped file that stay in memory behind the reader."""
_FREE = 64 << 20
"""Bytes that may be hashed beyond those that an honest log needs: each once, or twice where all checksums are wrong."""
_NO_BYTES = b"\0" * _BLOCK


class Frame(NamedTuple):
    """Where a batch may be, by the size and the magic byte that stand at its beginning."""

    start: int
    end: int
    layout: Layout


def read_items(source: Source, start: int = 0, stop: int | None = None) -> Iterator[Item]:
    """The batches in [start, stop) of the source and the gaps between them, which together cover these bytes once and in order."""
    return Reader(source, start, stop).items()


@cache
def sound_batch(layout: Layout) -> Callable[[Any, int, int], tuple[int, tuple[Any, ...]] | None]:
    """What finds a batch of one format with the right checksum at an offset in bytes: its end, and the numbers of its header."""
    unpack, checksum, crc_from, least, own_magic = layout.head.unpack, layout.checksum, layout.crc_from, layout.least, layout.magic
    size, magic, crc = (layout.head.names.index(name) for name in ("batchLength", "magic", "crc"))

    def sound(data: Any, at: int, stop: int) -> tuple[int, tuple[Any, ...]] | None:
        try:
            numbers = unpack(data, at)
        except struct.error:
            return None
        end = at + OVERHEAD + numbers[size]
        if numbers[size] < least or numbers[magic] != own_magic or end > stop or checksum(data[at + crc_from : end]) != numbers[crc]:
            return None
        return end, numbers

    return sound


class Reader:
    """Reads the batches in [start, stop) of a source once, `plain` as far as that goes and then `items`."""

    def __init__(self, source: Source, start: int = 0, stop: int | None = None) -> None:
        self.source, self.view, self.layouts = source, source.data, source.layouts
        self.start, self.stop = start, len(source.data) if stop is None else stop
        self.at = start
        self.hashed = 0
        self.kept = start  # what was passed before here is no longer in memory
        self.known = (-1, False)  # where a frame begins whose checksum was compared already, and whether it is right

    def plain(self, layout: Layout) -> Iterator[tuple[int, int, tuple[Any, ...]]]:
        """Batches of one format with the right checksum that follow each other: where they begin and end, and the numbers of their headers.

        It costs a fraction of `items`, and ends before whatever else there is, from where that goes on.
        """
        if self.layouts.get(layout.magic) is not layout:
            return
        view, stop, at, sound = self.view, self.stop, self.at, sound_batch(layout)
        while at < stop:
            if at - self.kept >= _WINDOW:
                self.let_go(at)
            found = sound(view, at, stop)
            if found is None:
                return
            end, numbers = found
            if lost:
                check(view)
            self.hashed += end - at
            self.at = end
            yield at, end, numbers
            at = end

    def items(self) -> Iterator[Item]:
        """The batches and gaps from where reading stands."""
        at, stop = self.at, self.stop
        while at < stop:
            if at - self.kept >= _WINDOW:
                self.let_go(at)
            frame = self.frame(at)
            if frame is None or frame.end > stop or self.too_much(frame, at):
                found = self.find(at + 1, stop)
                cut = (frame is not None and frame.end > stop) or stop - at < FRAME.size
            else:
                right = self.right(frame, at)
                found = None if right or self.right_at(frame.end) else self.find(at + 1, frame.end)
                if found is None:
                    if lost or not right:
                        check(self.view)
                    yield Batch(self.source, at, frame.end - at, frame.layout, right)
                    at = frame.end
                    continue
                cut = False
            end = stop if found is None else found
            zeros = end - at >= FRAME.size and self.zeros(at, end) == end
            check(self.view)
            code = PADDING if zeros and found is None else TRUNCATED if cut and found is None else CORRUPT
            yield Gap(at, end - at, code, self.cut(frame, end) if frame and code == TRUNCATED else None)
            at = end

    def cut(self, frame: Frame, end: int) -> CutBatch | None:
        """What can be read of a batch whose bytes end here."""
        from kwire_cli.records.cut import cut_batch  # noqa: PLC0415 - few inputs are cut

        return cut_batch(self.source, frame.start, end, frame.layout)

    def let_go(self, at: int) -> None:
        """Of a mapped file, take what was passed out of this process's memory; it is read again should somebody look at it."""
        let_go(self.view, self.kept, at)
        self.kept = at // mmap.PAGESIZE * mmap.PAGESIZE

    def frame(self, at: int) -> Frame | None:
        """What begins here if it is a batch; it may end beyond the bytes. None where it can be none."""
        try:
            _, size, magic = FRAME.unpack(self.view, at)
        except struct.error:
            return None
        if at + FRAME.size > self.stop:
            return None
        layout = self.layouts.get(magic)
        return Frame(at, at + OVERHEAD + size, layout) if layout and size >= layout.least else None

    def too_much(self, frame: Frame, passed: int) -> bool:
        """Whether hashing this frame too would be more work than what was passed is worth."""
        honest = 2 * (passed - self.start)
        return self.hashed > honest and self.hashed + frame.end - frame.start > _FREE + 2 * honest

    def right(self, frame: Frame, passed: int) -> bool:
        """Whether the checksum of a frame is right; not so where too much was hashed already."""
        if self.known[0] == frame.start:
            return self.known[1]
        if self.too_much(frame, passed):
            return False
        layout = frame.layout
        self.hashed += frame.end - frame.start
        right: bool = layout.checksum(self.view[frame.start + layout.crc_from : frame.end]) == layout.crc.unpack(self.view, frame.start)[0]
        self.known = frame.start, right
        return right

    def right_at(self, at: int) -> bool:
        """Whether a batch with the right checksum begins here."""
        frame = self.frame(at)
        return frame is not None and frame.end <= self.stop and self.right(frame, at)

    def find(self, at: int, until: int) -> int | None:
        """Where the first batch with the right checksum begins, in [at, until); None where none does."""
        # A batch may begin with an offset of 0, but not with a size of 0.
        at = max(at, self.zeros(at, until) - (OVERHEAD - 1))
        largest = (self.stop - at) >> 24
        pattern = _beginnings(min(max(largest, 0), 127), frozenset(self.layouts))
        for match in pattern.finditer(self.view, at, min(self.stop, until - 1 + FRAME.size)):
            begin = match.start()
            if begin >= until:
                return None
            frame = self.frame(begin)
            if frame and frame.end <= self.stop and self.right(frame, begin):
                return begin
        return None

    def zeros(self, at: int, end: int) -> int:
        """Where the zeros end that begin at `at`."""
        while at < end:
            block = self.view[at : min(at + _BLOCK, end)]
            if block != _NO_BYTES[: len(block)]:
                return at + len(block) - len(bytes(block).lstrip(b"\0"))
            at += len(block)
        return end


@cache
def _beginnings(largest: int, magics: frozenset[int]) -> re.Pattern[bytes]:
    """Where a batch may begin whose size has at most this as its highest byte: the size is not 0, the magic one of these."""
    size = MAGIC_AT - SIZE_AT
    offset = rb"[\x00-\x7f].{%d}" % (SIZE_AT - 1)
    magic = rb"[%b]" % b"".join(rb"\x%02x" % each for each in sorted(magics))
    return re.compile(rb"(?s:(?=%b(?!\x00{4})[\x00-\x%02x].{%d}%b))" % (offset, largest, size - 1, magic))
