"""Tables in the hidden folder of a run, through which its tasks exchange data.

Tasks map these files into memory instead of receiving copies.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_cli.lake.arrow_files import arrow_place
from kwire_cli.stores.stored import reading
from kwire_cli.stores.writing import writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.stores.paths import Place


def put(hidden: Place, name: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> int:
    """Write rows to a file of the hidden folder. Return the number of rows."""
    count = 0
    files, path = arrow_place(hidden / name)
    with (
        writing(hidden),
        files.open_output_stream(path, compression=None) as sink,
        pa.ipc.new_file(sink, schema) as out,
    ):
        for batch in batches:
            out.write_batch(batch)
            count += batch.num_rows
    return count


def put_table(hidden: Place, name: str, table: pa.Table) -> None:
    """Write a table as one batch, which `table_of` reads."""
    put(hidden, name, table.combine_chunks().to_batches(), table.schema)


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array. It is a copy only if the column has several chunks."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


@lru_cache(maxsize=4)
def table_of(hidden: Place, name: str) -> pa.Table:
    """Return a table that is mapped into memory: only the parts that are used are loaded."""
    return pa.ipc.open_file(pa.py_buffer((hidden / name).read_bytes())).read_all()


def batches_of(hidden: Place, name: str) -> Iterator[pa.RecordBatch]:
    """Yield batches in the form in which they were written."""
    with pa.ipc.open_file(pa.py_buffer((hidden / name).read_bytes())) as source:
        for number in range(source.num_record_batches):
            yield source.get_batch(number)


class Stream:
    """A lightly compressed file of rows that are read once. Dictionaries may differ between batches."""

    def __init__(self, place: Place, schema: pa.Schema) -> None:
        files, path = arrow_place(place)
        self._folder = place.parent
        self._sink = files.open_output_stream(path, compression=None)
        options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)  # for buffers this small
        self._out = pa.ipc.new_stream(self._sink, schema, options=options)
        self.rows = 0

    def add(self, rows: pa.RecordBatch) -> None:
        """Write rows."""
        with writing(self._folder):
            self._out.write_batch(rows)
        self.rows += rows.num_rows

    def close(self) -> None:
        """Write the remaining rows, and close the file."""
        with writing(self._folder):
            self._out.close()
            self._sink.close()


def streamed(place: Place) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file that `Stream` wrote."""
    files, path = arrow_place(place)
    options = pa.ipc.IpcReadOptions(use_threads=False)
    with (
        reading(str(place)),
        files.open_input_stream(path) as source,
        pa.ipc.open_stream(source, options=options) as rows,
    ):
        yield from rows
