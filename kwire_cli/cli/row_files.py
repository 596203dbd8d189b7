"""Rows of frames and of batches as they come: a table for a terminal, csv, Parquet or Arrow.

A table waits for its first rows, since they say how wide its columns are. A file of cells has a line of columns in csv,
and typed columns in Parquet and Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.view.arrow import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.view.arrow import Field
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


class CellFile:
    """A file of cells in a format: csv, parquet or arrow."""

    def __init__(self, environment: Environment, form: str) -> None:
        self.is_typed = form != "csv"
        self._environment = environment
        self._form = form
        self._columns: tuple[str, ...] = ()
        self._rows: Rows | None = None

    def head(self, columns: tuple[str, ...], fields: Callable[[], Sequence[Field]], file: str | None = None) -> None:
        """Begin rows with these columns; `fields` returns them with their types.

        Raises InputError if a file with types has other columns already; `file` is the input that brings new ones.
        """
        if columns == self._columns:
            return
        if not self.is_typed:
            self._environment.write_csv(columns)
        elif self._rows is None:
            self._rows = Rows(self._environment.take_table(), fields(), self._form)
        else:
            reason = f"a file of {self._form} has one table, and these are other columns: give files of one kind"
            raise InputError(reason, file=file)
        self._columns = columns

    def add(self, row: Sequence[Any]) -> None:
        """Write a row."""
        if self._rows is not None:
            self._rows.add(row)
        else:
            self._environment.write_csv(row)

    def close(self) -> None:
        """Write the end of the file."""
        if self._rows is not None:
            self._rows.close()
