"""The best and the worst case of a form: the same message with each integer at a number that takes the fewest, or the most, bytes in its encoding."""

from __future__ import annotations

from functools import cache
from typing import Any

from kwire_cli.cost.encoded_widths import widths
from kwire_cli.structs.messages import MessageStruct
from kwire_cli.structs.numbers import Varint
from kwire_cli.structs.sized import ArrayOf, NullableStruct

BEST, WORST = "best", "worst"


def extreme(layout: Any, value: Any, case: str) -> Any:
    """The value with the integers that have a varint's encoding in `layout` at their best or worst; what does not fit the layout stays as it is."""
    if isinstance(layout, Varint):
        return 0 if case == BEST else dearest(layout.kind, encoding_name(layout))
    if isinstance(layout, MessageStruct) and isinstance(value, dict):
        inner = {sc.name: sc.subcon for sc in layout.subcons} | {field.name: field.subcon for field in (layout.tags.known if layout.tags else ())}
        return {key: extreme(inner[key], part, case) if key in inner else part for key, part in value.items()}
    if isinstance(layout, ArrayOf) and isinstance(value, list | tuple):
        return [extreme(layout.element, item, case) for item in value]
    return extreme(layout.subcon, value, case) if isinstance(layout, NullableStruct) and value is not None else value


def integers_at(layout: Any, case: str) -> dict[str, int]:
    """The numbers that a case has, by the encodings that `layout` uses."""
    if isinstance(layout, Varint):
        return {encoding_name(layout): extreme(layout, 0, case)}
    if isinstance(layout, MessageStruct):
        parts = [sc.subcon for sc in layout.subcons] + [field.subcon for field in (layout.tags.known if layout.tags else ())]
    else:
        parts = [layout.element] if isinstance(layout, ArrayOf) else [layout.subcon] if isinstance(layout, NullableStruct) else []
    return {name: number for part in parts for name, number in integers_at(part, case).items()}


def encoding_name(layout: Varint) -> str:
    """The encoding of KAFKA-9927 that a varint is."""
    return f"{'' if layout.zigzag else 'u'}packed{layout.bits}"


@cache
def dearest(kind: str, encoding: str) -> int:
    """The number nearest to 0 that a field of type `kind` writes in the most bytes; of two the positive one."""
    rows = widths(kind, encoding)
    longest = max(size for _, _, size in rows)
    return min((low if low >= 0 else high for low, high, size in rows if size == longest), key=lambda number: (abs(number), number < 0))
