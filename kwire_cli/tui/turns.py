"""Turns for work in threads while the screen is in use.

Reading, filters and copies of packets are generators. A thread takes their steps for a short time, with a lock, so the
screen never decodes bytes at the same time. Then the thread sleeps, so that the screen has its turn.
"""

from __future__ import annotations

import time
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TURN = 0.01
"""Seconds of work in a turn: too short to be noticed."""
PAUSE = 0.001
"""Seconds between two turns."""


class Turns:
    """The lock, `with turns.lock`. If `is_over`, there are no more steps."""

    def __init__(self) -> None:
        self.is_over = False
        self.lock = RLock()

    def take(self, steps: Iterator[float]) -> float | None:
        """Take the next steps and sleep. Return the result of the last one; None if no step is left."""
        share: float | None = 0.0
        with self.lock:
            end = time.monotonic() + TURN
            while share is not None and time.monotonic() < end:
                share = None if self.is_over else next(steps, None)
        time.sleep(PAUSE)
        return share

    def sleep(self, seconds: float) -> None:
        """Sleep within a step, without the lock."""
        self.lock.release()
        time.sleep(seconds)
        self.lock.acquire()
