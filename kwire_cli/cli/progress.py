"""How far a long run is: a line on standard error that is written over, on a terminal that shows nothing else."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from kwire_cli.view.lines import without_control

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment

AFTER, EVERY = 1.0, 0.5
"""Seconds until something is said, and between that and more."""


class Progress:
    """Says nothing in a run that is short, or whose results are on the terminal themselves."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.begun, self.told = time.monotonic(), 0.0
        self.wanted = environment.stderr.isatty() and not environment.to_terminal

    def tell(self, label: str, at: int, size: int) -> None:
        """`at` of `size` bytes are read; nothing is said where nobody knows how many there are."""
        now = time.monotonic()
        if self.wanted and size and now - max(self.begun + AFTER - EVERY, self.told) >= EVERY:
            self.told = now
            [(shown, _)] = without_control([(label, "")])
            self._write(f"\r\x1b[K{shown}: {100 * at // size} %")

    def done(self) -> None:
        """Take it away."""
        if self.told:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self.environment.stderr.write(text.encode("utf-8", "backslashreplace"))
            self.environment.stderr.flush()
