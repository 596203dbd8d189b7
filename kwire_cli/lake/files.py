"""Files of tables, written by one process of a run: Delta files of a lake, or plain files.

Rows of many units go to one file, as readers pay for each file. A file has the rows of one day; rows without a time go
to a separate file. Files of a lake begin with the columns `unit` and `run`, for which the log has statistics, and
readers do not see the files before they are committed (`delta`). Plain files are at DIR/TABLE/day=DAY/NAME.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kwire_cli.errors import InputError
from kwire_cli.facts.columnar.arrays import word
from kwire_cli.lake import DELTA
from kwire_cli.lake.arrow_files import arrow_place
from kwire_cli.lake.delta import DAY, NO_DAY, RUN, UNIT, Statistics, Written, stored_schema
from kwire_cli.lake.sql_text import quote_text
from kwire_cli.lake.tables import POINT, day_column
from kwire_cli.stores.opening import task_folder
from kwire_cli.stores.paths import in_parallel
from kwire_cli.stores.writing import make_folder, put, writing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.stores.paths import Place

ROW_GROUP = 1 << 18
"""Maximum number of rows of a row group."""
SMALL = 1 << 16
"""Bytes of rows below which a file is not compressed: compression would take longer than writing."""
PIECE = 1 << 16
"""Bytes that are written at once. A file has several pieces for each column."""
MOST_BYTES = 64 << 20
"""Maximum bytes of rows in memory."""
TEXTS = ("csv", "jsonl")
"""Formats that DuckDB writes, from a Parquet file."""
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class Target:
    """The folder that a run writes to, the format of its files, and the name of the run."""

    folder: Place
    form: str
    run: str

    @property
    def is_lake(self) -> bool:
        """Return whether the folder is a lake."""
        return self.form == DELTA


@dataclass
class _File:
    """The rows of one file, and the file once it is open. `waiting` and `size` count unwritten rows."""

    path: str
    rows: list[pa.RecordBatch] = field(default_factory=list)
    statistics: Statistics = field(default_factory=Statistics)
    waiting: int = 0
    count: int = 0
    size: int = 0
    out: Any = None


class Files:
    """Files of tables that one process writes. Other processes use other names."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._made: list[Written] = []
        self._name = f"{target.run}-{uuid4().hex[:12]}"
        self._open: dict[tuple[str, str | None], _File] = {}
        self._waiting = 0

    def add(self, table: str, point: str, rows: pa.RecordBatch, unit: str | None = None) -> None:
        """Add rows of a table and a capture point. They are written when there are enough of them.

        The unit of each row is the value of its column `file`, unless `unit` is set.
        """
        if not rows.num_rows:
            return
        for day, part in by_day(rows, day_column(table)):
            file = self._open.get((table, day))
            if file is None:
                folder = f"{DAY}={day or NO_DAY}/" if day_column(table) or self._target.is_lake else ""
                suffix = "parquet" if self._target.is_lake else self._target.form
                name = f"{self._name}-{len(self._made) + len(self._open):04d}.{suffix}"
                file = self._open[table, day] = _File(f"{folder}{name}")
            own = self._with_keys(part, point, unit)
            size = own.nbytes
            file.rows.append(own)
            file.waiting += own.num_rows
            file.size += size
            self._waiting += size
            if file.waiting >= ROW_GROUP:
                self._write(table, file)
        while self._waiting > MOST_BYTES:
            (table, _), file = max(self._open.items(), key=lambda each: each[1].size)
            self._write(table, file)

    def _with_keys(self, rows: pa.RecordBatch, point: str, unit: str | None) -> pa.RecordBatch:
        columns = {name: rows.column(name) for name in rows.schema.names if name != DAY}
        columns.setdefault(POINT, word(point, rows.num_rows))
        if self._target.is_lake:
            units = _encoded(columns["file"]) if unit is None else word(unit, rows.num_rows)
            columns = {UNIT: units, RUN: word(self._target.run, rows.num_rows), **columns}
        return pa.RecordBatch.from_arrays([*columns.values()], names=[*columns])

    def close(self) -> list[Written]:
        """Close all files and return them."""
        ends = [(table, day, file) for (table, day), file in self._open.items()]
        self._made += in_parallel(lambda each: self._end(*each), ends, lambda _: self._target.folder)
        self._open.clear()
        return self._made

    def _end(self, table: str, day: str | None, file: _File) -> Written:
        """Write the waiting rows of a file, and close it."""
        self._write(table, file)
        place = self._target.folder / table / file.path
        with writing(self._target.folder):
            file.out.close()
        if self._target.form in TEXTS:
            _as_text(scratch_file(file.path), place, self._target.form)
        size = file.out.size if self._target.is_lake else 0
        return Written(
            table, file.path, day, file.count, size, file.statistics.json(), file.out.schema.serialize().to_pybytes()
        )

    def _write(self, table: str, file: _File) -> None:
        if not file.rows:
            return
        rows = pa.Table.from_batches(file.rows).unify_dictionaries()
        rows = rows.cast(stored_schema(rows.schema))
        with writing(self._target.folder):
            if file.out is None:
                place = self._target.folder / table / file.path
                make_folder(place.parent)
                if self._target.form in TEXTS:
                    place = scratch_file(file.path)
                file.out = _Output(self._target.form, place, rows.schema, small=file.size < SMALL)
            file.out.write_table(rows)
        if self._target.is_lake:
            file.statistics.add(rows)
        self._waiting -= file.size
        file.count += rows.num_rows
        file.rows = []
        file.waiting = 0
        file.size = 0


def _encoded(column: pa.Array) -> pa.Array:
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


@cache
def _scratch() -> TemporaryDirectory[str]:
    """Return a temporary folder, which exists as long as this process."""
    return TemporaryDirectory(prefix="kwire-", dir=task_folder())


def scratch_file(path: str) -> Path:
    """Return the path of a temporary file on this machine."""
    return Path(_scratch().name) / path.replace("/", "-")


def by_day(rows: pa.RecordBatch, column: str | None) -> Iterator[tuple[str | None, pa.RecordBatch]]:
    """Yield rows by the day of a column, as a string; the day is None for rows without a time."""
    if column is None:
        yield None, rows
        return
    times = rows.column(column)
    days = times.cast(pa.date32()).view(pa.int32())
    values = (days.fill_null(-1) if days.null_count else days).to_numpy()
    some = np.unique(values).tolist() if values.min() != values.max() else [int(values[0])]
    for day in some:
        part = rows if len(some) == 1 else rows.take(pa.array(np.flatnonzero(values == day)))
        yield (None if day < 0 else _text(day)), part


def _text(day: int) -> str:
    return (_EPOCH + timedelta(days=day)).isoformat()


class _Output:
    """A file that is written in large pieces, compressed unless it is `small`."""

    def __init__(self, form: str, place: Place, schema: pa.Schema, *, small: bool) -> None:
        files, name = arrow_place(place)
        self._sink = files.open_output_stream(name, compression=None, buffer_size=PIECE)
        self.schema = schema
        self.size = 0
        if form == "arrow":
            options = pa.ipc.IpcWriteOptions(compression=None if small else "zstd")
            self._out: Any = pa.ipc.new_file(self._sink, schema, options=options)
        else:
            compression = "none" if small else "zstd"
            self._out = pq.ParquetWriter(
                self._sink, schema, compression=compression, version="2.6", store_schema=form != DELTA
            )

    def write_table(self, table: pa.Table) -> None:
        self._out.write_table(table)

    def close(self) -> None:
        self._out.close()
        self.size = self._sink.tell()
        self._sink.close()


def _as_text(path: Path, target: Place, form: str) -> None:
    """Convert a Parquet file to a text format."""
    import duckdb  # noqa: PLC0415 - a slow import that Parquet does not need

    text = path.with_name(f"{path.name}.{form}")
    source = quote_text(str(path))
    out = quote_text(str(text))
    options = "format csv, header" if form == "csv" else "format json"
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        try:
            connection.execute(f"copy (select * from read_parquet({source})) to {out} ({options})")  # noqa: S608
        except duckdb.Error as error:
            raise InputError(f"cannot be written to: DuckDB: {error}", file=str(target.parent)) from None
    path.unlink()
    put(text, target)
