"""Exchanges and faults of a broker's request log, read from a file or from a part of it.

A part has the lines that begin in it, so a log can be cut at any byte. A compressed log is one part. Lines of other
loggers are skipped. A damaged line becomes a fault, and reading continues after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.source.files import GZIP, MAGIC_SIZE, ZSTD, Pieces
from kwire_cli.source.request_log.exchange import Exchange, OddExchangeError, Reader
from kwire_cli.source.request_log.lines import LONGEST, lines_of, logged_in
from kwire_cli.stores.opening import FileBytes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from typing import IO

    from kwire_cli.source.request_log.lines import TextLine
    from kwire_cli.spec.catalog import Catalog


PART_SIZE = 128 << 20
"""Approximate size of a part in bytes."""


_WINDOW = 1 << 20
_NEWLINE = b"\n"


class LogPart(NamedTuple):
    """The lines of a file that begin in the bytes [start, stop), or the whole file, compressed or not, if `stop` is
    None.
    """

    path: str
    start: int = 0
    stop: int | None = None

    @property
    def whole(self) -> bool:
        """Return whether the part is the complete file."""
        return self.stop is None


def parts_of(path: str, size: int = PART_SIZE) -> list[LogPart]:
    """Return the parts of a log, of about `size` bytes each. A file that cannot be read is one part, so that its reader
    reports the error.
    """
    try:
        file = FileBytes(path)
        if file.size <= size or is_packed(path):
            return [LogPart(path)]
    except InputError:
        return [LogPart(path)]
    return [LogPart(path, start, min(start + size, file.size)) for start in range(0, file.size, size)]


def is_packed(path: str) -> bool:
    """Return whether a log is compressed. Raise InputError if it cannot be read."""
    return bytes(FileBytes(path).read(0, MAGIC_SIZE)).startswith((GZIP, ZSTD))


def lines_in(part: LogPart) -> Iterator[TextLine]:
    """Yield the lines that begin in a part of an uncompressed file, counted from the start of the part. Raise
    InputError if the file cannot be read.
    """
    file = FileBytes(part.path)
    stop = file.size if part.stop is None else part.stop
    first = _first_line(file, part.start) if part.start else 0
    if first < stop:
        for line in lines_of(_windows(file, first), first):
            if line.start >= stop:
                return
            yield line


def _first_line(file: FileBytes, start: int) -> int:
    """Return the position of the first line that begins at or after `start`, or the file's size."""
    at = start - 1
    for window in _windows(file, at):
        offset = window.find(_NEWLINE)
        if offset >= 0:
            return at + offset + 1
        at += len(window)
    return file.size


def _windows(file: FileBytes, start: int) -> Iterator[bytes]:
    for at in range(start, file.size, _WINDOW):
        stop = min(at + _WINDOW, file.size)
        yield bytes(file.read(at, stop))


class LineFault(NamedTuple):
    """A line that should be a request but cannot be read, or damage at the end of the file. Lines count from 1.

    `start` is the position of the line in the uncompressed file.
    """

    line: int
    code: str
    detail: str
    start: int = 0


class RequestLog:
    """The exchanges and faults of a log in order; iterate once. With a `part`, only the lines that begin in it, counted
    from its start.

    `others` is the number of lines of other loggers, which are skipped, and `faults` the number of faults so far.

    Raises:
        InputError: The file cannot be opened or read.

    """

    def __init__(
        self, source: str | os.PathLike[str] | IO[bytes], catalog: Catalog, part: LogPart | None = None
    ) -> None:
        self._pieces = Pieces(source)
        self._reader = Reader(catalog)
        self._part = part
        self.name = self._pieces.name
        self.exchanges = 0
        self.faults = 0
        self.others = 0

    @property
    def passed(self) -> int:
        """The number of bytes of the file that were read so far."""
        return self._pieces.passed

    def __iter__(self) -> Iterator[Exchange | LineFault]:
        number = 0
        start = 0
        for line in lines_in(self._part) if self._part and not self._part.whole else lines_of(self._pieces):
            number = line.number
            start = line.start
            outcome = read_line(self._reader, line)
            if isinstance(outcome, Exchange):
                self.exchanges += 1
            elif outcome is None:
                self.others += bool(line.data and not line.data.isspace())
                continue
            else:
                self.faults += 1
            yield outcome
        if self._pieces.fault:
            self.faults += 1
            yield LineFault(number, "DAMAGED_FILE", self._pieces.fault, start)


def read_line(reader: Reader, line: TextLine) -> Exchange | LineFault | None:
    """Return the exchange or the fault in a line, or None if another logger wrote the line."""
    if line.data is None:
        return LineFault(
            line.number, "LINE_TOO_LONG", f"it has more than {LONGEST} bytes, and no request is as long", line.start
        )
    logged = logged_in(line.data)
    if logged is None:
        return None
    if logged.text[:1] != b"{":
        return LineFault(
            line.number,
            "TEXT_FORM",
            "the text that Kafka wrote before 2.8 is not understood, only its JSON",
            line.start,
        )
    from orjson import JSONDecodeError, loads  # noqa: PLC0415 - only for logs with JSON

    try:
        document: Any = loads(logged.text)
        return reader.exchange(document, line.number, logged.time, line.start)
    except JSONDecodeError as error:
        return LineFault(line.number, "DAMAGED_LINE", f"no JSON: {error.msg} (byte {error.pos} of it)", line.start)
    except OddExchangeError as error:
        return LineFault(line.number, "DAMAGED_LINE", f"no logged request: it {error}", line.start)
