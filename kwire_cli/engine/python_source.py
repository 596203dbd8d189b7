"""Python source of generated readers, and what readers give: values, roles, or MalformedError."""

from __future__ import annotations

import struct
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kwire_cli.structs.numbers import Varint


TOPIC, TOPIC_ID, ERROR = "topic", "topic-id", "error"
"""Roles of leaves whose values a reader collects."""


class MalformedError(Exception):
    """The bytes are not well-formed, or a reader can't tell: ask the kernel."""


class Read(NamedTuple):
    """The value of a message in JSON form, and the values of its leaves with a role, in order.

    `topics` are names of topics that are not empty, `ids` topic ids that are not zero, `errors` error codes that are
    not 0, `names` pairs of a topic's id and name that stand in one structure.
    """

    value: dict[str, Any]
    topics: Sequence[str]
    ids: Sequence[str]
    errors: Sequence[int]
    names: Sequence[tuple[str, str]]


# Python source as it is written: its lines, its namespace, and the functions that all readers call.

MOST_LINES, MOST_LOOPS, MOST_INDENTED = 4000, 12, 60
"""Limits of generated source, within what CPython compiles. A layout beyond them is left to the kernel; Kafka's
largest takes a tenth of them."""


class UnsupportedError(Exception):
    """A layout that no reader is made of: it is too large, or has a form that only the kernel reads."""


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
    zigzag, negative = decl.zigzag, 1 << (decl.bits - 1)

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
        """Return the name of what unpacks values of these codes of `struct`, which are never a definition's text."""
        name = f"unpack_{code}"
        self.space[name] = struct.Struct(f">{code}").unpack_from
        return name

    def add(self, *lines: str) -> None:
        """Write statements."""
        if len(self.lines) > MOST_LINES or self._indent > MOST_INDENTED:
            raise UnsupportedError
        self.lines += ["    " * self._indent + line for line in lines]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write a compound statement: what is written meanwhile is its body."""
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
        """Compile what was written; return the function of this name."""
        exec(compile("\n".join(self.lines), f"<{name}>", "exec"), self.space)  # noqa: S102 - no text of a definition is in it
        compiled: Callable[..., Any] = self.space[name]
        return compiled
