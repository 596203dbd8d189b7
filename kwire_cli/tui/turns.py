"""Turns for work in threads while the screen is in use.

Reading, filters and copies of packets are generators. A thread takes one step after the other, with a lock, so the
screen never decodes bytes at the same time. Between two steps the thread sleeps, longer while the user presses keys.
"""

from __future__ import annotations

import time
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")

TURN = 0.01
"""Seconds of work in a step: too short to be noticed."""
PAUSE = 0.0005
"""Seconds between two steps."""
LONG_PAUSE = 0.02
"""Seconds between two steps while keys are pressed."""
ACTIVE = 0.3
"""Seconds after a key during which the long pause is used."""
SWITCH = 0.0005
"""Seconds after which Python switches between threads: the screen takes many short steps."""


class Pace:
    """Counts the time since the last step."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def is_due(self) -> bool:
        """Return whether the step is long enough. If so, the next step begins."""
        now = time.monotonic()
        if now - self._since < TURN:
            return False
        self._since = now
        return True


class Turns:
    """The lock, `with turns`. If `is_over`, there are no more steps."""

    def __init__(self) -> None:
        self.is_over = False
        self._lock = RLock()
        self._key_time = 0.0

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def on_key(self) -> None:
        """Give the screen more time: a key was pressed."""
        self._key_time = time.monotonic()

    def step(self, steps: Iterator[T]) -> T | None:
        """Take the next step and sleep. Return its result; None after the last step."""
        with self._lock:
            result = None if self.is_over else next(steps, None)
        time.sleep(LONG_PAUSE if time.monotonic() - self._key_time < ACTIVE else PAUSE)
        return result

    def sleep(self, seconds: float) -> None:
        """Sleep within a step, without the lock."""
        self._lock.release()
        time.sleep(seconds)
        self._lock.acquire()
