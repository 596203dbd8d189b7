"""Files of a lake, written by a run: hidden until the run is complete, then put in their places together.

A run writes into DIR/_run-<id>/. When all of its files are there, a journal says where they go and which files they
replace; then they are moved. If a run is killed meanwhile, the next run carries its journal out, and removes all that a
killed run left without a journal. Readers write nothing. So a run counts as a whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kwire_cli.errors import InputError
from kwire_cli.facts.columnar.arrays import plain
from kwire_cli.lake import FORMATS
from kwire_cli.lake.arrow_files import arrow_place
from kwire_cli.lake.journal import HIDDEN, JOURNAL, read_journal, refuse_links
from kwire_cli.lake.sql_text import quote_text
from kwire_cli.lake.tables import DAY, SCHEMA_KEY, SCHEMA_VERSION, day_column, folder_of
from kwire_cli.stores import exists, in_order, in_parallel
from kwire_cli.stores.opening import task_folder
from kwire_cli.stores.writing import (
    below,
    make_folder,
    move,
    put,
    remove,
    remove_empty,
    remove_tree,
    write,
    writing,
)

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.stores import Place

OWNER = "_owner"
"""The file with the machine and the number of the process that writes."""
ROW_GROUP = 1 << 18
"""Rows of a row group, at most."""
TRIES = 3
"""How often a file is moved if its folder goes meanwhile."""
SMALL = 1 << 16
"""Bytes of rows in a file that are not worth compressing: it would take longer than writing them."""
PIECE = 1 << 16
"""Bytes that are written at once: a file has several pieces for each column."""
MOST_BYTES = 64 << 20
"""Bytes of rows that wait to be written."""
LONGEST_NAME = 255
"""Bytes of the name of a folder that file systems of this machine take."""
_EPOCH = date(1970, 1, 1)


@dataclass
class _File:
    """Rows that go to one file, and the file once it is open. `waiting` and `size` are of rows not yet written."""

    name: str
    folder: str
    rows: list[pa.RecordBatch] = field(default_factory=list)
    waiting: int = 0
    count: int = 0
    size: int = 0
    out: Any = None


class Written(NamedTuple):
    """A file that is ready: its name in the hidden folder, where it belongs in the lake, its table and its rows."""

    name: str
    target: str
    table: str
    rows: int


@cache
def _scratch() -> TemporaryDirectory[str]:
    """Return a folder of this machine that is there as long as this process."""
    return TemporaryDirectory(prefix="kwire-", dir=task_folder())


class Files:
    """Files of tables that one process writes into the hidden folder of a run.

    Their names begin with `unit`, and no other process gives files the same names. `made` has those that are ready.
    Rows have these `columns` alone, if there are some.
    """

    def __init__(self, hidden: Place, form: str, unit: str, columns: Sequence[str] = ()) -> None:
        self.hidden, self.form, self._columns = hidden, form, columns
        self.made: list[Written] = []
        self._name = f"{unit}-{hidden.name.removeprefix(HIDDEN)}-{uuid4().hex[:8]}"
        self._open: dict[tuple[str, str, str | None], _File] = {}
        self._waiting = 0

    @property
    def scratch(self) -> Path:
        """The folder of this machine for what is no file of a table yet."""
        return self.hidden if isinstance(self.hidden, Path) else Path(_scratch().name)

    def add(self, table: str, point: str, rows: pa.RecordBatch) -> None:
        """Take rows of a table; they are written when there are enough of them."""
        if not rows.num_rows:
            return
        for day, part in by_day(rows, day_column(table)):
            key = table, point, day
            file = self._open.get(key)
            if file is None:
                folder = folder_of(table, point, day, has_days=day_column(table) is not None)
                if isinstance(self.hidden, Path):
                    _refuse_long(point, folder)
                file = self._open[key] = _File(f"{self._name}-{len(self.made) + len(self._open):04d}", folder)
            own = part.select(self._columns) if self._columns else part
            size = own.nbytes
            file.rows.append(own)
            file.waiting += own.num_rows
            file.size += size
            self._waiting += size
            if file.waiting >= ROW_GROUP:
                self._write(file)
        while self._waiting > MOST_BYTES:
            self._write(max(self._open.values(), key=lambda each: each.size))

    def whole(self, table: str, rows: pa.RecordBatch) -> None:
        """Write all rows of a table that is one file."""
        file = _File(self._name, table, [rows], size=rows.nbytes)
        self.made.append(self._end(table, file))

    def close(self) -> list[Written]:
        """Close all files; return those that are ready."""
        ends = [(table, file) for (table, _, _), file in self._open.items()]
        self.made += in_parallel(lambda each: self._end(*each), ends, lambda _: self.hidden)
        self._open.clear()
        return self.made

    def _end(self, table: str, file: _File) -> Written:
        """Write what waits for a file, and close it."""
        self._write(file)
        name = f"{file.name}.{self.form}"
        with writing(self.hidden):
            file.out.close()
        if self.form in TEXTS:
            _as_text(self.scratch / file.name, self.hidden / name)
        return Written(name, f"{file.folder}/{name}", table, file.count)

    def _write(self, file: _File) -> None:
        if not file.rows:
            return
        table = pa.Table.from_batches([without_day(each) for each in file.rows]).unify_dictionaries()
        with writing(self.hidden):
            if file.out is None:
                place = self.scratch / file.name if self.form in TEXTS else self.hidden / f"{file.name}.{self.form}"
                file.out = _Output(self.form, place, _stamped(table.schema), small=file.size < SMALL)
            file.out.write_table(table)
        self._waiting -= file.size
        file.count += table.num_rows
        file.rows, file.waiting, file.size = [], 0, 0


def _refuse_long(point: str, folder: str) -> None:
    """Raise InputError if no file system takes a folder that is named after this capture point."""
    size = max(map(len, folder.split("/")))
    if size > LONGEST_NAME:
        raise InputError(
            f"a folder named after this capture point has {size} characters, of {LONGEST_NAME} at most: name the "
            "points of captures with --capture-point, and move logs to a shorter path",
            file=point,
        )


class Run:
    """A run that writes tables into a folder; a context manager that leaves nothing behind if it fails."""

    def __init__(self, folder: Place, form: str = "parquet") -> None:
        self.folder = folder.absolute()
        self.form = form
        self.hidden = self.folder / f"{HIDDEN}{uuid4().hex[:12]}"

    def __enter__(self) -> Self:
        make_folder(self.folder)
        recover(self.folder)
        forms = {name.rpartition(".")[2] for name in below(self.folder / "inputs")} & {*FORMATS}
        if others := sorted(forms - {self.form}):
            raise InputError(f"this has files in {others[0]}: write into another folder", file=str(self.folder))
        with alone(self.folder):
            make_folder(self.hidden)
            try:
                write(self.hidden / OWNER, f"{platform.node()} {os.getpid()}".encode())
            except InputError:
                self.__exit__()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        remove_tree(self.hidden)
        remove_empty(self.folder)

    def files(self, unit: str, columns: Sequence[str] = ()) -> Files:
        """Return files of a unit, which are to be closed."""
        return Files(self.hidden, self.form, unit, columns)

    def there(self) -> list[str]:
        """Return the files of all tables that are in their places, by their paths below the folder."""
        return data_files(self.folder)

    def commit(self, made: Iterable[Written], replaced: Iterable[str]) -> None:
        """Put files in their places, instead of those that are `replaced`: paths below the folder."""
        plan = {"moves": [(each.name, each.target) for each in made], "gone": [*replaced]}
        draft = self.hidden / "_draft.json"
        write(draft, json.dumps(plan).encode())
        move(draft, self.hidden / JOURNAL)
        _carry_out(self.folder, self.hidden)


@contextlib.contextmanager
def alone(folder: Place) -> Iterator[None]:
    """Have other runs of this machine wait that begin in a folder or put files in their places there. Stores have no
    such lock.
    """
    if sys.platform == "win32" or not isinstance(folder, Path):
        yield
        return
    lock = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _stamped(schema: pa.Schema) -> pa.Schema:
    return schema.with_metadata({SCHEMA_KEY: str(SCHEMA_VERSION).encode()})


def data_files(folder: Place) -> list[str]:
    """Return the files of all tables of a lake, by their paths below its folder."""
    return [
        path
        for path in below(folder)
        if "/" in path and not path.startswith(("_", ".")) and path.rpartition(".")[2] in FORMATS
    ]


def recover(folder: Place) -> None:
    """Carry out what killed runs had ready, and remove what they had not. Only runs that write do this.

    Raises:
        InputError: The journal of a run is malformed, or names a place that is not a file of a table.

    """
    for hidden in in_order(folder.iterdir() if folder.is_dir() else ()):
        if not hidden.name.startswith(HIDDEN):
            continue
        if (hidden / JOURNAL).exists():
            _carry_out(folder, hidden)
        elif not _is_alive(hidden):
            with alone(folder):  # a run that begins has the lock until its owner is written
                if not _is_alive(hidden):
                    remove_tree(hidden)


def _is_alive(hidden: Place) -> bool:
    """Return whether the process that writes into a hidden folder may be there; on another machine it may be."""
    try:
        node, _, pid = (hidden / OWNER).read_bytes().decode().rpartition(" ")
        if node == platform.node():
            os.kill(int(pid), 0)
    except PermissionError:  # a process of another user
        return True
    except (InputError, OSError, OverflowError, ValueError):
        return False
    return True


def _carry_out(folder: Place, hidden: Place) -> None:
    """Do what the journal of a run says, as far as it is not done: another run may be doing it too.

    Stores answer several requests at once.
    """
    plan = read_journal(hidden)
    refuse_links(folder, hidden, plan)
    there = {*below(hidden)}
    moves = [(name, target) for name, target in plan.moves if name in there]
    for parent in sorted({target.rpartition("/")[0] for _, target in moves}):
        make_folder(folder / parent)
    in_parallel(lambda each: _put(hidden / each[0], folder / each[1]), moves, lambda _: folder)
    in_parallel(lambda name: remove(folder / name), plan.gone, lambda _: folder)
    parents = {parent for name in plan.gone if (parent := name.rpartition("/")[0])}
    while parents:
        empty = {parent for parent in parents if remove_empty(folder / parent)}
        parents = {above for parent in empty if (above := parent.rpartition("/")[0])}
    remove_tree(hidden)


def _put(source: Place, target: Place) -> None:
    """Move a file to its place, unless another process has moved it; its folder may have been empty and removed."""
    for _ in range(TRIES):
        try:
            move(source, target)
        except InputError as error:
            if not exists(source):
                return
            refused = error
            make_folder(target.parent)
        else:
            return
    raise refused


def by_day(rows: pa.RecordBatch, column: str | None) -> Iterator[tuple[str | None, pa.RecordBatch]]:
    """Yield rows by the day of a column, as text; None for rows without a time."""
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


def without_day(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows without the column that the name of their folder has."""
    return rows.select([name for name in rows.schema.names if name != DAY]) if DAY in rows.schema.names else rows


# Formats of files.


TEXTS = ("csv", "jsonl")
"""Formats that DuckDB writes, from a file of Parquet."""


class _Output:
    """A file that is written in large pieces, and compressed unless it is `small`."""

    def __init__(self, form: str, place: Place, schema: pa.Schema, *, small: bool) -> None:
        files, name = arrow_place(place)
        self._sink = files.open_output_stream(name, compression=None, buffer_size=PIECE)
        if form == "arrow":
            self.schema = plain(schema)  # a dictionary in a file of Arrow cannot change from batch to batch
            options = pa.ipc.IpcWriteOptions(compression=None if small else "zstd")
            self._out: Any = pa.ipc.new_file(self._sink, self.schema, options=options)
        else:
            self.schema = schema
            self._out = pq.ParquetWriter(self._sink, schema, compression="none" if small else "zstd", version="2.6")

    def write_table(self, table: pa.Table) -> None:
        table = table.replace_schema_metadata(self.schema.metadata)
        self._out.write_table(table if table.schema == self.schema else table.cast(self.schema))

    def close(self) -> None:
        self._out.close()
        self._sink.close()


def _as_text(path: Path, target: Place) -> None:
    """Write a file of Parquet as text, in the format of the target's suffix."""
    import duckdb  # noqa: PLC0415 - it takes long, and Parquet needs none
    from pyarrow import dataset  # noqa: PLC0415 - as above

    text = path.with_suffix(".text")
    options = "(format csv, header)" if target.name.endswith(".csv") else "(format json)"
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        # DuckDB's own reader would take characters of the path for globs, and parts of it for columns
        connection.register("written", dataset.dataset(str(path), format="parquet", partitioning=None))
        try:
            connection.execute(f"copy written to {quote_text(str(text))} {options}")
        except duckdb.Error as error:
            text.unlink(missing_ok=True)
            raise InputError(f"cannot be written to: DuckDB: {error}", file=str(target.parent)) from None
    path.unlink()
    put(text, target)
