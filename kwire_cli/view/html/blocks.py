"""Reports as blocks of a page: what a terminal shows in lines, its tables as tables that sort; and charts of numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.view.grid import Cells, bar_share
from kwire_cli.view.html.outline import CLASSES
from kwire_cli.view.lines import escaped, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire_cli.view.lines import Line

    Block = dict[str, Any]

NUMBER = re.compile(r" *([+-]?\d+(?:\.\d+)?)(?: %)?")
MOST_BRANCHES = 40
"""Parts of a part that an icicle shows."""


def blocks_of(lines: Iterable[Line]) -> list[Block]:
    """The lines of a report: each table, with a line above it as its title, and each row of other lines."""
    out: list[Block] = []
    pending: list[Line] = []
    for line in lines:
        if isinstance(line, Cells):
            if line.heads:
                out += [*_texts(pending[:-1]), _table(line, pending[-1] if pending else None)]
                pending = []
            elif out:
                _add(out[-1], line)
        elif not plain(line).strip():
            out += _texts(pending)
            pending = []
        else:
            pending.append(line)
    return out + _texts(pending)


def bars(title: str, items: Iterable[tuple[str, float]], *, whole: float | None = None, note: str = "", unit: str = "byte") -> Block:
    """How many bytes, or of another `unit` (one of them, or ms), there are by name; with `whole` what share of it each is."""
    found = [{"name": name, "value": value} for name, value in items]
    return {"type": "bars", "title": title, "items": found, "all": whole, "note": note, "unit": unit}


def icicle(title: str, name: str, sizes: Iterable[tuple[Sequence[str], int]]) -> Block:
    """Bytes by path, each path's first part outermost; of many beside each other the smallest are one."""
    root = _Branch()
    for path, size in sizes:
        at = root
        at.size += size
        for part in path:
            at = at.below.setdefault(part, _Branch())
            at.size += size
    return {"type": "icicle", "title": title, "root": root.to_json(name)}


@dataclass(slots=True)
class _Branch:
    size: int = 0
    below: dict[str, _Branch] = field(default_factory=dict)

    def to_json(self, name: str) -> Block:
        ordered = sorted(self.below.items(), key=lambda item: -item[1].size)
        children = [branch.to_json(part) for part, branch in ordered[:MOST_BRANCHES]]
        if rest := ordered[MOST_BRANCHES:]:
            children.append({"name": f"({len(rest)} more)", "value": sum(branch.size for _, branch in rest), "children": []})
        return {"name": name, "value": self.size, "children": children}


def histogram(title: str, unit: str, items: Iterable[tuple[str, int]], *, note: str = "") -> Block:
    """How many `unit` there are of each."""
    return {"type": "histogram", "title": title, "unit": unit, "note": note, "items": [{"name": name, "value": value} for name, value in items]}


def heading(text: str) -> Block:
    """What the blocks that follow are of."""
    return {"type": "text", "title": escaped(text), "text": ""}


def facts(pairs: Iterable[tuple[str, Any]]) -> Block:
    """A few numbers that say most."""
    return {"type": "facts", "facts": [list(pair) for pair in pairs]}


def _table(head: Cells, above: Line | None) -> Block:
    return {"type": "table", "title": plain(above).strip() if above else "", "columns": [escaped(str(cell)) for cell in head.cells], "rows": []}


def _add(table: Block, line: Cells) -> None:
    """A row: numbers as they are, for sorting, and as a terminal shows them; bars as shares of the longest."""
    row: list[Any] = []
    for cell, text in zip(line.cells, line.texts, strict=True):
        if isinstance(cell, int | float) and not isinstance(cell, bool):
            row.append([cell, text])
        elif (share := bar_share(text)) is not None:
            row.append({"bar": round(share, 4)})
        elif number := NUMBER.fullmatch(text):
            row.append([float(number[1]), text.strip()])
        else:
            row.append(escaped(text))
    table["rows"].append(row)


def _texts(lines: Sequence[Line]) -> list[Block]:
    if not lines:
        return []
    shown = [[piece for text, style in line for piece in (escaped(text), CLASSES.get(style, ""))] for line in lines]
    return [{"type": "lines", "lines": shown}]
