"""Shapes: what the kernel found in a small message, for the next one that only differs in its values.

Lengths, counts, presence markers and tags decide alone where the spans of a message lie. Connections say the same
things again and again with other numbers, so comparing those bytes with the last message's is most of the reading there
is. What is compared is an integer: the message under a mask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.spans import Spans, walk
from kwire_cli.engine.texts import Text, text_of
from kwire_cli.structs.numbers import Varint

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from kwire_cli.engine.program import Entry

LARGEST = 1024
"""Bytes of a message beyond which it is walked each time."""
MOST_PLACES, MOST_SHAPES = 256, 8
"""Places (start and stop) that are kept for a layout, and shapes in one place."""
WORTH_A_TEXT = 4
"""Messages of a shape from which on a text is made for it."""


class Shape:
    """Messages that are `wanted` under `mask` have these spans. `marked` are the node, value and end of each span that
    somebody asked for.

    `uses` counts how often it was found; `texts` are those that were made for it, by how records are shown: as in
    `values.Form`, or by a function; `readers` are others' for what they want to know of its messages, by name.
    """

    __slots__ = ("entry", "marked", "mask", "readers", "spans", "texts", "uses", "wanted")

    def __init__(self, entry: Entry, mask: int, wanted: int, spans: Spans, marked: list[tuple[int, int, int]]) -> None:
        self.entry, self.mask, self.wanted, self.spans, self.marked = entry, mask, wanted, spans, marked
        self.uses = 0
        self.texts: dict[str | Callable[[bytes], str], Text | None] = {}
        self.readers: dict[str, Callable[[bytes], Any]] = {}

    def text(self, records: str | Callable[[bytes], str]) -> Text | None:
        """Return the Text that makes the JSON of this shape's messages.

        Return None if no Text can be made, or if the shape was not yet used often enough to be worth one.
        """
        if self.uses < WORTH_A_TEXT:
            return None
        if records not in self.texts:
            self.texts[records] = text_of(self.entry, self.spans, records)
        return self.texts[records]

    def of(self, data: bytes) -> Spans:
        """The spans of a message of this shape."""
        program, _, start, stop, node, value, end, flags, used, lost = self.spans
        return Spans(program, data, start, stop, node, value, end, flags, used, lost)


class Shapes:
    """The shapes of one layout. `marks` are the nodes whose places are wanted beforehand."""

    def __init__(self, entry: Entry, marks: Container[int] = ()) -> None:
        self.entry = entry
        self._marks = marks
        self._places: dict[tuple[int, int], list[Shape]] = {}
        self._varints = {leaf.id for leaf in entry.program.leaves if isinstance(leaf.decl, Varint)}

    def walk(self, data: bytes, start: int) -> Spans | Shape:
        """The shape of the message from `start` to the end of the data, or its spans where it has none that is
        known.
        """
        stop = len(data)
        if stop - start > LARGEST:
            return walk(self.entry, data, start, stop)
        place = (start, stop)
        shapes = self._places.get(place)
        if shapes is None:
            # What comes once need not come again: it is looked at closer the second time.
            if len(self._places) >= MOST_PLACES:
                self._places.clear()
            self._places[place] = []
            return walk(self.entry, data, start, stop)
        number = int.from_bytes(data[start:])
        for shape in shapes:
            if number & shape.mask == shape.wanted:
                shape.uses += 1
                return shape
        spans = walk(self.entry, data, start, stop)
        if spans.flags or spans.lost >= 0:
            return spans
        if len(shapes) >= MOST_SHAPES:
            del shapes[0]
        shapes.append(self._shape(spans, number))
        return shapes[-1]

    def _shape(self, spans: Spans, number: int) -> Shape:
        mask = bytearray(spans.stop - spans.start)
        before = spans.start
        for node, value, end in zip(spans.node, spans.value, spans.end, strict=True):
            decides = end if node in self._varints else value
            mask[before - spans.start : decides - spans.start] = b"\xff" * (decides - before)
            before = end
        bits = int.from_bytes(mask)
        rows = zip(spans.node, spans.value, spans.end, strict=True)
        return Shape(self.entry, bits, number & bits, spans, [row for row in rows if row[0] in self._marks])
