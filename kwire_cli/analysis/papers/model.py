"""A source document beside what kwire measured: claims, each with its numbers, and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Cell = int | float | str | None
"""A number stays one, so that it can be compared and is a number in JSON."""
Verdict = Literal["same", "corrected", "explained"]
VERDICTS: Mapping[Verdict, str] = {
    "same": "kwire measures what the document says",
    "corrected": "the document is wrong",
    "explained": "the document leaves something open, or speaks of something else",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """Claim of a document in one place, and kwire's measurement.

    `says` and `measured` are numbers in the same order, or short texts if the claim has no numbers. `where` is the
    heading above the claim. `why` explains the difference. `repeat` is the command that measures the same, or the
    input. `differing` is the verdict if `says` and `measured` are not equal.
    """

    where: str
    statement: str
    says: tuple[Cell, ...]
    measured: tuple[Cell, ...]
    why: str = ""
    repeat: str = ""
    differing: Literal["corrected", "explained"] = "corrected"

    @property
    def verdict(self) -> Verdict:
        """Never "same" by declaration: only where the two are equal."""
        return "same" if self.says == self.measured else self.differing

    def to_json(self) -> dict[str, Any]:
        """All of it; one number is a number, several are a list."""
        return {
            "where": self.where,
            "statement": self.statement,
            "says": _plain(self.says),
            "measured": _plain(self.measured),
            "verdict": self.verdict,
            "why": self.why or None,
            "repeat": self.repeat or None,
        }


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under `heading`; `note` says what the numbers are of."""

    title: str
    heading: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """The rows as objects with the heading's texts as keys."""
        return {
            "title": self.title,
            "note": self.note or None,
            "rows": [dict(zip(self.heading, row, strict=True)) for row in self.rows],
        }


@dataclass(frozen=True, slots=True)
class Paper:
    """A document: what it proposed, what Kafka shipped, its claims in the order of the text, and kwire's own tables."""

    name: str
    title: str
    proposed: str
    shipped: str
    claims: tuple[Claim, ...]
    tables: tuple[Table, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "paper": self.name,
            "title": self.title,
            "proposed": self.proposed,
            "shipped": self.shipped,
            "claims": [claim.to_json() for claim in self.claims],
            "tables": [table.to_json() for table in self.tables],
        }


def _plain(cells: Sequence[Cell]) -> Any:
    return cells[0] if len(cells) == 1 else list(cells)
