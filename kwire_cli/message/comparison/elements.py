"""Which elements of two arrays belong together: those with the same key, wherever they stand, else in order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Leaf
from kwire_cli.engine.values import leaf_value
from kwire_cli.message.comparison.alignment import by_key
from kwire_cli.message.comparison.struct_parts import reached
from kwire_cli.spec.defaults import ZERO_UUID
from kwire_cli.spec.values import field_at

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.engine.tree import Item
    from kwire_cli.message.comparison.alignment import InOrder, Pair
    from kwire_cli.message.comparison.differences import At
    from kwire_cli.message.comparison.operands import Look
    from kwire_cli.spec.model import FieldSpec

    Row = Mapping[str, Any]
    """An element by the names of its fields, of those at least that may be its key."""

IDENTIFYING: tuple[tuple[str, ...], ...] = (
    ("resourceType", "resourceName"),
    ("entityType", "entityName"),
    ("principalType", "principalName"),
    ("user", "mechanism"),
    ("topicId",),
    ("topicName",),
    ("topic",),
    ("name",),
    ("partitionIndex",),
    ("partition",),
    ("partitionId",),
    ("index",),
    ("batchIndex",),
    ("subtopologyId",),
    ("topicGroupId",),
    ("groupId",),
    ("memberId",),
    ("transactionalId",),
    ("producerId",),
    ("brokerId",),
    ("nodeId",),
    ("replicaId",),
    ("candidateId",),
    ("voterId",),
    ("resourceName",),
    ("logDir",),
    ("user",),
    ("id",),
    ("firstOffset",),
    ("key",),
)
"""Fields in JSON names that say which element of an array one is where no mapKey does, in the order in which they are tried."""


def elements(p: Item) -> list[Item]:
    """The elements of an item that is an array, as far as the bytes reach."""
    return [each for each in p.parts[1:] if reached(each)]


def together(a: Look, b: Look, p: Item, q: Item, at: At, order: InOrder) -> Iterator[tuple[At, Item | None, Item | None, bool]]:
    """The elements of two arrays at `at`, None where one array has no such element, and whether another order has them."""
    mine, other = elements(p), elements(q)
    rows = [a.key_parts(each) for each in mine], [b.key_parts(each) for each in other]
    tried = _candidates(_element_fields(a, p), _element_fields(b, q)) if all(rows[0]) and all(rows[1]) else ()
    for pair, key in paired(*rows, tried, lambda: order.pairs(_identities(a, mine), _identities(b, other))):
        i, j, moved = pair
        yield at.element(i, j, key), None if i is None else mine[i], None if j is None else other[j], moved


def paired(
    a: Sequence[Row], b: Sequence[Row], tried: Iterable[tuple[str, ...]], in_order: Callable[[], list[Pair]]
) -> Iterator[tuple[Pair, str | None]]:
    """The pairs of two arrays by the first key that all elements have, each its own on its side; `in_order` gives them where there is no such.

    Beside each stands its key for people: `name="orders"`, `partitionIndex=3`.
    """
    names = next((names for names in tried if _distinct(a, names) and _distinct(b, names)), ())
    for pair in by_key(*([tuple(row[name] for name in names) for row in rows] for rows in (a, b))) if names else in_order():
        row = a[pair.a] if pair.a is not None else b[pair.b or 0]
        yield pair, ",".join(f"{name}={json.dumps(row[name], ensure_ascii=False)}" for name in names) if names else None


def _candidates(mine: Sequence[FieldSpec], other: Sequence[FieldSpec]) -> Iterator[tuple[str, ...]]:
    """The fields that may be the key of the elements of an array: the mapKeys of each side's definition, then what identifies."""
    for fields in (mine, other):
        if keys := tuple(field.json_name for field in fields if field.map_key):
            yield keys
    yield from IDENTIFYING


def _distinct(rows: Sequence[Row], names: tuple[str, ...]) -> bool:
    keys = set()
    for row in rows:
        key = tuple(row.get(name) for name in names)
        if None in key or ZERO_UUID in key or any(isinstance(part, dict | list) for part in key):
            return False
        keys.add(key)
    return len(keys) == len(rows)


def _element_fields(look: Look, item: Item) -> Sequence[FieldSpec]:
    """What the definition says of the fields of an array's elements."""
    spec = look.body.spec
    known = field_at(spec, item.node.path.replace("[]", ""))
    return spec.struct_fields(known) if known else ()


def _identities(look: Look, row: Sequence[Item]) -> list[Hashable]:
    """What makes elements equal: values, or the bytes of structs, which in another layout always differ."""
    return [leaf_value(each, look.tree) if isinstance(each.node, Leaf) else look.raw(each) for each in row]
