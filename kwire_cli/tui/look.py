"""One frame or batch as the panes show it, and listings."""

from __future__ import annotations

import base64
import re
import time
from bisect import bisect_right
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kwire_cli.analysis.costs.ledger import GAP_PATH, Row, ledger
from kwire_cli.view.html.outline import CLASSES, COUNT, PRESENCE, TAGS
from kwire_cli.view.json import dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from kwire_cli.message.frames import Frame
    from kwire_cli.view.lines import Line


# Taking turns: long work beside a screen that has to answer at once, with bytes that only one of them may
# read at a time.

T = TypeVar("T")


TURN = 0.01
"""Seconds of work at a time: less than eyes and fingers notice."""
PAUSE, LONG_PAUSE = 0.0005, 0.02
"""Seconds between two turns of work; the longer one while somebody presses keys."""
ACTIVE = 0.3
"""Seconds for which a key counts."""
WAIT = 0.03
"""Seconds that the screen waits for a turn."""
SWITCH = 0.0005
"""Seconds after which Python lets another thread go on: the screen takes many short steps, and would wait for each as
long as for work."""


class Pace:
    """Counts the time since the last turn."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def is_due(self) -> bool:
        """Return whether the turn is over. If so, the next turn begins."""
        now = time.monotonic()
        if now - self._since < TURN:
            return False
        self._since = now
        return True


class Turns:
    """A lock that the screen holds (`with turns`) while it makes something of the bytes, and work while it does a step
    (`step`).
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._asked = 0.0

    def ask(self) -> None:
        """Somebody has pressed a key: there is more to do for the screen now."""
        self._asked = time.monotonic()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    @contextmanager
    def attempt(self) -> Iterator[bool]:
        """A turn of the screen if it gets one soon, and whether it did: it must not stand still while a large frame is
        decoded.
        """
        acquired = self._lock.acquire(timeout=WAIT)
        try:
            yield acquired
        finally:
            if acquired:
                self._lock.release()

    def step(self, steps: Iterator[T]) -> T | None:
        """The next of some steps of work, and time for the screen after it; None behind the last."""
        with self._lock:
            result = next(steps, None)
        time.sleep(LONG_PAUSE if time.monotonic() - self._asked < ACTIVE else PAUSE)
        return result


# What the fields of one frame cost, under the paths that they have in its tree.


def frame_costs(frame: Frame) -> list[Row]:
    """The rows of size, header and body; they add up to the frame's bytes."""
    costs = []
    counted = 0
    for name, part in frame.parts:
        rows = ledger(part)
        counted += part.stop - part.start
        costs += rows if name == "body" else [replace(row, path=f"{name}.{row.path}") for row in rows]
    rest = frame.size - counted
    return [*costs, Row(GAP_PATH, 0, rest, 1)] if rest else costs


# What is seen of one frame or batch: its fields in the order of the bytes, these bytes, what is odd, and what
# each field costs.

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
    """Bytes of the input, or what they were decompressed to: `data` are the first of `size`, the first one at offset
    `at`.

    `masked` are ranges of `data` that must not be seen; it has zeros there.
    """

    name: str
    at: int
    size: int
    data: bytes
    masked: tuple[tuple[int, int], ...]

    @property
    def end(self) -> int:
        """The offset at which the bytes in `data` end."""
        return self.at + len(self.data)

    def cells(self, start: int, end: int) -> list[str]:
        """Two hex digits, or stars, for each of these bytes that is there."""
        low, high = max(start - self.at, 0), min(end - self.at, len(self.data))
        return [MASK if self.is_masked(i) else f"{self.data[i]:02x}" for i in range(low, high)]

    def is_masked(self, index: int) -> bool:
        """Return whether the byte at this index of the data must not be shown."""
        at = bisect_right(self.masked, (index, len(self.data) + 1)) - 1
        return at >= 0 and index < self.masked[at][1]


@dataclass(frozen=True)
class Look:
    """All of it. `document` makes its JSON form when that is asked for. `left_out` are fields for which there was no
    room.
    """

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
        numbers = []
        for number, node in enumerate(self.nodes):
            del above[node.depth :]
            numbers.append(above[-1] if above else -1)
            above.append(number)
        return numbers

    @cached_property
    def has_parts(self) -> list[bool]:
        """A flag for each node that tells whether anything stands below the node."""
        flags = [False] * len(self.nodes)
        for parent in self.parents:
            if parent >= 0:
                flags[parent] = True
        return flags

    def node_at(self, buffer: int, offset: int) -> int | None:
        """The number of the innermost node with this byte; None where there is none."""
        innermost = None
        for number, node in enumerate(self.nodes):
            if node.buffer == buffer and node.start <= offset < node.end:
                innermost = number
        return innermost

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
        numbers = [number for number, node in enumerate(self.nodes) if node.path and node.cost_path == cost_path]
        return next((number for number in numbers if number > after), numbers[0] if numbers else None)

    def hex_of(self, node: Node) -> str:
        """Its bytes in hex, stars for those that must not be seen; those that are not there are left away."""
        return "".join(self.buffers[node.buffer].cells(node.start, node.end))

    def json_of(self, node: Node) -> str | None:
        """Its value in the JSON form of the whole; None for what has none of its own there."""
        document = self.document()
        value = (
            document.get("body", document)
            if isinstance(document, dict) and not node.path.startswith("header.")
            else document
        )
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
    """Return the look of an outline in JSON form (`view.html.outline`)."""
    above: list[str | None] = []
    nodes = []
    for depth, name, kind, buffer, start, value, end, *pieces in entry["nodes"]:
        del above[depth:]
        path = _path(above[-1] if above else "", name)
        above.append(path)  # of what is no field, and of all below it, None
        segments = [(text, _STYLES.get(letter, "")) for text, letter in zip(pieces[::2], pieces[1::2], strict=True)]
        nodes.append(Node(depth, name, kind, buffer, start, value, end, segments, path or ""))
    buffers = [
        Buffer(
            raw_buffer["name"],
            raw_buffer["at"],
            raw_buffer["size"],
            base64.b64decode(raw_buffer["data"]),
            _joined(raw_buffer["masked"]),
        )
        for raw_buffer in entry["buffers"]
    ]
    return Look(nodes, buffers, entry["anomalies"], costs, document, entry.get("leftOut", 0), tuple(notes))


def _joined(ranges: list[list[int]]) -> tuple[tuple[int, int], ...]:
    """The same ranges in order, none within another."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], high)
        else:
            merged.append((low, high))
    return tuple(merged)


def _path(above: str | None, name: str) -> str | None:
    """The path of what has this name below a path.

    What is in brackets is no field: a count belongs to what it counts, and a message in a field is no part of the paths
    around it.
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


# What a list in the terminal is made of, whatever the file holds; and the choice of what to show of a file.


class Listing(Protocol):
    """Frames or batches by number, from 0, which are read in one thread (`read`) and looked at in another."""

    what: tuple[str, str]
    """What one of them is called, and several."""
    number_is: str
    """What `numbered` takes."""
    notes: list[str]
    """What has to be said of the file besides, once it was read."""

    def __len__(self) -> int:
        """Return the number of entries so far."""

    def read(self) -> Iterator[float]:
        """Find them all: what share of the file has been read, now and then, as long as it is asked for."""

    def select(self, text: str) -> Callable[[], Iterator[tuple[float, list[int]]]]:
        """Return a function that finds the entries that match a filter.

        The function yields the share that was looked at and the entries found since, in order. Raises FilterError if
        the text is no filter.
        """

    def heading(self, width: int) -> Line:
        """The names of the columns that have room in so many cells."""

    def row(self, number: int, width: int) -> Line:
        """One of them in a line, in the columns of the heading."""

    def title(self, number: int) -> str:
        """Return a few words that say what an entry is."""

    def is_odd(self, number: int) -> bool:
        """Return whether an entry has an anomaly, or is one."""

    def partner(self, number: int) -> int | None:
        """The response of a request, the request of a response; None where there is none."""

    def numbered(self, text: str) -> int | None:
        """The one that a user means by a number; None where there is none."""

    def look(self, number: int, *, full: bool) -> Look:
        """One of them byte by byte; with `full` whatever its size."""

    def close(self) -> None:
        """Let go of what was kept."""
