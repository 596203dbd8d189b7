"""File systems that pyarrow reads and writes a lake with: its own for this machine, fsspec's for stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyarrow import PythonFile
from pyarrow.fs import FSSpecHandler, LocalFileSystem, PyFileSystem

from kwire_cli.stores.opening import BLOCK
from kwire_cli.stores.paths import refuse_bytes
from kwire_cli.stores.stored import Stored

if TYPE_CHECKING:
    from kwire_cli.stores.paths import Place

_LOCAL = LocalFileSystem()


def arrow_place(place: Place) -> tuple[Any, str]:
    """Return the pyarrow.fs.FileSystem of a place, and what that calls it.

    Raises:
        InputError: The path is not UTF-8.

    """
    if isinstance(place, Stored):
        files, name = place.place()
        return PyFileSystem(_Handler(files)), name
    refuse_bytes(place)
    return _LOCAL, str(place)


class _Handler(FSSpecHandler):  # type: ignore[misc]
    """pyarrow's handler for fsspec that requests only the bytes to read, and writes with small buffers.

    fsspec's own buffers are larger than most files of a lake: 50 MB for S3.
    """

    def open_input_file(self, path: str) -> Any:
        return PythonFile(self.fs.open(path, "rb", cache_type="none"), mode="r")

    def open_input_stream(self, path: str) -> Any:
        return PythonFile(self.fs.open(path, "rb", block_size=BLOCK, cache_type="readahead"), mode="r")

    def open_output_stream(self, path: str, metadata: Any) -> Any:  # noqa: ARG002 - as pyarrow calls it
        return PythonFile(self.fs.open(path, "wb", block_size=BLOCK), mode="w")
