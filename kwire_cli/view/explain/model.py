"""The events of an explanation: headings of parts, and below each the steps that cover its bytes once and in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.view.explain.notes import layout_of

if TYPE_CHECKING:
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.tree import Item
    from kwire_cli.view.rows import Field, Part


@dataclass(frozen=True, slots=True)
class Heading:
    """The beginning of a part of an outline, such as `RequestHeader version 2`, and its depth in other parts."""

    part: Part
    title: str
    level: int = 0


class Piece(NamedTuple):
    """The bytes [start, end) of a field: their part in it, the key of the rule that reads them, and the working, in
    lines.

    Of a `secret` piece only the place is shown.
    """

    start: int
    end: int
    what: str
    rule: str
    working: tuple[str, ...] = ()
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """The bytes [start, end), which are one span: a field, a count, a tag, a gap.

    `part` and `row` are None if the bytes belong to no layout; offsets count in `data`. `type` is in the words of the
    protocol guide. `then` is the consequence of these bytes, `next` the path of the step after this one, empty at
    the end of the part.
    """

    part: Part | None
    data: Any
    level: int
    path: str
    start: int
    end: int
    type: str
    pieces: tuple[Piece, ...]
    row: Field | None = None
    anomalies: tuple[Anomaly, ...] = ()
    then: str = ""
    note: str = ""
    next: str = ""

    @property
    def note_key(self) -> str:
        """The name of the note, which is the same for this field in other parts of its layout."""
        return f"{layout_of(self.part) if self.part else ''} {self.path}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """Elements that are read by rules that were shown, or batches of kinds that were shown; [start, end) are their
    bytes.

    `items` are the first of them if they are leaves, so that their values can be shown.
    """

    part: Part | None
    first: str
    last: str
    count: int
    start: int
    end: int
    items: tuple[Item, ...] = ()
    level: int = 0


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark between parts: a title, an anomaly of the whole, or with `plain` a paragraph."""

    text: str
    level: int = 0
    anomaly: Anomaly | None = None
    plain: bool = False


Event = Heading | Step | Skipped | Remark
