"""Lowering of record formats: what stands behind a size, series without a count, fields that attribute bits bring."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine import program as p
from kwire_cli.engine.lower import FIXED_SIZE, Lowering
from kwire_cli.engine.program import Choice, Entry, Leaf, Node, Program, Series, Struct
from kwire_cli.structs.numbers import FixedInt, Varint
from kwire_cli.structs.records import parts
from kwire_cli.structs.sized import VarintSized

if TYPE_CHECKING:
    from kwire_cli.structs.messages import MessageStruct


@cache
def records_entry(decl: MessageStruct) -> Entry:
    """The lowered layout of a declaration of `structs.records`; made once.

    All of them stand in one program, so that one kernel run can walk jobs of several formats.
    """
    return _RecordLowering(_records_program()).entry(decl)


@cache
def _records_program() -> Program:
    return Program()


class _RecordLowering(Lowering):
    def node(self, decl: Any, name: str, path: str) -> Node:
        if isinstance(decl, parts.SizedStruct):
            return self.sized_struct(decl, name, path)
        if isinstance(decl, parts.Series):
            return self.series(decl, name, path)
        if isinstance(decl, parts.Rest) and self.within_size(decl):
            leaf = self.leaf(decl.kind, name, path, decl)
            self.emit(p.REST, leaf.id, decl.keep)
            return leaf
        return super().node(decl, name, path)

    def fixed_element(self, decl: Any, name: str, path: str) -> tuple[Node, list[tuple[Leaf, int]]] | None:
        return None if isinstance(decl, parts.SizedStruct) else super().fixed_element(decl, name, path)

    def struct(self, decl: MessageStruct, name: str, path: str) -> Struct:
        """Headers of records are nothing but lengths and bytes, which one step can take, as records themselves."""
        if decl.tags or not decl.subcons or not all(isinstance(sc.subcon, VarintSized) and sc.subcon.prefix.zigzag for sc in decl.subcons):
            return super().struct(decl, name, path)
        trial = self.emit(p.TRY)
        made = super().struct(decl, name, path)
        self.attempted(trial, list(made.fields))
        return made

    def within_size(self, decl: Any) -> bool:
        """Whether the innermost of what is open is a size; TypeError where it is something else, which hides the size from the kernel."""
        if self.opened and not self.opened[-1]:
            raise TypeError(f"{decl!r} can't stand in an array or tag section")
        return bool(self.opened)

    def sized_struct(self, decl: parts.SizedStruct, name: str, path: str) -> Struct:
        dot = f"{path}." if path else ""
        fields: list[Node] = []
        at: int | None = None
        places: dict[str, int] = {}
        tried = 0
        for i, sc in enumerate(decl.subcons):
            where = dot + sc.name
            if sc is decl.size:
                tried, trial = self.attempt([each.subcon for each in decl.subcons[i:]])
                fields.append(self.size(sc.subcon, sc.name, where))
                self.open(size=True)
                at = 0
            elif isinstance(sc.subcon, parts.Choice):
                fields.append(self.choice(sc.subcon, sc.name, where, places[sc.subcon.attributes]))
                at = None
            else:
                fields.append(self.node(sc.subcon, sc.name, where))
                at = at + sc.subcon.length if at is not None and isinstance(sc.subcon, FIXED_SIZE) else None
                if at is not None:
                    places[sc.name] = at - 1
            if tried and i + 1 == decl.at + tried:
                self.attempted(trial, fields[decl.at :])
        self.emit(p.SIZEEND)
        self.opened.pop()
        flat = len(fields) if all(type(field) is Leaf for field in fields) else 0
        return Struct(name, path, tuple(fields), None, flat, decl.at)

    def size(self, decl: Any, name: str, path: str) -> Leaf:
        leaf = self.leaf(decl.kind, name, path, decl)
        self.emit(p.SIZE32 if isinstance(decl, FixedInt) else p.SIZEZ if decl.zigzag else p.SIZEU, leaf.id)
        return leaf

    def choice(self, decl: parts.Choice, name: str, path: str, at: int) -> Choice:
        """A field by bits of the byte at `at` behind the size: the forms one after the other, each skipped where the bits are others."""
        forms: dict[int, Node] = {}
        empty = None
        code, ends = self.program.code, []
        cases = [(decl.mask * p.MASK + value, form) for value, form in decl.forms.items()]
        if decl.otherwise:
            cases.append((0, decl.otherwise))  # no bits are 0: always so
        for i, (test, form) in enumerate(cases):
            when = self.emit(p.WHEN, 0, at, test)
            node = self.node(form, name, path)
            forms[_first(node)] = node
            if isinstance(node, Series) and node.size is None:
                empty = node
            if i + 1 < len(cases):
                ends.append(self.emit(p.WHEN, 0, at, 1))  # no bits are 1: never so
            code[when + 4] = self.here()
        for end in ends:
            code[end + 4] = self.here()
        return Choice(name, path, forms, empty)

    def series(self, decl: parts.Series, name: str, path: str) -> Series:
        size = None
        if decl.size is not None:
            size = self.size(decl.size, name, path)
            self.open(size=True)
        bounded = self.within_size(decl)
        head = self.emit(p.UNTIL, 0, 0, 0, bounded)
        body = self.here()
        element = self.node(decl.element, name, f"{path}[]")
        tail = self.emit(p.UNTIL, 0, 0, body, bounded)
        if isinstance(self.program.leaves[_first(element)].decl, parts.Rest):
            raise TypeError(f"an element of {path} may have no bytes")
        self.program.code[head + 3] = body
        self.program.code[head + 2] = self.program.code[tail + 2] = self.here()
        if size:
            self.emit(p.SIZEEND)
            self.opened.pop()
        return Series(name, path, size, element, _first(element))

    def attempt(self, decls: list[Any]) -> tuple[int, int]:
        """Before a zig-zag size and what follows it: a TRY for as many fields as it can take; how many these are, and where it is."""
        count = 0
        while count < len(decls) and _is_tried(decls[count]):
            count += 1
        return (count, self.emit(p.TRY)) if count and isinstance(decls[0], Varint) else (0, 0)

    def attempted(self, trial: int, leaves: list[Any]) -> None:
        """After these fields: what the TRY needs to know."""
        code, tables = self.program.code, self.program.tables
        past = self.here()
        code[trial + 2 : trial + 5] = len(tables), len(leaves), past
        for i, leaf in enumerate(leaves):
            form, least = leaf.decl.length if isinstance(leaf.decl, FIXED_SIZE) else p.TRY_NUMBER, 0
            if isinstance(leaf.decl, VarintSized):
                form, least = p.TRY_LENGTH, -int(leaf.decl.nullable)
            elif i == 0:
                form = p.TRY_SIZE
            tables += (leaf.id, form, least)
        self.program.widest = max(self.program.widest, len(leaves) + 1)


def _is_tried(decl: Any) -> bool:
    """Whether a TRY can take it."""
    return isinstance(decl, FIXED_SIZE) or (isinstance(decl, Varint) and decl.zigzag) or (isinstance(decl, VarintSized) and decl.prefix.zigzag)


def _first(node: Node) -> int:
    """The node of the span that this one begins with; it has to have one in any case."""
    if isinstance(node, Leaf):
        return node.id
    if isinstance(node, Struct) and node.fields:
        return _first(node.fields[0])
    if isinstance(node, Series):
        return node.size.id if node.size else node.first
    raise TypeError(f"{node.path} can't stand in a series or choice")
