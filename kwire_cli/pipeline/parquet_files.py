"""Parquet files written by the tasks that make the rows: these never go to Java.

Each attempt at a task writes files with names of its own into a hidden folder under the one that is asked for, and says which. Those of the attempts
that Spark counts are moved to their places when all are done; all else, of attempts that were lost, killed or doubled, goes with the hidden folder.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from kwire_cli.pipeline.parts import Rows

ROW_GROUP = 64 << 20
"""Bytes of Arrow columns that become one row group, about: a task holds no more of a file."""
HIDDEN = "_temporary-"
"""What the names of hidden folders begin with: readers of Parquet pass over them."""
WRITTEN = pa.schema([pa.field("name", pa.string()), pa.field("folder", pa.string()), pa.field("rows", pa.int64())])
"""What a task says of a file: its name in the hidden folder, and the folder that it belongs in."""
SUFFIX = ".parquet"
"""What names of files end with in their places, and not before: no pattern matches a file that is not whole."""
CODECS = {"none": "none", "uncompressed": "none", "snappy": "snappy", "gzip": "gzip", "brotli": "brotli", "lz4_raw": "lz4", "zstd": "zstd"}
"""Spark's compressions as pyarrow calls them."""
_CODEC = "spark.sql.parquet.compression.codec"
_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_NULL = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = {code: f"%{code:02X}" for code in (*range(1, 0x20), 0x7F, *b"\"#%'*/:=?\\{[]^")}
"""As Hive and Spark write values in the names of folders."""


def folder_for_tasks(spark: SparkSession, folder: str) -> Path | None:
    """The folder as Python's path; None where Spark finds it in a store, or compresses as only Spark can."""
    java: Any = spark._jvm  # noqa: SLF001 - nothing else says what Spark makes of a path
    path = java.org.apache.hadoop.fs.Path(folder)
    files = path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001 - as above
    if files.getScheme() != "file" or spark.conf.get(_CODEC) not in CODECS:
        return None
    return Path(files.makeQualified(path).toUri().getPath())


def write_in_tasks(rows: Rows, folder: Path, by: Sequence[str], *, overwrite: bool) -> int:
    """Write all rows to files in a folder; how many these are.

    Rows with the same values in the columns `by` have to come one after the other, or each turn is a file of its own.

    Raises:
        InputError: The folder is there, if it is not to be replaced, or cannot be written to.

    """
    if not overwrite and os.path.lexists(folder) and not _left_over(folder):
        raise InputError("it is there already (PATH_ALREADY_EXISTS): --overwrite puts the files in place of what is in it", file=str(folder))
    writer = writer_in(rows.numbers.sparkSession, folder, by, rows.schema)
    there = folder.exists()
    try:
        found = writer.run(rows.numbers, rows.make)
        with told(str(folder)):
            _commit(writer, found or [writer.empty()], folder)
    finally:
        shutil.rmtree(writer.folder, ignore_errors=True)
        if not there and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    return sum(rows for _, _, rows in found)


def writer_in(spark: SparkSession, folder: Path, by: Sequence[str], schema: StructType) -> Writer:
    """Return a writer with a hidden folder of its own in this folder, that compresses as the session says."""
    return Writer(str(folder / f"{HIDDEN}{uuid4().hex}"), tuple(by), schema, CODECS[spark.conf.get(_CODEC) or "none"])


def _left_over(folder: Path) -> bool:
    """Whether a job that was killed left this folder, and nothing in it that counts."""
    found = [*folder.iterdir()] if folder.is_dir() else []
    return bool(found) and all(each.name.startswith(HIDDEN) for each in found)


def _commit(writer: Writer, found: Sequence[tuple[str, str, int]], folder: Path) -> None:
    """Put files in their places, instead of whatever is there."""
    own = Path(writer.folder)
    for each in [*folder.iterdir()]:
        if each == own:
            continue
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each)
        else:
            each.unlink()
    writer.put(found, folder)
    (folder / "_SUCCESS").touch()


@dataclass(frozen=True)
class Writer:
    """Writes rows to files in the hidden `folder`. It goes to tasks."""

    folder: str
    by: tuple[str, ...]
    schema: StructType
    codec: str

    def run(self, numbers: DataFrame, make: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]) -> list[tuple[str, str, int]]:
        """Write in tasks what `make` makes of a frame; return the name, folder and rows of each file. InputError if the folder can't be made."""
        with told(self.folder):
            Path(self.folder).mkdir(parents=True)
        return [(*row,) for row in numbers.mapInArrow(lambda batches: self.written(make(batches)), from_arrow_schema(WRITTEN)).collect()]

    def put(self, found: Iterable[tuple[str, str, int]], folder: Path, front: str = "") -> None:
        """Move files to their places in a folder, each in one step, with names that begin with `front`."""
        for name, place, _ in found:
            (folder / place).mkdir(parents=True, exist_ok=True)
            Path(self.folder, name).rename(folder / place / f"{front}{name}{SUFFIX}")

    def written(self, found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write all rows; what files were written. InputError where that can't be done."""
        context = TaskContext.get()
        task, files = context.partitionId() if context else 0, count()
        file: _File | None = None
        for batch in found:
            for place, some in self._by_folder(batch):
                if file and file.place != place:
                    yield file.close()
                    file = None
                file = file or _File(self, f"part-{task:05}-{uuid4().hex}-{next(files)}", place)
                file.add(some)
        if file:
            yield file.close()

    def empty(self) -> tuple[str, str, int]:
        """A file without rows, which says what columns there are."""
        file = _File(self, f"part-00000-{uuid4().hex}-0", "")
        file.close()
        return file.name, "", 0

    def _by_folder(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The rows that go to one folder, in turn, without the columns that its name says."""
        if not batch.num_rows:
            return
        own = batch.select([name for name in batch.schema.names if name not in self.by])
        start = 0
        for stop in [*_turns(batch, self.by), batch.num_rows]:
            yield "/".join(_folder(name, batch.column(name)[start].as_py()) for name in self.by), own.slice(start, stop - start)
            start = stop


def _turns(batch: pa.RecordBatch, by: Sequence[str]) -> list[int]:
    """Where rows begin whose values are others than those of the row before."""
    if all(batch.column(name).null_count in {0, batch.num_rows} and len(batch.column(name).unique()) == 1 for name in by):
        return []
    values = [*zip(*(batch.column(name).to_pylist() for name in by), strict=True)]
    return [at for at in range(1, len(values)) if values[at] != values[at - 1]]


def _folder(name: str, value: Any) -> str:
    """A column and its value as the name of a folder."""
    text = "" if value is None else str(value)
    return f"{name.translate(_ESCAPED)}={text.translate(_ESCAPED) or _NULL}"


class _File:
    """A file that is written a row group at a time. InputError where it can't be."""

    def __init__(self, writer: Writer, front: str, place: str) -> None:
        own = type(writer.schema)([each for each in writer.schema if each.name not in writer.by])
        self._schema = to_arrow_schema(own, timezone="UTC").with_metadata({_SCHEMA: own.json().encode()})
        self.name = f"{front}.{writer.codec}" if writer.codec != "none" else front
        self.place, self.rows = place, 0
        self._held: list[pa.RecordBatch] = []
        self._size, self._path = 0, str(Path(writer.folder, self.name))
        with told(self._path):
            self._open = pq.ParquetWriter(self._path, self._schema, compression=writer.codec, store_schema=False)

    def add(self, batch: pa.RecordBatch) -> None:
        """Rows that come next."""
        self._held.append(batch)
        self._size += batch.nbytes
        self.rows += batch.num_rows
        if self._size >= ROW_GROUP:
            self._flush()

    def close(self) -> pa.RecordBatch:
        """What WRITTEN says of it, once all of it is written."""
        self._flush()
        with told(self._path):
            self._open.close()
        return pa.RecordBatch.from_pylist([{"name": self.name, "folder": self.place, "rows": self.rows}], WRITTEN)

    def _flush(self) -> None:
        if not self._held:
            return
        table = pa.Table.from_batches(self._held).cast(self._schema)
        self._held, self._size = [], 0
        with told(self._path):
            self._open.write_table(table, row_group_size=table.num_rows)


@contextmanager
def told(path: str) -> Iterator[None]:
    """What the system says against writing there as an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from None
