"""Request logs in tasks: a part of a log each, whose faults are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.pipeline.capture_faults import UNREADABLE
from kwire_cli.pipeline.model import FileFault
from kwire_cli.source.request_log.reading import LineFault, LogPart, RequestLog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.pipeline.model import Faults
    from kwire_cli.source.request_log.exchange import Exchange, Unwritten
    from kwire_cli.spec.catalog import Catalog


def read_part(part: LogPart, catalog: Catalog, faults: Faults) -> Iterator[Exchange | LineFault]:
    """Yield the exchanges and faults in a part of a log, and count the faults.

    If the log cannot be read to its end, the last one is the fault UNREADABLE.
    """
    try:
        for entry in RequestLog(part.path, catalog, part):
            if isinstance(entry, LineFault):
                faults.add(FileFault(place_of(part, entry), f"{entry.code}: {entry.detail}"))
            yield entry
    except InputError as error:
        faults.add(FileFault(part.path, error.reason))
        yield LineFault(0, UNREADABLE, error.reason, part.start)


def place_of(part: LogPart, found: LineFault | Unwritten) -> str:
    """Return the place of a fault or body in a log: its line, or its byte.

    The byte is given if the lines before it are not counted.
    """
    return f"{part.path} at byte {found.start}" if part.start else f"{part.path}:{found.line}"
