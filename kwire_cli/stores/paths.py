"""Paths of local files, as pathlib paths, and of files on stores, as URLs.

`path_of` decides which of them a string is. The two classes have the same methods for reading, so callers do not have
to distinguish them.
"""

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
"""Maximum number of parallel requests to a store."""
BYTES = "bytes"
"""The unit of sizes, and of the progress through them."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_LOCAL = re.compile(r"file://", re.IGNORECASE)
T = TypeVar("T")
R = TypeVar("R")
Place = Path | Stored
"""A local path or a URL. Both have the same methods for reading."""


def is_url(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a URL on a store. A `file://` URL is a local path."""
    text = os.fspath(path)
    return bool(_URL.match(text)) and not _LOCAL.match(text)


def path_of(path: str | os.PathLike[str]) -> Place:
    """Return the place of a path, which need not exist: a Stored for a URL on a store, else a Path."""
    if isinstance(path, Path | Stored):
        return path
    text = os.fspath(path)
    if is_url(text):
        return Stored.of(text)
    return _local(text)


@lru_cache(maxsize=1 << 12)
def _local(text: str) -> Path:
    """Return the path. It is cached, as the same files are opened many times."""
    return Path(unquote(urlsplit(text).path) if _LOCAL.match(text) else text)


def absolute(path: str | os.PathLike[str]) -> str:
    """Return the absolute path that any process on this machine can use. It contains no `..`, so that a file has only
    one path.
    """
    place = path_of(path).absolute()
    if isinstance(place, Stored) or ".." not in place.parts:
        return str(place)
    after = len(place.parts) - place.parts[::-1].index("..")
    return str(Path(*place.parts[:after]).resolve().joinpath(*place.parts[after:]))


def location(path: str | os.PathLike[str]) -> str:
    r"""Return the string of a path for rows, notes and errors: without the query of a URL, which may be a credential,
    and with escapes (`\xff`) for bytes that are not UTF-8.
    """
    return os.fsencode(without_credentials(os.fspath(path))).decode("utf-8", "backslashreplace")


def is_text(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is UTF-8, as strings in tables and the names of written files have to be."""
    return os.fsencode(path).decode("utf-8", "replace") == os.fspath(path)


def refuse_bytes(path: str | os.PathLike[str]) -> None:
    """Raise InputError if a path is not UTF-8."""
    if not is_text(path):
        raise InputError("its path is not in UTF-8, as paths in tables are: rename it", file=location(path))


def refuse_unreadable(path: str | os.PathLike[str]) -> None:
    """Raise InputError for a file of a folder whose path is not UTF-8, or that is a broken link."""
    refuse_bytes(path)
    place = path_of(path)
    if isinstance(place, Path) and place.is_symlink() and not place.exists():
        raise InputError(f"cannot be read: it is a link to {place.readlink()}, which does not exist", file=str(place))


def exists(path: str | os.PathLike[str]) -> bool:
    """Return whether a file or folder exists.

    Return False for an invalid path, and for an empty string, which as a path is the current folder.
    """
    try:
        return bool(path) and path_of(path).exists()
    except (OSError, ValueError):
        return False


def is_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file exists; False for an invalid path."""
    try:
        return path_of(path).is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a folder exists; False for an invalid path, and for an empty string, as in `exists`."""
    return exists(path) and path_of(path).is_dir()


def in_parallel(
    function: Callable[[T], R], items: Iterable[T], path: Callable[[T], Any] = lambda item: item
) -> list[R]:
    """Return a function's result for each item, in the order of the items.

    Calls run in parallel if the `path` of an item is on a store, which takes its time to answer.
    """
    inputs = [*items]
    if not any(is_url(path(item)) for item in inputs):
        return [*map(function, inputs)]
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - start-up counts

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [*pool.map(function, inputs)]


def sizes(paths: Iterable[str | os.PathLike[str]]) -> list[int]:
    """Return the size of each file in bytes; 0 for an unreadable file, whose error is raised when it is read."""

    def size(path: str | os.PathLike[str]) -> int:
        try:
            place = path_of(path)
            return place.stat().st_size if place.is_file() else 0
        except (InputError, OSError):
            return 0

    return in_parallel(size, paths)


def in_order(places: Iterable[Place]) -> list[Place]:
    """Sort places part by part of their paths, as pathlib sorts."""
    return sorted(places, key=lambda each: each.parts)
