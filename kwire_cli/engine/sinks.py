"""Sinks of readers: what becomes of well-formed bytes.

Their methods return Python expressions, and statements, of the names of a reader's source.
"""

from __future__ import annotations

import math
import struct
from binascii import b2a_base64
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.program import Leaf
from kwire_cli.structs import numbers
from kwire_cli.structs.messages import SIZE_SUFFIX
from kwire_cli.structs.numbers import FLOAT64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kwire_cli.engine.program import Node, Program
    from kwire_cli.engine.python_source import Source

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


_SPACE: dict[str, Any] = {
    "uuid": uuid_text,
    "float64": float64,
    "base64": base64_text,
    "unknown_json": unknown_json,
    "NO_ID": uuid_text(bytes(16)),
}


class Sink:
    """A sink that makes Kafka's JSON form of Python objects; `records` says how records are shown, as in `values.Form`.

    Attributes:
        space: The names of a reader's namespace that expressions and statements use.
        names: The variables of fields that statements use, by the field's name. They are ours: for record formats.
        empty: The value of an array without elements behind a zig-zag count.

    """

    space: Mapping[str, Any] = _SPACE
    names: Mapping[str, str] = {}
    empty = "[]"

    def __init__(self, records: str = "base64") -> None:
        self.records = records

    def keeps(self, node: Node, *, top: bool) -> bool:  # noqa: ARG002 - other sinks look at them
        """Return whether the value of a node is wanted; `top` says that the node is a field of the message itself."""
        return True

    def tagged(self) -> Sink:
        """Return the sink of tagged fields, whose values are wanted in any case."""
        return self

    def before(self, name: str) -> Sequence[str]:  # noqa: ARG002 - as above
        """Return statements that stand before a field, whose value is `name`."""
        return ()

    def after(self, name: str) -> Sequence[str]:  # noqa: ARG002 - as above
        """Return statements that stand behind a field; `name_size` is the length of a string or bytes."""
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
        """Return the value of an array of one element behind a zig-zag count."""
        return f"[{value}]"

    def struct(self, out: Source, pairs: Sequence[tuple[Node, str]]) -> str:
        """Return the value of a structure with these fields and values."""
        return "{" + ", ".join(f"{self._key(out, node, value)}: {value}" for node, value in pairs) + "}"

    def _key(self, out: Source, node: Node, value: str) -> str:
        if isinstance(node, Leaf) and node.kind == "records" and self.records == "size":
            return f"({out.constant(node.name)} if {value} is None else {out.constant(node.name + SIZE_SUFFIX)})"
        return out.constant(node.name)


class Skip(Sink):
    """A sink that makes nothing but the single fields of the message itself."""

    def keeps(self, node: Node, *, top: bool) -> bool:
        """Return whether a field of the message costs next to nothing."""
        return top and isinstance(node, Leaf) and node.kind not in {"bytes", "records"}

    def tagged(self) -> Sink:
        """Return the sink of tagged fields, whose values are compared with their defaults."""
        return Sink()


class Counter(Sink):
    """A sink that counts bytes by leaf, as spans say them; tag sections that are not empty are left to spans.

    A reader adds to numbers (`sums`) that are as few as can be: what leaves have in common, and what differs in size.
    `totals` says what they come to. `places` are nodes of leaves whose places are wanted too; `most` are counters
    that begin where the numbers of earlier calls ended.

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
        """Return what numbers say of each leaf that occurred: bytes before values, bytes of values, occurrences."""
        for leaf, occurs, prefix, more_prefix, value, more_value in self.leaves:
            if times := sums[occurs]:
                before, own = (sums[more] if more >= 0 else 0 for more in (more_prefix, more_value))
                yield leaf, times * prefix + before, times * value + own, times

    def structure(self) -> str:
        """Return the name of the number of a structure's occurrences."""
        self.structures.append(self.more())
        return self.structures[-1]

    def more(self, *, seldom: bool = False) -> str:
        """Return the name of another number; `seldom` says that it is mostly 0."""
        name = f"n{len(self._numbers)}"
        self._numbers.append(name)
        if seldom:
            self._seldom.add(name)
        return name

    def leaf(
        self, leaf: Leaf, occurs: str, prefix: int = 0, more_prefix: str = "", *, value: int = 0, more_value: str = ""
    ) -> None:
        """Say which numbers are a leaf's: its occurrences; bytes that each has, and the number of what is beyond
        them.
        """
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
