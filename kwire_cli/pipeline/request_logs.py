"""Request logs in tasks: a part of a log each, whose faults are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.pipeline.folding import FileFault
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.source.request_log.parts import LogPart, parts_of
from kwire_cli.source.request_log.reading import LineFault, RequestLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.pipeline.folding import Faults
    from kwire_cli.source.request_log.bodies import Unwritten
    from kwire_cli.spec.catalog import Catalog


def parts_of_all(paths: Iterable[str]) -> list[LogPart]:
    """The parts of logs, in their order."""
    return [part for path in paths for part in parts_of(path)]


def found_in(part: LogPart, catalog: Catalog, faults: Faults) -> Iterator[Exchange | LineFault]:
    """What is in a part of a log; faults are counted too. A log that cannot be read, or not to its end, is a fault."""
    try:
        for found in RequestLog(part.path, catalog, part):
            if not isinstance(found, Exchange):
                faults.add(FileFault(place_of(part, found), f"{found.code}: {found.detail}"))
            yield found
    except InputError as error:
        faults.add(FileFault(part.path, error.reason))


def place_of(part: LogPart, found: LineFault | Unwritten) -> str:
    """Where something is in a log: its line, or its byte where nobody has counted the lines before it."""
    return f"{part.path} at byte {found.start}" if part.start else f"{part.path}:{found.line}"
