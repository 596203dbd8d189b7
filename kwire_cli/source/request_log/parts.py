"""Parts of a request log that can be read on their own: cut anywhere, each has the lines that begin in it. A packed log is one part."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.source.packing import GZIP, MAGIC_SIZE, ZSTD
from kwire_cli.source.request_log.lines import lines_of
from kwire_cli.stores import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.source.request_log.lines import TextLine
    from kwire_cli.stores.opening import Fetched, Mapped

PART_SIZE = 128 << 20
"""Bytes of a part, about, as of captures and segments."""
_WINDOW = 1 << 20
_NEWLINE = b"\n"


class LogPart(NamedTuple):
    """The lines of a file that begin in the bytes [start, stop); with stop None all of it, packed or not."""

    path: str
    start: int = 0
    stop: int | None = None

    @property
    def whole(self) -> bool:
        """Whether it is all of the file."""
        return self.stop is None


def parts_of(path: str, size: int = PART_SIZE) -> list[LogPart]:
    """The parts of a log, of about `size` bytes each. One that cannot be read is one part: reading it says why."""
    try:
        file = opened(path)
        if file.size <= size or bytes(file.view(0, MAGIC_SIZE)[:MAGIC_SIZE]).startswith((GZIP, ZSTD)):
            return [LogPart(path)]
    except InputError:
        return [LogPart(path)]
    return [LogPart(path, start, min(start + size, file.size)) for start in range(0, file.size, size)]


def lines_in(part: LogPart) -> Iterator[TextLine]:
    """The lines that begin in a part of a plain file, counted from its start. InputError where it cannot be read."""
    file = opened(part.path)
    stop = file.size if part.stop is None else part.stop
    first = _first_line(file, part.start) if part.start else 0
    if first < stop:
        for line in lines_of(_windows(file, first), first):
            if line.start >= stop:
                return
            yield line


def _first_line(file: Mapped | Fetched, start: int) -> int:
    """Where the first line begins from `start` on."""
    at = start - 1
    for window in _windows(file, at):
        found = window.find(_NEWLINE)
        if found >= 0:
            return at + found + 1
        at += len(window)
    return file.size


def _windows(file: Mapped | Fetched, start: int) -> Iterator[bytes]:
    for at in range(start, file.size, _WINDOW):
        stop = min(at + _WINDOW, file.size)
        yield bytes(file.view(at, stop)[at:stop])
