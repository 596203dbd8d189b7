"""Rows of the tables that replays fill.

A class of rows declares its table: a field or a property whose annotation has a kind and a meaning is a column. The
replays compute with the same objects, so a column is written once.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

from kwire_cli.facts.buffers import PLACE as PLACE_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kwire_cli.analysis.call import Evidence

_LATEST = 253_402_300_800
"""The end of the year 9999 in seconds since 1970. Records may contain later times, which are null in tables."""


class Kind(NamedTuple):
    """The kind of a column: its type in DuckDB, and the function that converts a value to it."""

    type: Any
    cell: Callable[[Any], Any]


class Column(NamedTuple):
    """A column of a table."""

    name: str
    kind: Kind
    meaning: str


class Row:
    """A row of a table."""

    __slots__ = ()


def columns_of(row: type[Row]) -> tuple[Column, ...]:
    """Return the columns of a class of rows: its fields, then its properties."""
    hints = get_type_hints(row, include_extras=True)
    for name in dir(row):
        if isinstance(member := getattr(row, name), property):
            hints[name] = get_type_hints(member.fget, include_extras=True)["return"]
    return tuple(Column(name, *hint.__metadata__) for name, hint in hints.items() if hasattr(hint, "__metadata__"))


def cells(row: Row, columns: Iterable[Column]) -> list[Any]:
    """Return the values of a row for its columns."""
    values = ((kind, getattr(row, name)) for name, kind, _ in columns)
    return [None if value is None else kind.cell(value) for kind, value in values]


def _place(place: Evidence) -> dict[str, Any]:
    """Return a place. Its ordinal is the time, or the position in the input if there is no time."""
    row = place._asdict()
    row["position"] = row.pop("offset")
    row["ordinal"] = place.frame or place.line or place.offset or 0
    if place.time is not None:
        time = datetime.fromisoformat(place.time)
        row["time"] = row["ordinal"] = round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1e6)
    return row


def _counts(counter: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counter.items()))


def _partitions(partitions: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": number} for topic, number in sorted(partitions)]


TEXT = Kind("VARCHAR", lambda text: text or None)
FLAG = Kind("BOOLEAN", bool)
NUMBER = Kind("BIGINT", int)
ID = Kind("BIGINT", lambda number: None if number < 0 else number)
SECONDS = Kind("DOUBLE", lambda seconds: round(seconds, 6))  # as exact as times are
TIME = Kind("TIMESTAMPTZ", lambda seconds: round(seconds * 1e6) if 0 <= seconds < _LATEST else None)
NAMES = Kind("VARCHAR[]", lambda names: sorted(names) if isinstance(names, set) else [*names])
COUNTS = Kind("MAP(VARCHAR, BIGINT)", _counts)
PLACE = Kind(PLACE_TYPE, _place)
PLACES = Kind([PLACE_TYPE], lambda places: [*map(_place, places)])
PARTITIONS = Kind([{"topic": "VARCHAR", "partition": "BIGINT"}], _partitions)
