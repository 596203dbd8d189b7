"""Files of a lake, written by a run: hidden until the run is complete, then put in their places together.

A run writes into DIR/_run-<id>/. When all of its files are there, a journal says where they go and which files they
replace; then they are moved. Whoever finds a journal that a killed run left carries it out: so a run counts as a whole
or not at all. All that a killed run left without a journal is removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from uuid import uuid4

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kwire_cli.errors import InputError
from kwire_cli.pipeline.lake import FORMATS
from kwire_cli.pipeline.lake.columns import plain
from kwire_cli.pipeline.lake.tables import DAY, SCHEMA_KEY, SCHEMA_VERSION, day_column, folder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

HIDDEN = "_run-"
"""The beginning of the names of folders that a run writes into: readers of Parquet pass over them."""
JOURNAL = "_journal.json"
OWNER = "_owner"
"""The file with the machine and the number of the process that writes."""
ROW_GROUP = 1 << 18
"""Rows of a row group, at most."""
SMALL = 1 << 14
"""Bytes of rows in a file that are not worth compressing: it would take longer than writing them."""
MOST_BYTES = 64 << 20
"""Bytes of rows that wait to be written."""
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


class Files:
    """Files of tables that one process writes into the hidden folder of a run.

    Their names begin with `unit`, and no other process gives files the same names. `made` has those that are ready.
    Rows have these `columns` alone, if there are some.
    """

    def __init__(self, hidden: Path, form: str, unit: str, columns: Sequence[str] = ()) -> None:
        self.hidden, self.form, self._columns = hidden, form, columns
        self.made: list[Written] = []
        self._name = f"{unit}-{hidden.name.removeprefix(HIDDEN)}-{uuid4().hex[:8]}"
        self._open: dict[tuple[str, str, str | None], _File] = {}
        self._waiting = 0

    def add(self, table: str, point: str, rows: pa.RecordBatch) -> None:
        """Take rows of a table; they are written when there are enough of them."""
        if not rows.num_rows:
            return
        for day, part in by_day(rows, day_column(table)):
            key = table, point, day
            file = self._open.get(key)
            if file is None:
                folder = folder_of(table, point, day, has_days=day_column(table) is not None)
                file = self._open[key] = _File(f"{self._name}-{len(self.made) + len(self._open):04d}", folder)
            own = part.select(self._columns) if self._columns else part
            file.rows.append(own)
            file.waiting += own.num_rows
            file.size += own.nbytes
            self._waiting += own.nbytes
            if file.waiting >= ROW_GROUP:
                self._write(file)
        while self._waiting > MOST_BYTES:
            self._write(max(self._open.values(), key=lambda each: each.size))

    def whole(self, table: str, rows: pa.RecordBatch) -> None:
        """Write all rows of a table that is one file."""
        file = _File(self._name, table, [rows], size=rows.nbytes)
        self._write(file)
        self._close(table, file)

    def close(self) -> list[Written]:
        """Close all files; return those that are ready."""
        for (table, _, _), file in self._open.items():
            self._write(file)
            self._close(table, file)
        self._open.clear()
        return self.made

    def _close(self, table: str, file: _File) -> None:
        file.out.close()
        name = f"{file.name}.{self.form}"
        _FINISHED[self.form](self._path(file), self.hidden / name)
        self.made.append(Written(name, f"{file.folder}/{name}", table, file.count))

    def _path(self, file: _File) -> Path:
        return self.hidden / f"{file.name}.part"

    def _write(self, file: _File) -> None:
        if not file.rows:
            return
        table = pa.Table.from_batches([without_day(each) for each in file.rows]).unify_dictionaries()
        if file.out is None:
            file.out = _OPENED[self.form](self._path(file), _stamped(table.schema), small=file.size < SMALL)
        file.out.write_table(table.replace_schema_metadata(file.out.schema.metadata))
        self._waiting -= file.size
        file.count += table.num_rows
        file.rows, file.waiting, file.size = [], 0, 0


class Run:
    """A run that writes tables into a folder; a context manager that leaves nothing behind if it fails."""

    def __init__(self, folder: Path, form: str = "parquet") -> None:
        self.folder, self.form = folder.absolute(), form
        self.hidden = self.folder / f"{HIDDEN}{uuid4().hex[:12]}"

    def __enter__(self) -> Self:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            recover(self.folder)
            self.hidden.mkdir()
            (self.hidden / OWNER).write_text(f"{platform.node()} {os.getpid()}", "utf-8")
        except OSError as error:
            raise InputError(f"cannot be written to: {error.strerror}", file=str(self.folder)) from None
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.hidden, ignore_errors=True)
        with contextlib.suppress(OSError):  # it has files
            self.folder.rmdir()

    def files(self, unit: str) -> Files:
        """Return files of a unit, which are to be closed."""
        return Files(self.hidden, self.form, unit)

    def there(self) -> Iterator[Path]:
        """Yield the files of all tables that are in their places."""
        return data_files(self.folder)

    def commit(self, made: Iterable[Written], replaced: Iterable[Path]) -> None:
        """Put files in their places, instead of those that are `replaced`."""
        gone = [str(path.relative_to(self.folder)) for path in replaced]
        journal = self.hidden / JOURNAL
        draft = self.hidden / "_draft.json"
        with draft.open("w", encoding="utf-8") as out:
            json.dump({"moves": [(each.name, each.target) for each in made], "gone": gone}, out)
            out.flush()
            os.fsync(out.fileno())
        draft.rename(journal)
        _carry_out(self.folder, journal)


def _stamped(schema: pa.Schema) -> pa.Schema:
    return schema.with_metadata({SCHEMA_KEY: str(SCHEMA_VERSION).encode()})


def data_files(folder: Path) -> Iterator[Path]:
    """Yield the files of all tables of a lake."""
    for table in sorted(folder.iterdir()) if folder.is_dir() else ():
        if table.is_dir() and not table.name.startswith(("_", ".")):
            yield from sorted(path for path in table.rglob("*") if path.suffix.lstrip(".") in FORMATS)


def recover(folder: Path) -> None:
    """Carry out what a killed run had ready, and remove what it had not."""
    for hidden in sorted(folder.glob(f"{HIDDEN}*")):
        journal = hidden / JOURNAL
        if journal.exists():
            _carry_out(folder, journal)
        elif not _is_alive(hidden):
            shutil.rmtree(hidden, ignore_errors=True)


def _is_alive(hidden: Path) -> bool:
    """Return whether the process that writes into a hidden folder may be there; on another machine it may be."""
    try:
        node, _, pid = (hidden / OWNER).read_text("utf-8").rpartition(" ")
        if node == platform.node():
            os.kill(int(pid), 0)
    except (OSError, ValueError):
        return False
    return True


def _carry_out(folder: Path, journal: Path) -> None:
    plan = json.loads(journal.read_text("utf-8"))
    for name, target in plan["moves"]:
        source, place = journal.parent / name, folder / target
        while source.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # whoever reads the lake carries it out too
                source.replace(place)
    for name in plan["gone"]:
        path = folder / name
        path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the folder has files
            for parent in path.relative_to(folder).parents[:-1]:
                (folder / parent).rmdir()
    shutil.rmtree(journal.parent, ignore_errors=True)


def by_day(rows: pa.RecordBatch, column: str | None) -> Iterator[tuple[str | None, pa.RecordBatch]]:
    """Yield rows by the day of a column, as text; None for rows without a time."""
    if column is None:
        yield None, rows
        return
    days = rows.column(column).cast(pa.date32()).cast(pa.int32())
    if not days.null_count:
        bounds = pc.min_max(days).as_py()
        if bounds["min"] == bounds["max"]:
            yield _text(bounds["min"]), rows
            return
    values = days.fill_null(-1).to_numpy(zero_copy_only=False)
    for day in np.unique(values).tolist():
        yield (None if day < 0 else _text(day)), rows.take(pa.array(np.flatnonzero(values == day)))


def _text(day: int) -> str:
    return (_EPOCH + timedelta(days=day)).isoformat()


def without_day(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows without the column that the name of their folder has."""
    return rows.select([name for name in rows.schema.names if name != DAY]) if DAY in rows.schema.names else rows


# Formats of files.


def _parquet(path: Path, schema: pa.Schema, *, small: bool = False) -> Any:
    return pq.ParquetWriter(path, schema, compression="none" if small else "zstd", version="2.6")


class _ArrowFile:
    def __init__(self, path: Path, schema: pa.Schema, *, small: bool = False) -> None:
        self.schema = plain(schema)  # a dictionary in a file of Arrow cannot change from batch to batch
        options = pa.ipc.IpcWriteOptions(compression=None if small else "zstd")
        self._sink = pa.OSFile(str(path), "wb")
        self._out = pa.ipc.new_file(self._sink, self.schema, options=options)

    def write_table(self, table: pa.Table) -> None:
        self._out.write_table(table.cast(self.schema))

    def close(self) -> None:
        self._out.close()
        self._sink.close()


def _moved(path: Path, target: Path) -> None:
    path.rename(target)


def _as_text(path: Path, target: Path) -> None:
    """Write a file of Parquet as text, in the format of the target's suffix."""
    options = "(format csv, header)" if target.suffix == ".csv" else "(format json)"
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        connection.execute(f"copy (select * from read_parquet($1)) to '{_quoted(target)}' {options}", [str(path)])  # noqa: S608 - the name is our own
    path.unlink()


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


_OPENED: dict[str, Callable[..., Any]] = {
    "parquet": _parquet,
    "arrow": _ArrowFile,
    "csv": _parquet,
    "jsonl": _parquet,
}
_FINISHED: dict[str, Callable[[Path, Path], None]] = {
    "parquet": _moved,
    "arrow": _moved,
    "csv": _as_text,
    "jsonl": _as_text,
}
