"""Rows on their way into a table of DuckDB.

Rows are collected as JSON, and DuckDB gives them their types (`from_json`): no Arrow library is imported for a small
input.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson

from kwire_cli.facts.bodies import duckdb_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

AT_ONCE = 1 << 20
"""Bytes of rows in JSON that are given to DuckDB at a time."""
PLACE = {
    "ordinal": "BIGINT",
    "what": "VARCHAR",
    "time": "TIMESTAMPTZ",
    "frame": "BIGINT",
    "stream": "BIGINT",
    "packet": "BIGINT",
    "file": "VARCHAR",
    "line": "BIGINT",
    "capture": "VARCHAR",
    "position": "BIGINT",
}
"""The type of a place that shows something, in tables that replays fill. `position` is an offset of a log."""


class Buffer:
    """Rows of one table on their way into DuckDB."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str, columns: Sequence[tuple[str, Any]]) -> None:
        types = ", ".join(f"{name} {duckdb_type(kind)}" for name, kind in columns)
        connection.execute(f"create table {table} ({types})")
        as_json = {name: _json_type(kind) for name, kind in columns}
        values = ", ".join(_from_json(f"r.{name}", kind) for name, kind in columns)
        self._insert = f"insert into {table} select {values} from (select unnest(from_json($1::json, $2)) as r)"  # noqa: S608 - our own names
        self._structure = orjson.dumps([as_json]).decode()
        self._connection = connection
        self._names = [name for name, _ in columns]
        self._rows: list[bytes] = []
        self._size = 0

    def add(self, values: Sequence[Any]) -> None:
        """Add a row with a value for each column."""
        row = _json(dict(zip(self._names, values, strict=True)))
        self._rows.append(row)
        self._size += len(row)
        if self._size > AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Insert the buffered rows into the table."""
        if self._rows:
            text = b"[" + b",".join(self._rows) + b"]"
            self._rows = []
            self._size = 0
            self._connection.execute(self._insert, [text.decode(), self._structure])


def _json_type(kind: Any) -> Any:
    """Return the type that a value has in JSON, where times are microseconds since 1970."""
    if isinstance(kind, dict):
        return {name: _json_type(inner) for name, inner in kind.items()}
    if isinstance(kind, list):
        return [_json_type(kind[0])]
    return "BIGINT" if kind == "TIMESTAMPTZ" else kind


def _from_json(value: str, kind: Any) -> str:
    """Return the SQL expression that converts a JSON value to a type."""
    if kind == [PLACE]:
        return f"list_transform({value}, lambda each: {_from_json('each', PLACE)})"
    if kind == PLACE:
        fields = ", ".join(f"'{name}': {_from_json(f'{value}.{name}', inner)}" for name, inner in kind.items())
        return f"case when {value} is not null then {{{fields}}} end"
    return f"make_timestamptz({value})" if kind == "TIMESTAMPTZ" else value


def _json(row: dict[str, Any]) -> bytes:
    """Return a row as JSON, also with the integers of more than 64 bits that a request log may hold."""
    try:
        return orjson.dumps(row)
    except TypeError:
        return json.dumps(row).encode()
