"""Columns of a capture's lines, its faults as rows, and filters pushed down by Spark."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_cli.engine.arrow import batch_of
from kwire_cli.engine.codes import MEANING
from kwire_cli.errors import InputError
from kwire_cli.message.redaction import Redaction
from kwire_cli.records.selection import Selection
from kwire_cli.source.packets.parts import PartReader
from kwire_cli.source.packets.points import APART
from kwire_cli.stores import location
from kwire_cli.view.json import dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql.datasource import Filter

    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.packets.descriptors import Schedule
    from kwire_cli.spec.catalog import Catalog


# The lines of captures as rows of the table `frames`, with only those columns that are asked for.

ROWS, TEXTS = 4096, 8 << 20
"""Rows of a batch, and bytes of bodies in it, about."""


LAST_SECOND = 253402300800
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
            self._document = self.captured.to_json(
                records=options.records, hidden=redaction.line(self.captured), hide=redaction.record
            )
        return self._document

    def text(self, name: str) -> str | None:
        """A part of the document as JSON text; None where it has none."""
        part = self.document.get(name) if self.captured.is_frame else None
        return None if part is None else dumps(part, indent=False)


class Options:
    """The way to show bodies: `records` is as for `Captured.to_json`."""

    def __init__(self, catalog: Catalog, *, records: str = "decoded", show_secrets: bool = False) -> None:
        self.catalog, self.records = catalog, records
        self.redaction = Redaction(catalog, show_secrets=show_secrets, raw_records=True)


def microseconds_of(time: int | None) -> int | None:
    """Return nanoseconds since 1970 in microseconds; None if there is no time, or it is none that a date can be."""
    return None if time is None or not 0 <= time < LAST_SECOND * 1_000_000_000 else time // 1000


def _codes(line: Line) -> list[str]:
    return line.captured.anomalies


_TEXTS = pa.list_(pa.string())
COLUMNS: tuple[tuple[str, pa.DataType, Callable[[Line], Any]], ...] = (
    ("capture_point", pa.string(), lambda line: line.captured.origin.point),
    ("file", pa.string(), lambda line: line.captured.where.file),
    ("packet", pa.int64(), lambda line: line.captured.where.packet),
    ("time", pa.timestamp("us", "UTC"), lambda line: microseconds_of(line.captured.seen.time)),
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
"""Columns for which the names in all of a capture are needed."""


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


# What is wrong with captures, as rows: files that cannot be read, or not to their end; bytes that are
# missing; what is odd about frames.

CAPTURE_FAULTS = pa.schema(
    [
        pa.field("capture_point", pa.string()),
        pa.field("file", pa.string()),
        pa.field("packet", pa.int64()),
        pa.field("position", pa.int64()),
        pa.field("stream", pa.int64()),
        pa.field("src", pa.string()),
        pa.field("dst", pa.string()),
        pa.field("frame", pa.int64()),
        pa.field("size", pa.int64()),
        pa.field("code", pa.string()),
        pa.field("path", pa.string()),
        pa.field("offset", pa.int64()),
        pa.field("detail", pa.string()),
    ]
)
"""Of files `capture_point`, `file`, `packet` (the last one before it), `position` and `detail`; of lines all but
`position`."""


UNREADABLE = "UNREADABLE"
SAME_CONNECTIONS = "SAME_CONNECTIONS"
"""Of files that are a capture point of their own."""
_ROWS = 4096


def unreadable_rows(plan: Schedule) -> list[tuple[Any, ...]]:
    """The files that are no captures, or can't be opened, and those that can't be one capture with others of their
    folder.
    """
    rows = [_of_file(None, file, None, None, UNREADABLE, reason) for file, reason in plan.faults]
    return rows + [
        _of_file(point.name, point.files[0], None, None, SAME_CONNECTIONS, APART)
        for point in plan.points
        if point.apart
    ]


def capture_faults(plan: Schedule, parts: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """Yield the faults that end the reading of these parts early. Only the parts' headers are read for this."""
    for number in parts:
        part, point = plan.parts[number].part, plan.points[plan.parts[number].point].name
        reader = PartReader(part)
        rows = []
        try:
            for _ in reader.chunks():
                pass
            rows = [
                _of_file(point, part.file, packet, position, "TRUNCATED", text)
                for text, position, packet in reader.notices
            ]
        except InputError as error:
            rows = [_of_file(point, part.file, None, None, UNREADABLE, error.reason)]
        if rows:
            yield batch_of(rows, CAPTURE_FAULTS)


def _of_file(
    point: str | None, file: str, packet: int | None, position: int | None, code: str, detail: str
) -> tuple[Any, ...]:
    return point, location(file), packet, position, None, None, None, None, None, code, None, None, detail


def file_fault(
    point: str | None, file: str, packet: int | None, position: int | None, code: str, detail: str
) -> pa.RecordBatch:
    """Return the row of something that is wrong with a file."""
    return batch_of([_of_file(point, file, packet, position, code, detail)], CAPTURE_FAULTS)


def line_faults(lines: Iterable[Line]) -> Iterator[pa.RecordBatch]:
    """Yield the anomalies of lines, as rows."""
    rows: list[tuple[Any, ...]] = []
    for line in lines:
        captured = line.captured
        if not captured.anomalies:
            continue
        own = (
            captured.origin.point,
            *captured.where,
            None,
            line.stream,
            captured.src,
            captured.dst,
            captured.number,
            captured.seen.size,
        )
        if code := captured.code:
            rows.append((*own, code, None, None, MEANING.get(code)))
        if captured.frame:
            rows += [
                (*own, anomaly.code, anomaly.path, anomaly.offset, anomaly.detail)
                for anomaly in captured.frame.anomalies
            ]
        if len(rows) >= _ROWS:
            yield batch_of(rows, CAPTURE_FAULTS)
            rows = []
    if rows:
        yield batch_of(rows, CAPTURE_FAULTS)


# What Spark's filters let a reader leave out: files by topic and partition, batches by offsets and times in
# their headers.
#
# Nothing is decided for a row: Spark looks at every filter again. Filters are known by the names of their
# classes, so that tables are read without Spark too.

_EQUAL = frozenset({"EqualTo", "EqualNullSafe"})

_FIRST = {"records": {"offset"}, "batches": {"last_offset"}}


_LAST = {"records": {"offset"}, "batches": {"base_offset"}}
_SINCE = {"records": {"timestamp", "time"}, "batches": {"max_timestamp", "max_time"}}
"""The columns of each table that bound the offsets of its batches below, above, and their times below."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Wanted:
    """The files and batches that may be wanted.

    `places` are allowed values of file, topic, partition and kind. `selection` is about batches.
    """

    places: tuple[tuple[str, frozenset[Any]], ...] = ()
    selection: Selection = field(default_factory=Selection)

    def has(self, own: Mapping[str, Any]) -> bool:
        """Return whether a file may have wanted rows, by its values that are the same in all rows."""
        return all(own[name] in values for name, values in self.places if name in own)


def wanted(table: str, filters: Iterable[Filter]) -> Wanted:
    """Return the limits that all of these filters set on the files and batches of a table."""
    places: list[tuple[str, frozenset[Any]]] = []
    first: int | None = None
    last: int | None = None
    since: int | None = None
    for predicate in filters:
        if len(getattr(predicate, "attribute", ())) != 1:
            continue
        (name,) = predicate.attribute  # type: ignore[attr-defined] # all of those below have one
        if name in {"file", "topic", "partition", "kind"}:
            if (values := _values(predicate)) is not None:
                places.append((name, frozenset(values)))
            continue
        low, high = bounds(predicate, _number)
        if low is not None and name in _FIRST.get(table, ()):
            first = max(low, first) if first is not None else low
        if high is not None and name in _LAST.get(table, ()):
            last = min(high, last) if last is not None else high
        if low is not None and name in _SINCE.get(table, ()):
            since = max(low, since) if since is not None else low
    return Wanted(tuple(places), Selection(offsets=(first, last), times=(since, None)))


def _values(each: Filter) -> tuple[Any, ...] | None:
    """The only values that it lets through; None where it says nothing of the kind."""
    kind = type(each).__name__
    if kind in _EQUAL:
        return (each.value,)  # type: ignore[attr-defined] # those kinds have one
    return tuple(each.value) if kind == "In" else None  # type: ignore[attr-defined] # as above


def bounds(each: Filter, number: Callable[[Any], int | None]) -> tuple[int | None, int | None]:
    """The lowest and the highest number that it lets through; `number` says what a value of it is."""
    if (values := _values(each)) is not None:
        numbers = [number(value) for value in values]
        numeric = [number for number in numbers if number is not None]
        return (min(numeric), max(numeric)) if numeric and len(numeric) == len(numbers) else (None, None)
    kind = type(each).__name__
    if kind in {"GreaterThan", "GreaterThanOrEqual"}:
        return number(each.value), None  # type: ignore[attr-defined] # as in `_values`
    if kind in {"LessThan", "LessThanOrEqual"}:
        return None, number(each.value)  # type: ignore[attr-defined] # as in `_values`
    return None, None


def microseconds(time: datetime) -> int:
    """Since 1970, as tables have times."""
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def _number(value: Any) -> int | None:
    """Times are milliseconds, and none of a record that is wanted is below."""
    if isinstance(value, datetime):
        return microseconds(value) // 1000
    return value if isinstance(value, int) and not isinstance(value, bool) else None
