"""What an explanation consists of: parts with their layouts, and in each the steps that cover its bytes once and in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.tree import Item, Tree
    from kwire_cli.explain.layouts import Special


@dataclass(frozen=True)
class Part:
    """Bytes with a layout of their own: a frame's size, header or body, a batch, what a field or packed records hold.

    Args:
        name: What it is to what is around it: size, header, body, batch, records, or the path of a field.
        title: What it is by itself: `RequestHeader version 2`.
        layout: Under which name its fields have notes: that of a header's message, or of a record format.
        message: The message that names of values belong to.
        tree: The bytes, grouped by the declaration.
        odd: What is odd about it, each with the offset of the byte at which to say so.
        exact: Whether the layout took all bytes.
        hidden: The spans that hold secrets.
        specials: The special fields of a record format.
        bases: What differences in the fields of records count from, by the name of the field that says it.
        level: How deep it lies in other parts.
        prefix: What stands before the paths of its fields.
        own: Whether its offsets count from its own first byte, as they do where it was decompressed or lies in a field's value.

    """

    name: str
    title: str
    layout: str
    message: str
    tree: Tree
    odd: tuple[tuple[int, Anomaly], ...] = ()
    exact: bool = True
    hidden: frozenset[int] = frozenset()
    specials: Mapping[str, Special] = field(default_factory=dict)
    bases: Mapping[str, int] = field(default_factory=dict)
    level: int = 0
    prefix: str = ""
    own: bool = False

    @staticmethod
    def where_they_are(anomalies: Iterable[Anomaly]) -> tuple[tuple[int, Anomaly], ...]:
        """Anomalies to be said at their own offsets."""
        return tuple((anomaly.offset, anomaly) for anomaly in anomalies)

    @property
    def data(self) -> Any:
        """What the offsets of its spans count in."""
        return self.tree.spans.data


class Piece(NamedTuple):
    """The bytes [start, end) of a field: what they are in it, the key of the rule that reads them, and how it does, in lines.

    Of a secret nothing is said but that it is there.
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

    `part` and `item` are None where bytes are no part of a layout; offsets count in `data`. `type` is in the words of the protocol guide, `note` what
    the field is for. `then` is what follows because of these bytes, `next` the path of the step after this one, empty at the end of the part.
    """

    part: Part | None
    data: Any
    level: int
    path: str
    start: int
    end: int
    type: str
    pieces: tuple[Piece, ...]
    item: Item | None = None
    anomalies: tuple[Anomaly, ...] = ()
    then: str = ""
    note: str = ""
    next: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Elements that are read by nothing but rules that were shown, or batches; [start, end) are their bytes.

    `items` are the first of them where they are leaves, so that their values can be shown.
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
    """What is said between parts: what comes now, what is odd about the whole, or with `plain` a paragraph."""

    text: str
    level: int = 0
    anomaly: Anomaly | None = None
    plain: bool = False


Event = Part | Step | Skipped | Remark
