"""The source documents held against what kwire measures.

A document's claims are data, `NAME.toml` in this package: where each stands, the numbers that it says, and the names of
the figures that measure them. The module of the same name measures: `figures` by name, and `tables`.
"""

from __future__ import annotations

import importlib
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any, Literal

from kwire_cli.answer import Answer, Column, Fact, Facts, Item, Outline, Table as AnswerTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.answer import Kind, Level, Row
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


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under `heading`; `note` says what the numbers are of."""

    title: str
    heading: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Paper:
    """A document: what it proposed, what Kafka shipped, its claims in the order of the text, and kwire's own tables."""

    name: str
    title: str
    proposed: str
    shipped: str
    claims: tuple[Claim, ...]
    tables: tuple[Table, ...] = ()

    def answer(self) -> Answer:
        """Return what was proposed and what shipped, the claims, and kwire's own tables."""
        counts = Counter(claim.verdict for claim in self.claims)
        verdicts = [(verdict, counts[verdict], meaning) for verdict, meaning in VERDICTS.items() if counts[verdict]]
        return Answer(
            self.title,
            [
                Facts([Fact("paper", self.title), Fact("proposed", self.proposed), Fact("shipped", self.shipped)]),
                AnswerTable("verdicts", _VERDICTS, verdicts),
                AnswerTable("claims", _CLAIMS, [_row(claim) for claim in self.claims], wide=True),
                Outline("", [item for claim in self.claims for item in _items(claim)]),
                *(_measured(number, table) for number, table in enumerate(self.tables, 1)),
            ],
        )


_VERDICTS = (Column("verdict"), Column("claims", "count"), Column("meaning"))
_CLAIMS = (
    Column("where"),
    Column("statement"),
    Column("says", "list"),
    Column("measured", "list"),
    Column("verdict"),
    Column("why"),
    Column("repeat"),
)
_LEVELS: Mapping[Verdict, Level] = {"same": "", "corrected": "error", "explained": "warning"}


def _row(claim: Claim) -> Row:
    says, measured = list(claim.says), list(claim.measured)
    return claim.where, claim.statement, says, measured, claim.verdict, claim.why or None, claim.repeat or None


def _items(claim: Claim) -> Iterator[Item]:
    """Yield the lines in which a person reads a claim."""
    yield Item(0, claim.verdict, f"{claim.where}: {claim.statement}", _LEVELS[claim.verdict])
    yield Item(1, "says", _shown(claim.says))
    if claim.verdict != "same":
        yield Item(1, "kwire", _shown(claim.measured))
    for text, detail in (("why", claim.why), ("repeat", claim.repeat)):
        if detail:
            yield Item(1, text, detail)


def _shown(cells: Sequence[Cell]) -> str:
    return ", ".join(f"{cell:.3f}" if isinstance(cell, float) else "" if cell is None else str(cell) for cell in cells)


def _measured(number: int, table: Table) -> AnswerTable:
    """Return one of kwire's own tables. The names of its columns are the words of their headings."""
    columns = [
        Column(_name(heading), _kind([row[at] for row in table.rows]), heading)
        for at, heading in enumerate(table.heading)
    ]
    return AnswerTable(f"measured{number}", columns, table.rows, table.title, note=table.note)


def _name(heading: str) -> str:
    words: list[str] = re.findall(r"\w+", heading)
    first, *rest = words or ["change"]
    return first[:1].lower() + first[1:] + "".join(word[:1].upper() + word[1:] for word in rest)


def _kind(cells: Sequence[Cell]) -> Kind:
    numbers = [cell for cell in cells if cell is not None]
    if not numbers or not all(isinstance(cell, int | float) for cell in numbers):
        return "text"
    return "count" if all(isinstance(cell, int) for cell in numbers) else "number"


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
