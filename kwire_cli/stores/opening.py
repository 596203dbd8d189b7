"""The bytes of a file, in order or by position, and folders of files.

Local files and files on stores have the same interface. A file is read in blocks into private memory instead of being
mapped, because a mapped file that shrinks kills the process.
"""

from __future__ import annotations

import mmap
import os
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.errors import InputError
from kwire_cli.stores.paths import in_order, path_of
from kwire_cli.stores.stored import Stored, reading

if TYPE_CHECKING:
    from kwire_cli.stores.paths import Place

    Identity = tuple[int, int]


BLOCK = 8 << 20
"""Bytes of one request to a store, and bytes that are read at once of a file."""
AT_ONCE = 4
"""Concurrent requests to a store: a single one does not fill a network."""
KEPT = 32 << 20
"""Bytes of a file that stay in memory while a window of it grows."""
_NO_RESERVE = 0x4000 if sys.platform == "linux" else 0
"""MAP_NORESERVE, which the module mmap does not have: a window occupies only the memory that is written."""


class Window(NamedTuple):
    """A view by the positions of a file, and where the bytes of the file in it begin and end."""

    view: memoryview
    first: int
    last: int


class FileBytes:
    """The bytes of a file by position, read in blocks.

    A view of a window has the positions of the file: it is as long as the file, in private memory, and only the bytes
    of the window are filled in. The file is not mapped, so a file that shrinks raises InputError, and a view keeps the
    bytes that were read. A window that moves on is a new view; the memory of the old one is freed with its last view.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        place = path_of(path)
        self.path = str(place)
        self.is_local = not isinstance(place, Stored)
        """Whether reading a few bytes costs little."""
        if isinstance(place, Stored):
            self.size, self._read_into = _stored_reader(place)
        else:
            self.size, self._read_into = _local_reader(place)
        self._lock = Lock()
        self._memory: mmap.mmap | None = None
        self._window = Window(memoryview(b""), 0, 0)

    def __len__(self) -> int:
        return self.size

    def view(self, start: int = 0, stop: int | None = None) -> memoryview:
        """Return as many bytes as the file has. Those in [start, stop) are its own, all others may be zeros."""
        return self._get(start, self.size if stop is None else stop, BLOCK if self.is_local else 0).view

    def window(self, start: int, stop: int) -> Window:
        """Return a window with the bytes [start, stop), for a reader from there on: the next bytes are read too."""
        return self._get(start, stop, BLOCK if self.is_local else AT_ONCE * BLOCK)

    def _get(self, start: int, stop: int, ahead: int) -> Window:
        first = max(start, 0)
        last = min(stop, self.size)
        window = self._window
        if first >= last or window.first <= first <= last <= window.last:
            return window
        with self._lock:
            return self._fill(first, max(last, min(first + ahead, self.size)))

    def read(self, start: int, stop: int) -> memoryview:
        """Return the bytes in [start, stop) up to the end of the file. The window is not moved."""
        first = max(start, 0)
        last = max(min(stop, self.size), first)
        window = self._window
        if window.first <= first <= last <= window.last:
            return window.view[first:last]
        data = bytearray(last - first)
        self._read_into(memoryview(data), first)
        return memoryview(data)

    def _fill(self, start: int, stop: int) -> Window:
        """Read [start, stop) into the present window if they continue it, else into a new one."""
        view, first, last = self._window
        memory = self._memory
        if memory is None or not first <= start <= last or stop - first > KEPT:
            try:
                memory = mmap.mmap(-1, self.size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
            except OSError as error:  # addresses for the whole file, which a limit may refuse
                raise InputError(f"cannot be read: {error.strerror}", file=self.path) from None
            if first <= start < last:
                memory[start:last] = view[start:last]
            else:
                last = start
            view = memoryview(memory).toreadonly()
            first = start
        self._read_into(memoryview(memory)[last:stop], last)
        self._memory = memory
        self._window = Window(view, first, max(last, stop))
        return self._window


ReadInto = Callable[[memoryview, int], None]
"""Fills a buffer with the bytes of a file from a position on. InputError if the file ends earlier."""


def _local_reader(path: Path) -> tuple[int, ReadInto]:
    """Return the size of a local file, and a function that reads it. The file is closed with the function."""
    try:
        file = path.open("rb", buffering=0)
        size = file.seek(0, 2)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=str(path)) from None

    def read_into(buffer: memoryview, at: int) -> None:
        filled = 0
        while filled < len(buffer):
            try:
                count = os.preadv(file.fileno(), [buffer[filled : filled + BLOCK]], at + filled)
            except OSError as error:
                raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None
            if not count:
                end = os.fstat(file.fileno()).st_size
                reason = f"it became shorter while it was read: it had {size} bytes and ends at byte {end} now"
                raise InputError(reason, file=str(path))
            filled += count

    weakref.finalize(read_into, file.close)
    return size, read_into


def _stored_reader(place: Stored) -> tuple[int, ReadInto]:
    """Return the size of a file of a store, and the function that reads it, with several requests at once."""
    url = str(place)
    with reading(url):
        size = place.stat().st_size
        files, name = place.place()

    def read_into(buffer: memoryview, at: int) -> None:
        end = at + len(buffer)
        for first in range(at, end, AT_ONCE * BLOCK):
            starts = [*range(first, min(first + AT_ONCE * BLOCK, end), BLOCK)]
            stops = [min(start + BLOCK, end) for start in starts]
            with reading(url):
                parts = files.cat_ranges([name] * len(starts), starts, stops)
                for failure in parts:
                    if isinstance(failure, Exception):
                        raise failure
            for start, stop, part in zip(starts, stops, parts, strict=True):
                if len(part) < stop - start:
                    raise InputError("it became shorter while it was read", file=url)
                if len(part) > stop - start:
                    raise InputError("cannot be read: the server sends whole files only; download it first", file=url)
                buffer[start - at : stop - at] = part

    return size, read_into


def task_folder() -> str | None:
    """Return the folder for a Spark task's temporary files, or None for this machine's default."""
    return os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None


# Everything below a folder. Links to folders are followed, and each folder is entered once, by its device and
# inode.


@dataclass(slots=True)
class Folder:
    """A folder: its files and its folders, each in order. A link to a file, or to nothing, counts as a file."""

    path: Place
    files: list[Place] = field(default_factory=list)
    folders: list[Folder] = field(default_factory=list)


class Tree(NamedTuple):
    """A folder with everything below it. In `folders`, each folder comes before its subfolders."""

    root: Folder
    folders: list[Folder]

    def files(self) -> list[Place]:
        """Return all files in the order of their paths."""
        return in_order(chain.from_iterable(folder.files for folder in self.folders))


def tree(path: Place) -> Tree:
    """Return everything below a folder. Real folders win over links to them, so loops of links end.

    Raises:
        InputError: The path is not a folder, or a folder below it cannot be read.

    """
    return _stored(path) if isinstance(path, Stored) else _walked(path)


def in_order_of_paths(folders: list[Folder]) -> list[Folder]:
    """Sort folders part by part of their paths, as pathlib sorts."""
    return sorted(folders, key=lambda folder: folder.path.parts)


def _walked(path: Path) -> Tree:
    """List a local folder: real folders first, then the links that were found in them."""
    root = Folder(path)
    folders: list[Folder] = []
    entered: set[Identity] = set()
    waiting = [(False, path.parts, root, root)]
    while waiting:
        is_link, _, folder, parent = heappop(waiting)
        try:
            status = Path(folder.path).stat()
            identity = status.st_dev, status.st_ino
            if is_link and identity in entered:
                continue
            if is_link:
                parent.folders.append(folder)
            entered.add(identity)
            folders.append(folder)
            with os.scandir(folder.path) as entries:
                for entry in entries:
                    below = Path(folder.path, entry.name)
                    linked = entry.is_symlink()
                    if entry.is_dir(follow_symlinks=False) or (linked and below.is_dir()):
                        inner = Folder(below)
                        if not linked:
                            folder.folders.append(inner)
                        heappush(waiting, (linked, below.parts, inner, folder))
                    elif linked or entry.is_file():
                        folder.files.append(below)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=str(folder.path)) from None
    return _in_order(root, folders)


def _in_order(root: Folder, folders: list[Folder]) -> Tree:
    for folder in folders:
        folder.files = in_order(folder.files)
        folder.folders = in_order_of_paths(folder.folders)
    return Tree(root, folders)


def _stored(path: Stored) -> Tree:
    """List a folder of a store with one request, if it is an object store."""
    root = Folder(path)
    by_path = {path.path.rstrip("/"): root}

    def folder_at(text: str) -> Folder:
        if text not in by_path:
            by_path[text] = Folder(Stored(path.root, text))
            folder_at(text.rpartition("/")[0]).folders.append(by_path[text])
        return by_path[text]

    for entry in path.everything():
        if entry.is_dir():
            folder_at(entry.path)
        else:
            folder_at(entry.path.rpartition("/")[0]).files.append(entry)
    return _in_order(root, in_order_of_paths([*by_path.values()]))
