"""The bytes of files by their positions: those of this machine are mapped, of others what is asked for is fetched first."""

from __future__ import annotations

import mmap
import os
from typing import IO, TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.stores.filesystems import told
from kwire_cli.stores.paths import Stored, path_of
from kwire_cli.stores.shrinking import check, guarded

if TYPE_CHECKING:
    from pathlib import Path

BLOCK = 8 << 20
"""Bytes of one request to a store."""
AT_ONCE = 4
"""Requests at the same time: one alone does not fill a network."""
KEPT = 64 << 20
"""Bytes behind the asked ones that may stay on disk."""


class Mapped:
    """A file of this machine. `near` says that its bytes are read by position as quickly as in order."""

    near = True

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                size = file.seek(0, 2)
                self._view = memoryview(guarded(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ), str(path)) if size else b"")
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=str(path)) from None
        self.size = len(self._view)

    def view(self, start: int = 0, stop: int | None = None) -> memoryview:  # noqa: ARG002 - as below
        """All bytes of the file, which are not read before they are looked at. InputError where it became shorter."""
        check(self._view)
        return self._view


class Fetched:
    """A file of a store: what is asked for lies in a temporary file of the same size, with holes where nothing was asked for."""

    near = False

    def __init__(self, path: Stored) -> None:
        self._url = str(path)
        with told(self._url):
            files, name = path.place()
            self._file = files.open_input_file(name)
            self.size: int = self._file.size()
        self._view = memoryview(b"")
        self._first = self._last = 0
        self._disk: IO[bytes] | None = None

    def __del__(self) -> None:
        self._close()

    def view(self, start: int = 0, stop: int | None = None) -> memoryview:
        """As many bytes as the file has, of which those in [start, stop) are its own: all others may be zeros.

        What was asked for in the call before and is behind that is not fetched again.
        """
        start, stop = max(start, 0), self.size if stop is None else min(stop, self.size)
        if stop > start and not self._first <= start <= stop <= self._last:
            self._fetch(start, stop)
        return self._view

    def _fetch(self, start: int, stop: int) -> None:
        import tempfile  # noqa: PLC0415 - start-up counts
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - as above

        held = self._view[start : self._last] if self._first <= start < self._last else memoryview(b"")
        try:
            if not held or start - self._first > KEPT:
                self._close()
                self._disk = tempfile.TemporaryFile(prefix="kwire-", dir=_folder(), buffering=0)  # noqa: SIM115 - views of it stay
                self._disk.truncate(self.size)
                self._view = memoryview(mmap.mmap(self._disk.fileno(), self.size, access=mmap.ACCESS_READ))
                self._first, self._last = start, start + self._put(held, start)
            places = range(self._last, stop, BLOCK)
            with ThreadPoolExecutor(min(AT_ONCE, max(len(places), 1))) as pool:
                for _ in pool.map(lambda at: self._put(self._read(at, min(BLOCK, stop - at)), at), places):
                    pass
        except OSError as error:
            raise InputError(f"no room for what is read of it: {error.strerror or error} (TMPDIR says where that is)", file=self._url) from None
        self._last = max(stop, self._last)

    def _close(self) -> None:
        if disk := getattr(self, "_disk", None):
            disk.close()

    def _put(self, data: bytes | memoryview, at: int) -> int:
        assert self._disk is not None  # noqa: S101 - for the type checker
        written = 0
        while written < len(data):
            written += os.pwrite(self._disk.fileno(), data[written:], at + written)
        return written

    def _read(self, at: int, size: int) -> bytes:
        with told(self._url):
            data: bytes = self._file.read_at(size, at)
        if len(data) < size:
            raise InputError("it became shorter while it was read", file=self._url)
        return data


def opened(path: str | os.PathLike[str]) -> Mapped | Fetched:
    """A file, to be read by positions. InputError where that can't be."""
    found = path_of(path)
    return Fetched(found) if isinstance(found, Stored) else Mapped(found)


def mapped(path: str | os.PathLike[str], start: int = 0, stop: int | None = None) -> memoryview:
    """As many bytes as a file has: of one on a store those in [start, stop), and zeros for all others. InputError where it cannot be read."""
    return opened(path).view(start, stop)


def let_go(view: memoryview, start: int, stop: int) -> None:
    """Of a mapped file, take these bytes out of this process's memory; they are read again should somebody look at them."""
    file, page = view.obj, mmap.PAGESIZE
    first, last = -(-max(start, 0) // page) * page, min(stop, len(view)) // page * page
    if isinstance(file, mmap.mmap) and len(file) == len(view) and hasattr(file, "madvise") and first < last:
        file.madvise(mmap.MADV_DONTNEED, first, last - first)


def _folder() -> str | None:
    """Where a Spark task keeps what it needs for a while; None for where this machine does."""
    return os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
