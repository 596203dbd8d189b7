"""The tables of a lake: their names, columns, and the files that they lie in.

Files lie as DIR/<table>/capture_point=<point>/day=<day>/<file>. Capture point and day are columns by the names of
folders (Hive's partitions), and are not in the files.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote

import pyarrow as pa

from kwire_cli.facts.columnar.arrays import TIME, plain
from kwire_cli.facts.columnar.frames import FRAMES
from kwire_cli.facts.columnar.names import NAMES
from kwire_cli.lake import BODIES
from kwire_cli.lake.capture_faults import CAPTURE_FAULTS
from kwire_cli.lake.line_walks import LEDGER
from kwire_cli.lake.segments import INDEX, SEGMENT_FAULTS, SEGMENT_TABLES

SCHEMA_VERSION = 1
"""The version of all tables: it grows when a column changes its name, type or meaning, or is gone."""
SCHEMA_KEY = b"kwire_schema"
"""The key of the version in the metadata of files."""
DAY = "day"
POINT = "capture_point"
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows without a time."""
FAULTS = pa.schema(
    [
        *SEGMENT_FAULTS.schema,
        *(each for each in CAPTURE_FAULTS if each.name not in {POINT, *SEGMENT_FAULTS.schema.names}),
    ]
)
COSTS = pa.schema([pa.field(DAY, pa.date32()), *(each for each in LEDGER if each.name != POINT)])
"""Bytes and counts that can be added up."""
INPUTS = pa.schema(
    [
        pa.field(POINT, pa.string()),
        pa.field("path", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("modified", TIME),
        pa.field("digest", pa.string()),
        pa.field("unit", pa.string()),
        pa.field("rows", pa.int64()),
        pa.field("read", TIME),
        pa.field("version", pa.string()),
        pa.field("filter", pa.string()),
        pa.field("fields", pa.string()),
        pa.field("tables", pa.string()),
    ]
)
"""One file holds all rows of it, and each run replaces the file."""
_BATCHES, _RECORDS = (table.schema for table in SEGMENT_TABLES)


class Shape(NamedTuple):
    """The columns in the files of a table, and the column that says of which day a row is; None for a table without
    days.
    """

    schema: pa.Schema
    time: str | None = None


SHAPES: dict[str, Shape] = {
    "frames": Shape(FRAMES, "time"),
    "costs": Shape(COSTS, DAY),
    "names": Shape(NAMES),
    "batches": Shape(_BATCHES, "max_time"),
    "records": Shape(_RECORDS, "time"),
    "index": Shape(INDEX),
    "faults": Shape(FAULTS),
    "inputs": Shape(INPUTS),
}
"""The tables that every lake may have. Tables of bodies have the type of their message beside these."""
_BODIES = re.compile(rf"{BODIES}_[a-z0-9_]+")


def is_table(name: str) -> bool:
    """Return whether a table of a lake can have this name."""
    return name in SHAPES or _BODIES.fullmatch(name) is not None


def day_column(table: str) -> str | None:
    """Return the column of a table that says of which day a row is, if any."""
    return "time" if table.startswith(f"{BODIES}_") else SHAPES[table].time


def whole_schema(table: str) -> pa.Schema:
    """Return all columns of a table of SHAPES as a lake has them: those by the names of folders are the last."""
    own = [each for each in plain(SHAPES[table].schema) if each.name not in {POINT, DAY}]
    days = [pa.field(DAY, pa.date32())] if day_column(table) else []
    return pa.schema([*own, pa.field(POINT, pa.string()), *days])


def folder_of(table: str, point: str, day: str | None, *, has_days: bool) -> str:
    """Return the folder of rows below the lake's own, as Hive names it."""
    parts = [table, f"{POINT}={quote(point, safe='') or NO_VALUE}"]
    if has_days:
        parts.append(f"{DAY}={day or NO_VALUE}")
    return "/".join(parts)


def own_name(path: str) -> str:
    """Return the name of a file by its path below the folder of a lake."""
    return path.rpartition("/")[2]


def unit_of(path: str) -> str:
    """Return the key of the unit whose rows a file has."""
    return own_name(path).partition("-")[0]
