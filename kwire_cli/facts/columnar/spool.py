"""Rows that wait for the end of an input, in memory or in a temporary file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_cli.stores.writing import writing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SPOOLED = 64 << 20
"""Maximum bytes of rows in memory."""


class Spool:
    """Rows with one schema. Beyond SPOOLED bytes they are in a file. Dictionaries may differ from batch to batch."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[pa.RecordBatch] = []
        self._size = 0
        self._out: pa.ipc.RecordBatchStreamWriter | None = None

    def add(self, rows: pa.RecordBatch) -> None:
        """Add rows."""
        self._rows.append(rows)
        self._size += rows.nbytes
        if self._size > SPOOLED:
            self._write()

    def _write(self) -> None:
        with writing(self._path.parent):
            if self._out is None:
                options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)  # for buffers this small
                self._out = pa.ipc.new_stream(str(self._path), self._rows[0].schema, options=options)
            for rows in self._rows:
                self._out.write_batch(rows)
        self._rows = []
        self._size = 0

    def taken(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows in the order in which they were added, and forget them."""
        if self._out is not None:
            with writing(self._path.parent):
                self._out.close()
            self._out = None
            options = pa.ipc.IpcReadOptions(use_threads=False)
            with pa.OSFile(str(self._path)) as source, pa.ipc.open_stream(source, options=options) as rows:
                yield from rows
            self._path.unlink()
        rows = self._rows
        self._rows = []
        self._size = 0
        yield from rows
