"""Lowering: programs made from declarations, of messages and of records.

A declaration is walked once. The walk emits instructions for the kernel, and builds the nodes that give the resulting
spans their meaning. Adjacent fields of fixed size become a single instruction, because the kernel's time depends on the
number of instructions.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine import program as p
from kwire_cli.engine.program import Array, Choice, Entry, Leaf, Node, Nullable, Program, Series, Struct, Tags
from kwire_cli.structs import composites
from kwire_cli.structs.composites import MessageStruct
from kwire_cli.structs.lengths import ArrayOf, NullableStruct, Sized, VarintArray, VarintSized
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import Bool, FixedInt, Float64, Uuid, Varint

if TYPE_CHECKING:
    from kwire_cli.spec.model import MessageSpec


# Lowering: a construct declaration becomes instructions for the kernel and nodes for what reads its spans.
#
# Neighbouring fields of fixed size become one RUN, arrays of fixed-size elements one FIXED operation: one
# bounds check each.

FIXED_SIZE = (FixedInt, Bool, Float64, Uuid)


NO_LIMIT = 0x7FFFFFFF


_ENTRIES: dict[tuple[int, int], tuple[MessageSpec, Entry]] = {}


def entry_for(spec: MessageSpec, version: int) -> Entry:
    """Return the lowered layout of a message at a version. It is created once for each definition object."""
    key = (id(spec), version)
    if key not in _ENTRIES:
        _ENTRIES[key] = spec, lower(declare(spec, version))  # the definition is kept, so that its id stays its own
    return _ENTRIES[key][1]


def lower(decl: MessageStruct, program: Program | None = None) -> Entry:
    """Append `decl` to a program (a new one by default) and return its entry."""
    return Lowering(program or Program()).entry(decl)


class Lowering:
    """One walk over one declaration; `run` are the fixed-size fields that wait to be emitted together."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.run: list[tuple[Leaf, int]] = []
        self.opened: list[bool] = []  # what the kernel's stack holds here: whether it is a size

    def entry(self, decl: MessageStruct) -> Entry:
        """Lower a whole declaration, to the end of its bytes."""
        pc = len(self.program.code)
        root = self.node(decl, "", "")
        assert isinstance(root, Struct)  # noqa: S101 - for the type checker
        self.emit(p.END)
        return Entry(self.program, pc, root)

    def emit(self, op: int, node: int = 0, a: int = 0, b: int = 0, c: int = 0) -> int:
        """Append an instruction after the pending fixed-size fields. Return its position."""
        self.flush()
        self.program.code += (op, node, a, b, c)
        return len(self.program.code) - p.STRIDE

    def flush(self) -> None:
        """Emit the fixed-size fields that wait."""
        if self.run:
            run, self.run = self.run, []
            first = self.run_rows(run)
            self.emit(p.RUN, 0, first, len(run))
            self.program.widest = max(self.program.widest, len(run))

    def run_rows(self, run: list[tuple[Leaf, int]]) -> int:
        """Append rows to the tables for these fields and their sizes. Return their start."""
        first = len(self.program.tables)
        end = 0
        for leaf, size in run:
            end += size
            self.program.tables += (leaf.id, end)
        return first

    def here(self) -> int:
        """Return the position in the code of the next instruction."""
        self.flush()
        return len(self.program.code)

    def leaf(self, kind: str, name: str, path: str, decl: Any) -> Leaf:
        """Append a leaf to the program."""
        leaf = Leaf(len(self.program.leaves), kind, name, path, decl)
        self.program.leaves.append(leaf)
        return leaf

    def open(self, *, size: bool = False) -> None:
        """Record that the kernel's stack grows here."""
        self.opened.append(size)
        self.program.depth = max(self.program.depth, len(self.opened))

    def node(self, decl: Any, name: str, path: str) -> Node:
        """Lower any declaration. TypeError for one that there are no instructions for."""
        if isinstance(decl, FIXED_SIZE):
            leaf = self.leaf(decl.kind, name, path, decl)
            self.run.append((leaf, decl.length))
            return leaf
        if isinstance(decl, MessageStruct):
            return self.struct(decl, name, path)
        if isinstance(decl, ArrayOf):
            return self.array(decl, name, path)
        if isinstance(decl, NullableStruct):
            return self.nullable(decl, name, path)
        if isinstance(decl, Sized):
            leaf = self.leaf(decl.kind, name, path, decl)
            longest = decl.longest if decl.kind == "string" and decl.longest is not None else NO_LIMIT
            self.emit(_length_op(decl), leaf.id, decl.nullable, longest)
            return leaf
        if isinstance(decl, Varint):
            leaf = self.leaf(decl.kind, name, path, decl)
            self.emit(p.VARINT, leaf.id, decl.max_bytes, 0x7F & ~((1 << (decl.bits - 7 * (decl.max_bytes - 1))) - 1))
            return leaf
        raise TypeError(f"no lowering for {decl!r}")

    def struct(self, decl: MessageStruct, name: str, path: str) -> Struct:
        """Lower a struct: its fields and its tag section."""
        dot = f"{path}." if path else ""
        fields = tuple(self.node(sc.subcon, sc.name, dot + sc.name) for sc in decl.subcons)
        flat = len(fields) if all(type(field) is Leaf for field in fields) else 0
        return Struct(name, path, fields, self.tags(decl.tags, path) if decl.tags else None, flat)

    def array(self, decl: ArrayOf, name: str, path: str) -> Array:
        """Lower an array: a count, and a loop or elements of fixed size."""
        count = self.leaf("count", name, path, decl)
        heavy = weight(decl.element)
        fixed = None if isinstance(decl, VarintArray) else self.fixed_element(decl.element, name, f"{path}[]")
        if fixed:
            element, run = fixed
            self.emit(
                p.FIXEDV if decl.compact else p.FIXED32,
                count.id,
                self.run_rows(run) if run else heavy,
                len(run),
                decl.nullable,
            )
            self.program.widest = max(self.program.widest, len(run))
            return Array(name, path, count, element)
        op = p.ARRAY32
        if isinstance(decl, VarintArray):
            op = p.ARRAYZ
        elif decl.compact:
            op = p.ARRAYV
        start = self.emit(op, count.id, 0, decl.nullable, heavy)
        self.open()
        body = self.here()
        element = self.node(decl.element, name, f"{path}[]")
        self.emit(p.LOOP, 0, body)
        self.opened.pop()
        self.program.code[start + 2] = self.here()
        return Array(name, path, count, element)

    def fixed_element(self, decl: Any, name: str, path: str) -> tuple[Node, list[tuple[Leaf, int]]] | None:
        """Return the element and its fields if the element has a fixed size. Otherwise return None and emit no code.

        An element with bytes must not have a weight.
        """
        if not _is_fixed(decl) or (weight(decl) and _extent(decl)[1]):
            return None
        self.flush()
        element = self.node(decl, name, path)
        run, self.run = self.run, []
        return element, run

    def nullable(self, decl: NullableStruct, name: str, path: str) -> Nullable:
        """Lower a presence marker and a struct."""
        presence = self.leaf("presence", name, path, decl)
        start = self.emit(p.PRESENTV if decl.tagged else p.PRESENT8, presence.id)
        struct = self.struct(decl.subcon, name, path)
        self.program.code[start + 2] = self.here()
        return Nullable(name, path, presence, struct)

    def tags(self, decl: Any, path: str) -> Tags:
        """Lower a tag section."""
        where = f"{path}._tags" if path else "_tags"
        dot = f"{path}." if path else ""
        count = self.leaf("tag-count", "_tags", where, decl)
        unknown_header = self.leaf("tag-header", "_tags", f"{where}[]", decl)
        unknown_data = self.leaf("unknown-tag", "_tags", f"{where}[]", decl)
        assert unknown_data.id == unknown_header.id + 1  # noqa: S101 - the kernel relies on it
        headers = {field.tag: self.leaf("tag-header", field.name, dot + field.name, decl) for field in decl.known}
        self.flush()
        tables = self.program.tables
        first = len(tables)
        for tag in sorted(headers.keys() | decl.invalid):
            tables += (tag, -1, headers[tag].id if tag in headers else unknown_header.id)
        section = self.emit(p.TAGS, count.id, first, (len(tables) - first) // p.TAG_ROW)
        loop = self.emit(p.TAGNEXT, unknown_header.id)
        self.emit(p.TAGSIZE, unknown_header.id, section)
        self.open()
        fields: dict[int, tuple[Node, Any]] = {}
        rows = {tables[row]: row for row in range(first, len(tables), p.TAG_ROW)}
        for field in decl.known:
            tables[rows[field.tag] + 1] = self.here()
            fields[headers[field.tag].id] = (self.node(field.subcon, field.name, dot + field.name), field.default)
            self.emit(p.TAGEND, 0, loop)
        self.opened.pop()
        self.program.code[section + 4] = self.here()
        return Tags("_tags", where, count, fields, unknown_header, unknown_data)


def _length_op(decl: Sized) -> int:
    if isinstance(decl, VarintSized):
        return p.LENZ if decl.prefix.zigzag else p.LENU
    if decl.compact:
        return p.LENV
    return p.STR16 if decl.kind == "string" else p.LEN32


def _is_fixed(decl: Any) -> bool:
    if isinstance(decl, MessageStruct):
        return decl.tags is None and all(_is_fixed(sc.subcon) for sc in decl.subcons)
    return isinstance(decl, FIXED_SIZE)


def weight(decl: Any) -> int:
    """Return the weight of an element: the number of its structs above WEIGHTLESS for each byte.

    This is what an element costs beyond its bytes. The kernel bounds the number of elements by it.
    """
    structs, size = _extent(decl)
    return max(structs - p.WEIGHTLESS * size, 0)


def _extent(decl: Any) -> tuple[int, int]:
    """Return the number of structs in every value, and the least number of bytes of a value.

    Of an array only the count is in every value.
    """
    if isinstance(decl, MessageStruct):
        structs = 1
        size = int(decl.tags is not None)
        for sc in decl.subcons:
            more, least = _extent(sc.subcon)
            structs, size = structs + more, size + least
        return structs, size
    if isinstance(decl, NullableStruct):
        return _extent(decl.subcon)[0], 1
    return 0, decl.length if isinstance(decl, FIXED_SIZE) else 1


# Lowering of record formats: fields within a size, series without a count, fields that depend on attribute bits.


@cache
def records_entry(decl: MessageStruct) -> Entry:
    """Return the lowered layout of a declaration of `structs.records`, which is created once.

    All of them are in one program, so that one kernel run can walk jobs of several formats.
    """
    return _RecordLowering(_records_program()).entry(decl)


@cache
def _records_program() -> Program:
    return Program()


class _RecordLowering(Lowering):
    def node(self, decl: Any, name: str, path: str) -> Node:
        if isinstance(decl, composites.SizedStruct):
            return self.sized_struct(decl, name, path)
        if isinstance(decl, composites.Series):
            return self.series(decl, name, path)
        if isinstance(decl, composites.Rest) and self.within_size(decl):
            leaf = self.leaf(decl.kind, name, path, decl)
            self.emit(p.REST, leaf.id, decl.keep)
            return leaf
        return super().node(decl, name, path)

    def fixed_element(self, decl: Any, name: str, path: str) -> tuple[Node, list[tuple[Leaf, int]]] | None:
        return None if isinstance(decl, composites.SizedStruct) else super().fixed_element(decl, name, path)

    def struct(self, decl: MessageStruct, name: str, path: str) -> Struct:
        """Lower a struct. Headers of records consist only of lengths and bytes, which one step can read like
        records.
        """
        if (
            decl.tags
            or not decl.subcons
            or not all(isinstance(sc.subcon, VarintSized) and sc.subcon.prefix.zigzag for sc in decl.subcons)
        ):
            return super().struct(decl, name, path)
        trial = self.emit(p.TRY)
        node = super().struct(decl, name, path)
        self.attempted(trial, list(node.fields))
        return node

    def within_size(self, decl: Any) -> bool:
        """Return whether the innermost open scope is a size, or False if no scope is open.

        Raises TypeError if that scope is an array or a tag section, which hides the size from the kernel.
        """
        if self.opened and not self.opened[-1]:
            raise TypeError(f"{decl!r} can't stand in an array or tag section")
        return bool(self.opened)

    def sized_struct(self, decl: composites.SizedStruct, name: str, path: str) -> Struct:
        dot = f"{path}." if path else ""
        fields: list[Node] = []
        at: int | None = None
        places: dict[str, int] = {}
        tried = 0
        for i, sc in enumerate(decl.subcons):
            where = dot + sc.name
            if sc is decl.size:
                tried, trial = self.attempt([member.subcon for member in decl.subcons[i:]])
                fields.append(self.size(sc.subcon, sc.name, where))
                self.open(size=True)
                at = 0
            elif isinstance(sc.subcon, composites.Choice):
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
        op = p.SIZE32
        if not isinstance(decl, FixedInt):
            op = p.SIZEZ if decl.zigzag else p.SIZEU
        self.emit(op, leaf.id)
        return leaf

    def choice(self, decl: composites.Choice, name: str, path: str, at: int) -> Choice:
        """Lower a field that depends on bits of the byte at `at` after the size: the code of each form, which is
        skipped for other bits.
        """
        forms: dict[int, Node] = {}
        empty = None
        code = self.program.code
        ends = []
        cases = [(decl.mask * p.MASK + value, form) for value, form in decl.forms.items()]
        if decl.otherwise:
            cases.append((0, decl.otherwise))  # no bits are 0: always so
        for i, (test, form) in enumerate(cases):
            when = self.emit(p.WHEN, 0, at, test)
            node = self.node(form, name, path)
            forms[_first_node(node)] = node
            if isinstance(node, Series) and node.size is None:
                empty = node
            if i + 1 < len(cases):
                ends.append(self.emit(p.WHEN, 0, at, 1))  # no bits are 1: never so
            code[when + 4] = self.here()
        for end in ends:
            code[end + 4] = self.here()
        return Choice(name, path, forms, empty)

    def series(self, decl: composites.Series, name: str, path: str) -> Series:
        size = None
        if decl.size is not None:
            size = self.size(decl.size, name, path)
            self.open(size=True)
        bounded = self.within_size(decl)
        head = self.emit(p.UNTIL, 0, 0, 0, bounded)
        body = self.here()
        element = self.node(decl.element, name, f"{path}[]")
        tail = self.emit(p.UNTIL, 0, 0, body, bounded)
        if isinstance(self.program.leaves[_first_node(element)].decl, composites.Rest):
            raise TypeError(f"an element of {path} may have no bytes")
        self.program.code[head + 3] = body
        self.program.code[head + 2] = self.program.code[tail + 2] = self.here()
        if size:
            self.emit(p.SIZEEND)
            self.opened.pop()
        return Series(name, path, size, element, _first_node(element))

    def attempt(self, decls: list[Any]) -> tuple[int, int]:
        """Emit a TRY before a zig-zag size and the fields after it. Return the number of its fields and its
        position.
        """
        count = 0
        while count < len(decls) and _is_tried(decls[count]):
            count += 1
        return (count, self.emit(p.TRY)) if count and isinstance(decls[0], Varint) else (0, 0)

    def attempted(self, trial: int, leaves: list[Any]) -> None:
        """Complete a TRY after the code of its fields."""
        code = self.program.code
        tables = self.program.tables
        past = self.here()
        code[trial + 2 : trial + 5] = len(tables), len(leaves), past
        for i, leaf in enumerate(leaves):
            form = leaf.decl.length if isinstance(leaf.decl, FIXED_SIZE) else p.TRY_NUMBER
            least = 0
            if isinstance(leaf.decl, VarintSized):
                form = p.TRY_LENGTH
                least = -int(leaf.decl.nullable)
            elif i == 0:
                form = p.TRY_SIZE
            tables += (leaf.id, form, least)
        self.program.widest = max(self.program.widest, len(leaves) + 1)


def _is_tried(decl: Any) -> bool:
    """Return whether a TRY instruction can take the declaration."""
    return (
        isinstance(decl, FIXED_SIZE)
        or (isinstance(decl, Varint) and decl.zigzag)
        or (isinstance(decl, VarintSized) and decl.prefix.zigzag)
    )


def _first_node(node: Node) -> int:
    """Return the node of the first span of a node that always has a span."""
    if isinstance(node, Leaf):
        return node.id
    if isinstance(node, Struct) and node.fields:
        return _first_node(node.fields[0])
    if isinstance(node, Series):
        return node.size.id if node.size else node.first
    raise TypeError(f"{node.path} can't stand in a series or choice")
