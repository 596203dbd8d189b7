"""The events of an explanation: headings of parts, and the steps below each heading.

The steps of a part cover its bytes once, in order. Events contain no formatting, because `lines` turns them into text
and into JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.view.explain.notes import layout_of
from kwire_cli.view.rows import Extent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.tree import Item
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.registers import Register
    from kwire_cli.view.rows import Field, Part


@dataclass(frozen=True, slots=True)
class Heading:
    """The start of a part of an outline, such as `RequestHeader version 2`. `level` is its depth in other parts."""

    part: Part
    title: str
    level: int = 0


class Piece(NamedTuple):
    """The bytes [start, end) of a field.

    `what` is their role in the field, such as length or value. `rule` is the key of their rule, `working` the lines of
    the calculation. The bytes and the working of a `secret` piece are not shown.
    """

    start: int
    end: int
    what: str
    rule: str
    working: tuple[str, ...] = ()
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """The bytes [start, end) of one span: a field, a count, a tag, a gap.

    `part` and `row` are None if the bytes have no layout. Offsets refer to `data`. `type` is the name in the protocol
    guide. `then` is the consequence of these bytes. `next` is the path of the step after this one, empty at the end of
    the part.
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
        """The key of the note. The same field has the same key in all parts with its layout."""
        return f"{layout_of(self.part) if self.part else ''} {self.path}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """Omitted elements whose rules were shown before, or omitted batches whose kind was shown before.

    [start, end) are their bytes. If the elements are leaves, `items` contains the first of them, to show their values.
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
    """A remark between parts: a title, an anomaly of a frame or message, or with `plain` a paragraph."""

    text: str = ""
    level: int = 0
    anomaly: Anomaly | None = None
    plain: bool = False


Event = Heading | Step | Skipped | Remark


def facts(title: str, *paragraphs: str) -> Iterator[Remark]:
    """Yield a title, and the paragraphs that are not empty."""
    yield Remark(title)
    yield from (say(text) for text in paragraphs if text)


def say(text: str) -> Remark:
    """Return a paragraph."""
    return Remark(text, plain=True)


@dataclass(frozen=True)
class Look:
    """The extent of an explanation.

    `every` shows every element, and not each kind once. `reading` decodes records and knows their secret parts.
    `register` has the names of header keys of the KIP-82 draft.
    """

    every: bool
    reading: RecordsAs | None = None
    register: Register | None = None

    @property
    def extent(self) -> Extent:
        """The extent of the outline to explain."""
        catalog = self.reading.catalog if self.reading else None
        return Extent(catalog, self.reading, full=self.every, messages="behind")
