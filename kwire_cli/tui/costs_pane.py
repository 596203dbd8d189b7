"""What the fields of a frame or batch cost, the dearest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.tui.panes import Lines

if TYPE_CHECKING:
    from kwire_cli.cost.ledger import Row
    from kwire_cli.tui.look import Look
    from kwire_cli.view.lines import Line

BAR = 10
"""Cells of a bar that is all of the bytes."""
WIDE = 50
"""Cells of a line from which on there is room for bars."""
_EIGHTHS = " ▏▎▍▌▋▊▉"


class CostsPane(Lines):
    """A line for each field: all of its bytes, those of lengths, counts and markers among them, and their share."""

    def __init__(self) -> None:
        super().__init__(id="costs")
        self.rows: list[Row] = []
        self.total = 0

    @property
    def count(self) -> int:
        """How many fields there are."""
        return len(self.rows)

    def show(self, look: Look | None) -> None:
        """Another frame or batch."""
        self.rows = sorted(look.costs if look else (), key=lambda row: -(row.prefix_bytes + row.value_bytes))
        self.total = sum(row.prefix_bytes + row.value_bytes for row in self.rows)
        prefixes = sum(row.prefix_bytes for row in self.rows)
        self.border_title = f"Costs: {self.total:,} bytes, {prefixes:,} of them prefixes" if self.rows else "Costs"
        self.fit()
        self.put(0)

    @property
    def path(self) -> str | None:
        """The field under the cursor."""
        return self.rows[self.cursor].path if self.rows else None

    def select(self, path: str) -> None:
        """Put the cursor on a field, where it has a line."""
        for number, row in enumerate(self.rows):
            if row.path == path:
                self.put(number)
                return

    def line(self, number: int) -> Line:
        """Bytes, share, bar, prefix bytes, path."""
        row = self.rows[number]
        size = row.prefix_bytes + row.value_bytes
        share = size / max(self.total, 1)
        eighths = round(share * BAR * 8)
        bar = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
        shown = f"{bar:<{BAR}} " if self.scrollable_content_region.width >= WIDE else ""
        prefix = f" +{row.prefix_bytes} prefix" if row.prefix_bytes and row.value_bytes else " prefix" if row.prefix_bytes else ""
        times = f" in {row.count}" if row.count > 1 else ""
        return [
            (f"{size:>7,}", "number"),
            (f" {share:>6.1%} ", "dim"),
            (shown, "meaning"),
            (row.path, "name"),
            (times, "dim"),
            (prefix, "dim"),
        ]
