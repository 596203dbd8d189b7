"""Single fields read from spans without a tree: those with a role (topic names, topic ids, error codes) and those of a name; found once a layout."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Leaf
from kwire_cli.engine.tree import Item, Tree
from kwire_cli.engine.values import leaf_value
from kwire_cli.spec.values import field_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.program import Entry
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.model import MessageSpec

TOPIC, TOPIC_ID, ERROR = "topic", "topic-id", "error"
NO_UUID = bytes(16)

_ROLES: dict[int, tuple[Entry, dict[int, str]]] = {}


def roles(spec: MessageSpec, entry: Entry) -> dict[int, str]:
    """The role of each leaf that has one, by node number."""
    known = _ROLES.get(id(entry))
    if known is None:
        known = _ROLES[id(entry)] = entry, dict(_find(spec, entry))  # the entry is kept, so that its id stays its own
    return known[1]


def _find(spec: MessageSpec, entry: Entry) -> Iterator[tuple[int, str]]:
    for leaf in entry.program.leaves:
        if leaf.kind == "uuid" and leaf.name.lower().endswith("topicid"):
            yield leaf.id, TOPIC_ID
        elif leaf.kind == "int16" and leaf.name.lower().endswith("errorcode"):
            yield leaf.id, ERROR
        elif leaf.kind == "string":
            field = field_at(spec, leaf.path.replace("[]", ""))
            if field and field.entity_type == "topicName":
                yield leaf.id, TOPIC


def role_values(decoded: Decoded) -> dict[str, list[bytes]]:
    """The bytes of all values that have a role, in order, by role."""
    raw = decoded.raw
    found = roles(decoded.spec, decoded.entry)
    out: dict[str, list[bytes]] = {}
    if found:
        for node, value, end in zip(raw.node, raw.value, raw.end, strict=True):
            if node in found:
                out.setdefault(found[node], []).append(bytes(raw.data[value:end]))
    return out


@cache
def _top_leaf(entry_id: int, name: str) -> int:
    entry, _ = _ROLES[entry_id]
    return next((field.id for field in entry.root.fields if isinstance(field, Leaf) and field.name == name), -1)


def top_value(decoded: Decoded, name: str) -> Any:
    """The value of a field of the message itself, not of its structs, in JSON form; None where there is none."""
    roles(decoded.spec, decoded.entry)
    wanted = _top_leaf(id(decoded.entry), name)
    raw = decoded.raw
    if wanted < 0 or wanted not in raw.node:
        return None
    at = raw.node.index(wanted)
    item = Item(raw.program.leaves[wanted], raw.end[at - 1] if at else raw.start)
    item.span, item.end, item.whole = at, raw.end[at], True
    return leaf_value(item, Tree(item, None, raw))
