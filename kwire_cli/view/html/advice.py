"""Advice as charts: what pays, field by field, and how wide the values of integers are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.cost.advice.report import integers
from kwire_cli.view.html.blocks import bars, facts, histogram
from kwire_cli.view.lines import counted

if TYPE_CHECKING:
    from kwire_cli.cost.advice.report import Advice, Bin
    from kwire_cli.view.html.blocks import Block

MOST_BARS = 20


def charts(advice: Advice, histograms: int) -> list[Block]:
    """The charts of advice, with histograms of so many fields."""
    seen = advice.seen
    share = f"{100 * advice.saved / seen.size:.1f} %" if seen.size else ""
    out = [facts([("bytes", seen.size), ("messages", seen.messages), ("saved by what pays", advice.saved), ("of all", share)])]
    rows = integers(advice.fields)
    if paying := [(f"{row.message} {row.path}: {row.best}", float(row.saving)) for row in rows[:MOST_BARS] if row.saving > 0]:
        out.append(bars("What integers would save in their best form", paying))
    for row in rows[:histograms]:
        of = f"{row.message} {row.path}, {row.type}"
        out.append(
            histogram(f"{of}: bytes packed (zig-zag)", "values", _widths(row.signed), note="how many bytes its values take, and of which values")
        )
        out.append(histogram(f"{of}: bytes upacked (unsigned)", "values", _widths(row.unsigned)))
    return out


def _widths(bins: tuple[Bin, ...]) -> list[tuple[str, int]]:
    return [(f"{counted(each.bytes, 'byte')}, {each.low} .. {each.high}", each.count) for each in bins]
