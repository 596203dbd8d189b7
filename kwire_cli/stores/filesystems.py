"""The file systems of stores by URL: pyarrow's own, and fsspec's for all schemes that pyarrow does not know."""

from __future__ import annotations

import contextlib
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
"""Other names of schemes, as Hadoop and Google's tools write them."""
ACCESS = {
    "s3": "credentials, region and endpoint are those of AWS's tools: AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; "
    "AWS_REGION; AWS_ENDPOINT_URL",
    "gs": "credentials are those of Google's tools: GOOGLE_APPLICATION_CREDENTIALS, or gcloud auth application-default login",
    "abfs": "credentials are those of Azure's tools: AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET, or az login",
    "hdfs": "it takes Hadoop's libhdfs: set JAVA_HOME, HADOOP_HOME, and CLASSPATH to what hadoop classpath --glob prints",
}
"""By scheme, where its library looks for what it needs."""
PATIENCE = {"gs": "retry_limit_seconds=60"}
"""By scheme, what has a library give up where nobody answers: Google's would try again for a quarter of an hour."""
_LONGEST = 400
"""Characters of what a library says is wrong that are shown."""
_PASSWORD = re.compile(r"//[^/?]*:[^/?]*@")


@contextlib.contextmanager
def told(url: str) -> Iterator[None]:
    """Whatever goes wrong with a store is an InputError about this URL, that says what it takes."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError("there is no such file or folder", file=url) from None
    except Exception as error:  # noqa: BLE001 - the libraries of stores raise what they like
        text = " ".join(str(error).split())[:_LONGEST] or type(error).__name__
        access = ACCESS.get(_scheme(url))
        raise InputError(f"cannot be read: {text}{f' ({access})' if access else ''}", file=url) from None


@cache
def filesystem(root: str) -> tuple[Any, Callable[[str, str], str]]:
    """The pyarrow.fs.FileSystem of a URL without its path, and what it calls a file there, of its path and its URL.

    Raises:
        InputError: Nothing knows the scheme, a library is missing, or the store lets nobody in.

    """
    if _PASSWORD.search(root):
        shown = _PASSWORD.sub("//…@", root)
        raise InputError("a password in a URL would be shown with results: give it in the environment, or as the store's tools take it", file=shown)
    try:
        import pyarrow as pa  # noqa: PLC0415 - only for URLs
        from pyarrow import fs  # noqa: PLC0415
    except ImportError:
        raise InputError("pyarrow is needed to read from stores, and it is not installed: pip install 'kwire[stores]'", file=root) from None
    scheme = _scheme(root)
    with told(root):
        try:
            found, base = fs.FileSystem.from_uri(_patient(f"{scheme}:{root.partition(':')[2]}"))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ImportError) as error:
            if isinstance(error, pa.ArrowInvalid) and "Unrecognized filesystem" not in str(error):
                raise
            return _of_fsspec(root, fs)
    return found, lambda path, _: f"{base.rstrip('/')}/{path}" if path else base


def _of_fsspec(root: str, fs: Any) -> tuple[Any, Callable[[str, str], str]]:
    scheme = _scheme(root)
    try:
        import fsspec  # noqa: PLC0415 - as above
    except ImportError:
        text = f"pyarrow does not know {scheme}://, and fsspec, which may, is not installed: pip install 'kwire[stores]'"
        raise InputError(text, file=root) from None
    try:
        found, _ = fsspec.core.url_to_fs(root)
    except ValueError as error:
        if "not known" not in str(error):
            raise
        raise InputError(f"neither pyarrow nor fsspec knows {scheme}://", file=root) from None
    except ImportError as error:
        raise InputError(f"fsspec needs one more library for {scheme}://: {error}", file=root) from None
    return fs.PyFileSystem(fs.FSSpecHandler(found)), lambda _, url: str(found._strip_protocol(url))  # noqa: SLF001 - fsspec's own name for it


def _patient(root: str) -> str:
    how = PATIENCE.get(_scheme(root))
    return root if how is None or how.partition("=")[0] in root else f"{root}{'&' if '?' in root else '?'}{how}"


def _scheme(url: str) -> str:
    scheme = url.partition(":")[0].lower()
    return SAME.get(scheme, scheme)
