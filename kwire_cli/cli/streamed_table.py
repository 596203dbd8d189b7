"""A table whose rows are written as they come. It waits for its first rows, which determine the widths of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.view.widths import Column, Layout


class StreamedTable:
    """A table on a terminal with `room` cells, None for no limit. The first rows are held if it `waits` for them."""

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
        """Write rows, or hold them until the layout is known."""
        self._held += rows
        if self.layout or not self._waits or len(self._held) >= self._widths.HELD:
            self.write(whole=False)

    def write(self, *, whole: bool) -> None:
        """Write the held rows, below a heading if they are the first ones; with `whole` they are all rows."""
        lines = []
        if self.layout is None:
            rows = self._held if self._waits else []
            self.layout = self._widths.layout(self._columns, rows, self.room, whole=whole and bool(rows))
            lines.append(self.layout.heading())
        lines += map(self.layout.row, self._held)
        self._held = []
        self._environment.write_lines(lines, folded=False)

    def end(self) -> None:
        """Write the held rows. Further rows are another table."""
        if self._held:
            self.write(whole=self.layout is None)
        self.layout = None
