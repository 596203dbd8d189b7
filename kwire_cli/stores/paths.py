"""Paths and URLs, and the file systems behind them."""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import io
import os
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from kwire_cli.errors import URL_PASSWORD, InputError, without_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


# The file systems of stores by URL: pyarrow's own, and fsspec's for all schemes that pyarrow does not know.

SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
"""Other names of schemes, as Hadoop and Google's tools write them."""


ACCESS = {
    "s3": "credentials, region and endpoint are those of AWS's tools: AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY; "
    "AWS_REGION; AWS_ENDPOINT_URL",
    "gs": "credentials are those of Google's tools: GOOGLE_APPLICATION_CREDENTIALS, or gcloud auth "
    "application-default login",
    "abfs": "credentials are those of Azure's tools: AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET, "
    "or az login",
    "hdfs": "it takes Hadoop's libhdfs: set JAVA_HOME, HADOOP_HOME, and CLASSPATH to what hadoop classpath "
    "--glob prints; or webhdfs://namenode:9870/…, which takes requests alone",
}
"""Hints, by scheme, at the places where its library looks for credentials and settings."""
BYTES = "bytes"
"""The unit of sizes, and of the progress through them."""
PATIENCE = {"gs": "retry_limit_seconds=60"}
"""By scheme, what has a library give up where nobody answers: Google's would try again for a quarter of an hour."""
LONGEST = 400
"""Characters of what a library says is wrong that are shown."""


@contextlib.contextmanager
def told(url: str) -> Iterator[None]:
    """Raise whatever goes wrong with a store as an InputError about this URL.

    The error says what access to the store takes.
    """
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError("there is no such file or folder", file=url) from None
    except Exception as error:  # noqa: BLE001 - the libraries of stores raise what they like
        text = " ".join(str(error).split())[:LONGEST] or type(error).__name__
        raise InputError(f"cannot be read: {text}{access_to(url)}", file=url) from None


def access_to(url: str) -> str:
    """Return the end of an error about a store: what access to it takes. Return an empty text if nothing is known."""
    access = ACCESS.get(_scheme(url))
    return f" ({access})" if access else ""


@cache
def filesystem(root: str) -> tuple[Any, Callable[[str, str], str]]:
    """The pyarrow.fs.FileSystem of a URL without its path, and what it calls a file there, of its path and its URL.

    Raises:
        InputError: Nothing knows the scheme, a library is missing, or the store lets nobody in.

    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - only for URLs
        from pyarrow import fs  # noqa: PLC0415
    except ImportError:
        raise InputError(
            "pyarrow is needed to read from stores, and it is not installed: pip install 'kwire[stores]'", file=root
        ) from None
    scheme = _scheme(root)
    with told(root):
        try:
            store, base = fs.FileSystem.from_uri(_patient(f"{scheme}:{root.partition(':')[2]}"))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ImportError) as error:
            if isinstance(error, pa.ArrowInvalid) and "Unrecognized filesystem" not in str(error):
                raise
            return _of_fsspec(root, fs)
    return store, lambda path, _: f"{base.rstrip('/')}/{path}" if path else base


def _of_fsspec(root: str, fs: Any) -> tuple[Any, Callable[[str, str], str]]:
    scheme = _scheme(root)
    try:
        import fsspec  # noqa: PLC0415 - as above
    except ImportError:
        text = (
            f"pyarrow does not know {scheme}://, and fsspec, which may, is not installed: pip install 'kwire[stores]'"
        )
        raise InputError(text, file=root) from None
    try:
        store, _ = fsspec.core.url_to_fs(root)
    except ValueError as error:
        if "not known" not in str(error):
            raise
        raise InputError(f"neither pyarrow nor fsspec knows {scheme}://", file=root) from None
    except ImportError as error:
        raise InputError(f"fsspec needs one more library for {scheme}://: {error}", file=root) from None
    return fs.PyFileSystem(fs.FSSpecHandler(store)), lambda _, url: str(store._strip_protocol(url))  # noqa: SLF001 - fsspec's own name for it


def _patient(root: str) -> str:
    how = PATIENCE.get(_scheme(root))
    return root if how is None or how.partition("=")[0] in root else f"{root}{'&' if '?' in root else '?'}{how}"


def _scheme(url: str) -> str:
    scheme = url.partition(":")[0].lower()
    return SAME.get(scheme, scheme)


# Paths: pathlib's for files of this machine, and what can be done in the same words with files that URLs
# name.

AT_ONCE = 16
"""Requests that wait for a store at the same time."""


FIRST, MOST = 1 << 17, 8 << 20
"""Bytes that are asked for at once where a file is read from its beginning on: at first, as a look may be enough, and
then more and more."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_LOCAL = re.compile(r"file://", re.IGNORECASE)
_PARTS = re.compile(r"(?P<root>[^:]+://[^/?]*)/?(?P<path>.*?)/*(?P<query>\?[A-Za-z_][\w.-]*=.*)?", re.DOTALL)
"""Of a URL; a question mark that no query begins with stands for a character, as globs have it."""
T = TypeVar("T")
R = TypeVar("R")


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


class Status(NamedTuple):
    """As `os.stat_result`: bytes, and seconds since 1970, 0 where a store does not say."""

    st_size: int
    st_mtime: float


class Stored(os.PathLike[str]):
    """A file or folder of a store, with those methods of pathlib.Path that reading needs; the text of it is its URL.

    `root` is the URL before the path, `query` what stands behind it. All methods that ask the store raise InputError
    where it does not answer.
    """

    __slots__ = ("_seen", "path", "query", "root")

    def __init__(self, root: str, path: str, query: str = "", seen: Any = None) -> None:
        self.root, self.path, self.query, self._seen = root, path, query, seen

    @classmethod
    def of(cls, url: str) -> Stored:
        """Return the file or folder that a URL names."""
        if URL_PASSWORD.match(url):
            raise InputError(
                "a URL must not contain a password; set it in the environment, or as the store's tools take it",
                file=url,
            )
        match = _PARTS.fullmatch(url)
        assert match is not None  # noqa: S101 - for the type checker: all URLs do
        return cls(match["root"], match["path"], match["query"] or "")

    def __str__(self) -> str:
        return f"{self.root}{'/' if self.path else ''}{self.path}{self.query}"

    __fspath__ = __str__

    def __repr__(self) -> str:
        return f"Stored({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stored) and str(self) == str(other)

    def __reduce__(self) -> tuple[Any, ...]:
        return Stored.of, (str(self),)  # what was seen of it stays here

    def __hash__(self) -> int:
        return hash(str(self))

    def __truediv__(self, name: str) -> Stored:
        return self._under(name, None)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def parts(self) -> tuple[str, ...]:
        """The root, and behind it the names between the slashes of the path."""
        return (self.root, *self.path.split("/"))

    @property
    def parent(self) -> Stored:
        """The folder that it is in."""
        return Stored(self.root, self.path.rpartition("/")[0], self.query)

    def with_name(self, name: str) -> Stored:
        """The file beside it with this name."""
        return self.parent / name

    def with_suffix(self, suffix: str) -> Stored:
        """The file beside it with this suffix in place of its own."""
        return self.with_name(f"{self.name.rpartition('.')[0] or self.name}{suffix}")

    def resolve(self) -> Stored:
        """Itself: a URL is absolute."""
        return self

    absolute = resolve

    def exists(self) -> bool:
        """Return whether there is a file or folder."""
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Return whether there is a file."""
        return bool(self._info.is_file)

    def is_dir(self) -> bool:
        """Return whether there is a folder. On most stores: whether any file's name begins so."""
        return bool(self._info.type.name == "Directory")

    def is_symlink(self) -> bool:
        """Stores have none."""
        return False

    is_fifo = is_symlink

    def stat(self) -> Status:
        """Size and time of a file, as they were when this was first looked at."""
        if not self.is_file():
            raise FileNotFoundError(2, "there is no such file", str(self))
        return Status(self._info.size, (self._info.mtime_ns or 0) / 1e9)

    def iterdir(self) -> Iterator[Stored]:
        """Yield the files and folders in the folder."""
        yield from self._below(recursive=False)

    def rglob(self, pattern: str) -> Iterator[Stored]:
        """Yield the files and folders at any depth in the folder whose name matches `pattern`."""
        yield from (entry for entry in self._below(recursive=True) if fnmatch.fnmatchcase(entry.name, pattern))

    def glob(self) -> list[str]:
        """Return what the path matches as a glob, in order.

        The signs are those of glob.glob: `*`, `?`, `[…]`, and `**` for any folders.
        """
        parts = self.path.split("/")
        plain = next((number for number, part in enumerate(parts[:-1]) if glob.has_magic(part)), len(parts) - 1)
        places: set[Place] = set(_matching(Stored(self.root, "/".join(parts[:plain]), self.query), parts[plain:]))
        return [str(place) for place in in_order(places)]

    def open(self, mode: str = "rb", buffering: int = -1) -> io.BufferedReader:  # noqa: ARG002 - as pathlib's
        """Its bytes, from the first to the last."""
        with told(str(self)):
            files, name = self.place()
            return io.BufferedReader(_Stream(files.open_input_file(name), str(self)))

    def read_bytes(self) -> bytes:
        """All of its bytes."""
        with self.open() as file:
            return file.read()

    def place(self) -> tuple[Any, str]:
        """The pyarrow.fs.FileSystem, and what that calls this."""
        files, named = filesystem(self.root + self.query)
        return files, named(self.path, str(self))

    @property
    def _info(self) -> Any:
        if self._seen is None:
            with told(str(self)):
                files, name = self.place()
                self._seen = files.get_file_info(name)
        return self._seen

    def _below(self, *, recursive: bool) -> Iterator[Stored]:
        with told(str(self)):
            from pyarrow.fs import FileSelector  # noqa: PLC0415 - only for URLs

            files, name = self.place()
            infos = files.get_file_info(FileSelector(name, recursive=recursive))
            size = len(name.rstrip("/"))
        for info in infos:
            if below := info.path[size:].strip("/"):  # a store may list a folder in itself
                yield self._under(below, info)

    def _under(self, path: str, seen: Any) -> Stored:
        return Stored(self.root, f"{self.path}{'/' if self.path else ''}{path}", self.query, seen)


def _matching(folder: Stored, parts: list[str]) -> Iterator[Stored]:
    """Yield the files and folders in a folder that match these parts of a glob."""
    part, *rest = parts
    if part == "**":
        below = [
            entry
            for entry in folder.rglob("*")
            if not any(name.startswith(".") for name in entry.path[len(folder.path) :].strip("/").split("/"))
        ]
        if not rest:
            yield from [folder, *below]
            return
        for entry in [folder, *(entry for entry in below if entry.is_dir())]:
            yield from _matching(entry, rest)
        return
    for entry in folder.iterdir() if folder.is_dir() else ():
        if fnmatch.fnmatchcase(entry.name, part) and (part.startswith(".") or not entry.name.startswith(".")):
            if rest:
                yield from _matching(entry, rest)
            else:
                yield entry


class _Stream(io.RawIOBase):
    """A file of pyarrow from its beginning on; its errors say what could not be read."""

    def __init__(self, file: Any, name: str) -> None:
        self._file, self.name = file, name
        self._held, self._size, self._at = memoryview(b""), FIRST, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._held:
            with told(self.name):
                self._held = memoryview(self._file.read(max(self._size, len(buffer))))
            self._size = min(2 * self._size, MOST)
        part = self._held[: len(buffer)]
        buffer[: len(part)] = part
        self._held = self._held[len(part) :]
        self._at += len(part)
        return len(part)

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


Place = Path | Stored
"""A local path or a URL: both are read by the same methods."""


def in_order(places: Iterable[Place]) -> list[Place]:
    """Sorted as pathlib sorts: part by part."""
    return sorted(places, key=lambda each: each.parts)
