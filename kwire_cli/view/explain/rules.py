"""The rules for decoding bytes, and the names of types.

`rules.toml` contains the rules. A rule is written for a type and not for a field, because an explanation prints each
rule once. This module maps a declaration to its rule and its name.
"""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.program import Array, Choice, Leaf, Nullable, Series, Struct, Tags
from kwire_cli.spec.model import INTEGER_RANGES
from kwire_cli.structs.composites import Rest
from kwire_cli.structs.lengths import Sized
from kwire_cli.structs.numbers import FixedInt, Varint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.engine.program import Node


class Rule(NamedTuple):
    """A rule: its name, its text, and the source of the text. `uses` contains the keys of the rules it builds on."""

    name: str
    text: str
    source: str
    uses: Sequence[str] = ()


def read_texts(name: str) -> dict[str, dict[str, Any]]:
    """Return the tables of a file with rules or notes."""
    path = os.path.join(os.path.dirname(__file__), name)  # noqa: PTH118, PTH120 - pathlib's import takes longer
    loader: Any = __spec__.loader  # it reads from a folder or a zip
    return tomllib.loads(loader.get_data(path).decode())


def _read_rules() -> dict[str, Rule]:
    rules = {key: Rule(**texts) for key, texts in read_texts("rules.toml").items()}
    integer = rules.pop("integer")
    return rules | {kind: integer._replace(name=kind.upper()) for kind in INTEGER_RANGES}


RULES = _read_rules()
"""All rules by key."""

NAMED = 6
"""Number of fields of a struct that the text of an element lists."""


def number_rule(decl: Any) -> str:
    """Return the rule of a number, boolean or uuid."""
    if isinstance(decl, FixedInt):
        return decl.kind if decl.kind == decl.wire else "fixed"
    if not isinstance(decl, Varint):
        return str(decl.kind)
    if decl.kind == "uvarint":
        return "uvarint"
    if not decl.zigzag:
        return "upacked"
    return {("int32", 32): "varint", ("int64", 64): "varlong"}.get((decl.kind, decl.bits), "packed")


def prefix_rule(role: str, number: Any, *, compact: bool = False) -> str:
    """Return the rule of a length, count, size or presence marker, whose declaration is `number`: `length.int16`."""
    form = number.wire if isinstance(number, FixedInt) else "uvarint"
    if compact:
        form = "compact"
    elif isinstance(number, Varint) and number.zigzag:
        form = "varint"
    return f"{role}.{form}"


_MARKERS = {
    "presence": "presence",
    "tag-count": "tag section",
    "tag-header": "tag",
    "unknown-tag": "unknown tag",
    "gap": "gap",
}


def leaf_type(leaf: Leaf) -> str:
    """Return the type of a leaf in the words of the protocol guide, such as COMPACT_NULLABLE_STRING."""
    decl = leaf.decl
    if leaf.kind == "count":
        return f"{'COMPACT_' * decl.compact}ARRAY"
    if leaf.kind in _MARKERS:
        return _MARKERS[leaf.kind]
    if isinstance(decl, Rest):
        return f"{leaf.kind.upper()} without length"
    if isinstance(decl, Sized) and isinstance(decl.prefix, Varint) and not decl.compact:
        return f"{'NULLABLE_' * decl.nullable}{leaf.kind.upper()} with {decl.prefix!r} length"
    return repr(decl)


def node_type(node: Node) -> str:
    """Return the type of a field. The type of an array includes the type of its elements."""
    if isinstance(node, Leaf):
        return leaf_type(node)
    if isinstance(node, Array):
        return f"{leaf_type(node.count)} of {node_type(node.element)}"
    if isinstance(node, Series):
        return f"{node_type(node.element)}, one after the other"
    if isinstance(node, Choice):
        return " or ".join(dict.fromkeys(node_type(form) for form in node.forms.values()))
    if isinstance(node, Tags):
        return "tagged fields"
    return "struct" if isinstance(node, Struct) else "nullable struct"


def element_text(node: Node) -> str:
    """Return the type of an element: `INT32`, or `a struct: name STRING, partitions ARRAY of INT32, tagged fields`."""
    if isinstance(node, Nullable):
        node = node.struct
    if not isinstance(node, Struct):
        return node_type(node)
    return f"a struct: {fields_text(node)}"


def fields_text(struct: Struct) -> str:
    """Return the first fields of a struct with name and type, and the number of further fields."""
    texts = [f"{field.name} {node_type(field)}" for field in struct.fields[:NAMED]]
    if len(struct.fields) > NAMED:
        texts.append(f"{len(struct.fields) - NAMED} more")
    return ", ".join([*texts, *(["tagged fields"] if struct.tags else [])]) or "no fields"
