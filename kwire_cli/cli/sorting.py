"""The order of rows: `--sort COLUMN` and `--top N`, for lines of captures, batches, records and tables of Answers.

    ordering = Ordering(order_of("size"), 10)
    for line in lines:
        ordering.add(line, line.seen.size)
    ordering.rows()                     # the ten largest

By default, quantities are sorted with the largest first. Strings, times and identifying numbers (offsets, frames, ids)
are sorted with the smallest first. Rows without a value are last. With --top, only a limited number of rows is stored,
so that an input of any size can be sorted.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

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
"""Columns of batches and records with identifying numbers."""


class Order(NamedTuple):
    """An order of rows by a column."""

    column: str
    descending: bool | None = None
    """True if the largest values are first. None if the type of the values decides."""


def order_of(text: str) -> Order:
    """Parse `latency`, `latency:asc` or `latency:desc`."""
    column, colon, direction = text.rpartition(":")
    if not colon:
        return Order(text)
    if direction not in DIRECTIONS:
        raise click.UsageError(f"--sort takes COLUMN, COLUMN:asc or COLUMN:desc, not {text}")
    return Order(column, DIRECTIONS[direction])


def unknown_column(text: str, columns: list[str]) -> click.UsageError:
    """Return the error for an unknown column."""
    return click.UsageError(
        f"--sort {text}: the columns are {', '.join(columns)}{did_you_mean(close_to(text, columns))}"
    )


class Ordering(Generic[Row]):
    """The first `most` rows in an order, or all rows. At most about twice this number is in memory."""

    def __init__(self, order: Order, most: int | None) -> None:
        self.column = order.column
        self._limit = most
        self._rows: list[tuple[Any, Row]] = []
        self._without: list[Row] = []
        self._descending = order.descending

    def add(self, row: Row, value: Any) -> None:
        """Add a row with the value of its column."""
        limit = self._limit
        if value is None or value in ("", []):
            if limit is None or len(self._without) < limit:
                self._without.append(row)
            return
        if self._descending is None:
            self._descending = isinstance(value, int | float) and self.column not in NAMES
        self._rows.append((_sort_key(value), row))
        if limit is not None and len(self._rows) >= 2 * limit + 64:
            self._sort()
            del self._rows[limit:]

    def rows(self) -> list[Row]:
        """Return the rows in order. Rows with equal values remain in the order in which they were added."""
        self._sort()
        return ([row for _, row in self._rows] + self._without)[: self._limit]

    def _sort(self) -> None:
        self._rows.sort(key=lambda pair: pair[0], reverse=bool(self._descending))


def _sort_key(value: Any) -> tuple[int, Any]:
    """Return a key that allows comparison of values of different types: numbers precede strings."""
    if isinstance(value, int | float):
        return 0, value
    if isinstance(value, dict) and all(isinstance(count, int | float) for count in value.values()):
        return 0, sum(value.values())  # counts by name
    if isinstance(value, list | tuple):
        return 1, ", ".join(map(str, value))
    return 1, str(value)
