"""A table whose rows are written as they arrive.

The widths of columns depend on the rows. So the table buffers its first rows, computes the layout from them, and then
writes each further row at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.view.widths import Column, Layout


class StreamedTable:
    """A table with a width of `room` cells, or any width if None. If it `waits`, the first rows are buffered."""

    def __init__(self, environment: Environment, columns: Sequence[Column], room: int | None, *, waits: bool) -> None:
        from kwire_cli.view import widths  # only tables need it

        self.room = room
        self.layout: Layout | None = None
        self._environment = environment
        self._columns = columns
        self._waits = waits
        self._widths = widths
        self._held: list[Sequence[str]] = []

    def add(self, *rows: Sequence[str]) -> None:
        """Write rows, or buffer them until the layout is known."""
        self._held += rows
        if self.layout or not self._waits or len(self._held) >= self._widths.HELD:
            self.write(whole=False)

    def write(self, *, whole: bool) -> None:
        """Write the buffered rows, after a heading if they are the first ones. If `whole`, no further rows follow."""
        lines = []
        if self.layout is None:
            rows = self._held if self._waits else []
            self.layout = self._widths.layout(self._columns, rows, self.room, whole=whole and bool(rows))
            lines.append(self.layout.heading())
        lines += map(self.layout.row, self._held)
        self._held = []
        self._environment.write_lines(lines, folded=False)

    def end(self) -> None:
        """Write the buffered rows. Further rows begin another table."""
        if self._held:
            self.write(whole=self.layout is None)
        self.layout = None
