"""When long work should let others have their turn."""

from __future__ import annotations

import time

TURN = 0.02
"""Seconds of work at a time: less than eyes and fingers notice."""


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
