"""Programs: declarations lowered to integers for the kernel, and to nodes for everything that gives spans a meaning.

`code` contains instructions of STRIDE ints (op, node, a, b, c), `tables` the rows that they point to. The node numbers
also appear in spans. Several declarations can share one program, each with a separate entry, so that one kernel run
walks messages of many kinds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.structs.numbers import Bool

if TYPE_CHECKING:
    from collections.abc import Iterator

STRIDE = 5

# op            node            a                     b                    c
END = 0  #      -               -                     -                    -
RUN = 1  #      -               first table row       fields               -
LOOP = 2  #     -               the element's start   -                    -
TAGEND = 3  #   -               its TAGNEXT           -                    -
VARINT = 4  #   the number      most bytes            excess bits of last  -
UNTIL = 5  #    -               past the series       the element's start  within a size
SIZEEND = 6  #  -               -                     -                    -
REST = 7  #     the bytes       bytes to keep         -                    -
WHEN = 8  #     -               byte after the size   mask, value          where to go else
TRY = 9  #      -               first table row       fields               past these fields
# From here on a number is read first: a byte,
PRESENT8 = 10  # presence        where null goes       -                    -
# an int16 or int32,
STR16 = 11  #   string          nullable              longest length       -
LEN32 = 12  #   bytes, records  nullable              longest length       -
ARRAY32 = 13  # count           where the loop ends   nullable             weight of an element
FIXED32 = 14  # count           first table row       fields per element   nullable
#               without fields: weight of an element
SIZE32 = 15  #  the size        -                     -                    -
# or an unsigned varint, which is the length plus one,
LENV = 16  #    like LEN32
ARRAYV = 17  #  like ARRAY32
FIXEDV = 18  #  like FIXED32
# or is the number,
PRESENTV = 19  # like PRESENT8
TAGS = 20  #    count           first table row       known tags           where the section ends
TAGNEXT = 21  # unknown header  -                     -                    -
TAGSIZE = 22  # unknown header  its TAGS              -                    -
LENU = 23  #    like LEN32
SIZEU = 24  #   like SIZE32
# or is zig-zag.
LENZ = 25  #    like LEN32
ARRAYZ = 26  #  like ARRAY32
SIZEZ = 27  #   like SIZE32

MASK = 256
"""A WHEN takes its two numbers as one: mask times this, plus value."""

TRY_ROW = 3
"""node, bytes of a number of fixed size or one of the forms below, least length. A TRY reads the usual forms in one
step: varints of at most 3 bytes without overlong forms, and lengths that are not null. For other forms it leaves the
fields to the instructions after it, which report the anomalies."""
TRY_NUMBER = -1
TRY_LENGTH = -2
TRY_SIZE = -3
"""The three are forms of a TRY, all of them zig-zag varints."""
RUN_ROW = 2
"""node, end of the field relative to the start of the run."""
TAG_ROW = 3
"""tag, start of its payload in the code or -1 if it is not valid in this version, node of its header; the rows of a
section ascend by tag."""

WEIGHTLESS = 16
"""Structs of an array's element that are free, per byte of the element's minimum size. The weight of an element is the
number of its further structs. The total weight of a message is limited to its bytes, so that the work is proportional
to them. No element in the definitions of Kafka has a weight."""

GAP = 0
"""The node of bytes that could not be decoded."""


class Leaf(NamedTuple):
    """The meaning of one span.

    `kind` is Kafka's type of the value, or count, presence, tag-count, tag-header, unknown-tag, gap. `path` is the
    field's, without indexes: `topics[].name`. `decl` is the construct that reads the value. For a count it is the
    array's construct.
    """

    id: int
    kind: str
    name: str
    path: str
    decl: Any


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """Fields in order, then the tag section of a flexible version.

    `flat` is the number of fields if all of them are leaves, so that their spans are always consecutive; else 0. `size`
    is the number of the field with the size of the fields after it, or -1.
    """

    name: str
    path: str
    fields: tuple[Node, ...]
    tags: Tags | None
    flat: int = 0
    size: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """A count and elements."""

    name: str
    path: str
    count: Leaf
    element: Node


@dataclass(frozen=True, slots=True, eq=False)
class Nullable:
    """A presence marker and a struct."""

    name: str
    path: str
    presence: Leaf
    struct: Struct


@dataclass(frozen=True, slots=True, eq=False)
class Tags:
    """A tag section; `known` maps a header's node number to the field after it and its default in JSON form."""

    name: str
    path: str
    count: Leaf
    known: dict[int, tuple[Node, Any]]
    unknown_header: Leaf
    unknown_data: Leaf


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Elements without a count, after their size in bytes or without any prefix. If the next span is `first`, another
    element follows.
    """

    name: str
    path: str
    size: Leaf | None
    element: Node
    first: int


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A field in one of several forms, or absent. `forms` are by the node of their first span; without one of these
    spans the form is `empty`, a series.
    """

    name: str
    path: str
    forms: dict[int, Node]
    empty: Series | None


Node = Leaf | Struct | Array | Nullable | Tags | Series | Choice


def below(node: Node) -> Iterator[Node]:
    """Yield the components of a node in the order of the spans. Those that only the bytes determine are omitted."""
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


def leaf_ids(node: Node) -> Iterator[int]:
    """Yield the ids of the leaves of a node, headers of tagged fields with them."""
    if isinstance(node, Leaf):
        yield node.id
    if isinstance(node, Tags):
        yield from node.known
    for child in below(node):
        yield from leaf_ids(child)


@dataclass(slots=True)
class Program:
    """The program that the kernel runs.

    `leaves[n]` is the meaning of a span of node n. `depth` is the largest number of loops, tag sections and sizes
    open at once.
    """

    code: list[int] = field(default_factory=list)
    tables: list[int] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=lambda: [Leaf(GAP, "gap", "", "", None)])
    depth: int = 0
    widest: int = 4
    """The most spans that one step emits, apart from fixed arrays, which the kernel can leave half-way."""


class Entry(NamedTuple):
    """The entry of a declaration in a program: the kernel's `pc`, and the root of the declaration's nodes."""

    program: Program
    pc: int
    root: Struct


def holds_records(entry: Entry) -> bool:
    """Return whether a layout has any field of type records."""
    return any(leaf.kind == "records" for leaf in entry.program.leaves)


CERTAIN, TEXT, FLAG, DOUBTFUL = range(4)


def doubt_of(leaf: Leaf) -> int:
    """Return the check that a value needs in addition to the flags of spans, to exclude an anomaly.

    TEXT may be invalid UTF-8, FLAG has to be 0 or 1, and a DOUBTFUL value needs a tree.
    """
    if leaf.kind == "string":
        return TEXT
    if isinstance(leaf.decl, Bool):
        return FLAG
    return DOUBTFUL if leaf.kind in {"tag-header", "unknown-tag"} or getattr(leaf.decl, "declared", None) else CERTAIN


JOB = 7
"""Ints of a job: pc, start, stop; then filled in by the kernel: first span, bytes used, bits of the gap, node that
could not be read."""
FRAME = 4
"""Ints on the stack for an open loop (elements left), tag section (tags left, tag, end of its payload, span of its
header) or size (its end, the start of its content, its span)."""

# The kernel's state: pc, position, stop, stack top, job, fixed elements left, elements without bytes; then these; then
# the stack.
STATE_JOB = 4
STATE_BASE = 7  # spans written by earlier calls
STATE_ROOM = 8  # spans in the output at which to stop
STATE_WIDEST = 9  # the program's
STATE_JOBS = 10  # number of jobs
STATE_SPANS = 11  # spans written by this call
STATE_FLAGS = 12  # ints of flag pairs written by this call
STACK = 13
