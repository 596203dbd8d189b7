"""What is seen of one frame or batch: its fields in the order of the bytes, these bytes, what is odd, and what each field costs."""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kwire_cli.view.html.fields import COUNT, PRESENCE, TAGS
from kwire_cli.view.html.outline import CLASSES
from kwire_cli.view.json import dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kwire_cli.cost.ledger import Row
    from kwire_cli.view.lines import Line

_STYLES = {letter: style for style, letter in CLASSES.items()}
_OF_PARENT = frozenset({COUNT, PRESENCE, "(size)"})
_INDEX = re.compile(r"\[\d+\]")
_ELEMENT = re.compile(r"\[\d+\]$")
BODY = "(body)"
MASK = "**"


@dataclass(frozen=True, slots=True)
class Node:
    """A field at a depth: bytes [start, end) of a buffer, whose value begins at `value`.

    `path` has its indexes, and is empty for what is no field.
    """

    depth: int
    name: str
    kind: str
    buffer: int
    start: int
    value: int
    end: int
    shown: Line
    path: str

    @property
    def cost_path(self) -> str:
        """The path that it has in a ledger."""
        return _INDEX.sub("[]", self.path)


@dataclass(frozen=True, slots=True)
class Buffer:
    """Bytes of the input, or what they were decompressed to: `data` are the first of `size`, the first one at offset `at`.

    `masked` are ranges of `data` that must not be seen; it has zeros there.
    """

    name: str
    at: int
    size: int
    data: bytes
    masked: tuple[tuple[int, int], ...]

    @property
    def end(self) -> int:
        """Where its bytes that are there end."""
        return self.at + len(self.data)

    def cells(self, start: int, end: int) -> list[str]:
        """Two hex digits, or stars, for each of these bytes that is there."""
        low, high = max(start - self.at, 0), min(end - self.at, len(self.data))
        return [MASK if self.is_masked(i) else f"{self.data[i]:02x}" for i in range(low, high)]

    def is_masked(self, index: int) -> bool:
        """Whether the byte at this index of the data must not be seen."""
        at = bisect_right(self.masked, (index, len(self.data) + 1)) - 1
        return at >= 0 and index < self.masked[at][1]


@dataclass(frozen=True)
class Look:
    """All of it. `document` makes its JSON form when that is asked for. `left_out` are fields for which there was no room."""

    nodes: list[Node]
    buffers: list[Buffer]
    anomalies: list[dict[str, Any]]
    costs: list[Row]
    document: Callable[[], Any]
    left_out: int = 0
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def parents(self) -> list[int]:
        """The number of the node above each; -1 at the top."""
        above: list[int] = []
        found = []
        for number, node in enumerate(self.nodes):
            del above[node.depth :]
            found.append(above[-1] if above else -1)
            above.append(number)
        return found

    @cached_property
    def has_parts(self) -> list[bool]:
        """Whether anything stands below each node."""
        found = [False] * len(self.nodes)
        for parent in self.parents:
            if parent >= 0:
                found[parent] = True
        return found

    def node_at(self, buffer: int, offset: int) -> int | None:
        """The number of the innermost node with this byte; None where there is none."""
        found = None
        for number, node in enumerate(self.nodes):
            if node.buffer == buffer and node.start <= offset < node.end:
                found = number
        return found

    def node_of(self, anomaly: dict[str, Any]) -> int | None:
        """The node that an anomaly is about: the one of its path, else the innermost one where it was found."""
        path, offset = anomaly["path"], anomaly["offset"]
        named = [number for number, node in enumerate(self.nodes) if path and node.path == path]
        for number in named:
            if self.nodes[number].start <= offset <= self.nodes[number].end:
                return number
        return named[0] if named else self.node_at(0, offset)

    def next_of(self, cost_path: str, after: int) -> int | None:
        """The next node with this path in a ledger, from the first on where there is none behind `after`."""
        found = [number for number, node in enumerate(self.nodes) if node.path and node.cost_path == cost_path]
        return next((number for number in found if number > after), found[0] if found else None)

    def hex_of(self, node: Node) -> str:
        """Its bytes in hex, stars for those that must not be seen; those that are not there are left away."""
        return "".join(self.buffers[node.buffer].cells(node.start, node.end))

    def json_of(self, node: Node) -> str | None:
        """Its value in the JSON form of the whole; None for what has none of its own there."""
        document = self.document()
        value = document.get("body", document) if isinstance(document, dict) and not node.path.startswith("header.") else document
        steps = [step for step in re.split(r"\.|\[(\d+)\]", node.path) if step]
        if not steps:
            return None
        for step in steps:
            if isinstance(value, list) and step.isdigit() and int(step) < len(value):
                value = value[int(step)]
            elif isinstance(value, dict) and step in value:
                value = value[step]
            else:
                return None
        return dumps(value, indent=True)


def look_of(entry: dict[str, Any], costs: list[Row], document: Callable[[], Any], notes: Iterable[str] = ()) -> Look:
    """What an outline in JSON form holds (`view.html.outline`)."""
    above: list[str | None] = []
    nodes = []
    for depth, name, kind, buffer, start, value, end, *pieces in entry["nodes"]:
        del above[depth:]
        path = _path(above[-1] if above else "", name)
        above.append(path)  # of what is no field, and of all below it, None
        shown = [(text, _STYLES.get(letter, "")) for text, letter in zip(pieces[::2], pieces[1::2], strict=True)]
        nodes.append(Node(depth, name, kind, buffer, start, value, end, shown, path or ""))
    buffers = [Buffer(each["name"], each["at"], each["size"], base64.b64decode(each["data"]), _joined(each["masked"])) for each in entry["buffers"]]
    return Look(nodes, buffers, entry["anomalies"], costs, document, entry.get("leftOut", 0), tuple(notes))


def _joined(ranges: list[list[int]]) -> tuple[tuple[int, int], ...]:
    """The same ranges in order, none within another."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return tuple(found)


def _path(above: str | None, name: str) -> str | None:
    """The path of what has this name below a path.

    What is in brackets is no field: a count belongs to what it counts, and a message in a field is no part of the paths around it.
    """
    if above is None or name in _OF_PARENT:
        return above
    if name == BODY:
        return ""
    if name == TAGS:
        return f"{above}._tags" if above else "_tags"
    if name.startswith("("):
        return None
    if _ELEMENT.fullmatch(name):
        return above + name
    return f"{above}.{name}" if above else name
