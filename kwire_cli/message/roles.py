"""Single fields read from spans without a tree: those with a role (topic names, topic ids, error codes) and those of a name; found once a layout."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Array, Leaf, Nullable, Struct
from kwire_cli.engine.tree import Item, Tree
from kwire_cli.engine.values import leaf_value
from kwire_cli.spec.values import field_at
from kwire_cli.structs.numbers import FixedInt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.engine.program import Entry, Node
    from kwire_cli.engine.spans import Spans
    from kwire_cli.spec.model import MessageSpec

TOPIC, TOPIC_ID, ERROR = "topic", "topic-id", "error"
NO_UUID, NO_ERROR = bytes(16), bytes(2)


@dataclass(frozen=True, slots=True)
class Roles:
    """The nodes of a layout that have a role: `by_node` says which; `top` has the leaves of the message itself by name.

    `naming` are pairs of a topic's name and its id in one struct: messages that have both tell what an id is called. `encoded` are the error codes
    that an overlay gives another form, by node.
    """

    entry: Entry
    by_node: dict[int, str]
    top: dict[str, int]
    naming: tuple[tuple[int, int], ...]
    encoded: dict[int, Any]


_ROLES: dict[int, Roles] = {}


def roles(spec: MessageSpec, entry: Entry) -> Roles:
    """The roles in a layout."""
    known = _ROLES.get(id(entry))
    if known is None:
        by_node = dict(_find(spec, entry))
        top = {field.name: field.id for field in entry.root.fields if isinstance(field, Leaf)}
        codes = {leaf.id: leaf.decl for leaf in entry.program.leaves if by_node.get(leaf.id) == ERROR}
        encoded = {node: decl for node, decl in codes.items() if not isinstance(decl, FixedInt) or decl.wire != decl.kind}
        naming = tuple(_naming(entry.root, by_node))
        known = _ROLES[id(entry)] = Roles(entry, by_node, top, naming, encoded)  # it keeps the entry, so that its id stays its own
    return known


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


def _naming(node: Node, by_node: dict[int, str]) -> Iterator[tuple[int, int]]:
    if isinstance(node, Struct):
        leaves = [field.id for field in node.fields if isinstance(field, Leaf)]
        names, ids = ([leaf for leaf in leaves if by_node.get(leaf) == role] for role in (TOPIC, TOPIC_ID))
        if len(names) == len(ids) == 1:
            yield names[0], ids[0]
        for field in node.fields:
            yield from _naming(field, by_node)
    elif isinstance(node, Array | Nullable):
        yield from _naming(node.element if isinstance(node, Array) else node.struct, by_node)


def role_values(found: Roles, raw: Spans) -> dict[str, list[bytes]]:
    """The bytes of all values that have a role, in order, by role."""
    by_node = found.by_node
    return marked_values(found, [(node, raw.value[at], raw.end[at]) for at, node in enumerate(raw.node) if node in by_node], raw.data)


def marked_values(found: Roles, marked: list[tuple[int, int, int]], data: Any) -> dict[str, list[bytes]]:
    """As `role_values`, of spans that are known to have a role: node, value and end of each."""
    out: dict[str, list[bytes]] = {}
    by_node = found.by_node
    for node, value, end in marked:
        role = by_node[node]
        if role in out:
            out[role].append(bytes(data[value:end]))
        else:
            out[role] = [bytes(data[value:end])]
    if found.encoded and ERROR in out:
        errors = [(node, data[value:end]) for node, value, end in marked if by_node[node] == ERROR]
        out[ERROR] = [_as_shipped(found.encoded[node].read(raw)) if node in found.encoded else bytes(raw) for node, raw in errors]
    return out


def _as_shipped(code: int) -> bytes:
    """An error code as it is written without an overlay; in more bytes where it does not fit."""
    return code.to_bytes(2 if -0x8000 <= code < 0x8000 else 8, "big", signed=True)


def topics_in(values: dict[str, list[bytes]]) -> tuple[list[str], list[str]]:
    """The topic names and the topic ids (as text) among the values that have a role, as often as they occur."""
    names = [name.decode("utf-8", "replace") for name in values.get(TOPIC, ()) if name]
    return names, [uuid_text(topic) for topic in values.get(TOPIC_ID, ()) if topic != NO_UUID]


def topics_reader(found: Roles, marked: list[tuple[int, int, int]]) -> Callable[[bytes], tuple[list[str], list[str]]]:
    """What gives `topics_in` of the bytes of messages in which these spans have a role."""
    names, ids = ([(value, end) for node, value, end in marked if found.by_node[node] == role] for role in (TOPIC, TOPIC_ID))

    def read(data: bytes) -> tuple[list[str], list[str]]:
        topics = [data[value:end].decode("utf-8", "replace") for value, end in names if value < end]
        return topics, [uuid_text(data[value:end]) for value, end in ids if data[value:end] != NO_UUID] if ids else []

    return read


def topic_names(found: Roles, raw: Spans) -> Iterator[tuple[str, str]]:
    """The ids and names of the topics that a message says both of."""
    for name_node, id_node in found.naming:
        names, ids = (
            [raw.data[raw.value[at] : raw.end[at]] for at, node in enumerate(raw.node) if node == wanted] for wanted in (name_node, id_node)
        )
        if len(names) == len(ids):  # of a message that was cut they may not be
            yield from (
                (uuid_text(topic), str(name, "utf-8", "replace")) for name, topic in zip(names, ids, strict=True) if name and topic != NO_UUID
            )


def error_codes(values: dict[str, list[bytes]]) -> list[int]:
    """The error codes that are not 0 among the values that have a role, each once."""
    codes = {*values.get(ERROR, ())} - {NO_ERROR} and dict.fromkeys(values[ERROR])
    return [int.from_bytes(code, "big", signed=True) for code in codes if code != NO_ERROR]


def top_value(found: Roles, raw: Spans, name: str) -> Any:
    """The value of a field of the message itself, not of its structs, in JSON form; None where there is none."""
    return top_reader(found, raw, name)(raw.data)


def top_reader(found: Roles, raw: Spans, name: str) -> Callable[[Any], Any]:
    """What gives `top_value` of the bytes of messages that have these spans."""
    wanted = found.top.get(name, -1)
    if wanted not in raw.node:
        return lambda _: None
    at, leaf = raw.node.index(wanted), raw.program.leaves[wanted]
    if type(leaf.decl) is FixedInt:
        read, value, end = leaf.decl.read, raw.value[at], raw.end[at]
        return lambda data: read(data[value:end])
    item = Item(leaf, raw.end[at - 1] if at else raw.start)
    item.span, item.end, item.whole = at, raw.end[at], True
    return lambda data: leaf_value(item, Tree(item, None, raw._replace(data=data)))


def uuid_text(data: Any) -> str:
    """A uuid as Kafka shows it."""
    return base64.urlsafe_b64encode(data)[:-2].decode("ascii")
