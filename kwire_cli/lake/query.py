"""SQL queries over a lake, which DuckDB runs in this process.

Each table is a view of its Parquet files, joined with the current runs.
"""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Self

import duckdb
import pyarrow as pa

from kwire_cli.errors import InputError
from kwire_cli.lake.arrow_files import arrow_place
from kwire_cli.lake.snapshot import snapshot
from kwire_cli.lake.sql_text import quote_name, quote_text
from kwire_cli.lake.tables import DAY, SHAPES, known_tables, needed_for, views, whole_schema
from kwire_cli.stores.stored import Stored, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyarrow.dataset import Dataset

    from kwire_cli.lake.snapshot import LakeTable
    from kwire_cli.stores.paths import Place

_PARQUET = "union_by_name = true, hive_partitioning = false, filename = true"
_WITH_DAY = "* exclude (filename), try_cast(regexp_extract(filename, 'day=([^/]*)/[^/]*$', 1) as date) as day"
"""All columns, and the day from the name of the folder. The last match counts, as the lake's path may contain days."""
BATCH = 1 << 14
"""Rows of a result that are read at once."""
INTERRUPTED = 0.1
"""Seconds between interrupts until DuckDB stops a query."""
_SETTINGS = (
    "set timezone = 'UTC'; set autoinstall_known_extensions = false; "
    "set python_enable_replacements = false"  # else the name of a variable of this program is a table
)
_EXPLODE = "create macro explode(list) as unnest(list)"
"""Defines `unnest` under its name in Spark, so that the SQL of reports is the same for both."""
_INTERVAL = pa.month_day_nano_interval()
_INTERVAL_AS = pa.float64()


class Lake:
    """The tables of a lake that queries use, as views of a DuckDB connection; a context manager.

    Tables and columns without rows in the lake are empty or null, so that every query over the tables of docs/tables.md
    runs. Queries can read the files of these tables only.

    Raises:
        InputError: The folder is not a lake.

    """

    def __init__(self, folder: Place, *queries: str) -> None:
        names, views_used = needed_for("; ".join(queries))
        state = snapshot(folder, names)
        self.tables = state.tables
        self._connection = duckdb.connect()
        self._thread = ThreadPoolExecutor(1)
        self._connection.execute(f"{_SETTINGS}; {_EXPLODE}")
        self._connection.register("runs", state.runs)
        with told():
            self._connection.register("inputs", state.inputs)
            for name in {*known_tables(names), *self.tables} - {"inputs"}:
                self._create(name)
            for name in views_used:
                self._connection.execute(f"create view {name} as {views()[name]}")
            files: list[str] = []
            for table in self.tables.values():
                files += [str(table.folder / path) for path in table.files]
            self._connection.execute(f"set allowed_paths = [{', '.join(map(quote_text, files))}]")
            self._connection.execute("set enable_external_access = false; set lock_configuration = true")

    def _create(self, name: str) -> None:
        """Create the view of a table."""
        table = self.tables.get(name)
        view = quote_name(name)
        if table is None or not table.files:
            self._connection.register(name, whole_schema(name).empty_table())
            return
        if isinstance(table.folder, Stored):  # DuckDB's own readers of stores are extensions that it would download
            self._connection.register(f"rows of {name}", dataset_of(table))
            rows = quote_name(f"rows of {name}")
        else:
            files = ", ".join(quote_text(str(table.folder / path)) for path in table.files)
            rows = f"(select {_WITH_DAY} from read_parquet([{files}], {_PARQUET}))"  # noqa: S608 - quoted paths
        query = f"select * from {rows} semi join runs using (unit, run)"  # noqa: S608 - our own names and quoted paths
        self._connection.register(f"no {name}", _all_columns(name, table).empty_table())
        query = f"{query} union all by name select * from {quote_name(f'no {name}')}"  # noqa: S608 - as above
        self._connection.execute(f"create view {view} as {query}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()
        self._connection.close()

    def arrow(self, query: str) -> pa.RecordBatchReader:
        """Return the result of a query. Rows are computed while they are read.

        Raises:
            InputError: DuckDB rejects the query; the message is DuckDB's.

        """
        with told():
            result: Any = self._awaited(self._connection.sql, query)
            if result is None:  # the statement is not a select
                return pa.schema([]).empty_table().to_reader()
            reader = self._awaited(result.to_arrow_reader, BATCH)
            batches = iter(partial(self._awaited, next, reader, None), None)
            return as_answer(pa.RecordBatchReader.from_batches(reader.schema, batches))

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Return the result of a query as dicts. It raises the errors of `arrow`."""
        found: list[dict[str, Any]] = self.arrow(query).read_all().to_pylist()
        return found

    def run(self, statement: str) -> None:
        """Run a statement of ours that creates a temporary table."""
        with told():
            self._awaited(self._connection.execute, statement)

    def _awaited(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of DuckDB in a thread and return its result.

        In the main thread, Ctrl-C would have no effect until DuckDB returns.
        """
        future = self._thread.submit(work, *arguments)
        try:
            return future.result()
        except KeyboardInterrupt:
            while not future.done():  # DuckDB ignores an interrupt before it starts
                self._connection.interrupt()
                wait([future], INTERRUPTED)
            raise


def as_answer(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return a result with unique column names and with intervals in seconds, as in all answers."""
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
    """Convert intervals to seconds, with months of 30 days like DuckDB's epoch(). Return other columns unchanged."""
    if column.type != _INTERVAL:
        return column
    seconds = [
        None if value is None else (value.months * 30 + value.days) * 86400 + value.nanoseconds / 1e9
        for value in column.to_pylist()
    ]
    return pa.array(seconds, _INTERVAL_AS)


def _all_columns(name: str, table: LakeTable) -> pa.Schema:
    """Return the columns of a table in its log and the columns that this version writes."""
    days = pa.field(DAY, pa.date32())
    known = pa.schema([days if each.name == DAY else each for each in table.schema])
    if name not in SHAPES:
        return known
    own = whole_schema(name)
    return pa.schema([*own, *(each for each in known if each.name not in own.names)])


def dataset_of(table: LakeTable) -> Dataset:
    """Return a table as a pyarrow dataset, which reads only the columns and rows that a query needs."""
    from pyarrow import dataset  # noqa: PLC0415 - a slow import that only stores need

    store, base = arrow_place(table.folder)
    fields = [each for each in table.schema if each.name != DAY]
    day = pa.schema([pa.field(DAY, pa.date32())])
    with reading(str(table.folder)):
        return dataset.dataset(
            [f"{base}/{path}" for path in table.files],
            schema=pa.schema([*fields, *day]),
            filesystem=store,
            format="parquet",
            partitioning=dataset.partitioning(day, flavor="hive"),
            partition_base_dir=base,
        )


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Convert errors of DuckDB to InputError. They can occur while rows of a result are read."""
    try:
        yield
    except duckdb.Error as error:
        raise InputError(f"DuckDB: {str(error).strip()}") from None
