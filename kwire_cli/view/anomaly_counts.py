"""Counts of the rows of a table that have anomalies, by code.

Rows are printed as they are decoded, so anomalies are counted while the cells are formatted, and reported at the end.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kwire_cli.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterable


class AnomalyCounts:
    """The number of rows with anomalies, and the number of rows with each code.

    `what` and `several` are the singular and plural nouns for a row.
    """

    def __init__(self, what: str, several: str = "") -> None:
        self.what = what
        self.several = several
        self.rows = 0
        self.codes: Counter[str] = Counter()

    def add(self, codes: Iterable[str]) -> str:
        """Count a row by the codes of its anomalies. Return the distinct codes as text."""
        names = list(dict.fromkeys(codes))
        self.rows += bool(names)
        self.codes.update(names)
        return ", ".join(names)

    def text(self) -> str:
        """Return the counts as a sentence: `2 frames have anomalies: CRC_MISMATCH 2`."""
        rows = counted(self.rows, self.what, self.several)
        codes = ", ".join(f"{code} {count}" for code, count in self.codes.most_common())
        return f"{rows} {'has' if self.rows == 1 else 'have'} anomalies: {codes}"
