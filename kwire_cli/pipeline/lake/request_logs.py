"""The rows of request logs in the tables `frames` and `faults`: a request and a response for each exchange, of which a
log has all but the bytes.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.arrow import batch_of
from kwire_cli.pipeline.capture_faults import CAPTURE_FAULTS
from kwire_cli.pipeline.lake.frames import FRAMES
from kwire_cli.pipeline.request_logs import read_part
from kwire_cli.pipeline.segments import FAULTS_NAME
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.stores import location
from kwire_cli.structs.numbers import RANGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from kwire_cli.pipeline.model import Reading
    from kwire_cli.source.request_log.reading import LineFault, LogPart

ROWS, BYTES = 4096, 8 << 20
"""Rows of a batch, and bytes of the log that they are in, at most about."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


_MICROSECOND = timedelta(microseconds=1)


class Row:
    """A request or response of a log. `codes` are those of errors, by name."""

    __slots__ = ("codes", "exchange", "file", "kind")

    def __init__(self, file: str, exchange: Exchange, kind: str, codes: Mapping[str, int]) -> None:
        self.file, self.exchange, self.kind, self.codes = file, exchange, kind, codes

    @property
    def is_response(self) -> bool:
        """Return whether the row is a response."""
        return self.kind == "response"

    @property
    def time(self) -> int | None:
        """When the broker was done, and of a request when it had come: microseconds since 1970, by a clock without zone
        as if it were UTC.
        """
        exchange = self.exchange
        if exchange.time is None:
            return None
        at = datetime.fromisoformat(exchange.time)
        microseconds = ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND
        microseconds -= 0 if self.is_response else round((exchange.total_ms or 0) * 1000)
        return microseconds if microseconds >= 0 else None

    @property
    def throttle(self) -> int | None:
        """The throttle time in milliseconds that the response states, or None."""
        throttle_ms = (self.exchange.response or {}).get("throttleTimeMs") if self.is_response else None
        return _int32(throttle_ms)


def _int32(value: Any) -> int | None:
    """Return a number that is an int32; None for any other value."""
    low, high = RANGES["int32"]
    return value if type(value) is int and low <= value <= high else None


def _error_codes(row: Row) -> list[int]:
    numbers = (row.codes.get(error) if isinstance(error, str) else _int32(error) for error in row.exchange.errors)
    return [code for code in numbers if code is not None] if row.is_response else []


_COLUMNS: dict[str, Callable[[Row], Any]] = {
    "file": lambda row: row.file,
    "time": lambda row: row.time,
    "src": lambda row: row.exchange.broker if row.is_response else row.exchange.client,
    "dst": lambda row: row.exchange.client if row.is_response else row.exchange.broker,
    "frame": lambda row: row.exchange.start,
    "request_frame": lambda row: row.exchange.start if row.is_response else None,
    "kind": lambda row: row.kind,
    "api_key": lambda row: row.exchange.api_key,
    "api": lambda row: row.exchange.api,
    "api_version": lambda row: row.exchange.api_version,
    "correlation_id": lambda row: _int32(row.exchange.correlation_id),
    "client_id": lambda row: row.exchange.client_id,
    "software": lambda row: row.exchange.software,
    "topics": lambda row: row.exchange.topics,
    "latency_us": lambda row: (
        round(row.exchange.total_ms * 1000) if row.is_response and row.exchange.total_ms is not None else None
    ),
    "delayed": lambda row: row.exchange.delayed if row.is_response else None,
    "throttle_ms": lambda row: row.throttle,
    "error_codes": _error_codes,
    "errors": lambda row: [str(error) for error in row.exchange.errors] if row.is_response else [],
    "anomalies": lambda _: [],
}
"""The columns of `frames` that a log has values for."""


def exchange_rows(file: str, exchange: Exchange, names: Sequence[str], codes: Mapping[str, int]) -> list[list[Any]]:
    """Return the rows of an exchange in `frames`, with these columns: its request, and its response if there is one."""
    kinds = ("request",) if exchange.response is None else ("request", "response")
    rows = [Row(file, exchange, kind, codes) for kind in kinds]
    return [[_COLUMNS[name](row) if name in _COLUMNS else None for name in names] for row in rows]


LOG_TABLES = {"frames": FRAMES, FAULTS_NAME: CAPTURE_FAULTS}
"""The columns of the tables that request logs have rows of."""


def rows_of(part: LogPart, wanted: Mapping[str, pa.Schema], reading: Reading) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of a part in one pass, with their tables: of each table that is wanted these columns."""
    rows: dict[str, list[list[Any]]] = {table: [] for table in wanted}
    start, codes = part.start, {row.name: row.code for row in reading.catalog.errors}
    for entry in read_part(part, reading.catalog, reading.faults):
        table = "frames" if isinstance(entry, Exchange) else FAULTS_NAME
        if table in wanted:
            rows[table] += _rows(part, entry, wanted[table].names, codes)
        if any(len(some) >= ROWS for some in rows.values()) or entry.start - start > BYTES:
            yield from ((name, batch_of(some, wanted[name])) for name, some in rows.items())
            rows, start = {name: [] for name in wanted}, entry.start
    yield from ((name, batch_of(some, wanted[name])) for name, some in rows.items())


def _rows(
    part: LogPart, found: Exchange | LineFault, names: Sequence[str], codes: Mapping[str, int]
) -> list[list[Any]]:
    if isinstance(found, Exchange):
        return exchange_rows(location(part.path), found, names, codes)
    fault = {"file": location(part.path), "position": found.start, "code": found.code, "detail": found.detail}
    return [[fault.get(name) for name in names]]
