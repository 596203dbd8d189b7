"""The source documents held against what kwire measures.

A document's claims are data, `NAME.toml` in this package: where each stands, the numbers that it says, and the names of
the figures that measure them. The module of the same name measures: `figures` by name, and `tables`.
"""

from __future__ import annotations

import importlib
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire_cli.spec.catalog import Catalog

PAPERS = {
    "kip482": "KIP-482: tagged fields and flexible versions",
    "kafka9927": "KAFKA-9927: varint encodings for ordinary fields",
    "kip82": "KIP-82, draft: record headers with integer keys",
    "kip98": "KIP-98, draft: a message set with its own header",
}

Cell = int | float | str | None
"""A number stays one, so that it can be compared and is a number in JSON."""
Figures = dict[str, Any]
"""Cells, or tuples of cells, by name."""
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
        """Return all of it; one number is a number, several are a list."""
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
        """Return the rows as objects with the heading's texts as keys."""
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
        """Return all of it."""
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


def paper(name: str, catalog: Catalog, *, times: bool | None = None) -> Paper:
    """Return one of PAPERS, with everything in it measured now.

    `times` are of what differs between machines: None for those that take a moment, True for all, which takes seconds,
    False for none.
    """
    module = importlib.import_module(f"kwire_cli.analysis.papers.{name}")
    document = tomllib.loads(files("kwire_cli.analysis.papers").joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    figures = module.figures(catalog)
    claims = tuple(claim(row, figures) for row in document.pop("claims"))
    texts = {key: _text(text, figures) for key, text in document.items()}
    return Paper(name, **texts, claims=claims, tables=module.tables(catalog, times=times))


def claim(row: Mapping[str, Any], figures: Figures) -> Claim:
    """Return a claim with its figures: in place of their names in `measured`, and of $name in all that it says."""
    texts = {key: _text(text, figures) for key, text in row.items() if isinstance(text, str)}
    says = [figures[cell[1:]] if isinstance(cell, str) and cell.startswith("$") else cell for cell in row["says"]]
    return Claim(**texts, says=_cells(says), measured=_cells([figures[name] for name in row["measured"]]))  # type: ignore[arg-type]


def _text(text: str, figures: Figures) -> str:
    return Template(text).substitute(figures)


def _cells(values: Sequence[Any]) -> tuple[Cell, ...]:
    return tuple(cell for value in values for cell in (value if isinstance(value, tuple) else (value,)))
