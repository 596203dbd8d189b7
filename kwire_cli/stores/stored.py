"""Files and folders on stores, named by URLs, and the fsspec file systems that read them.

A `Stored` is like a pathlib path: it sends no request before a method needs one. The file systems are cached for each
process. Errors of their libraries become InputError with a hint at the credentials.
"""

from __future__ import annotations

import contextlib
import io
import os
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import URL_PASSWORD, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OBJECTS = {"s3", "gs", "abfs"}
"""Schemes of object stores. Their folders are only prefixes of the names of files, and they cannot move files."""
_SAME = {"s3a": "s3", "gcs": "gs", "abfss": "abfs", "az": "abfs"}
"""Other names of schemes, which Hadoop and the stores' own tools use."""
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
"""Hints by scheme: where its library searches credentials and settings."""
_LONGEST = 400
"""Maximum number of characters of a library's error that are shown."""
FIRST = 1 << 17
"""Bytes of the first request for a file that is read in order. Each request doubles the size."""
MOST = 8 << 20
"""Maximum bytes of such a request."""
_TIMES = ("mtime", "LastModified", "last_modified")
"""Names of the time of the last change in the file systems of fsspec."""


@contextlib.contextmanager
def reading(url: str) -> Iterator[None]:
    """Convert any error of a store to an InputError about this URL, with a hint at credentials and settings."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError("there is no such file or folder", file=url) from None
    except Exception as error:  # noqa: BLE001 - the libraries of stores raise any exception
        raise refusal("cannot be read", error, url) from None


def refusal(what: str, error: Exception, path: str) -> InputError:
    """Return an error of a store or of this machine as an InputError about this path."""
    text = " ".join((getattr(error, "strerror", None) or str(error)).split())[:_LONGEST] or type(error).__name__
    access = _ACCESS.get(_scheme(path)) if "://" in path else None
    return InputError(f"{what}: {text}{f' ({access})' if access else ''}", file=path)


@cache
def _filesystem(root: str, _process: int) -> Any:
    """Return the fsspec file system of a URL without its path, one for each process, as it does not survive a fork.

    Raises:
        InputError: fsspec does not know the scheme, a library is missing, or the store refuses access.

    """
    try:
        import fsspec  # noqa: PLC0415 - only for URLs
    except ImportError:
        text = "fsspec is needed to read from stores, and it is not installed: pip install 'kwire[stores]'"
        raise InputError(text, file=root) from None
    scheme = root.partition(":")[0].lower()
    if scheme not in fsspec.available_protocols():
        raise InputError(f"fsspec does not know {scheme}://, as it does s3://, gs://, abfs://, hdfs://", file=root)
    options: dict[str, Any] = {}
    if _scheme(root) in OBJECTS:
        options["use_listings_cache"] = False  # other processes write there
    if _scheme(root) == "s3" and "AWS_REGION" in os.environ:
        options["client_kwargs"] = {"region_name": os.environ["AWS_REGION"]}  # botocore reads another variable
    with reading(root):
        try:
            files, _ = fsspec.url_to_fs(f"{scheme}:{root.partition(':')[2]}", **options)
        except ImportError as error:
            text = f"{scheme}:// needs one more library: {error}"
            if scheme in {"s3", "s3a"}:
                text += ": pip install 'kwire[stores]'"
            raise InputError(text, file=root) from None
    return files


def _scheme(url: str) -> str:
    scheme = url.partition(":")[0].lower()
    return _SAME.get(scheme, scheme)


class Status(NamedTuple):
    """Size and time (seconds since 1970) as in `os.stat_result`. The time is 0 if a store has no times."""

    st_size: int
    st_mtime: float


class Stored(os.PathLike[str]):
    """A file or folder on a store, with the methods of pathlib.Path that reading needs. Its string is its URL.

    `root` is the URL before the path. Methods that send a request raise InputError if the store does not answer.
    """

    __slots__ = ("_seen", "path", "root")

    def __init__(self, root: str, path: str, seen: dict[str, Any] | None = None) -> None:
        self.root = root
        self.path = path
        self._seen = seen

    @classmethod
    def of(cls, url: str) -> Stored:
        """Return the file or folder of a URL."""
        if URL_PASSWORD.match(url):
            raise InputError(
                "a URL must not contain a password; set it in the environment, or as the store's tools take it",
                file=url,
            )
        scheme, _, rest = url.partition("://")
        host, _, path = rest.partition("/")
        return cls(f"{scheme}://{host}", path.strip("/"))

    def __str__(self) -> str:
        return f"{self.root}{'/' if self.path else ''}{self.path}"

    __fspath__ = __str__

    def __repr__(self) -> str:
        return f"Stored({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stored) and str(self) == str(other)

    def __reduce__(self) -> tuple[Any, ...]:
        return Stored.of, (str(self),)  # without the cached answers of the store

    def __hash__(self) -> int:
        return hash(str(self))

    def __truediv__(self, name: str) -> Stored:
        return self._under(name, None)

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def parts(self) -> tuple[str, ...]:
        """Return the root and the parts of the path."""
        return (self.root, *self.path.split("/"))

    @property
    def parent(self) -> Stored:
        """Return the folder that contains it."""
        return Stored(self.root, self.path.rpartition("/")[0])

    def with_suffix(self, suffix: str) -> Stored:
        """Return the file in the same folder with this suffix in place of the present one."""
        return self.parent / f"{self.name.rpartition('.')[0] or self.name}{suffix}"

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
        """Return False: stores have no links."""
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

    def everything(self) -> Iterator[Stored]:
        """Yield the files and folders at any depth in the folder; an object store takes one request for them."""
        with reading(str(self)):
            files, name = self.place()
            infos = files.find(name, withdirs=True, detail=True).values()
        yield from self._entries(name, infos)

    def glob(self) -> list[str]:
        """Return the paths that the path matches as a glob of fsspec, sorted. `*` does not match hidden names."""
        root = Stored(self.root, "")
        with reading(str(self)):
            files, name = self.place()
            infos = files.glob(name, detail=True).values()
        entries = [
            entry for entry in root._entries(root.place()[1], infos) if _hidden(entry.path) <= _hidden(self.path)
        ]
        return [str(entry) for entry in sorted(entries, key=lambda entry: entry.parts)]

    def open(self, mode: str = "rb", buffering: int = -1) -> io.BufferedReader:  # noqa: ARG002 - as pathlib's
        """Return the file, to be read from the first byte to the last."""
        self._refuse_folder()
        with reading(str(self)):
            files, name = self.place()
            return io.BufferedReader(_Stream(files.open(name, "rb", cache_type="none"), str(self)))

    def read_bytes(self) -> bytes:
        """Return the content of the file."""
        with reading(str(self)):
            files, name = self.place()
            data: bytes = files.cat_file(name)
        return data

    def place(self) -> tuple[Any, str]:
        """Return the file system of fsspec, and its name for this file or folder."""
        files = _filesystem(self.root, os.getpid())
        return files, str(files._strip_protocol(str(self)))  # noqa: SLF001 - fsspec's own name for it

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
        return Stored(self.root, f"{self.path}{'/' if self.path else ''}{path}", seen)


def _hidden(path: str) -> int:
    """Return how many names of a path begin with a dot."""
    return sum(name.startswith(".") for name in path.split("/"))


class _Stream(io.RawIOBase):
    """A file of fsspec from its beginning on, with InputErrors."""

    def __init__(self, file: Any, name: str) -> None:
        self.name = name
        self._file = file
        self._held = memoryview(b"")
        self._size = FIRST

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
        return len(part)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
