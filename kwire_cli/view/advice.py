"""Advice, and papers beside measurements."""

from __future__ import annotations

from collections import Counter
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.costs.advice import integers, strings, taggable, tagged
from kwire_cli.analysis.papers.claims import VERDICTS
from kwire_cli.spec.reading import OWN_WIDTH
from kwire_cli.view.lines import counted
from kwire_cli.view.tables import bar, cell_text, grid_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.analysis.costs.advice import Advice, Bin, Integers
    from kwire_cli.analysis.papers.claims import Cell, Claim, Paper
    from kwire_cli.view.lines import Line


# Advice for eyes: integers with what encodings save, their histograms, tags, strings, and what all of it
# comes to.

DIGITS = {"negative %": 1, "at default %": 1, "present %": 1}


LISTS = ("integers", "defaults", "tagged", "strings")
"""The parts of the JSON document that are rows."""


def advice_lines(advice: Advice, *, top: int, histograms: int) -> Iterator[Line]:
    """Everything; `top` rows of each table."""
    rows = integers(advice.fields)
    yield [("integers", "title"), (" (bytes now, and by how many each encoding changes them)", "dim")]
    yield from _integer_lines(rows, top)
    for row in rows[:histograms]:
        yield []
        yield from histogram_lines(row)
    yield from _others(advice, top)
    yield []
    yield from _outcome(advice)


def _integer_lines(rows: Sequence[Integers], top: int) -> Iterator[Line]:
    heading = ("field", "type", "values", "negative %", "bytes", *OWN_WIDTH, "best", "saves")
    table: list[Any] = []
    for row in rows[:top]:
        changes = [row.under[name] - row.bytes for name in OWN_WIDTH]
        table.append(
            (
                f"{row.message} {row.path}",
                row.type,
                row.count,
                100 * row.negative,
                row.bytes,
                *changes,
                row.best,
                row.saving,
            )
        )
    yield from grid_lines(heading, table, DIGITS)
    yield from _more(len(rows) - top)


def _more(left: int) -> Iterator[Line]:
    if left > 0:
        yield [(f"({left} more)", "dim")]


def histogram_lines(row: Integers) -> Iterator[Line]:
    """The values of a field by the bytes that they take as zig-zag and as unsigned varints."""
    yield [(f"{row.message} {row.path}", "name"), (f", {row.type}", "dim")]
    for name, bins in (("packed (zig-zag)", row.signed), ("upacked (unsigned)", row.unsigned)):
        most = max(bucket.count for bucket in bins)
        yield [(f"  {name}", "dim")]
        ranges = [_range(bucket) for bucket in bins]
        wide, digits = max(map(len, ranges)), len(str(most))
        for text, bucket in zip(ranges, bins, strict=True):
            size = counted(bucket.bytes, "byte")
            yield [
                (f"    {text:>{wide}}", ""),
                (f"  {size:<8}", "dim"),
                (f"  {bucket.count:>{digits}}", "number"),
                (f"  {bar(bucket.count, most)}".rstrip(), ""),
            ]


def _range(each: Bin) -> str:
    return f"{each.low} .. {each.high}"


def _others(advice: Advice, top: int) -> Iterator[Line]:
    """Tags to be and not to be, and strings."""
    mandatory = [
        (f"{row.message} {row.path}", row.type, row.count, 100 * row.defaults, row.saving)
        for row in taggable(advice.fields)
    ]
    present = [
        (f"{row.message} {row.path}", row.type, row.count, 100 * row.present, row.saving)
        for row in tagged(advice.fields)
    ]
    texts = [
        (f"{row.message} {row.path}", row.count, row.different, row.bytes, row.repeated)
        for row in strings(advice.seen.texts)
    ]
    tables: list[tuple[str, tuple[str, ...], list[Any]]] = [
        (
            "nearly always at their default: as tagged fields they would save",
            ("field", "type", "values", "at default %", "saves"),
            mandatory,
        ),
        (
            "nearly always there: as fields without a tag they would save",
            ("field", "type", "structures", "present %", "saves"),
            present,
        ),
        ("strings that repeat", ("field", "strings", "different", "bytes", "bytes of repetitions"), texts),
    ]
    for title, heading, rows in tables:
        if rows:
            yield []
            yield [(title, "title")]
            yield from grid_lines(heading, rows[:top], DIGITS)
            yield from _more(len(rows) - top)


def _outcome(advice: Advice) -> Iterator[Line]:
    observations, split = advice.seen, advice.split
    yield [("what pays", "title")]
    yield [
        (f"{counted(len(advice.plan), 'changed field saves', 'changed fields save')} ", ""),
        (f"{advice.saved}", "number"),
        (f" of {observations.size} bytes", ""),
        _share(advice.saved, observations.size),
    ]
    yield [(f"  in {counted(observations.messages, 'message')}, without headers and size prefixes", "dim")]
    if observations.irregular:
        yield [
            (
                (
                    f"  {counted(observations.irregular, 'message')} of them could not be read whole or had anomalies, "
                    f"and stay as they are"
                ),
                "dim",
            )
        ]
    if split:
        drawn = "the first message" if split.drawn_from == 1 else f"the first {split.drawn_from} messages"
        yield [
            (f"drawn from {drawn} alone, on the other {split.messages}: ", ""),
            (f"{split.saved}", "number"),
            (f" of {split.bytes} bytes", ""),
            _share(split.saved, split.bytes),
        ]
        shares = f"{100 * split.negative_before:.1f} % there, {100 * split.negative_after:.1f} % here"
        yield [(f"  negative values among the integers that it encodes: {shares}", "dim")]


def _share(part: int, whole: int) -> tuple[str, str]:
    return (f" ({100 * part / whole:.1f} %)" if whole else "", "")


def json_rows(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The document as a row for each line of its tables, then the overlay, and all the rest last."""
    for name in LISTS:
        for row in document.pop(name):
            yield {"table": name, **row}
    yield {"table": "overlay", **document.pop("overlay")}
    yield {"table": "total", **document}


def csv_rows(advice: Advice, top: int | None) -> Iterator[Sequence[Any]]:
    """The table of integers."""
    yield ("message", "path", "type", "count", "negativeShare", "bytes", *OWN_WIDTH, "best", "saving")
    for row in integers(advice.fields)[:top]:
        sizes = [row.under[name] for name in OWN_WIDTH]
        yield (
            row.message,
            row.path,
            row.type,
            row.count,
            round(row.negative, 6),
            row.bytes,
            *sizes,
            row.best,
            row.saving,
        )


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
