"""Taking turns: long work beside a screen that has to answer at once, with bytes that only one of them may read at a time."""

from __future__ import annotations

import time
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

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
"""Seconds after which Python lets another thread go on: the screen takes many short steps, and would wait for each as long as for work."""


class Pace:
    """Counts the time since the last turn."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def is_due(self) -> bool:
        """Whether it is somebody else's turn; if so, the next one begins."""
        now = time.monotonic()
        if now - self._since < TURN:
            return False
        self._since = now
        return True


class Turns:
    """A lock that the screen holds (`with turns`) while it makes something of the bytes, and work while it does a step (`step`)."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._asked = 0.0

    def ask(self) -> None:
        """Somebody has pressed a key: there is more to do for the screen now."""
        self._asked = time.monotonic()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._lock.release()

    @contextmanager
    def attempt(self) -> Iterator[bool]:
        """A turn of the screen if it gets one soon, and whether it did: it must not stand still while a large frame is decoded."""
        found = self._lock.acquire(timeout=WAIT)
        try:
            yield found
        finally:
            if found:
                self._lock.release()

    def step(self, steps: Iterator[T]) -> T | None:
        """The next of some steps of work, and time for the screen after it; None behind the last."""
        with self._lock:
            found = next(steps, None)
        time.sleep(LONG_PAUSE if time.monotonic() - self._asked < ACTIVE else PAUSE)
        return found
