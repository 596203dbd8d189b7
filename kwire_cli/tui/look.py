"""One frame or batch as the panes show it, and listings."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from kwire_cli.facts.costs.ledger import GAP_PATH, Row, ledger
from kwire_cli.view.json import dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from kwire_cli.answer import Answer
    from kwire_cli.message.frames import Frame
    from kwire_cli.view.bounded_outline import BoundedOutline, Bytes
    from kwire_cli.view.lines import Line
    from kwire_cli.view.rows import Row as OutlineRow


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


# What is seen of one frame or batch: its rows, the bytes that these point into, what is odd, and what each field costs.

_INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True)
class Look:
    """All of it. `document` makes its JSON form when that is asked for."""

    outline: BoundedOutline
    costs: list[Row]
    document: Callable[[], Any]
    notes: tuple[str, ...] = field(default=())

    @property
    def rows(self) -> list[OutlineRow]:
        """The fields, and what they are in."""
        return self.outline.rows

    @cached_property
    def buffers(self) -> list[Bytes]:
        """The bytes that rows point into."""
        return self.outline.buffers

    @cached_property
    def parents(self) -> list[int]:
        """The number of the row above each; -1 at the top."""
        above: list[int] = []
        numbers = []
        for number, row in enumerate(self.rows):
            del above[row.depth :]
            numbers.append(above[-1] if above else -1)
            above.append(number)
        return numbers

    @cached_property
    def has_parts(self) -> list[bool]:
        """A flag for each row that tells whether anything stands below the row."""
        flags = [False] * len(self.rows)
        for parent in self.parents:
            if parent >= 0:
                flags[parent] = True
        return flags

    def row_at(self, buffer: int, offset: int) -> int | None:
        """The number of the innermost row with this byte; None where there is none."""
        innermost = None
        for number, (of, start, _, end) in enumerate(self._places):
            if of == buffer and start <= offset < end:
                innermost = number
        return innermost

    @cached_property
    def _places(self) -> list[tuple[int, int, int, int]]:
        return [(self.outline.number(row), *row.place) for row in self.rows]

    def row_of(self, path: str, offset: int) -> int | None:
        """Return the row that an anomaly is about: the one of its path, else the innermost one at its offset."""
        named = [number for number, row in enumerate(self.rows) if path and row.json_path == path]
        for number in named:
            if self.rows[number].place[0] <= offset <= self.rows[number].place[2]:
                return number
        return named[0] if named else self.row_at(0, offset)

    def next_of(self, cost_path: str, after: int) -> int | None:
        """The next row with this path in a ledger, from the first on where there is none behind `after`."""
        numbers = [number for number, row in enumerate(self.rows) if row.json_path and cost_path_of(row) == cost_path]
        return next((number for number in numbers if number > after), numbers[0] if numbers else None)

    def hex_of(self, row: OutlineRow) -> str:
        """Its bytes in hex, stars for those that must not be seen; those that are not there are left away."""
        return "".join(self.buffers[self.outline.number(row)].cells(row.place[0], row.place[2]))

    def json_of(self, row: OutlineRow) -> str | None:
        """Its value in the JSON form of the whole; None for what has none of its own there."""
        document, path = self.document(), row.json_path
        in_body = isinstance(document, dict) and not path.startswith("header.")
        value = document.get("body", document) if in_body else document
        steps = [step for step in re.split(r"\.|\[(\d+)\]", path) if step]
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


def cost_path_of(row: OutlineRow) -> str:
    """The path that a row has in a ledger."""
    return _INDEX.sub("[]", row.json_path)


# What a list in the terminal is made of, whatever the file holds; and the choice of what to show of a file.


class Listing(Protocol):
    """Frames or batches by number, from 0, which are read in one thread (`read`) and looked at in another."""

    what: tuple[str, str]
    """The singular and plural of the noun for its entries."""
    number_is: str
    """The argument of `numbered`, in words."""
    notes: list[str]
    """Notes on the file, complete once it was read."""

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

    def packets(self, numbers: Sequence[int], found: dict[str, set[int]]) -> Iterator[float]:
        """Find the packets that carry some entries, by capture file; yield the share of the file that was read.

        Raises InputError if the file is not a capture.
        """

    def close(self) -> None:
        """Let go of what was kept."""


class View(NamedTuple):
    """A question about the file: the name of its view, and the function that asks it.

    The function reads the file until it ends or the other function, its argument, returns True.
    """

    name: str
    ask: Callable[[Callable[[], bool]], Answer]
