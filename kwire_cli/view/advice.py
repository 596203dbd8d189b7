"""Advice, and papers beside measurements."""

from __future__ import annotations

from collections import Counter
from textwrap import wrap
from typing import TYPE_CHECKING

from kwire_cli.analysis.papers.claims import VERDICTS
from kwire_cli.view.tables import cell_text, grid_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.papers.claims import Cell, Claim, Paper
    from kwire_cli.view.lines import Line


# A source document and what kwire measured, for eyes and as csv rows.

WIDTH, LABEL = 110, 11


CSV = ("where", "statement", "says", "measured", "verdict", "why", "repeat")
_STYLES = {"same": "text", "corrected": "warning", "explained": "bytes"}


def paper_lines(paper: Paper) -> Iterator[Line]:
    """Yield what a paper proposed and what shipped, claim by claim, then the tables."""
    yield [(paper.title, "title")]
    for name, text in (("proposed", paper.proposed), ("shipped", paper.shipped)):
        yield from _paragraph(f"{name:<{LABEL}}", text)
    counts = Counter(claim.verdict for claim in paper.claims)
    yield []
    for verdict, meaning in VERDICTS.items():
        if counts[verdict]:
            yield [(f"{verdict:<{LABEL}}", _STYLES[verdict]), (f"{counts[verdict]:>2}", "number"), (f"  {meaning}", "")]
    for claim in paper.claims:
        yield []
        yield from _claim(claim)
    for table in paper.tables:
        yield []
        yield [(table.title, "title")]
        if table.note:
            yield from ([(line, "dim")] for line in wrap(table.note, WIDTH))
        yield from grid_lines(table.heading, table.rows)


def claim_cells(claim: Claim) -> list[Cell]:
    """The cells of CSV."""
    return [
        claim.where,
        claim.statement,
        numbers(claim.says),
        numbers(claim.measured),
        claim.verdict,
        claim.why,
        claim.repeat,
    ]


def numbers(cells: Sequence[Cell]) -> str:
    """Several cells in one."""
    return ", ".join(map(cell_text, cells))


def _claim(claim: Claim) -> Iterator[Line]:
    label = f"{claim.verdict:<{LABEL}}"
    for number, line in enumerate(_paragraph(label, f"{claim.where}: {claim.statement}", "name")):
        yield line if number else [(label, _STYLES[claim.verdict]), *line[1:]]
    yield from _paragraph(f"{'  says':<{LABEL}}", numbers(claim.says), "number")
    if claim.verdict != "same":
        yield from _paragraph(f"{'  kwire':<{LABEL}}", numbers(claim.measured), "number")
    if claim.why:
        yield from _paragraph(f"{'  why':<{LABEL}}", claim.why)
    if claim.repeat:
        yield [(f"{'  repeat':<{LABEL}}", "dim"), (claim.repeat, "dim")]


def _paragraph(label: str, text: str, style: str = "") -> Iterator[Line]:
    """A text behind its label, broken into lines of WIDTH."""
    for number, line in enumerate(wrap(text, WIDTH - len(label), break_long_words=False, break_on_hyphens=False)):
        yield [(label if not number else " " * len(label), "dim"), (line, style)]
