"""Values: the fold of a tree into Kafka's JSON form (JsonConverterGenerator, KIP-673 for records shown by their size)."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from kwire_cli.engine.program import Array, Leaf, Series, Struct, Tags
from kwire_cli.engine.tree import Item, Tree, is_null, read_count, tagged_parts
from kwire_cli.structs.messages import SIZE_SUFFIX
from kwire_cli.structs.sized import Sized, redacted
from kwire_cli.structs.tags import UNKNOWN_KEY

ABSENT = object()
"""The value of what the bytes did not reach."""


@dataclass(frozen=True, slots=True)
class Form:
    """How values are shown: records as "base64" text, by their "size" alone or as "raw" bytes, and which spans hold secrets that are not shown."""

    records: str = "base64"
    hidden: frozenset[int] = frozenset()


BASE64 = Form()


def value(item: Item, tree: Tree, form: Form = BASE64) -> Any:
    """Kafka's JSON form of an item (JsonConverterGenerator); ABSENT where nothing of it could be decoded."""
    node = item.node
    kind = type(node)
    if kind is Leaf:
        return leaf_value(item, tree, form)
    if kind is Struct:
        return _struct_value(item, tree, form)
    parts = item.each()
    if kind is Series and not node.size:  # type: ignore[union-attr]
        return [v for part in parts if (v := value(part, tree, form)) is not ABSENT]
    first = next(parts)
    if not first.whole:
        return ABSENT
    if kind is Series:
        return [v for part in parts if (v := value(part, tree, form)) is not ABSENT]
    if kind is Array:
        null = read_count(first, tree.spans.data) < 0
        return None if null else [v for part in parts if (v := value(part, tree, form)) is not ABSENT]
    if is_null(first, tree.spans.data):
        return None
    struct = next(parts, None)
    return value(struct, tree, form) if struct else ABSENT


def leaf_value(item: Item, tree: Tree, form: Form = BASE64) -> Any:
    """The value of one leaf in JSON form: counts and presence markers as numbers, unknown tags as base64 text, ABSENT for tag headers and gaps."""
    if not item.whole or item.leaf.kind in {"tag-header", "gap"}:
        return ABSENT
    leaf, spans = item.leaf, tree.spans
    data = spans.data
    if item.span in form.hidden:
        value_at = spans.value[item.span]
        # A count, a null or an empty value is hidden with its prefix, which is then all that there is.
        return redacted(item.end - (value_at if value_at < item.end else item.start))
    if isinstance(leaf.decl, Sized):
        start = spans.value[item.span]
        if start == item.end and is_null(item, data):
            return None
        if leaf.kind == "records" and form.records != "base64":
            return item.end - start if form.records == "size" else data[start : item.end]
        return leaf.decl.read(data[start : item.end])
    raw = data[item.start : item.end]
    if leaf.kind == "unknown-tag":
        return base64.b64encode(raw).decode("ascii")
    if leaf.kind in {"count", "tag-count"}:
        return read_count(item, data)
    return leaf.decl.presence.read(raw) if leaf.kind == "presence" else leaf.decl.read(raw)


def _struct_value(item: Item, tree: Tree, form: Form = BASE64) -> Any:
    out: dict[str, Any] = {}
    for part in item.each():
        if isinstance(part.node, Tags):
            out |= _tags_value(part, part.node, tree, form)
        elif (v := value(part, tree, form)) is not ABSENT:
            out[_key(part, v, form)] = v
    return out if out or item.whole else ABSENT


def _tags_value(item: Item, node: Tags, tree: Tree, form: Form) -> dict[str, Any]:
    if len(item.parts) == 1:
        return {}
    known: dict[int, Any] = {}
    unknown = []
    for header, part in tagged_parts(item):
        if header.tag is not None:
            if part.whole:
                unknown.append({"tag": header.tag, "data": leaf_value(part, tree, form)})
            continue
        default = node.known[header.leaf.id][1]
        v = value(part, tree, form)
        known.pop(header.leaf.id, None)  # of a tag that occurs twice the last value counts
        if v is not ABSENT and v != default:
            known[header.leaf.id] = v
    out = {node.known[number][0].name: known[number] for number in sorted(known)}  # numbered as they are declared
    return out | ({UNKNOWN_KEY: unknown} if unknown else {})


def _key(part: Item, v: Any, form: Form) -> str:
    name = part.node.name
    shown_by_size = form.records == "size" and isinstance(part.node, Leaf) and part.node.kind == "records" and isinstance(v, int)
    return name + SIZE_SUFFIX if shown_by_size else name
