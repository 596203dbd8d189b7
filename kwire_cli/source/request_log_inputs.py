"""Brokers' request logs as inputs: exchanges and faulty lines, with reports of progress and faults to the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.reading import Opened
from kwire_cli.source.request_log.reading import LineFault, RequestLog
from kwire_cli.stores.paths import is_file, sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.source.request_log.exchange import Exchange

EACH = 256
"""Lines between reports of progress to the caller."""


class RequestLogInput(Opened):
    """A broker's request log."""

    def subjects(self) -> Iterator[Exchange | LineFault]:
        """Yield the logged requests and the faults of lines. After the last one, report faults to the caller.

        Raise InputError if the log contains no readable request.
        """
        source = self.recognised.source
        log = RequestLog(source, self.how.catalog)
        size = sum(sizes([source])) if isinstance(source, str) and is_file(source) else 0
        fault: LineFault | None = None
        try:
            for number, entry in enumerate(log, 1):
                if not number % EACH:
                    self.caller.progress(self.label, log.passed, size)
                    if self.caller.stopped:
                        break
                if isinstance(entry, LineFault):
                    fault = fault or entry
                yield entry
        finally:
            self.caller.done()
        if fault:
            more = f", and {log.faults - 1} more" if log.faults > 1 else ""
            self.caller.note(f"{self.label}:{fault.line}: {fault.code}: {fault.detail}{more}")
        if not log.exchanges:
            raise InputError("holds no readable logged request", file=self.label)
