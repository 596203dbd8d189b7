"""Paths and URLs, and the file systems behind them."""

from __future__ import annotations

import contextlib
import fnmatch
import io
import os
import re
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from kwire_cli.errors import URL_PASSWORD, InputError, without_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


# The file systems of stores by URL, which fsspec has.

OBJECTS = {"s3", "gs", "abfs"}
"""Object stores: they need no folders, have those that names of files say, and cannot move files."""
_SAME = {"s3a": "s3", "gcs": "gs", "abfss": "abfs", "az": "abfs"}
"""Other names of schemes, as Hadoop and the stores' own tools write them."""
_ACCESS = {
    "s3": "credentials, region and endpoint are those of AWS's tools: AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY; AWS_REGION; AWS_ENDPOINT_URL",
    "gs": "credentials are those of Google's tools: GOOGLE_APPLICATION_CREDENTIALS, or gcloud auth "
    "application-default login",
    "abfs": "credentials are AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN, or those of Azure's tools with "
    "AZURE_STORAGE_ANON=false",
    "hdfs": "it takes pyarrow and Hadoop's libhdfs: set JAVA_HOME, HADOOP_HOME, and CLASSPATH to what hadoop classpath "
    "--glob prints; or webhdfs://namenode:9870/…, which takes requests alone",
}
"""Hints, by scheme, at the places where its library looks for credentials and settings."""
BYTES = "bytes"
"""The unit of sizes, and of the progress through them."""
_LONGEST = 400
"""Characters of what a library says is wrong that are shown."""


@contextlib.contextmanager
def reading(url: str) -> Iterator[None]:
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
        raise refusal("cannot be read", error, url) from None


def refusal(what: str, error: Exception, path: str) -> InputError:
    """Return the InputError for what a store, or this machine, says of a path."""
    text = " ".join((getattr(error, "strerror", None) or str(error)).split())[:_LONGEST] or type(error).__name__
    access = _ACCESS.get(_scheme(path)) if is_url(path) else None
    return InputError(f"{what}: {text}{f' ({access})' if access else ''}", file=path)


@cache
def _filesystem(root: str, query: str, _process: int) -> Any:
    """Return fsspec's file system of a URL without its path: one for each process, as none survives a fork.

    Raises:
        InputError: Nothing knows the scheme, a library is missing, or the store lets nobody in.

    """
    try:
        import fsspec  # noqa: PLC0415 - only for URLs
    except ImportError:
        text = "fsspec is needed to read from stores, and it is not installed: pip install 'kwire[stores]'"
        raise InputError(text, file=root) from None
    scheme = root.partition(":")[0].lower()
    if scheme not in fsspec.available_protocols():
        raise InputError(f"fsspec does not know {scheme}://, as it does s3://, gs://, abfs://, hdfs://", file=root)
    options = _s3_options(root, query) if _scheme(root) == "s3" else {}
    if _scheme(root) in OBJECTS:
        options["use_listings_cache"] = False  # other processes write there
    url = f"{scheme}:{root.partition(':')[2]}{'' if _scheme(root) == 's3' else query}"
    with reading(root):
        try:
            files, _ = fsspec.url_to_fs(url, **options)
        except ImportError as error:
            text = f"{scheme}:// needs one more library: {error}"
            if scheme in {"s3", "s3a"}:
                text += ": pip install 'kwire[stores]'"
            raise InputError(text, file=root) from None
    return files


def _s3_options(root: str, query: str) -> dict[str, Any]:
    """Return what the query of a URL and the environment say of a server that speaks S3.

    Raises:
        InputError: The query has another name.

    """
    given = dict(parse_qsl(query[1:]))
    endpoint = given.pop("endpoint_override", "")
    scheme = given.pop("scheme", "https")
    region = given.pop("region", os.environ.get("AWS_REGION"))
    if given:
        text = f"an s3:// URL takes endpoint_override, scheme and region behind its question mark, not {min(given)}"
        raise InputError(text, file=root)
    options: dict[str, Any] = {}
    if endpoint:
        options["endpoint_url"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
    if region:
        options["client_kwargs"] = {"region_name": region}
    return options


def _scheme(url: str) -> str:
    scheme = url.partition(":")[0].lower()
    return _SAME.get(scheme, scheme)


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
_TIMES = ("mtime", "LastModified", "last_modified")
"""What file systems of fsspec call the time of the last change."""
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

    def __init__(self, root: str, path: str, query: str = "", seen: dict[str, Any] | None = None) -> None:
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

    @property
    def is_flat(self) -> bool:
        """Whether the store needs no folders."""
        return _scheme(self.root) in OBJECTS

    def exists(self) -> bool:
        """Return whether there is a file or folder."""
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Return whether there is a file."""
        return bool(self._info["type"] == "file")

    def is_dir(self) -> bool:
        """Return whether there is a folder. On most stores: whether any file's name begins so."""
        return bool(self._info["type"] == "directory")

    def is_symlink(self) -> bool:
        """Stores have none."""
        return False

    is_fifo = is_symlink

    def stat(self) -> Status:
        """Size and time of a file, as they were when this was first looked at."""
        self._refuse_folder()
        if not self.is_file():
            raise FileNotFoundError(2, "there is no such file", str(self))
        if self._info["size"] is None:
            text = "cannot be read: the server does not say how long it is; download it first"
            raise InputError(text, file=str(self))
        times = [time for name in _TIMES if isinstance(time := self._info.get(name), datetime)]
        return Status(self._info["size"], times[0].timestamp() if times else 0)

    def iterdir(self) -> Iterator[Stored]:
        """Yield the files and folders in the folder."""
        with reading(str(self)):
            files, name = self.place()
            infos = files.ls(name, detail=True)
        yield from self._entries(name, infos)

    def rglob(self, pattern: str) -> Iterator[Stored]:
        """Yield the files and folders at any depth in the folder whose name matches `pattern`."""
        with reading(str(self)):
            files, name = self.place()
            infos = files.find(name, withdirs=True, detail=True).values()
        yield from (entry for entry in self._entries(name, infos) if fnmatch.fnmatchcase(entry.name, pattern))

    def glob(self) -> list[str]:
        """Return what the path matches as a glob of fsspec, in order. As here, `*` does not match hidden names."""
        root = Stored(self.root, "", self.query)
        with reading(str(self)):
            files, name = self.place()
            infos = files.glob(name, detail=True).values()
        entries = [
            entry for entry in root._entries(root.place()[1], infos) if _hidden(entry.path) <= _hidden(self.path)
        ]
        return [str(entry) for entry in sorted(entries, key=lambda entry: entry.parts)]

    def open(self, mode: str = "rb", buffering: int = -1) -> io.BufferedReader:  # noqa: ARG002 - as pathlib's
        """Its bytes, from the first to the last."""
        self._refuse_folder()
        with reading(str(self)):
            files, name = self.place()
            return io.BufferedReader(_Stream(files.open(name, "rb", cache_type="none"), str(self)))

    def read_bytes(self) -> bytes:
        """All of its bytes."""
        with reading(str(self)):
            files, name = self.place()
            data: bytes = files.cat_file(name)
        return data

    def place(self) -> tuple[Any, str]:
        """The file system of fsspec, and what that calls this."""
        files = _filesystem(self.root, self.query, os.getpid())
        url = str(Stored(self.root, self.path)) if _scheme(self.root) == "s3" else str(self)
        return files, str(files._strip_protocol(url))  # noqa: SLF001 - fsspec's own name for it

    def _refuse_folder(self) -> None:
        if self.is_dir():
            raise InputError("cannot be read: it is a folder", file=str(self))

    @property
    def _info(self) -> dict[str, Any]:
        if self._seen is None:
            with reading(str(self)):
                files, name = self.place()
                try:
                    self._seen = files.info(name)
                except FileNotFoundError as error:
                    if error.__cause__ and self.root.startswith("http"):  # where fsspec calls every failure so
                        raise error.__cause__ from None
                    self._seen = {"type": "nothing"}
        return self._seen

    def _entries(self, name: str, infos: Iterable[dict[str, Any]]) -> Iterator[Stored]:
        """Yield what a store, which calls this folder `name`, lists in it; it may list the folder itself."""
        size = len(name.rstrip("/"))
        entries = {}
        for info in infos:
            if path := info["name"][size:].strip("/"):
                entries[path] = {**info, "type": "directory"} if info["name"].endswith("/") else info
        yield from (self._under(path, info) for path, info in entries.items())

    def _under(self, path: str, seen: dict[str, Any] | None) -> Stored:
        return Stored(self.root, f"{self.path}{'/' if self.path else ''}{path}", self.query, seen)


def _hidden(path: str) -> int:
    """Return how many names of a path begin with a dot."""
    return sum(name.startswith(".") for name in path.split("/"))


class _Stream(io.RawIOBase):
    """A file of fsspec from its beginning on; its errors say what could not be read."""

    def __init__(self, file: Any, name: str) -> None:
        self._file, self.name = file, name
        self._held, self._size, self._at = memoryview(b""), FIRST, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._held:
            with reading(self.name):
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
