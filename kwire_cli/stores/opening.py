"""Bytes behind a path, in order or by position, and folders of files."""

from __future__ import annotations

import mmap
import os
import signal
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from kwire_cli.errors import InputError
from kwire_cli.stores.paths import Stored, in_order, path_of, told

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.stores.paths import Place

    Identity = tuple[int, int]


# Mapped files that become shorter while they are read.
#
# Bytes of a mapping behind the end of its file raise SIGBUS, which ends the process. Here the handler of
# SIGBUS puts zeros in their place, and who reads asks with `check` before a result is given out, so that a
# file that became shorter is an InputError with its offset.

_FIXED = 0x10
"""MAP_FIXED, which Linux and macOS share, and the module mmap does not have."""


class _Mapping(NamedTuple):
    path: str
    address: int


_MAPPINGS: WeakKeyDictionary[mmap.mmap, _Mapping] = WeakKeyDictionary()
lost: list[str] = []
"""Paths of files that became shorter below somebody who read them. Empty nearly always, so that asking costs
nothing."""


def guarded(mapping: mmap.mmap, path: str) -> mmap.mmap:
    """Return a mapping of a file of this machine, whose end may go without the process ending."""
    if hasattr(signal, "SIGBUS"):
        _MAPPINGS[mapping] = _Mapping(path, _addresses()(mapping))
        _install()
    return mapping


def check(view: memoryview) -> None:
    """InputError where the file behind a view is shorter than when it was mapped."""
    file = view.obj
    if isinstance(file, mmap.mmap) and file in _MAPPINGS and (left := file.size()) < len(file):
        reason = f"it became shorter while it was read: it had {len(file)} bytes and ends at byte {left} now"
        raise InputError(reason, file=_MAPPINGS[file].path)


@cache
def _addresses() -> Callable[[mmap.mmap], int]:
    """Return the function that says where a mapping begins in memory."""
    import ctypes  # noqa: PLC0415 - start-up counts

    class Buffer(ctypes.Structure):
        """Py_buffer, whose first field is the address; the others are never looked at."""

        _fields_ = (("buf", ctypes.c_void_p), ("others", ctypes.c_byte * 256))

    def address(mapping: mmap.mmap) -> int:
        buffer = Buffer()
        if ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(mapping), ctypes.byref(buffer), 0):
            raise BufferError
        start: int = buffer.buf or 0
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
        return start

    return address


@cache
def _install() -> Callable[[int], None]:
    """Install the handler, once. What it gives keeps the handler alive."""
    import ctypes  # noqa: PLC0415 - as above

    c = ctypes.CDLL(None, use_errno=True)
    c.mmap.restype = ctypes.c_void_p
    c.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong)
    c.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    c.signal.restype = ctypes.c_void_p

    def replace(number: int) -> None:
        """Put zeros behind the ends of files. The signal comes from the very instruction that reads, which is then
        tried again.
        """
        some = False
        for mapping, (path, address) in list(_MAPPINGS.items()):
            end = -(-mapping.size() // mmap.PAGESIZE) * mmap.PAGESIZE
            if end < len(mapping):
                how = _FIXED | mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
                some = c.mmap(address + end, len(mapping) - end, mmap.PROT_READ, how, -1, 0) == address + end
                lost.append(path)
        if not some:  # another's, which ends the process as it would have
            c.signal(number, None)

    handler: Any = ctypes.CFUNCTYPE(None, ctypes.c_int)(replace)
    c.signal(signal.SIGBUS, ctypes.cast(handler, ctypes.c_void_p))
    return handler  # type: ignore[no-any-return]


# The bytes of files by their positions: those of this machine are mapped, of others what is asked for is
# fetched first.

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
                self._view = memoryview(
                    guarded(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ), str(path)) if size else b""
                )
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=str(path)) from None
        self.size = len(self._view)

    def view(self, start: int = 0, stop: int | None = None) -> memoryview:  # noqa: ARG002 - as below
        """All bytes of the file, which are not read before they are looked at. InputError where it became shorter."""
        check(self._view)
        return self._view


class Fetched:
    """A file of a store: what is asked for lies in a temporary file of the same size, with holes where nothing was
    asked for.
    """

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
                self._disk = tempfile.TemporaryFile(prefix="kwire-", dir=task_folder(), buffering=0)  # noqa: SIM115 - views of it stay
                self._disk.truncate(self.size)
                self._view = memoryview(mmap.mmap(self._disk.fileno(), self.size, access=mmap.ACCESS_READ))
                self._first, self._last = start, start + self._put(held, start)
            places = range(self._last, stop, BLOCK)
            with ThreadPoolExecutor(min(AT_ONCE, max(len(places), 1))) as pool:
                for _ in pool.map(lambda at: self._put(self._read(at, min(BLOCK, stop - at)), at), places):
                    pass
        except OSError as error:
            raise InputError(
                f"no room for what is read of it: {error.strerror or error} (TMPDIR says where that is)", file=self._url
            ) from None
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
    place = path_of(path)
    return Fetched(place) if isinstance(place, Stored) else Mapped(place)


def mapped(path: str | os.PathLike[str], start: int = 0, stop: int | None = None) -> memoryview:
    """As many bytes as a file has: of one on a store those in [start, stop), and zeros for all others. InputError where
    it cannot be read.
    """
    return opened(path).view(start, stop)


class Ends(NamedTuple):
    """Bytes of a file, when it was changed in seconds since 1970 if that is known, and what is at its ends."""

    size: int
    modified: float | None
    first: bytes
    last: bytes


def ends(path: str | os.PathLike[str], most: int) -> Ends:
    """Return up to so many bytes of the beginning and of the end of a file. InputError where it cannot be read."""
    place = path_of(path)
    try:
        if isinstance(place, Stored):
            file, seconds = Fetched(place), place.stat().st_mtime
            first, start = bytes(file.view(0, most)[:most]), max(file.size - most, 0)
            return Ends(file.size, seconds or None, first, bytes(file.view(start)[start:]))
        with place.open("rb", buffering=0) as local:
            status = os.fstat(local.fileno())
            size, first = status.st_size, local.read(most)
            if size > most:
                local.seek(-most, os.SEEK_END)
            last = local.read(most) if size > most else first
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=str(path)) from None
    return Ends(size, status.st_mtime, first, last)


def let_go(view: memoryview, start: int, stop: int) -> None:
    """Remove these bytes of a mapped file from this process's memory. They are read again when accessed."""
    file, page = view.obj, mmap.PAGESIZE
    first, last = -(-max(start, 0) // page) * page, min(stop, len(view)) // page * page
    if isinstance(file, mmap.mmap) and len(file) == len(view) and hasattr(file, "madvise") and first < last:
        file.madvise(mmap.MADV_DONTNEED, first, last - first)


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


class FolderLink(NamedTuple):
    """A link to a folder. `entered` is false if the folder was entered under another path already."""

    path: Place
    target: Place
    entered: bool


class Tree(NamedTuple):
    """A folder with everything below it, and the links to folders among that. `folders` has each folder before those in
    it.
    """

    root: Folder
    folders: list[Folder]
    links: list[FolderLink]

    def files(self) -> list[Place]:
        """Return all files in the order of their paths."""
        return in_order(file for folder in self.folders for file in folder.files)


def tree(path: Place) -> Tree:
    """Return everything below a folder. Real folders win over links to them, so loops of links end.

    Raises:
        InputError: The path is no folder, or a folder below it cannot be read.

    """
    return _stored(path) if isinstance(path, Stored) else _Walk(path).tree()


def in_order_of_paths(folders: list[Folder]) -> list[Folder]:
    """Sort folders part by part of their paths, as pathlib sorts."""
    return sorted(folders, key=lambda folder: folder.path.parts)


class _Walk:
    """A walk over folders of this machine: real folders first, then the links that were found in them."""

    def __init__(self, path: Path) -> None:
        self._root = Folder(path)
        self._folders: list[Folder] = []
        self._links: list[FolderLink] = []
        self._pending: list[tuple[Folder, Path]] = []
        self._entered: set[Identity] = set()

    def tree(self) -> Tree:
        self._enter(self._root)
        while self._pending:  # what is entered may bring further links
            links, self._pending = sorted(self._pending, key=lambda found: found[1].parts), []
            for parent, link in links:
                self._follow(parent, link)
        for folder in self._folders:
            folder.files = in_order(folder.files)
            folder.folders = in_order_of_paths(folder.folders)
        return Tree(self._root, self._folders, self._links)

    def _follow(self, parent: Folder, link: Path) -> None:
        try:
            there = link.stat()
        except OSError:  # gone since it was listed
            return
        entered = (there.st_dev, there.st_ino) not in self._entered
        self._links.append(FolderLink(link, link.resolve(), entered))
        if entered:
            parent.folders.append(folder := Folder(link))
            self._enter(folder)

    def _enter(self, first: Folder) -> None:
        pending = [first]
        while pending:
            folder = pending.pop()
            try:
                status = Path(folder.path).stat()
                self._entered.add((status.st_dev, status.st_ino))
                with os.scandir(folder.path) as entries:
                    for entry in entries:
                        self._put(folder, entry, pending)
            except OSError as error:
                raise InputError(f"cannot be read: {error.strerror}", file=str(folder.path)) from None
            self._folders.append(folder)

    def _put(self, folder: Folder, entry: os.DirEntry[str], pending: list[Folder]) -> None:
        path = Path(folder.path, entry.name)
        if entry.is_dir(follow_symlinks=False):
            folder.folders.append(below := Folder(path))
            pending.append(below)
        elif entry.is_symlink():
            if path.is_dir():
                self._pending.append((folder, path))
            else:
                folder.files.append(path)
        elif entry.is_file():
            folder.files.append(path)


def _stored(path: Stored) -> Tree:
    """List a folder of a store with one request."""
    root = Folder(path)
    by_path = {path.path.rstrip("/"): root}

    def folder_at(text: str) -> Folder:
        pending = []
        while text not in by_path:
            pending.append(text)
            text = text.rpartition("/")[0]
        parent = by_path[text]
        for below in reversed(pending):
            child = by_path[below] = Folder(Stored(path.root, below, path.query))
            parent.folders.append(child)
            parent = child
        return parent

    for entry in path.rglob("*"):
        if entry.is_dir():
            folder_at(entry.path)
        else:
            folder_at(entry.path.rpartition("/")[0]).files.append(entry)
    folders = [*by_path.values()]
    for folder in folders:
        folder.files, folder.folders = in_order(folder.files), in_order_of_paths(folder.folders)
    return Tree(root, folders, [])
