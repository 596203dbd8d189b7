"""Files of a log directory without batches: as a table, and as csv.

These are indexes, producer snapshots, checkpoints and small text files. All of them are decoded to entries with named
values, so one function per format is enough; only the columns depend on the kind of the file. An index is preallocated
and can contain gaps and padding, which have separate rows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.values import instant
from kwire_cli.errors import counted
from kwire_cli.source.logs.model import OFFSET_CHECKPOINTS, Kind
from kwire_cli.view.meanings import moment
from kwire_cli.view.tables import text_of
from kwire_cli.view.widths import Column, layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.source.logs.model import Contents
    from kwire_cli.view.lines import Line

    FileRow = dict[str, Any]


COLUMNS = {
    Kind.INDEX: ("at", "offset", "position"),
    Kind.TIME_INDEX: ("at", "timestamp", "offset"),
    Kind.TRANSACTION_INDEX: ("at", "version", "producerId", "firstOffset", "lastOffset", "lastStableOffset"),
    Kind.PRODUCER_SNAPSHOT: (
        *(
            "at",
            "producerId",
            "epoch",
            "lastSequence",
            "lastOffset",
            "offsetDelta",
            "timestamp",
            "coordinatorEpoch",
            "currentTxnFirstOffset",
        ),
    ),
    Kind.LEADER_EPOCHS: ("at", "epoch", "startOffset"),
    **dict.fromkeys(sorted(OFFSET_CHECKPOINTS), ("at", "topic", "partition", "offset")),
}
"""Columns of an entry by kind."""
_LAYOUT = {
    "at": Column("at", width=8, right=True),
    "topic": Column("topic", width=40, least=12),
    "timestamp": Column("timestamp", width=24, least=19, cut="short"),
    "offsetDelta": Column("offsetDelta", keep=3, width=10, right=True),
    "coordinatorEpoch": Column("coordinatorEpoch", keep=2, width=10, right=True),
    "currentTxnFirstOffset": Column("currentTxnFirstOffset", keep=1, width=10, right=True),
    "version": Column("version", keep=1, width=10, right=True),
}
"""The layout of columns of entries. Other columns are numbers that are never dropped."""
_GAP = Column("gap", width=3, style="warning", least=12)


def columns(contents: Contents[Any]) -> tuple[str, ...]:
    """Return the names of the values of an entry."""
    return COLUMNS[contents.kind]


def table_lines(contents: Contents[Any], rows: Iterable[FileRow], room: int | None) -> Iterator[Line]:
    """Yield a heading, then each entry, padding or gap as a row of a table. `room` is the width of the terminal."""
    names = columns(contents)
    cells = [_cells(names, row) for row in rows]
    listed = [_LAYOUT.get(name) or Column(name, width=10, right=True) for name in names]
    if not cells or any(row[-1] for row in cells):
        listed.append(_GAP)
    form = layout(listed, cells, room, whole=bool(cells))
    yield form.heading()
    yield from map(form.row, cells)


def _cells(names: tuple[str, ...], row: FileRow) -> tuple[str, ...]:
    if "gap" in row:
        gap = f"{row['gap']}, {counted(row['size'], 'byte')}"
        return (str(row["position"]), *("" for _ in names[1:]), gap)
    return (*(_time(row[name]) if name == "timestamp" else _text(row[name]) for name in names), "")


def csv_columns(contents: Contents[Any]) -> tuple[str, ...]:
    """Return the names of the cells of `csv_cells`."""
    return (*columns(contents), "gap")


def csv_cells(contents: Contents[Any], row: FileRow) -> list[Any]:
    """Return the values of an entry, or the position and code of padding or a gap."""
    names = columns(contents)
    if "gap" in row:
        return [row["position"], *[None] * (len(names) - 1), row["gap"]]
    return [*(_csv_cell(name, row[name]) for name in names), None]


def _csv_cell(name: str, value: Any) -> Any:
    return instant(value) if name == "timestamp" else value


def _text(value: Any) -> str:
    """Return a value on one line: a string unchanged, other values as JSON."""
    return text_of(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _time(milliseconds: int) -> str:
    return moment(milliseconds) or str(milliseconds)
