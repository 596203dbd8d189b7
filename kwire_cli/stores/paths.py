"""Paths of files on this machine, as pathlib has them, and of files that URLs name."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from kwire_cli.errors import InputError, without_credentials
from kwire_cli.stores.stored import Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

AT_ONCE = 16
"""Requests that wait for a store at the same time."""
BYTES = "bytes"
"""The unit of sizes, and of the progress through them."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_LOCAL = re.compile(r"file://", re.IGNORECASE)
T = TypeVar("T")
R = TypeVar("R")
Place = Path | Stored
"""A local path or a URL: both are read by the same methods."""


def is_url(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a URL on a store. `file://` is of this machine."""
    text = os.fspath(path)
    return bool(_URL.match(text)) and not _LOCAL.match(text)


def path_of(path: str | os.PathLike[str]) -> Place:
    """Return the place that a path names, which need not exist: a Stored for a URL on a store, else a Path."""
    if isinstance(path, Path | Stored):
        return path
    text = os.fspath(path)
    if is_url(text):
        return Stored.of(text)
    return _local(text)


@lru_cache(maxsize=1 << 12)
def _local(text: str) -> Path:
    """Return the path, whose parts are found once: each file of many is named again and again."""
    return Path(unquote(urlsplit(text).path) if _LOCAL.match(text) else text)


def absolute(path: str | os.PathLike[str]) -> str:
    """Return the path as any other process of this machine finds the file: relative paths begin in this process's
    working directory, and no path has `..` in it, so that a file has one path however it is given.
    """
    place = path_of(path).absolute()
    if isinstance(place, Stored) or ".." not in place.parts:
        return str(place)
    behind = len(place.parts) - place.parts[::-1].index("..")
    return str(Path(*place.parts[:behind]).resolve().joinpath(*place.parts[behind:]))


def location(path: str | os.PathLike[str]) -> str:
    r"""Return the text of a path as rows, notes and errors show it: of a URL without its query, which may be a
    credential, and with escapes (`\xff`) for bytes that are not UTF-8.
    """
    return os.fsencode(without_credentials(os.fspath(path))).decode("utf-8", "backslashreplace")


def is_text(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is UTF-8, as the texts in tables and the names of written files have to be."""
    return os.fsencode(path).decode("utf-8", "replace") == os.fspath(path)


def refuse_bytes(path: str | os.PathLike[str]) -> None:
    """Raise InputError if a path is not UTF-8."""
    if not is_text(path):
        raise InputError("its path is not in UTF-8, as paths in tables are: rename it", file=location(path))


def refuse_unreadable(path: str | os.PathLike[str]) -> None:
    """Raise InputError for a file of a folder whose path is not UTF-8, or that is a link to nothing."""
    refuse_bytes(path)
    place = path_of(path)
    if isinstance(place, Path) and place.is_symlink() and not place.exists():
        raise InputError(f"cannot be read: it is a link to {place.readlink()}, which does not exist", file=str(place))


def exists(path: str | os.PathLike[str]) -> bool:
    """Return whether a file or folder exists.

    Return False for a text that is no path, and for an empty text, which as a path is the current folder.
    """
    try:
        return bool(path) and path_of(path).exists()
    except (OSError, ValueError):
        return False


def is_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file exists; False for a text that is no path."""
    try:
        return path_of(path).is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a folder exists; False for a text that is no path, and for an empty text, as in `exists`."""
    return exists(path) and path_of(path).is_dir()


def in_parallel(
    function: Callable[[T], R], items: Iterable[T], path: Callable[[T], Any] = lambda item: item
) -> list[R]:
    """Return a function's result for each item, in the order of the items.

    Some calls run at once if the `path` of an item is on a store, which takes its time to answer.
    """
    inputs = [*items]
    if not any(is_url(path(item)) for item in inputs):
        return [*map(function, inputs)]
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - start-up counts

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [*pool.map(function, inputs)]


def sizes(paths: Iterable[str | os.PathLike[str]]) -> list[int]:
    """Bytes of each file; 0 where that can't be said: reading it says why."""

    def size(path: str | os.PathLike[str]) -> int:
        try:
            place = path_of(path)
            return place.stat().st_size if place.is_file() else 0
        except (InputError, OSError):
            return 0

    return in_parallel(size, paths)


def in_order(places: Iterable[Place]) -> list[Place]:
    """Sorted as pathlib sorts: part by part."""
    return sorted(places, key=lambda each: each.parts)
