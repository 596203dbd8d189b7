"""The order of rows: `--sort COLUMN` and `--top N`, for lines of captures, batches, records and tables of Answers.

    ordering = Ordering(order_of("size"), 10)
    for line in lines:
        ordering.add(line, line.seen.size)
    ordering.rows()                     # the ten largest

Numbers that measure something come with the largest first; texts, times and numbers that name something (offsets,
frames, ids) with the smallest first. Rows without a value come last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import click

from kwire_cli.errors import close_to, did_you_mean

Row = TypeVar("Row")
DIRECTIONS = {"asc": False, "desc": True}
MEASURES = frozenset({"count", "bytes", "number", "share", "duration", "map", "flag"})
"""The kinds of columns whose largest values come first."""
NAMES = frozenset(
    (
        *("position", "baseOffset", "lastOffset", "magic", "crc", "producerId", "producerEpoch"),
        *("baseSequence", "partitionLeaderEpoch", "offset", "sequence"),
    )
)
"""Columns of batches and records whose numbers name something."""


@dataclass(frozen=True)
class Order:
    """An order: by which column, and whether the largest values come first; None if the values are to decide."""

    column: str
    descending: bool | None = None


def order_of(text: str) -> Order:
    """Parse `latency`, `latency:asc` or `latency:desc`."""
    column, colon, direction = text.rpartition(":")
    if not colon:
        return Order(text)
    if direction not in DIRECTIONS:
        raise click.UsageError(f"--sort takes COLUMN, COLUMN:asc or COLUMN:desc, not {text}")
    return Order(column, DIRECTIONS[direction])


def unknown_column(text: str, columns: list[str]) -> click.UsageError:
    """Return the error for a column that no row has."""
    return click.UsageError(
        f"--sort {text}: the columns are {', '.join(columns)}{did_you_mean(close_to(text, columns))}"
    )


class Ordering(Generic[Row]):
    """The first `most` rows in an order, or all of them. At most twice as many are in memory at a time."""

    def __init__(self, order: Order, most: int | None) -> None:
        self.column, self._most = order.column, most
        self._rows: list[tuple[Any, Row]] = []
        self._without: list[Row] = []
        self._descending = order.descending

    def add(self, row: Row, value: Any) -> None:
        """Add a row with the value of its column."""
        most = self._most
        if value is None or value in ("", []):
            if most is None or len(self._without) < most:
                self._without.append(row)
            return
        if self._descending is None:
            self._descending = isinstance(value, int | float) and self.column not in NAMES
        self._rows.append((_sortable(value), row))
        if most is not None and len(self._rows) >= 2 * most + 64:
            self._sort()
            del self._rows[most:]

    def rows(self) -> list[Row]:
        """Return the rows in order. Equal ones stay in the order in which they came."""
        self._sort()
        return ([row for _, row in self._rows] + self._without)[: self._most]

    def _sort(self) -> None:
        self._rows.sort(key=lambda pair: pair[0], reverse=bool(self._descending))


def _sortable(value: Any) -> tuple[int, Any]:
    """Return a value that compares with those of all other types: numbers before texts."""
    if isinstance(value, int | float):
        return 0, value
    if isinstance(value, dict) and all(isinstance(count, int | float) for count in value.values()):
        return 0, sum(value.values())  # counts by name
    if isinstance(value, list | tuple):
        return 1, ", ".join(map(str, value))
    return 1, str(value)
