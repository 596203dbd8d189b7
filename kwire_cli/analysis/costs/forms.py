"""Forms of a message: a definition at a version, and the best and worst case of its integers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import construct

from kwire_cli.engine.lower import lower
from kwire_cli.errors import EncodeError
from kwire_cli.structs.composites import MessageStruct
from kwire_cli.structs.lengths import ArrayOf, NullableStruct
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import Varint, encoded_int

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.program import Entry
    from kwire_cli.spec.model import FieldSpec, MessageSpec


# How many bytes an integer takes under an encoding of KAFKA-9927: the ranges of numbers of each width, found
# by writing numbers.


@cache
def widths(kind: str, encoding: str) -> tuple[tuple[int, int, int], ...]:
    """Return the ranges of numbers that are written in the same number of bytes: lowest, highest, bytes.

    They ascend, and no range has numbers on both sides of 0.
    """
    layout = encoded_int(kind, encoding)
    return *_ranges(layout, layout.low, -1), *_ranges(layout, max(layout.low, 0), layout.high)


def _ranges(layout: Any, low: int, high: int) -> Iterator[tuple[int, int, int]]:
    while low <= high:
        size = len(layout.build(low))
        first = low
        last = high
        while first < last:
            middle = (first + last + 1) // 2
            if len(layout.build(middle)) == size:
                first = middle
            else:
                last = middle - 1
        yield low, last, size
        low = last + 1


# The best and the worst case of a form: the same message with each integer at a number that takes the fewest,
# or the most, bytes in its encoding.

BEST, WORST = "best", "worst"


def extreme(layout: Any, value: Any, case: str) -> Any:
    """Return the value with the integers that have a varint's encoding in `layout` at their best or worst; what does
    not fit the layout stays as it is.
    """
    if isinstance(layout, Varint):
        return 0 if case == BEST else dearest(layout.kind, encoding_name(layout))
    inner = _inner(layout)
    if isinstance(layout, MessageStruct) and isinstance(value, dict):
        return {key: extreme(inner[key], part, case) if key in inner else part for key, part in value.items()}
    if isinstance(layout, ArrayOf) and isinstance(value, list | tuple):
        return [extreme(layout.element, item, case) for item in value]
    return extreme(layout.subcon, value, case) if isinstance(layout, NullableStruct) and value is not None else value


def integers_at(layout: Any, case: str) -> dict[str, int]:
    """Return the numbers that a case has, by the encodings that `layout` uses."""
    if isinstance(layout, Varint):
        return {encoding_name(layout): extreme(layout, 0, case)}
    return {name: number for part in _inner(layout).values() for name, number in integers_at(part, case).items()}


def _inner(layout: Any) -> dict[str, Any]:
    """Return the layouts of a struct's fields by name, or that of an array's elements."""
    if isinstance(layout, MessageStruct):
        return {part.name: part.subcon for part in (*layout.subcons, *(layout.tags.known if layout.tags else ()))}
    if isinstance(layout, ArrayOf | NullableStruct):
        return {"": layout.element if isinstance(layout, ArrayOf) else layout.subcon}
    return {}


def encoding_name(layout: Varint) -> str:
    """Return the encoding of KAFKA-9927 that a varint is."""
    return f"{'' if layout.zigzag else 'u'}packed{layout.bits}"


@cache
def dearest(kind: str, encoding: str) -> int:
    """Return the number nearest to 0 that a field of type `kind` writes in the most bytes; of two the positive one."""
    rows = widths(kind, encoding)
    longest = max(size for _, _, size in rows)
    return min(
        (low if low >= 0 else high for low, high, size in rows if size == longest),
        key=lambda number: (abs(number), number < 0),
    )


# A form of a message, and what the values of one message cost in it: counted from the spans of bytes that
# were really written.


@dataclass(frozen=True)
class Form:
    """One way to write a message: a definition at a version; `flexible` overrules what the definition says of that.

    `case` is best or worst where the integers are not those of the message, but those that this form writes in the
    fewest or the most bytes.
    """

    name: str
    spec: MessageSpec
    version: int
    flexible: bool | None = None
    case: str | None = None

    @property
    def is_flexible(self) -> bool:
        """Tell whether structures end in a tag section."""
        return self.version in self.spec.flexible_versions if self.flexible is None else self.flexible

    @cached_property
    def layout(self) -> MessageStruct:
        """Return the declaration that builds the bytes."""
        return declare(self.spec, self.version, flexible=self.flexible)

    @cached_property
    def entry(self) -> Entry:
        """Return the entry that reads the bytes."""
        return lower(self.layout)

    @cached_property
    def integers(self) -> dict[str, int]:
        """Return the values of the integers in a case, by their encoding."""
        return integers_at(self.layout, self.case) if self.case else {}

    @cached_property
    def known(self) -> dict[int, tuple[Any, ...]]:
        """Facts about structs of this form, by the identity of their fields."""
        return {}

    def tagged(self, field: FieldSpec) -> bool:
        """Return whether a field is in the tag section."""
        return self.is_flexible and field.tag is not None and self.version in field.tagged_versions


def written_form(form: Form, value: Any) -> bytes:
    """Return the bytes of values that fit a form; EncodeError with the path where one does not."""
    try:
        return bytes(form.layout.build(value))
    except construct.ConstructError as error:
        raise EncodeError(str(error), value=value) from error
    except RecursionError:
        raise EncodeError("the value nests too deeply") from None
