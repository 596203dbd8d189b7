"""Python source of generated readers, and their results: values, roles, or MalformedError.

A reader is generated per layout, because a Python function with the fields unrolled is several times as fast as a loop
over a program. `Source` collects the lines. A sink determines the values that a reader builds from well-formed bytes.
"""

from __future__ import annotations

import math
import struct
from binascii import b2a_base64
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.program import Leaf
from kwire_cli.structs import numbers
from kwire_cli.structs.composites import SIZE_SUFFIX
from kwire_cli.structs.numbers import FLOAT64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kwire_cli.engine.program import Node, Program
    from kwire_cli.structs.numbers import Varint


TOPIC = "topic"
TOPIC_ID = "topic-id"
ERROR = "error"
"""The three are the roles of leaves whose values a reader collects."""


class MalformedError(Exception):
    """The bytes are malformed, or too unusual for a reader: the kernel has to decode them."""


class Read(NamedTuple):
    """The value of a message in JSON form, and the values of its leaves with a role, in order.

    `topics` are names of topics that are not empty, `ids` topic ids that are not zero, `errors` error codes that are
    not 0, `names` pairs of a topic's id and name in the same structure.
    """

    value: dict[str, Any]
    topics: Sequence[str]
    ids: Sequence[str]
    errors: Sequence[int]
    names: Sequence[tuple[str, str]]


# Python source as it is written: its lines, its namespace, and the functions that all readers call.

MOST_LINES = 4000
MOST_LOOPS = 12
MAX_INDENTED = 60
"""The three are limits of generated source, within CPython's limits. Larger layouts are left to the kernel; Kafka's
largest needs a tenth of them."""


class UnsupportedError(Exception):
    """A layout without a reader: it is too large, or has a form that only the kernel reads."""


def more(data: Any, at: int, number: int) -> tuple[int, int]:
    """Return an unsigned varint whose first byte was `number`, above 127, and where the varint ends."""
    number &= 127
    for shift in (7, 14, 21, 28):
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            if byte == 0 or (shift == 28 and byte > 7):
                raise MalformedError
            return number, at
    raise MalformedError


def unsigned(data: Any, at: int) -> tuple[int, int]:
    """Return the unsigned varint at `at`, and where it ends."""
    number = data[at]
    return more(data, at + 1, number) if number > 127 else (number, at + 1)


def unknown_tags(data: Any, at: int, stop: int, invalid: frozenset[int]) -> tuple[list[tuple[int, bytes]], int]:
    """Return the tagged fields of a section in which no tag is known, and where the section ends."""
    count, at = unsigned(data, at)
    if count > stop - at:
        raise MalformedError
    fields: list[tuple[int, bytes]] = []
    last = -1
    for _ in range(count):
        tag, at = unsigned(data, at)
        size, at = unsigned(data, at)
        if tag <= last or size > stop - at or tag in invalid:
            raise MalformedError
        fields.append((tag, data[at : at + size]))
        last, at = tag, at + size
    return fields, at


@lru_cache(maxsize=1024)
def varint_reader(decl: Varint) -> Callable[[Any, int], tuple[int, int]]:
    """Return what reads a varint of this declaration: the number, and where it ends."""
    longest = 7 * (decl.max_bytes - 1)
    excess = 0x7F & ~((1 << (decl.bits - longest)) - 1)
    low, high = decl.declared or (-(1 << 64), 1 << 64)
    zigzag = decl.zigzag
    negative = 1 << (decl.bits - 1)

    def read(data: Any, at: int) -> tuple[int, int]:
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                break
            shift += 7
            if shift > longest:
                raise MalformedError
        if (byte == 0 and shift) or (shift == longest and byte & excess):
            raise MalformedError
        number = number >> 1 ^ -(number & 1) if zigzag else number - 2 * (number & negative)
        if not low <= number <= high:
            raise MalformedError
        return number, at

    return read


SHORT = tuple(byte >> 1 ^ -(byte & 1) if byte < 128 else None for byte in range(256))
"""The number of a zig-zag varint of one byte; None for a byte that another one follows."""
_SPACE: dict[str, Any] = {
    "Malformed": MalformedError,
    "struct_error": struct.error,
    "unpack": struct.unpack_from,
    "SHORT": SHORT,
    "more": more,
    "unsigned": unsigned,
    "unknown_tags": unknown_tags,
    "make": tuple.__new__,
    "Read": Read,
}


class Source:
    """Statements of a function as they are written, and the namespace that they use."""

    def __init__(self, space: Mapping[str, Any]) -> None:
        self.lines: list[str] = []
        self.space: dict[str, Any] = {**_SPACE, **space}
        self._constants: dict[tuple[type, Any], str] = {}
        self._names = self._indent = self._loops = 0

    def name(self) -> str:
        """Return a name that nothing else has."""
        self._names += 1
        return f"v{self._names}"

    def constant(self, value: Any) -> str:
        """Return the name of a value in the namespace."""
        key = (type(value), value if isinstance(value, str) else id(value))
        if key not in self._constants:
            self._constants[key] = name = f"K{len(self._constants)}"
            self.space[name] = value
        return self._constants[key]

    def unpack(self, code: str) -> str:
        """Return the name of a function that unpacks values by these codes of `struct`, which are safe in source."""
        name = f"unpack_{code}"
        self.space[name] = struct.Struct(f">{code}").unpack_from
        return name

    def add(self, *lines: str) -> None:
        """Write statements."""
        if len(self.lines) > MOST_LINES or self._indent > MAX_INDENTED:
            raise UnsupportedError
        self.lines += ["    " * self._indent + line for line in lines]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write a compound statement. Lines written inside the context are its body."""
        loops = head.startswith(("for ", "while "))
        self.add(head)
        self._indent += 1
        self._loops += loops
        if self._loops > MOST_LOOPS:
            raise UnsupportedError
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.add("pass")
        self._indent -= 1
        self._loops -= loops

    def function(self, name: str) -> Callable[..., Any]:
        """Compile the lines and return the function of this name."""
        exec(compile("\n".join(self.lines), f"<{name}>", "exec"), self.space)  # noqa: S102 - no text of a definition is in it
        compiled: Callable[..., Any] = self.space[name]
        return compiled


# Sinks: their methods return Python expressions, and statements, of the names of a reader's source.

uuid_text = lru_cache(maxsize=4096)(numbers.uuid_text)
"""The text of a uuid, kept, as captures repeat their few topics."""


def float64(number: float) -> float | str:
    """Return the JSON form of a float."""
    return number if math.isfinite(number) else FLOAT64.read(struct.pack(">d", number))


def base64_text(data: bytes) -> str:
    """Return the base64 text of bytes."""
    return b2a_base64(data, newline=False).decode("ascii")


def unknown_json(tags: list[tuple[int, bytes]]) -> list[dict[str, Any]]:
    """Return the JSON form of unknown tagged fields."""
    return [{"tag": tag, "data": base64_text(data)} for tag, data in tags]


_SINK_SPACE: dict[str, Any] = {
    "uuid": uuid_text,
    "float64": float64,
    "base64": base64_text,
    "unknown_json": unknown_json,
    "NO_ID": uuid_text(bytes(16)),
}


class Sink:
    """A sink that builds Kafka's JSON form from Python objects; `records` is the form of records, as in `values.Form`.

    Attributes:
        space: The names of a reader's namespace that expressions and statements use.
        names: The variables of fields that statements use, by the field's name. They are ours: for record formats.
        empty: The value of an array without elements after a zig-zag count.

    """

    space: Mapping[str, Any] = _SINK_SPACE
    names: Mapping[str, str] = {}
    empty = "[]"

    def __init__(self, records: str = "base64") -> None:
        self.records = records

    def keeps(self, node: Node, *, top: bool) -> bool:  # noqa: ARG002 - other sinks look at them
        """Return whether the value of a node is wanted; `top` is true for fields of the message itself."""
        return True

    def tagged(self) -> Sink:
        """Return the sink of tagged fields, whose values are wanted in any case."""
        return self

    def before(self, name: str) -> Sequence[str]:  # noqa: ARG002 - as above
        """Return statements to insert before a field, whose value is `name`."""
        return ()

    def after(self, name: str) -> Sequence[str]:  # noqa: ARG002 - as above
        """Return statements to insert after a field; `name_size` is the length of a string or bytes."""
        return ()

    def string(self, data: str) -> str:
        """Return the value of a string's bytes."""
        return f"{data}.decode()"

    def data(self, node: Leaf, data: str, size: str) -> str:
        """Return the value of bytes or records."""
        if node.kind != "records" or self.records == "base64":
            return f"base64({data})"
        return size if self.records == "size" else data

    def array(self, out: Source, name: str) -> None:
        """Write statements that make the value of an array of the list of its elements."""

    def only(self, value: str) -> str:
        """Return the value of an array of one element after a zig-zag count."""
        return f"[{value}]"

    def struct(self, out: Source, pairs: Sequence[tuple[Node, str]]) -> str:
        """Return the value of a structure with these fields and values."""
        return "{" + ", ".join(f"{self._key(out, node, value)}: {value}" for node, value in pairs) + "}"

    def _key(self, out: Source, node: Node, value: str) -> str:
        if isinstance(node, Leaf) and node.kind == "records" and self.records == "size":
            return f"({out.constant(node.name)} if {value} is None else {out.constant(node.name + SIZE_SUFFIX)})"
        return out.constant(node.name)


class Skip(Sink):
    """A sink that only reads the single fields of the message itself."""

    def keeps(self, node: Node, *, top: bool) -> bool:
        """Return whether a field of the message costs next to nothing."""
        return top and isinstance(node, Leaf) and node.kind not in {"bytes", "records"}

    def tagged(self) -> Sink:
        """Return the sink of tagged fields, whose values are compared with their defaults."""
        return Sink()


class Counter(Sink):
    """A sink that counts bytes by leaf, as the spans do. Tag sections that are not empty are left to the spans.

    A reader adds to few counters (`sums`): one for each group of leaves that occur together, and one for each variable
    size. `totals` computes the bytes of each leaf. `places` are nodes of leaves whose places are collected too; `most`
    are counters that continue from earlier calls.

    """

    count: Callable[..., Any]

    def __init__(self, program: Program, places: Mapping[int, Any] | None = None, most: Sequence[str] = ()) -> None:
        super().__init__()
        self.program = program
        self.places = places or {}
        self.most = most
        self.leaves: list[tuple[Leaf, int, int, int, int, int]] = []
        self.structures: list[str] = []
        self.sized: list[str] = []
        self._numbers: list[str] = []
        self._seldom: set[str] = set()
        self._at = 0

    def sums(self) -> list[int]:
        """Return the numbers of nothing."""
        return [0] * (len(self._numbers) + len(self.most))

    def totals(self, sums: Sequence[int]) -> Iterator[tuple[Leaf, int, int, int]]:
        """Yield the totals of each leaf that occurred: bytes before values, bytes of values, occurrences."""
        for leaf, occurs, prefix, more_prefix, value, more_value in self.leaves:
            if times := sums[occurs]:
                before, own = (sums[more] if more >= 0 else 0 for more in (more_prefix, more_value))
                yield leaf, times * prefix + before, times * value + own, times

    def structure(self) -> str:
        """Return the name of the number of a structure's occurrences."""
        self.structures.append(self.more())
        return self.structures[-1]

    def more(self, *, seldom: bool = False) -> str:
        """Return the name of another counter; `seldom` is set if it is mostly 0."""
        name = f"n{len(self._numbers)}"
        self._numbers.append(name)
        if seldom:
            self._seldom.add(name)
        return name

    def leaf(
        self, leaf: Leaf, occurs: str, prefix: int = 0, more_prefix: str = "", *, value: int = 0, more_value: str = ""
    ) -> None:
        """Assign the counters of a leaf: its occurrences, and its fixed bytes with the counters of further bytes."""
        self.leaves.append(
            (leaf, self._number(occurs), prefix, self._number(more_prefix), value, self._number(more_value))
        )

    def _number(self, name: str) -> int:
        return int(name[1:]) if name else -1

    def begin(self, out: Source) -> None:
        """Write the start of a function; `end` completes it."""
        self._at = len(out.lines)
        out.add("pass", "pass")

    def end(self, out: Source) -> None:
        """Write what adds the numbers up."""
        first = len(self._numbers)
        indent = out.lines[self._at].removesuffix("pass")
        out.lines[self._at] = f"{indent}{' = '.join(self._numbers)} = 0"
        if self.most:
            out.lines[self._at + 1] = f"{indent}{', '.join(self.most)}, = sums[{first}:]"
            out.add(f"sums[{first}:] = {', '.join(self.most)},")
        out.add(
            *(f"{f'if {name}: ' * (name in self._seldom)}sums[{at}] += {name}" for at, name in enumerate(self._numbers))
        )

    def keeps(self, node: Node, *, top: bool) -> bool:  # noqa: ARG002 - as above
        """Keep nothing."""
        return False
