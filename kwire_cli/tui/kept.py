"""Bytes that are kept out of memory until somebody looks at them."""

from __future__ import annotations

import tempfile
import threading
from typing import IO

PIECE = 1 << 20
"""Bytes that wait in memory before they are written."""


class Kept:
    """Bytes in a temporary file without a name, once they are many, in the order in which they came: one thread adds, others read."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._lock = threading.Lock()
        self._waiting = bytearray()
        self._written = 0

    def add(self, data: bytes) -> int:
        """Keep bytes; where they begin."""
        with self._lock:
            at = self._written + len(self._waiting)
            self._waiting += data
            if len(self._waiting) >= PIECE:
                self._file = self._file or tempfile.TemporaryFile(prefix="kwire-")  # noqa: SIM115 - it is closed by close
                self._file.seek(self._written)
                self._file.write(self._waiting)
                self._written += len(self._waiting)
                self._waiting.clear()
            return at

    def read(self, at: int, size: int) -> bytes:
        """Bytes that were kept."""
        with self._lock:
            if at >= self._written or self._file is None:
                return bytes(self._waiting[at - self._written : at - self._written + size])
            self._file.seek(at)
            return self._file.read(size)

    def close(self) -> None:
        """Give them up."""
        if self._file:
            self._file.close()
