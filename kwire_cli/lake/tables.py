"""The tables of a lake: their names and columns.

Every table also has `unit` and `run` as its first columns, `capture_point`, and `day`, which names the folders of its
files.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from kwire_cli.facts.bodies import body_tables_of
from kwire_cli.facts.columnar.arrays import TIME, WORD, plain, schema_of
from kwire_cli.facts.columnar.bodies import PLACE, body_type
from kwire_cli.facts.columnar.frames import FRAMES
from kwire_cli.facts.columnar.names import NAMES
from kwire_cli.facts.connections import CONNECTIONS
from kwire_cli.facts.parts import KEY, PARTS
from kwire_cli.facts.queries import named_in
from kwire_cli.lake import BODIES
from kwire_cli.lake.capture_faults import CAPTURE_FAULTS
from kwire_cli.lake.line_walks import LEDGER
from kwire_cli.lake.segments import INDEX, SEGMENT_FAULTS, SEGMENT_TABLES
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DAY = "day"
POINT = "capture_point"
FAULTS = pa.schema(
    [
        *SEGMENT_FAULTS.schema,
        *(each for each in CAPTURE_FAULTS if each.name not in {POINT, *SEGMENT_FAULTS.schema.names}),
    ]
)
COSTS = pa.schema(
    [pa.field(DAY, pa.date32()), pa.field("file", WORD), *(each for each in LEDGER if each.name != POINT)]
)
"""Bytes and counts, which can be summed."""
INPUTS = pa.schema(
    [
        pa.field("unit", pa.string()),
        pa.field("run", pa.string()),
        pa.field(POINT, pa.string()),
        pa.field("path", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("modified", TIME),
        pa.field("digest", pa.string()),
        pa.field("latest", pa.int64()),
        pa.field("read", TIME),
        pa.field("version", pa.string()),
        pa.field("tables", pa.string()),
    ]
)
"""The units of the lake with their current runs. `latest` is set for capture points: the time of the last packet, in
nanoseconds since 1970.
"""
CARRIED = pa.schema([pa.field("ends", pa.string()), pa.field("latest", pa.int64()), pa.field("state", pa.string())])
"""The saved state of connections for the next file (`source.kafka.carried`): both addresses in hexadecimal, the time of
the last packet, and the state as JSON.
"""
_BATCHES, _RECORDS = (table.schema for table in SEGMENT_TABLES)
_PLACE = PLACE[:-1]
"""The key of a frame with its file and time: `PLACE` without the version of the api."""
PART_TABLES = {"errors": "errors", "produce_batches": "batches", "set_fields": "set_fields"}
"""The tables about parts of frames, with their names in memory (`facts.parts`). In a lake, `batches` are those of logs.
"""
_NOT_IN_LAKES = {"connection", "ordinal", "capture_point", "stream", "broker"}
CONNECTIONS_TABLE = pa.schema(
    [
        pa.field("connection", pa.int64()),
        *(each for each in schema_of(CONNECTIONS) if each.name not in _NOT_IN_LAKES),
    ]
)
"""One row for each TCP connection; its `file` and `packet` are those of its first packet."""


class Shape(NamedTuple):
    """The columns in the files of a table, and the column that determines the day; None for a table without days."""

    schema: pa.Schema
    time: str | None = None


SHAPES: dict[str, Shape] = {
    "frames": Shape(FRAMES, "time"),
    "connections": Shape(CONNECTIONS_TABLE, "first_time"),
    **{name: Shape(pa.schema([*_PLACE, *schema_of(PARTS[part][KEY:])]), "time") for name, part in PART_TABLES.items()},
    "costs": Shape(COSTS, DAY),
    "names": Shape(NAMES),
    "batches": Shape(_BATCHES, "max_time"),
    "records": Shape(_RECORDS, "time"),
    "index": Shape(INDEX),
    "faults": Shape(FAULTS),
    "carried": Shape(CARRIED),
    "inputs": Shape(INPUTS),
}
"""The tables that every lake may have. A table of bodies also contains the type of its message."""
_BODIES = re.compile(rf"{BODIES}_[a-z0-9_]+")


def is_table(name: str) -> bool:
    """Return whether a table of a lake can have this name."""
    return name in SHAPES or _BODIES.fullmatch(name) is not None


_VIEWS = Path(__file__).parent / "views"


@cache
def views() -> Mapping[str, str]:
    """Return the views of a lake by name, as SQL that DuckDB and Spark run. A view reads tables and earlier views."""
    names = ("exchanges", "sessions", "slo", "partitions", "consumer_lag", "frames_named", "client_frames")
    return {name: (_VIEWS / f"{name}.sql").read_text("utf-8") for name in names}


def day_column(table: str) -> str | None:
    """Return the column that determines the day of a row, or None for a table without days."""
    return "time" if table.startswith(f"{BODIES}_") else SHAPES[table].time


@cache
def messages_of_bodies() -> Mapping[str, str]:
    """Return the names of the messages whose bodies the tables of bodies have."""
    tables: dict[str, str] = {}
    for api in catalog().apis:
        tables.update((table, message) for table, _, message in body_tables_of(api))
    return tables


def known_tables(names: Iterable[str]) -> frozenset[str]:
    """Return the tables of SHAPES, and the tables of bodies among some names."""
    return frozenset({*SHAPES, *(name for name in names if name in messages_of_bodies())})


def whole_schema(table: str) -> pa.Schema:
    """Return all columns of a known table in a lake."""
    if table not in SHAPES:
        body = pa.field("body", body_type(catalog().message(messages_of_bodies()[table])))
        schema = pa.schema([*PLACE, body])
    else:
        schema = SHAPES[table].schema
    own = [each for each in plain(schema) if each.name not in {POINT, DAY}]
    if table == "inputs":
        return plain(schema)
    keys = [pa.field("unit", pa.string()), pa.field("run", pa.string())]
    return pa.schema([*keys, *own, pa.field(POINT, pa.string()), pa.field(DAY, pa.date32())])


def needed_for(query: str) -> tuple[frozenset[str], list[str]]:
    """Return the tables that a query may read, directly or through views, and these views in order."""
    names = {*named_in(query)}
    for name in reversed([*views()]):
        if name in names:
            names |= named_in(views()[name])
    used = [name for name in views() if name in names]
    return frozenset(names), used
