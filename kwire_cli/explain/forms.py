"""What a field's declaration is called, and which rules read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Array, Choice, Leaf, Nullable, Series, Struct, Tags
from kwire_cli.explain.rules import RULES
from kwire_cli.structs.numbers import FixedInt, Varint
from kwire_cli.structs.records.parts import Rest
from kwire_cli.structs.sized import ArrayOf, NullableStruct, Sized

if TYPE_CHECKING:
    from kwire_cli.engine.program import Node

NAMED = 6
"""Fields of a struct that are named where it is told what an element is."""


def number_rule(decl: Any) -> str:
    """The rule of a number, boolean or uuid."""
    if isinstance(decl, FixedInt):
        return decl.kind if decl.kind == decl.wire else "fixed"
    if not isinstance(decl, Varint):
        return str(decl.kind)
    if decl.kind == "uvarint":
        return "uvarint"
    if not decl.zigzag:
        return "upacked"
    return {("int32", 32): "varint", ("int64", 64): "varlong"}.get((decl.kind, decl.bits), "packed")


def _prefix_form(decl: Any) -> str:
    if decl.compact:
        return "compact"
    if isinstance(decl.prefix, Varint):
        return "varint" if decl.prefix.zigzag else "uvarint"
    return str(decl.prefix.wire)


def length_rule(decl: Any) -> str:
    """The rule of the length of a string, bytes or records."""
    return "length.rest" if isinstance(decl, Rest) else f"length.{_prefix_form(decl)}"


def count_rule(decl: ArrayOf) -> str:
    """The rule of an array's count."""
    return f"count.{_prefix_form(decl)}"


def size_rule(decl: Any) -> str:
    """The rule of the size of a part of a record format."""
    return f"size.{'int32' if isinstance(decl, FixedInt) else 'varint' if decl.zigzag else 'uvarint'}"


def presence_rule(decl: NullableStruct) -> str:
    """The rule of a presence marker."""
    return "presence.uvarint" if decl.tagged else "presence.int8"


def leaf_type(leaf: Leaf) -> str:
    """The type of a leaf as the protocol guide calls it: COMPACT_NULLABLE_STRING; what is a part of something says which."""
    decl = leaf.decl
    if leaf.kind == "count":
        return f"{'COMPACT_' * decl.compact}ARRAY"
    if leaf.kind in {"presence", "tag-count", "tag-header", "unknown-tag", "gap"}:
        return {"presence": "presence", "tag-count": "tag section", "tag-header": "tag", "unknown-tag": "unknown tag", "gap": "gap"}[leaf.kind]
    if isinstance(decl, Rest):
        return f"{leaf.kind.upper()} without length"
    if isinstance(decl, Sized):
        if isinstance(decl.prefix, Varint) and not decl.compact:
            return f"{'NULLABLE_' * decl.nullable}{leaf.kind.upper()} with {'VARINT' if decl.prefix.zigzag else 'UNSIGNED_VARINT'} length"
        return f"{'COMPACT_' * decl.compact}{'NULLABLE_' * (decl.nullable and leaf.kind != 'records')}{leaf.kind.upper()}"
    rule = number_rule(decl)
    if rule in {"packed", "upacked"}:
        return f"{leaf.kind.upper()} as {rule}{decl.bits}"
    return f"{leaf.kind.upper()} as fixed{8 * decl.length}" if rule == "fixed" else RULES[rule].name


def node_type(node: Node) -> str:
    """The type of a field: of an array with that of its elements."""
    if isinstance(node, Leaf):
        return leaf_type(node)
    if isinstance(node, Array):
        return f"{leaf_type(node.count)} of {node_type(node.element)}"
    if isinstance(node, Series):
        return f"{node_type(node.element)}, one after the other"
    if isinstance(node, Choice):
        return " or ".join(dict.fromkeys(node_type(form) for form in node.forms.values()))
    return "tagged fields" if isinstance(node, Tags) else "struct" if isinstance(node, Struct) else "nullable struct"


def element_text(node: Node) -> str:
    """What an element is: `INT32`, or `a struct: name STRING, partitions ARRAY of INT32, tagged fields`."""
    if isinstance(node, Nullable):
        node = node.struct
    if not isinstance(node, Struct):
        return node_type(node)
    return f"a struct: {fields_text(node)}"


def fields_text(struct: Struct) -> str:
    """The fields of a struct, the first of them by name and type."""
    shown = [f"{field.name} {node_type(field)}" for field in struct.fields[:NAMED]]
    if len(struct.fields) > NAMED:
        shown.append(f"{len(struct.fields) - NAMED} more")
    return ", ".join([*shown, *(["tagged fields"] if struct.tags else [])]) or "no fields"
