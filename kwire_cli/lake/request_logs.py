"""The rows of request logs in the tables of a lake.

Each exchange becomes a request and a response. A request log contains everything about them except the bytes. Bodies
have the types of the definitions: a value of another type, which a log may contain, is null.
"""

from __future__ import annotations

from base64 import b64decode
from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_cli.engine.arrow import batch_of
from kwire_cli.errors import InputError
from kwire_cli.facts.bodies import table_of
from kwire_cli.facts.columnar.bodies import PLACE, body_type
from kwire_cli.facts.columns import FRAMES as FRAME_COLUMNS
from kwire_cli.facts.frame_values import connection_of_half, halves_of, logged_time
from kwire_cli.facts.parts import errors_in
from kwire_cli.facts.set_fields import set_field_rows
from kwire_cli.lake import BODIES
from kwire_cli.lake.capture_faults import CAPTURE_FAULTS, UNREADABLE
from kwire_cli.lake.segments import FAULTS_NAME
from kwire_cli.lake.tables import SHAPES
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.source.request_log.reading import LineFault, RequestLog
from kwire_cli.stores.paths import location

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from kwire_cli.facts.frame_values import Half
    from kwire_cli.lake.model import Faults, Reading
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

ROWS = 4096
"""Maximum number of rows of a batch."""
BYTES = 8 << 20
"""Approximate maximum bytes of the part of a log that is read for a batch."""
LOG_TABLES = frozenset({"frames", "errors", "set_fields", "names", FAULTS_NAME, BODIES})
"""The tables that request logs have rows in."""


def rows_of(path: str, wanted: Collection[str], reading: Reading) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of a log in one pass, with their tables."""
    rows: dict[str, list[Sequence[Any]]] = defaultdict(list)
    schemas = {table: SHAPES[table].schema for table in wanted if table != BODIES} | {FAULTS_NAME: CAPTURE_FAULTS}
    names: dict[str, str] = {}
    start = 0
    for entry in _entries(path, reading.catalog, reading.faults):
        if isinstance(entry, Exchange):
            names.update(entry.named)
            for half in halves_of(entry, location(path), reading.catalog):
                for table, row in _half_rows(half, wanted, names):
                    rows[table].append(row)
                if BODIES in wanted and (message := _message_of(half)):
                    table, spec = message
                    schemas[table] = _body_schema(spec)
                    rows[table].append(_body_row(half, spec))
        elif FAULTS_NAME in wanted:
            rows[FAULTS_NAME].append(_fault_row(path, entry))
        if any(len(some) >= ROWS for some in rows.values()) or entry.start - start > BYTES:
            yield from ((table, batch_of(some, schemas[table])) for table, some in rows.items())
            rows.clear()
            start = entry.start
    if "names" in wanted:
        rows["names"] += [("topic", topic_id, name) for topic_id, name in names.items()]
    yield from ((table, batch_of(some, schemas[table])) for table, some in rows.items())


def _entries(path: str, catalog: Catalog, faults: Faults) -> Iterator[Exchange | LineFault]:
    """Yield the exchanges and faults in a log, and count the faults.

    If the log becomes unreadable, the last item is the fault UNREADABLE.
    """
    try:
        for entry in RequestLog(path, catalog):
            faults.count += isinstance(entry, LineFault)
            yield entry
    except InputError as error:
        faults.count += 1
        yield LineFault(0, UNREADABLE, error.reason)


def _fault_row(path: str, fault: LineFault) -> list[Any]:
    row = {"file": location(path), "position": fault.start, "code": fault.code, "detail": fault.detail}
    return [row.get(name) for name in CAPTURE_FAULTS.names]


def _half_rows(half: Half, wanted: Collection[str], names: Mapping[str, str]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the rows of a request or a response with their tables, except its body."""
    exchange = half.exchange
    if "frames" in wanted:
        yield "frames", [column.of_half(half) for column in FRAME_COLUMNS]
    if "set_fields" in wanted and not half.is_response:
        for row in set_field_rows(exchange.api_key, half.body):
            yield "set_fields", (*_place(half), *row)
    if "errors" in wanted and half.is_response and exchange.errors:
        for row in errors_in(half.catalog, exchange.api_key, half.body, lambda topic: names.get(topic, topic)):
            yield "errors", (*_place(half), *row)


def _place(half: Half) -> tuple[Any, ...]:
    return half.file, None, logged_time(half), connection_of_half(half), half.exchange.start


def _message_of(half: Half) -> tuple[str, MessageSpec] | None:
    """Return the table of the body of a request or a response, and the definition of the message."""
    api = half.catalog.named_api(half.exchange.api_key)
    name = api and (api.response if half.is_response else api.request)
    return (table_of(api.name, half.kind), half.catalog.message(name)) if api and name else None


@cache
def _body_schema(spec: MessageSpec) -> pa.Schema:
    kind = body_type(spec)
    return pa.schema([*PLACE, pa.field("body", kind)] if kind.num_fields else PLACE)  # Parquet has no empty structs


def _body_row(half: Half, spec: MessageSpec) -> Sequence[Any]:
    kind = body_type(spec)
    body = [_fitted(half.body, kind)] if kind.num_fields else []
    return *_place(half), half.exchange.api_version, *body


def _fitted(value: Any, kind: pa.DataType) -> Any:
    """Return a JSON value with null in place of values that are not of the type of their field."""
    if pa.types.is_struct(kind):
        if not isinstance(value, dict):
            return None
        return {field.name: _fitted(value.get(field.name), field.type) for field in kind}
    if pa.types.is_list(kind):
        return [_fitted(each, kind.value_type) for each in value] if isinstance(value, list) else None
    if pa.types.is_boolean(kind):
        return value if isinstance(value, bool) else None
    if pa.types.is_integer(kind):
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return value if is_number and -1 << kind.bit_width - 1 <= value < 1 << kind.bit_width - 1 else None
    if pa.types.is_floating(kind):
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if not isinstance(value, str):
        return None
    return _bytes_of(value) if pa.types.is_binary(kind) else value


def _bytes_of(text: str) -> bytes | None:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        return None
