"""Ctrl-C as an orderly end: what is known so far is still shown."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Interrupt:
    """Flag that tells whether Ctrl-C was pressed.

    The first Ctrl-C only sets the flag, so that what is there can still be shown. The second ends the process as
    always.
    """

    def __init__(self) -> None:
        self.came = False

    def __bool__(self) -> bool:
        return self.came

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Within this, Ctrl-C is kept; behind it, it has its effect. Where it is ignored, as in a background job, it
        stays so.
        """
        before = signal.getsignal(signal.SIGINT)
        if before is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self._keep)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
        if self.came:
            raise KeyboardInterrupt

    def _keep(self, *_: object) -> None:
        self.came = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
