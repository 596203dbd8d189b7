"""What the fields of one frame cost, under the paths that they have in its tree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kwire_cli.cost.ledger import GAP_PATH, Row, ledger

if TYPE_CHECKING:
    from kwire_cli.message.frames import Frame


def frame_costs(frame: Frame) -> list[Row]:
    """The rows of size, header and body; they add up to the frame's bytes."""
    found = []
    counted = 0
    for name, part in frame.parts:
        rows = ledger(part)
        counted += part.stop - part.start
        found += rows if name == "body" else [replace(row, path=f"{name}.{row.path}") for row in rows]
    rest = frame.size - counted
    return [*found, Row(GAP_PATH, 0, rest, 1)] if rest else found
