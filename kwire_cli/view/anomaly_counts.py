"""The rows of a table that have anomalies, counted by code."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kwire_cli.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterable


class AnomalyCounts:
    """Counts of the rows with anomalies: how many, and how many have each code. `what` and `several` name a row."""

    def __init__(self, what: str, several: str = "") -> None:
        self.what = what
        self.several = several
        self.rows = 0
        self.codes: Counter[str] = Counter()

    def add(self, codes: Iterable[str]) -> str:
        """Count a row by the codes of its anomalies. Return them as text, each once."""
        names = [*dict.fromkeys(codes)]
        self.rows += bool(names)
        self.codes.update(names)
        return ", ".join(names)

    def text(self) -> str:
        """Return how many rows have anomalies, as `2 frames have anomalies: CRC_MISMATCH 2`."""
        rows = counted(self.rows, self.what, self.several)
        codes = ", ".join(f"{code} {count}" for code, count in self.codes.most_common())
        return f"{rows} {'has' if self.rows == 1 else 'have'} anomalies: {codes}"
