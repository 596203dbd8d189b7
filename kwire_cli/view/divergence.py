"""Two copies of a partition for eyes: what is the same, where they first differ, and what else there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.records.differences import KINDS
from kwire_cli.view.lines import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.records.differences import Comparison, Copy, Difference, Side
    from kwire_cli.view.lines import Line

MOST_SHOWN = 10


def comparison_lines(comparison: Comparison, a: str, b: str) -> Iterator[Line]:
    """The two copies with their names, the verdict, the first difference that matters, then the others in short."""
    for letter, name, copy in (("a", a, comparison.a), ("b", b, comparison.b)):
        yield [(f"{letter}: ", "name"), (name, ""), (f"  {_extent(copy)}", "dim")]
    equal = f"{counted(comparison.equal, 'batch', 'batches')} the same"
    first = comparison.first
    if first is None:
        yield [(f"no difference: {equal}", "title")]
        return
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(comparison.counts.items()))
    yield [(f"{equal}; differences: {counts}", "dim")]
    title = "first divergence" if comparison.divergence else "they differ as copies may: first"
    yield [(f"{title} at offset {first.offset}: ", "title"), (first.kind, "meaning" if first.legal else "warning")]
    yield [(f"   {KINDS[first.kind]}", "dim")]
    if first.detail:
        yield [(f"   {first.detail}", "")]
    for letter, side in (("a", first.a), ("b", first.b)):
        yield [(f"   {letter}: ", "name"), (_side(side), "number" if side else "null")]
    others = [each for each in comparison.differences if each is not first]
    if others:
        yield [("others", "title")]
    for each in others[:MOST_SHOWN]:
        yield _short(each)
    if (more := sum(comparison.counts.values()) - 1 - len(others[:MOST_SHOWN])) > 0:
        yield [(f"   … {more} more", "dim")]


def _short(each: Difference) -> Line:
    epochs = " and ".join("none" if side is None or side.epoch is None else str(side.epoch) for side in (each.a, each.b))
    return [
        (f"   offset {each.offset}: ", "number"),
        (each.kind, "meaning" if each.legal else "warning"),
        (f"  epochs {epochs}  {each.detail}", "dim"),
    ]


def _extent(copy: Copy) -> str:
    offsets = "no batches" if copy.first is None else f"offsets {copy.first} to {copy.last}, {counted(copy.batches, 'batch', 'batches')}"
    return f"{offsets}, {counted(copy.size, 'byte')}"


def _side(side: Side | None) -> str:
    if side is None:
        return "nothing"
    place = f"{side.file} at {side.position}, {side.size} bytes"
    if side.crc is None:
        return place
    crc = f"CRC 0x{side.crc:08x}{'' if side.crc_valid else ' wrong'}"
    return f"offsets {side.base_offset} to {side.last_offset}, epoch {side.epoch}, {crc}, {place}"
