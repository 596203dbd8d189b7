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


def put_stream(place: Place, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> int:
    """Write rows that are read once to a lightly compressed file. Dictionaries may differ between batches.

    Return the number of rows.
    """
    count = 0
    files, path = arrow_place(place)
    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)  # for buffers this small
    with (
        writing(place.parent),
        files.open_output_stream(path, compression=None) as sink,
        pa.ipc.new_stream(sink, schema, options=options) as out,
    ):
        for rows in batches:
            out.write_batch(rows)
            count += rows.num_rows
    return count


def streamed(place: Place) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file that `put_stream` wrote."""
    files, path = arrow_place(place)
    options = pa.ipc.IpcReadOptions(use_threads=False)
    with (
        reading(str(place)),
        files.open_input_stream(path) as source,
        pa.ipc.open_stream(source, options=options) as rows,
    ):
        yield from rows
