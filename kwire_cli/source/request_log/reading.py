"""Exchanges and faults of a broker's request log.

Lines of other loggers are skipped. A damaged line becomes a fault, and reading continues after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.source.files import Pieces
from kwire_cli.source.request_log.exchange import Exchange, OddExchangeError, Reader
from kwire_cli.source.request_log.lines import LONGEST, lines_of, logged_in

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from typing import IO

    from kwire_cli.source.request_log.lines import TextLine
    from kwire_cli.spec.catalog import Catalog


class LineFault(NamedTuple):
    """A line that should be a request but cannot be read, or damage at the end of the file. Lines count from 1.

    `start` is the position of the line in the uncompressed file.
    """

    line: int
    code: str
    detail: str
    start: int = 0


class RequestLog:
    """The exchanges and faults of a log in order; iterate once.

    `others` is the number of lines of other loggers, which are skipped, and `faults` the number of faults so far.

    Raises:
        InputError: The file cannot be opened or read.

    """

    def __init__(self, source: str | os.PathLike[str] | IO[bytes], catalog: Catalog) -> None:
        self._pieces = Pieces(source)
        self._reader = Reader(catalog)
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
        for line in lines_of(self._pieces):
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
