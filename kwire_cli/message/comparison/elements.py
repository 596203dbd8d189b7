"""The elements of two arrays, those together that belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.program import Leaf
from kwire_cli.engine.values import leaf_value
from kwire_cli.message.comparison.alignment import by_key
from kwire_cli.message.comparison.identity import candidates, key_names, key_text
from kwire_cli.message.comparison.struct_parts import reached
from kwire_cli.spec.values import field_at

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from kwire_cli.engine.tree import Item
    from kwire_cli.message.comparison.alignment import InOrder
    from kwire_cli.message.comparison.differences import At
    from kwire_cli.message.comparison.operands import Look
    from kwire_cli.spec.model import FieldSpec


class Together(NamedTuple):
    """Two elements that belong together, or one that the other array lacks; `moved` as in `alignment.Pair`."""

    at: At
    a: Item | None
    b: Item | None
    moved: bool


def elements(p: Item) -> list[Item]:
    """The elements of an item that is an array, as far as the bytes reach."""
    return [each for each in p.parts[1:] if reached(each)]


def together(a: Look, b: Look, p: Item, q: Item, at: At, order: InOrder) -> Iterator[Together]:
    """The elements of two arrays at `at`: by a key where they have one, else in order."""
    mine, other = elements(p), elements(q)
    rows: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([a.key_parts(each) for each in mine], [b.key_parts(each) for each in other])
    has_fields = all(rows[0]) and all(rows[1])
    names = key_names(*rows, candidates(_element_fields(a, p), _element_fields(b, q))) if has_fields else ()
    if names:
        pairs = by_key(*([tuple(row[name] for name in names) for row in side] for side in rows))
    else:
        pairs = order.pairs(_identities(a, mine), _identities(b, other))
    for i, j, moved in pairs:
        key = key_text(names, rows[0][i] if i is not None else rows[1][j or 0]) if names else None
        yield Together(at.element(i, j, key), None if i is None else mine[i], None if j is None else other[j], moved)


def _element_fields(look: Look, item: Item) -> Sequence[FieldSpec]:
    """What the definition says of the fields of an array's elements."""
    spec = look.body.spec
    known = field_at(spec, item.node.path.replace("[]", ""))
    return spec.struct_fields(known) if known else ()


def _identities(look: Look, row: Sequence[Item]) -> list[Hashable]:
    """What makes elements equal: values, or the bytes of structs, which in another layout always differ."""
    return [leaf_value(each, look.tree) if isinstance(each.node, Leaf) else look.raw(each) for each in row]
