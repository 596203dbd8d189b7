"""What an overlay changes, for eyes and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.view.grid import grid_lines
from kwire_cli.view.lines import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.cost.overhead.changes import Change
    from kwire_cli.cost.overlaid import Overlaid
    from kwire_cli.view.lines import Line

DIGITS = {"change %": 1}
NONE = "(none)"


def change_lines(dimensions: Sequence[str], rows: Sequence[Change], total: Change, top: int | None) -> Iterator[Line]:
    """The rows that change, as written and under the overlay, and the total of all rows."""
    cells: list[Any] = [_cells([NONE if value is None else str(value) for value in row.key], row) for row in rows[:top]]
    if len(rows) > len(cells):
        left = rows[len(cells) :]
        more = f"({len(left)} more)"
        cells.append(
            (
                more,
                *[""] * (len(dimensions) - 1),
                sum(row.written for row in left),
                sum(row.under for row in left),
                sum(row.change for row in left),
                None,
            )
        )
    cells.append(_cells(["total", *[""] * (len(dimensions) - 1)], total))
    yield [("under the overlay", "title"), (" (rows that change)", "dim")]
    yield from grid_lines((*dimensions, "as written", "bytes", "change", "change %"), cells, DIGITS)


def _cells(key: Sequence[str], row: Change) -> tuple[Any, ...]:
    return (*key, row.written, row.under, row.change, 100 * row.change / row.written if row.written else None)


def outcome_lines(overlaid: Overlaid, *, in_records: bool) -> Iterator[Line]:
    """How many messages were written again, and what stayed as it was."""
    saved = overlaid.before - overlaid.after
    what = "messages in records" if in_records else "bodies"
    again, size = counted(overlaid.rewritten, "message"), counted(overlaid.before, "byte")
    yield [
        (f"{again} written again under the overlay: ", ""),
        (f"{overlaid.after}", "number"),
        (f" instead of {size} of {what}, ", ""),
        (f"{abs(saved)}", "number"),
        (f" {'fewer' if saved >= 0 else 'more'}", ""),
    ]
    if in_records:
        yield [("  the records around them, and so the tables above, are as they are written", "dim")]
    for reason, number in overlaid.as_written.items():
        yield [(f"  {counted(number, 'message')} {reason}: as they are written", "dim")]


def change_document(tables: Sequence[tuple[Sequence[str], Sequence[Change]]], total: Change, overlaid: Overlaid) -> dict[str, Any]:
    """The same as JSON."""
    out: dict[str, Any] = {"writtenBytes": total.written, "bytes": total.under, "change": total.change}
    out |= {
        "rewritten": overlaid.rewritten,
        "messagesBefore": overlaid.before,
        "messagesAfter": overlaid.after,
        "asWritten": dict(overlaid.as_written),
    }
    out["tables"] = [
        {
            "by": list(names),
            "rows": [
                {**dict(zip(names, row.key, strict=True)), "writtenBytes": row.written, "bytes": row.under, "change": row.change} for row in rows
            ],
        }
        for names, rows in tables
    ]
    return out
