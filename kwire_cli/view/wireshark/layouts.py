"""Lowered layouts as text for the dissector: a token for each node, in the order of the bytes.

Lua tables for all versions would be large and slow to load, so a layout is a string, which the dissector parses when it
first decodes a message of that version. Tokens refer to fields by their index in the list of the message's fields.
`layouts.lua` parses this format:

    b5 h5 H5 i5 I5 l5     an int8, int16, uint16, int32, uint32, int64
    o5 d5 u5              a bool, a float64, a uuid
    z32:5 v32:5           a varint of 32 bits: zig-zag, or the unsigned bits of the number
    s5 S5 q5              a string after an int16, a compact length, a zig-zag length; s?5 is nullable
    y5 Y5 p5              bytes after an int32, a compact length, a zig-zag length
    r5 R5                 records
    a5 A5 w5 NODE         an array: an int32 count, a compact one, a zig-zag one; a?5 is nullable
    .5 { NODE ... }       a struct; {n has the name and the id of a topic, {c the value of a config
    n5 N5 { ... }         a nullable struct after an int8, or after a varint in tagged fields
    [ t3 NODE ~4 ]        the tag section of a struct: tag 3 is known, tag 4 is known to other versions only
    (2 NODE ... )         a struct whose field 2 is the number of bytes after that field
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Array, Leaf, Nullable, Struct, Tags
from kwire_cli.structs.lengths import ArrayOf, Sized, VarintArray, VarintSized
from kwire_cli.structs.numbers import Bool, FixedInt, Float64, Uuid, Varint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.engine.program import Entry, Node

_INTS = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "l"}
_TYPES = _INTS | {"bool": "o", "float64": "d", "uuid": "u", "string": "s", "bytes": "y", "records": "r"}
_WIDTH = "bohHiIlduysrna"
"""Types in the order of the size of their values. If versions give a field several types, it has the last of them."""
COUNT = "a"
"""The type of arrays of structs. The value is the number of elements."""
STRUCT = "n"
"""The type of structs, which have no value."""


class FieldTable:
    """The fields of all versions of one message, numbered by their paths without indexes.

    `flags_of` returns the flags of a leaf or a struct, one letter each.
    """

    def __init__(self, flags_of: Callable[[Entry, Leaf | Struct], str]) -> None:
        self.types: dict[str, str] = {}
        self._flags: dict[str, str] = {}
        self._flags_of = flags_of

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        """Yield path, type and flags of each field."""
        return ((path, kind, self._flags.get(path, "")) for path, kind in self.types.items())

    def layout(self, entry: Entry) -> str:
        """Return the layout of a declaration as text, and add its fields."""
        self._entry = entry
        return " ".join(self._node(entry.root))

    def _number(self, path: str, kind: str) -> int:
        path = path.replace("[]", "")
        known = self.types.get(path, kind)
        self.types[path] = max(known, kind, key=_WIDTH.index)
        return list(self.types).index(path)

    def _node(self, node: Node) -> Iterator[str]:
        if isinstance(node, Leaf):
            yield self._leaf(node)
        elif isinstance(node, Struct):
            yield from self._struct(node)
        elif isinstance(node, Array):
            yield from self._array(node)
        elif isinstance(node, Nullable):
            letter = "N" if node.presence.decl.tagged else "n"
            yield f"{letter}{self._number(node.path, STRUCT)}"
            yield from self._struct(node.struct)
        else:
            raise TypeError(f"no text for {node!r}")

    def _leaf(self, leaf: Leaf) -> str:
        decl = leaf.decl
        kind = _TYPES.get(leaf.kind, "l")
        if isinstance(decl, FixedInt | Varint):
            wire = decl.wire if isinstance(decl, FixedInt) else f"int{decl.bits}"
            kind = max(kind, _INTS[wire], key=_WIDTH.index)
        number = self._number(leaf.path, kind)
        if flags := self._flags_of(self._entry, leaf):
            self._flags[leaf.path.replace("[]", "")] = flags
        return f"{_form(decl)}{number}"

    def _struct(self, node: Struct) -> Iterator[str]:
        if node.size >= 0:
            yield f"({node.size}"
        else:
            yield "{" + self._flags_of(self._entry, node)
        for field in node.fields:
            if isinstance(field, Struct):
                yield f".{self._number(field.path, STRUCT)}"
            yield from self._node(field)
        if node.tags:
            yield from self._tags(node.tags)
        yield ")" if node.size >= 0 else "}"

    def _tags(self, node: Tags) -> Iterator[str]:
        yield "["
        section = node.count.decl
        for field, (known, _) in zip(section.known, node.known.values(), strict=True):
            yield f"t{field.tag}"
            if isinstance(known, Struct):
                yield f".{self._number(known.path, STRUCT)}"
            yield from self._node(known)
        yield from (f"~{tag}" for tag in sorted(section.invalid))
        yield "]"

    def _array(self, node: Array) -> Iterator[str]:
        decl: ArrayOf = node.count.decl
        letter = "A" if decl.compact else "a"
        if isinstance(decl, VarintArray):
            letter = "w"
        # The elements of an array of numbers or strings have the path of the array.
        kind = _TYPES[node.element.kind] if isinstance(node.element, Leaf) else COUNT
        number = self._number(node.path, kind)
        yield f"{letter}{'?' * decl.nullable}{number}"
        yield from self._node(node.element)


def _form(decl: Any) -> str:
    """Return the letter of the encoding of a value."""
    if isinstance(decl, FixedInt):
        return _INTS[decl.wire]
    if isinstance(decl, Bool | Float64 | Uuid):
        return _TYPES[decl.kind]
    if isinstance(decl, Varint):
        return f"{'z' if decl.zigzag else 'v'}{decl.bits}:"
    if isinstance(decl, Sized):
        letter = _TYPES[decl.kind]
        if isinstance(decl, VarintSized):
            letter = "q" if decl.kind == "string" else "p"
        elif decl.compact:
            letter = letter.upper()
        return letter + "?" * decl.nullable
    raise TypeError(f"no text for {decl!r}")
