"""The list of frames or batches, all of them or those that match a filter."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from kwire_cli.tui.panes import Lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.geometry import Region
    from textual.strip import Strip

    from kwire_cli.tui.listing import Listing
    from kwire_cli.tui.pace import Turns
    from kwire_cli.view.lines import Line

MOST_ROWS = 1024
"""Rows that are kept once they were made."""
LATER = 0.1
"""Seconds until a row is tried again."""
MARK = 2
"""Cells before a row, for the mark of what is odd."""


class ListPane(Lines):
    """Rows of a listing, made while nobody else has the `turn`. `chosen` are the numbers of those that match a filter; None for all."""

    def __init__(self, listing: Listing, turn: Turns) -> None:
        super().__init__(id="list")
        self.listing, self._turn = listing, turn
        self.chosen: Sequence[int] | None = None
        self._rows: dict[tuple[int, int], Line] = {}
        self._has_turn = False

    @property
    def count(self) -> int:
        """How many are shown."""
        return len(self.listing) if self.chosen is None else len(self.chosen)

    @property
    def number(self) -> int | None:
        """The number of the one under the cursor."""
        if not self.count:
            return None
        return self.cursor if self.chosen is None else self.chosen[self.cursor]

    def heading(self) -> str:
        """The names of the columns."""
        text = "".join(text for text, _ in self.listing.heading(self.width))
        return " " * MARK + text[self.shift :]

    @property
    def width(self) -> int:
        """Cells that a row has."""
        return self.scrollable_content_region.width - MARK

    def line(self, number: int) -> Line:
        """A row, marked where it is odd."""
        which = number if self.chosen is None else self.chosen[number]
        return [("! " if self.listing.is_odd(which) else "  ", "odd"), *self._row(which)]

    def _row(self, which: int) -> Line:
        """A row, made once; a mark for one that can't be made now, and will be later."""
        key = which, self.width
        row = self._rows.get(key)
        if row is None and self._has_turn:
            if len(self._rows) >= MOST_ROWS:
                self._rows.clear()
            row = self._rows[key] = self.listing.row(which, self.width)
        if row is None:
            self.set_timer(LATER, self.refresh)
            return [("…", "dim")]
        return row

    def forget(self) -> None:
        """Rows may say more now."""
        self._rows.clear()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """All rows of the screen in one turn."""
        with self._turn.attempt() as self._has_turn:
            return super().render_lines(crop)

    def place_of(self, number: int) -> int | None:
        """The line of a frame; None where the filter leaves it out."""
        if self.chosen is None:
            return number if 0 <= number < self.count else None
        at = bisect_left(self.chosen, number)
        return at if at < len(self.chosen) and self.chosen[at] == number else None

    def next_odd(self, way: int) -> int | None:
        """The next line, or the one before where `way` is -1, that is odd."""
        lines = range(self.cursor + 1, self.count) if way > 0 else range(self.cursor - 1, -1, -1)
        odd = self.listing.is_odd
        if self.chosen is None:
            return next((line for line in lines if odd(line)), None)
        return next((line for line in lines if odd(self.chosen[line])), None)
