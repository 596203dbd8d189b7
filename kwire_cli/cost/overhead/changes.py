"""What an overlay changes: the rows of a table as the input is written, and as the same values would be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.cost.overhead.report import accounted, by_values, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.cost.overhead.report import Table
    from kwire_cli.cost.overhead.tallies import Tallies


@dataclass(frozen=True, slots=True)
class Change:
    """The bytes of what has these values of the dimensions, as they are written, and under the overlay."""

    key: tuple[Any, ...]
    written: int
    under: int

    @property
    def change(self) -> int:
        """Bytes more, below 0 where they are fewer."""
        return self.under - self.written


def changes(written: Tallies, under: Tallies, dimensions: Sequence[str]) -> tuple[list[Change], Change]:
    """The rows of a table that change, the largest change first, and the total."""
    before, after = _whole(written, dimensions), _whole(under, dimensions)
    sizes = {row.key: [row.bytes, 0] for row in before.rows}
    for row in after.rows:
        sizes.setdefault(row.key, [0, 0])[1] = row.bytes
    rows = [Change(key, *each) for key, each in sizes.items() if each[0] != each[1]]
    return sorted(rows, key=lambda row: (-abs(row.change), *by_values(row.key))), Change((), before.total.bytes, after.total.bytes)


def _whole(tallies: Tallies, dimensions: Sequence[str]) -> Table:
    return table(accounted(tallies), tallies.dimensions, dimensions, None)
