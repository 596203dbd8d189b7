"""The rows of request logs in the tables `frames` and `faults`.

Each exchange becomes a request and a response. A request log contains everything about them except the bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.arrow import batch_of
from kwire_cli.errors import InputError
from kwire_cli.facts.columnar.frames import FRAMES
from kwire_cli.facts.columns import FRAMES as FRAME_COLUMNS
from kwire_cli.facts.frame_values import halves_of
from kwire_cli.lake.capture_faults import CAPTURE_FAULTS, UNREADABLE
from kwire_cli.lake.segments import FAULTS_NAME
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.source.request_log.reading import LineFault, RequestLog
from kwire_cli.stores import location

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from kwire_cli.lake.model import Faults, Reading
    from kwire_cli.source.request_log.reading import LogPart
    from kwire_cli.spec.catalog import Catalog

ROWS = 4096
"""Maximum number of rows of a batch."""
BYTES = 8 << 20
"""Approximate maximum bytes of the part of a log that is read for a batch."""


_GETTERS = {column.name: column.of_half for column in FRAME_COLUMNS}


LOG_TABLES = {"frames": FRAMES, FAULTS_NAME: CAPTURE_FAULTS}
"""The columns of the tables for request logs."""


def rows_of(part: LogPart, wanted: Mapping[str, pa.Schema], reading: Reading) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of a part in one pass, with their tables. `wanted` are the tables with their columns."""
    rows: dict[str, list[list[Any]]] = {table: [] for table in wanted}
    start = part.start
    for entry in _entries(part, reading.catalog, reading.faults):
        table = "frames" if isinstance(entry, Exchange) else FAULTS_NAME
        if table in wanted:
            rows[table] += _rows(part, entry, wanted[table].names, reading.catalog)
        if any(len(some) >= ROWS for some in rows.values()) or entry.start - start > BYTES:
            yield from ((name, batch_of(some, wanted[name])) for name, some in rows.items())
            rows = {name: [] for name in wanted}
            start = entry.start
    yield from ((name, batch_of(some, wanted[name])) for name, some in rows.items())


def _entries(part: LogPart, catalog: Catalog, faults: Faults) -> Iterator[Exchange | LineFault]:
    """Yield the exchanges and faults in a part of a log, and count the faults.

    If the log becomes unreadable, the last item is the fault UNREADABLE.
    """
    try:
        for entry in RequestLog(part.path, catalog, part):
            faults.count += isinstance(entry, LineFault)
            yield entry
    except InputError as error:
        faults.count += 1
        yield LineFault(0, UNREADABLE, error.reason, part.start)


def _rows(part: LogPart, found: Exchange | LineFault, names: Sequence[str], catalog: Catalog) -> Iterator[list[Any]]:
    if isinstance(found, Exchange):
        for half in halves_of(found, location(part.path), catalog):
            yield [_GETTERS[name](half) for name in names]
        return
    fault = {"file": location(part.path), "position": found.start, "code": found.code, "detail": found.detail}
    yield [fault.get(name) for name in names]
