"""In which form a layout writes a value: what differs between two versions where the value does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.structs.numbers import RANGES, Varint
from kwire_cli.structs.sized import NullableStruct, Prefixed

if TYPE_CHECKING:
    from kwire_cli.engine.tree import Item


def form_name(item: Item) -> str:
    """The form of a leaf, by its declaration: `compact string`, `int16 string`, `int32 count`, `int64`; equal for equal forms."""
    decl: Any = item.leaf.decl
    if isinstance(decl, Prefixed):
        prefix = "compact" if decl.compact else getattr(decl.prefix, "kind", "plain")
        return f"{prefix} {'count' if item.leaf.kind == 'count' else item.leaf.kind}"
    if isinstance(decl, NullableStruct):
        return "tagged presence" if decl.tagged else "presence"
    if isinstance(decl, Varint) and decl.kind in RANGES:
        return f"{'' if decl.zigzag else 'u'}packed{decl.bits} {item.leaf.kind}"
    wire = getattr(decl, "wire", item.leaf.kind)
    return item.leaf.kind if wire == item.leaf.kind else f"{item.leaf.kind} as {wire}"
