"""The lines of captures as rows of the table `frames`, with only those columns that are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_cli.engine.row_batches import batch_of
from kwire_cli.message.redaction import Redaction
from kwire_cli.view.json import dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog

ROWS, TEXTS = 4096, 8 << 20
"""Rows of a batch, and bytes of bodies in it, about."""
_LAST_SECOND = 253402300800
"""The first second that no time can be any more."""


class Line:
    """A line of a capture: `stream` is the packet that its connection began with."""

    __slots__ = ("_document", "_options", "captured", "stream")

    def __init__(self, captured: Captured, stream: int, options: Options) -> None:
        self.captured, self.stream, self._options = captured, stream, options
        self._document: dict[str, Any] | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The line as in JSON lines, without secrets."""
        if self._document is None:
            options = self._options
            redaction = options.redaction
            self._document = self.captured.to_json(records=options.records, hidden=redaction.line(self.captured), hide=redaction.record)
        return self._document

    def text(self, name: str) -> str | None:
        """A part of the document as JSON text; None where it has none."""
        found = self.document.get(name) if self.captured.is_frame else None
        return None if found is None else dumps(found, indent=False)


class Options:
    """How bodies are shown: `records` as for `Captured.to_json`."""

    def __init__(self, catalog: Catalog, *, records: str = "decoded", show_secrets: bool = False) -> None:
        self.catalog, self.records = catalog, records
        self.redaction = Redaction(catalog, show_secrets=show_secrets, raw_records=True)


def _time(line: Line) -> int | None:
    time = line.captured.seen.time
    return None if time is None or not 0 <= time < _LAST_SECOND * 1_000_000_000 else time // 1000


def _codes(line: Line) -> list[str]:
    return line.captured.anomalies


_TEXTS = pa.list_(pa.string())
COLUMNS: tuple[tuple[str, pa.DataType, Callable[[Line], Any]], ...] = (
    ("capture_point", pa.string(), lambda line: line.captured.origin.point),
    ("file", pa.string(), lambda line: line.captured.where.file),
    ("packet", pa.int64(), lambda line: line.captured.where.packet),
    ("time", pa.timestamp("us", "UTC"), _time),
    ("time_ns", pa.int64(), lambda line: line.captured.seen.time),
    ("src", pa.string(), lambda line: line.captured.src),
    ("dst", pa.string(), lambda line: line.captured.dst),
    ("stream", pa.int64(), lambda line: line.stream),
    ("frame", pa.int64(), lambda line: line.captured.number),
    ("request_frame", pa.int64(), lambda line: line.captured.request.number if line.captured.request else None),
    ("kind", pa.string(), lambda line: line.captured.kind),
    ("size", pa.int64(), lambda line: line.captured.seen.size),
    ("api_key", pa.int32(), lambda line: line.captured.api_key),
    ("api", pa.string(), lambda line: line.captured.api),
    ("api_version", pa.int32(), lambda line: line.captured.api_version),
    ("correlation_id", pa.int32(), lambda line: line.captured.correlation_id),
    ("client_id", pa.string(), lambda line: line.captured.client_id),
    ("software", pa.string(), lambda line: line.captured.software),
    ("broker", pa.int32(), lambda line: line.captured.broker),
    ("topics", _TEXTS, lambda line: line.captured.topics),
    ("latency", pa.float64(), lambda line: line.captured.latency),
    ("throttle_ms", pa.int64(), lambda line: line.captured.throttle),
    ("in_flight", pa.int32(), lambda line: line.captured.seen.in_flight),
    ("error_codes", pa.list_(pa.int32()), lambda line: line.captured.error_codes),
    ("errors", _TEXTS, lambda line: [str(error) for error in line.captured.errors]),
    ("protocol", pa.string(), lambda line: line.captured.seen.protocol),
    ("anomalies", _TEXTS, _codes),
    ("header", pa.string(), lambda line: line.text("header")),
    ("body", pa.string(), lambda line: line.text("body")),
)
FRAMES = pa.schema([pa.field(name, kind) for name, kind, _ in COLUMNS])
"""The columns of the table `frames`."""
NAMED = frozenset({"topics", "body", "broker"})
"""Those columns for which the names in all of a capture are needed."""


def frame_rows(lines: Iterable[Line], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of these lines with these columns."""
    columns = {name: (kind, value) for name, kind, value in COLUMNS}
    getters = [columns[name][1] for name in names]
    schema = pa.schema([pa.field(name, columns[name][0]) for name in names])
    rows: list[list[Any]] = []
    size = 0
    for line in lines:
        rows.append([value(line) for value in getters])
        size += line.captured.seen.size
        if len(rows) == ROWS or size > TEXTS:
            yield batch_of(rows, schema)
            rows, size = [], 0
    if rows:
        yield batch_of(rows, schema)
