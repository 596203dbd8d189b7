"""Questions about a lake, in SQL that DuckDB runs in this process."""

from __future__ import annotations

import contextlib
import re
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import duckdb
import pyarrow as pa

from kwire_cli.errors import InputError
from kwire_cli.facts.columnar.arrays import plain
from kwire_cli.lake import FORMATS
from kwire_cli.lake.arrow_files import arrow_place
from kwire_cli.lake.journal import find_unfinished
from kwire_cli.lake.sql_text import quote_name, quote_text
from kwire_cli.lake.tables import DAY, POINT, SHAPES, day_column, is_table, whole_schema
from kwire_cli.stores import Stored, in_order
from kwire_cli.stores.stored import reading
from kwire_cli.stores.writing import below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyarrow.dataset import Dataset

    from kwire_cli.stores import Place

BATCH = 1 << 14
"""Rows of a result that are read at once."""
INTERRUPTED = 0.1
"""Seconds after which DuckDB is told once more that nobody waits for a result."""
_SETTINGS = (
    "set timezone = 'UTC'; set autoinstall_known_extensions = false; "
    "set python_enable_replacements = false"  # else the name of a variable of this program is a table
)
_EXPLODE = "create macro explode(list) as unnest(list)"
"""Gives `unnest` the name that it has in Spark, so that reports are the same text for both."""
_INTERVAL, _INTERVAL_AS = pa.month_day_nano_interval(), pa.float64()
_MEANINGS = re.compile(r"[=*?\[\\]")
"""Characters of a path that DuckDB takes for a column and its value, or for a glob."""


class Lake:
    """The tables of a lake as views of a connection to DuckDB; a context manager.

    Tables that the lake has no rows of are empty views, so that every query over the tables of docs/tables.md runs.

    Raises:
        InputError: The folder is no lake.

    """

    def __init__(self, folder: Place) -> None:
        self.tables = tables_in(folder)
        self._connection = duckdb.connect()
        self._thread = ThreadPoolExecutor(1)
        self._connection.execute(f"{_SETTINGS}; {_EXPLODE}")
        with told():
            for name in {**SHAPES, **self.tables}:
                self._create(name)

    def _create(self, name: str) -> None:
        """Make the view of a table."""
        if name not in self.tables:
            self._connection.register(name, empty_table(name))
            return
        path, files, is_whole = self.tables[name]
        # DuckDB's own readers of stores are extensions that it would have to download
        if isinstance(path, Stored) or _MEANINGS.search(str(path)) or not is_whole:
            self._connection.register(name, dataset_of(name, path, files))
            return
        pattern = quote_text(str(path / "**" / "*.parquet"))
        partitions = "hive_partitioning = true, hive_types = {'day': date, 'capture_point': varchar}"
        if name == "inputs":
            partitions = "hive_partitioning = false"
        elif SHAPES.get(name) is not None and SHAPES[name].time is None:
            partitions = "hive_partitioning = true, hive_types = {'capture_point': varchar}"
        view = quote_name(name)
        self._connection.execute(f"create view {view} as select * from read_parquet({pattern}, {partitions})")  # noqa: S608 - both are quoted

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()
        self._connection.close()

    def arrow(self, query: str) -> pa.RecordBatchReader:
        """Return the result of a query, which is made as it is read.

        Raises:
            InputError: DuckDB refuses the query: the error says why.

        """
        with told():
            result: Any = self._awaited(self._connection.sql, query)
            if result is None:  # of a statement that is no select
                return pa.schema([]).empty_table().to_reader()
            reader = self._awaited(result.to_arrow_reader, BATCH)
            batches = iter(partial(self._awaited, next, reader, None), None)
            return as_answer(pa.RecordBatchReader.from_batches(reader.schema, batches))

    def _awaited(self, work: Callable[..., Any], *given: Any) -> Any:
        """Return what some work of DuckDB gives. The work is done in a thread: in this one Ctrl-C would wait for its
        end.
        """
        future = self._thread.submit(work, *given)
        try:
            return future.result()
        except KeyboardInterrupt:
            while not future.done():  # DuckDB forgets an interrupt that comes before it begins
                self._connection.interrupt()
                wait([future], INTERRUPTED)
            raise


def as_answer(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return a result whose columns have different names, and in which intervals are seconds, as in all answers."""
    if not reader.schema.names:
        return reader
    names: list[str] = []
    for name in reader.schema.names:
        numbered = (f"{name}_{number}" for number in count(1))
        names.append(name if name not in names else next(other for other in numbered if other not in names))
    types = [_INTERVAL_AS if column.type == _INTERVAL else column.type for column in reader.schema]
    schema = pa.schema(zip(names, types, strict=True))
    batches = (pa.RecordBatch.from_arrays([*map(_in_seconds, batch.columns)], schema=schema) for batch in reader)
    return pa.RecordBatchReader.from_batches(schema, batches)


def _in_seconds(column: pa.Array) -> pa.Array:
    """Return intervals in seconds, with months of 30 days as DuckDB's epoch() has them; other values as they are."""
    if column.type != _INTERVAL:
        return column
    seconds = [
        None if value is None else (value.months * 30 + value.days) * 86400 + value.nanoseconds / 1e9
        for value in column.to_pylist()
    ]
    return pa.array(seconds, _INTERVAL_AS)


class LakeTable(NamedTuple):
    """A table of a lake: its folder, and the files with its rows by their paths below it.

    `is_whole` is true if these are all the files in the folder.
    """

    folder: Place
    files: list[str]
    is_whole: bool


def tables_in(folder: Place) -> dict[str, LakeTable]:
    """Return the tables of a lake, in which no run is half done. Nothing is written.

    Raises:
        InputError: The folder is no lake, its tables are not in Parquet, or a run that was killed left a journal that
            is none.

    """
    if not folder.is_dir():
        raise InputError("there is no such folder", file=str(folder))
    before = None
    while before != (unfinished := find_unfinished(folder)):  # a run may be moving its files
        before = unfinished
        there = {path.name: _parquet_files(path) for path in in_order(folder.iterdir()) if _is_table(path)}
    tables = {}
    for name, files in there.items():
        counted = [path for path in files if f"{name}/{path}" not in unfinished.files]
        if counted:
            tables[name] = LakeTable(folder / name, counted, len(counted) == len(files))
    if not tables:
        how = "kwire export INPUT... -o DIR writes some"
        if unfinished.runs:
            how = "a run was killed while it put its files in place, and the next kwire export ends it"
        raise InputError(f"there are no tables in this: {how}", file=str(folder))
    return tables


def _is_table(path: Place) -> bool:
    return is_table(path.name) and path.is_dir()


def _parquet_files(folder: Place) -> list[str]:
    """Return the files of a table by their paths below its folder; none if other programs have removed all.

    Raises:
        InputError: The table is not in Parquet.

    """
    there = below(folder)
    files = [path for path in there if path.endswith(".parquet")]
    other = next((form for form in FORMATS if any(path.endswith(f".{form}") for path in there)), None)
    if other and not files:
        raise InputError(f"the table {folder.name} is in {other}; query reads Parquet", file=str(folder.parent))
    return files


def dataset_of(name: str, folder: Place, files: list[str]) -> Dataset:
    """Return a table of files that pyarrow reads, with the columns that a query asks for and the rows that it keeps."""
    from pyarrow import dataset  # noqa: PLC0415 - it takes long, and only stores need it

    store, base = arrow_place(folder)
    columns = [pa.field(POINT, pa.string()), *([pa.field(DAY, pa.date32())] if day_column(name) else [])]
    opened = partial(
        dataset.dataset,
        [f"{base}/{path}" for path in files],
        filesystem=store,
        format="parquet",
        partitioning=None if name == "inputs" else dataset.partitioning(pa.schema(columns), flavor="hive"),
        partition_base_dir=base,
    )
    with reading(str(folder)):
        return opened(schema=plain(opened().schema))


def empty_table(name: str) -> pa.Table:
    """Return a table without rows."""
    return whole_schema(name).empty_table()


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Turn errors of DuckDB into InputError: results are made while they are read."""
    try:
        yield
    except duckdb.Error as error:
        raise InputError(f"DuckDB: {str(error).strip()}") from None
