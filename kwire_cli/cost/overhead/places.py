"""Where in a message records, topics and partitions stand, and which of its spans belong to which topic and partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.program import Array, Choice, Leaf, Nullable, Series, Struct, Tags
from kwire_cli.message.roles import NO_UUID, TOPIC, TOPIC_ID, uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.engine.program import Entry, Node
    from kwire_cli.engine.spans import Spans
    from kwire_cli.message.roles import Roles

PARTITION, RECORDS = "partition", "records"
_PARTITIONS = frozenset({"partition", "partitionIndex", "partitionId", "index"})
"""What definitions call the number of a partition."""


class Owner(NamedTuple):
    """The topic and partition of some bytes; None where they belong to none."""

    topic: str | None = None
    partition: int | None = None


class _Element(NamedTuple):
    """A structure about one topic or partition: its leaves, the first of them, and those that name it."""

    leaves: frozenset[int]
    names: frozenset[int]


@dataclass(frozen=True, slots=True)
class Places:
    """The leaves of a layout that matter here, by node; `topics` and `partitions` are structures, by the first leaf of each."""

    entry: Entry
    by_node: dict[int, str]
    topics: dict[int, _Element]
    partitions: dict[int, _Element]


_PLACES: dict[int, Places] = {}


def places(found: Roles) -> Places:
    """Those of a layout; found once."""
    known = _PLACES.get(id(found.entry))
    if known is None:
        entry = found.entry
        by_node = {node: role for node, role in found.by_node.items() if role in {TOPIC, TOPIC_ID}}
        topics = dict(_elements(entry.root, by_node.keys()))
        below = frozenset(node for element in topics.values() for node in element.leaves)
        numbers = {leaf.id for leaf in entry.program.leaves if leaf.kind == "int32" and leaf.name in _PARTITIONS and leaf.id in below}
        by_node |= dict.fromkeys(numbers, PARTITION)
        by_node |= {leaf.id: RECORDS for leaf in entry.program.leaves if leaf.kind == "records"}
        known = _PLACES[id(entry)] = Places(entry, by_node, topics, dict(_elements(entry.root, numbers)))
    return known


def _below(node: Node) -> Iterator[Node]:
    if isinstance(node, Struct):
        yield from (*node.fields, *((node.tags,) if node.tags else ()))
    elif isinstance(node, Array):
        yield from (node.count, node.element)
    elif isinstance(node, Nullable):
        yield from (node.presence, node.struct)
    elif isinstance(node, Tags):
        yield from (node.count, node.unknown_header, node.unknown_data, *(field for field, _ in node.known.values()))
    elif isinstance(node, Series):
        yield from (*((node.size,) if node.size else ()), node.element)
    elif isinstance(node, Choice):
        yield from node.forms.values()


def _leaves(node: Node) -> Iterator[int]:
    """The leaves of a node in the order of their spans, as far as that is known; headers of tagged fields with them."""
    if isinstance(node, Leaf):
        yield node.id
    if isinstance(node, Tags):
        yield from node.known
    for each in _below(node):
        yield from _leaves(each)


def _elements(node: Node, named: Any) -> Iterator[tuple[int, _Element]]:
    if isinstance(node, Struct):
        names = frozenset(field.id for field in node.fields if isinstance(field, Leaf) and field.id in named)
        if names:
            leaves = list(_leaves(node))
            yield leaves[0], _Element(frozenset(leaves), names)
    for each in _below(node):
        yield from _elements(each, named)


def owners(found: Places, spans: Spans, names: Callable[[str], str]) -> Iterator[tuple[int, int, Owner]]:
    """The topic and partition of each span, as ranges [first, last) that cover them in order; `names` gives the name of a topic id."""

    def topic(role_nodes: frozenset[int], first: int, last: int) -> str | None:
        name = None
        for at in range(first, last):
            if spans.node[at] in role_nodes:
                name = topic_at(found, spans.node[at], spans.data[spans.value[at] : spans.end[at]], names) or name
        return name

    def partition(role_nodes: frozenset[int], first: int, last: int) -> int | None:
        at = next((at for at in range(first, last) if spans.node[at] in role_nodes), None)
        return None if at is None else number_at(spans.data[spans.value[at] : spans.end[at]])

    topics, partitions = _marked(found.topics, spans, topic), _marked(found.partitions, spans, partition)
    first, owner = 0, None
    for at, now in enumerate(map(Owner, topics, partitions)):
        if now != owner:
            if owner is not None:
                yield first, at, owner
            first, owner = at, now
    if owner is not None:
        yield first, len(spans.node), owner


def _marked(elements: dict[int, _Element], spans: Spans, name: Callable[[frozenset[int], int, int], Any]) -> list[Any]:
    """The name of the element that each span is in."""
    out: list[Any] = []
    element: _Element | None = None
    for at, node in enumerate((*spans.node, -1)):  # the last one ends what is open
        if element and node in element.leaves and node not in elements:
            continue
        out += [name(element.names, len(out), at) if element else None] * (at - len(out))
        element = elements.get(node)
    return out


def topic_at(found: Places, node: int, data: Any, names: Callable[[str], str]) -> str | None:
    """The topic that a leaf names; None where it names none."""
    if found.by_node.get(node) == TOPIC:
        return str(data, "utf-8", "replace") or None
    return None if bytes(data) == NO_UUID or len(data) != len(NO_UUID) else names(uuid_text(data))


def number_at(data: Any) -> int:
    """The number of a partition."""
    return int.from_bytes(data, "big", signed=True)
