"""One frame or batch as the panes show it: its fields and its bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.view.bounded_outline import BoundedOutline, Bytes
    from kwire_cli.view.rows import Row

TOP = -1
"""The number that stands for the row above the first ones."""


@dataclass(frozen=True)
class Look:
    """Rows of an outline by their numbers. `document` makes the JSON form."""

    outline: BoundedOutline
    title: str
    document: Callable[[], Any]
    note: str = ""

    @property
    def rows(self) -> list[Row]:
        return self.outline.rows

    @cached_property
    def buffers(self) -> list[Bytes]:
        return self.outline.buffers

    @cached_property
    def parts(self) -> dict[int, list[int]]:
        """The numbers of the rows directly below each row that has some, and below TOP."""
        below: dict[int, list[int]] = {}
        above = [TOP]
        for number, row in enumerate(self.rows):
            del above[row.depth + 1 :]
            below.setdefault(above[-1], []).append(number)
            above.append(number)
        return below

    def row_at(self, buffer: int, offset: int) -> int | None:
        """Return the number of the innermost row with a byte; None if no row contains it."""
        innermost = None
        for number, row in enumerate(self.rows):
            if row.place[0] <= offset < row.place[2] and self.outline.number(row) == buffer:
                innermost = number
        return innermost

    def row_of(self, path: str, offset: int) -> int | None:
        """Return the row of an anomaly: the one with its path, else the innermost one at its offset."""
        named = [number for number, row in enumerate(self.rows) if path and row.json_path == path]
        for number in named:
            if self.rows[number].place[0] <= offset <= self.rows[number].place[2]:
                return number
        return named[0] if named else self.row_at(0, offset)

    def hex_of(self, row: Row) -> str:
        """Return the bytes of a row in hex, with stars for secrets."""
        return "".join(self.buffers[self.outline.number(row)].cells(row.place[0], row.place[2]))
