"""Tables written to files or printed."""

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
from pyspark.sql import Observation, functions as f, types as t
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from kwire_cli.errors import InputError
from kwire_cli.pipeline.parts import Rows
from kwire_cli.view.tables import HARMLESS, ROW_TEXTS, RUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType


# Parquet files written by the tasks that make the rows: these never go to Java.
#
# Each attempt at a task writes files with names of its own into a hidden folder under the one that is asked
# for, and says which. Those of the attempts that Spark counts are moved to their places when all are done;
# all else, of attempts that were lost, killed or doubled, goes with the hidden folder.

ROW_GROUP = 64 << 20
"""Bytes of Arrow columns that become one row group, about: a task holds no more of a file."""


HIDDEN = "_temporary-"
"""The beginning of names of hidden folders: readers of Parquet pass over them."""
WRITTEN = pa.schema([pa.field("name", pa.string()), pa.field("folder", pa.string()), pa.field("rows", pa.int64())])
"""The columns that a task returns for a file: its name in the hidden folder, and the folder that it belongs in."""
SUFFIX = ".parquet"
"""The end of names of files in their places, and not before: no pattern matches a file that is not whole."""
CODECS = {
    "none": "none",
    "uncompressed": "none",
    "snappy": "snappy",
    "gzip": "gzip",
    "brotli": "brotli",
    "lz4_raw": "lz4",
    "zstd": "zstd",
}
"""Spark's compressions as pyarrow calls them."""
_CODEC = "spark.sql.parquet.compression.codec"
_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_NULL = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = {code: f"%{code:02X}" for code in (*range(1, 0x20), 0x7F, *b"\"#%'*/:=?\\{[]^")}
"""Characters that Hive and Spark escape in values in the names of folders."""


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
        raise InputError(
            "it is there already (PATH_ALREADY_EXISTS): --force puts the files in place of what is in it",
            file=str(folder),
        )
    writer = writer_in(rows.works.sparkSession, folder, by, rows.schema)
    there = folder.exists()
    try:
        files = writer.run(rows.works, rows.make)
        with told(str(folder)):
            _commit(writer, files or [writer.empty()], folder)
    finally:
        shutil.rmtree(writer.folder, ignore_errors=True)
        if not there and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    return sum(rows for _, _, rows in files)


def writer_in(spark: SparkSession, folder: Path, by: Sequence[str], schema: StructType) -> Writer:
    """Return a writer with a hidden folder of its own in this folder, that compresses as the session says."""
    return Writer(str(folder / f"{HIDDEN}{uuid4().hex}"), tuple(by), schema, CODECS[spark.conf.get(_CODEC) or "none"])


def _left_over(folder: Path) -> bool:
    """Return whether a killed job left this folder, with nothing in it that counts."""
    paths = [*folder.iterdir()] if folder.is_dir() else []
    return bool(paths) and all(path.name.startswith(HIDDEN) for path in paths)


def _commit(writer: Writer, found: Sequence[tuple[str, str, int]], folder: Path) -> None:
    """Put files in their places, instead of whatever is there."""
    own = Path(writer.folder)
    for path in [*folder.iterdir()]:
        if path == own:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    writer.put(found, folder)
    (folder / "_SUCCESS").touch()


@dataclass(frozen=True)
class Writer:
    """Writes rows to files in the hidden `folder`. It goes to tasks."""

    folder: str
    by: tuple[str, ...]
    schema: StructType
    codec: str

    def run(
        self, numbers: DataFrame, make: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    ) -> list[tuple[str, str, int]]:
        """Write in tasks what `make` makes of a frame; return the name, folder and rows of each file. InputError if the
        folder can't be made.
        """
        with told(self.folder):
            Path(self.folder).mkdir(parents=True)
        return [
            (*row,)
            for row in numbers.mapInArrow(
                lambda batches: self.written(make(batches)), from_arrow_schema(WRITTEN)
            ).collect()
        ]

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
            yield (
                "/".join(_folder(name, batch.column(name)[start].as_py()) for name in self.by),
                own.slice(start, stop - start),
            )
            start = stop


def _turns(batch: pa.RecordBatch, by: Sequence[str]) -> list[int]:
    """Return the indexes of the rows whose values in the columns `by` differ from those of the previous row."""
    if all(
        batch.column(name).null_count in {0, batch.num_rows} and len(batch.column(name).unique()) == 1 for name in by
    ):
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
        own = type(writer.schema)([field for field in writer.schema if field.name not in writer.by])
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
        """Write the rest, close the file, and return its row of WRITTEN."""
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
    """Raise InputError for an OSError in the block: the path cannot be written, and why."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from None


# Rows written to files: Parquet, csv or JSON lines, in folders by the values of columns as Hive has them.

FORMATS = ("parquet", "csv", "json")


KEPT_TOGETHER = frozenset({"file", "topic", "partition"})
"""Columns whose values are those of a file: rows that tasks make come by them."""
_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
HOW: dict[str, dict[str, str]] = {
    "parquet": {"timeZone": "UTC"},
    "csv": {
        "header": "true",
        "timestampFormat": _TIME,
        "timeZone": "UTC",
        "escape": '"',
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
    },
    "json": {"ignoreNullFields": "false", "timestampFormat": _TIME, "timeZone": "UTC"},
}
"""Options of Spark's writers. The time zone is that of times in text, and in the names of folders."""
_PARQUET_TIMES = ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
"""Microseconds in UTC. Spark's default, INT96, has no zone, and other readers take these times for local ones."""


def write(
    rows: DataFrame | Rows, folder: str, fmt: str, by: Sequence[str], *, overwrite: bool, raw_csv: bool = False
) -> int:
    """Write all rows to files in a folder; how many these are. With `raw_csv` cells that spreadsheets run stay as they
    are.

    Raises:
        InputError: As `as_files`; as `write_in_tasks`, where tasks write what they make.

    """
    if isinstance(rows, Rows):
        _check(rows.columns, by)
        if there := folder_of_tasks(rows.works.sparkSession, folder, fmt, by):
            return write_in_tasks(rows, there, by, overwrite=overwrite)
        rows = rows.frame()
    counted = Observation()
    writer = (
        as_files(rows, fmt, by, raw_csv=raw_csv)
        .observe(counted, f.count(f.lit(1)).alias("rows"))
        .write.mode("overwrite" if overwrite else "errorifexists")
        .partitionBy(*by)
    )
    writer.format(fmt).options(**HOW[fmt]).save(folder)
    return int(counted.get["rows"])


def folder_of_tasks(spark: SparkSession, folder: str, fmt: str, by: Sequence[str]) -> Path | None:
    """Return the folder if tasks can write files of this format and in such folders to it by themselves."""
    return folder_for_tasks(spark, folder) if fmt == "parquet" and KEPT_TOGETHER.issuperset(by) else None


def as_files(frame: DataFrame, fmt: str, by: Sequence[str], *, raw_csv: bool = False) -> DataFrame:
    """Return the rows as files of a format hold them, and have Spark write their times in microseconds and UTC.

    Raises:
        InputError: There is no such column to make folders of, or none would be left.

    """
    _check(frame.columns, by)
    frame.sparkSession.conf.set(*_PARQUET_TIMES)
    if fmt == "parquet":
        return frame
    return frame.select([_plain(field, fmt, raw=raw_csv or field.name in by) for field in frame.schema])


def _check(columns: Sequence[str], by: Sequence[str]) -> None:
    if unknown := [name for name in by if name not in columns]:
        raise InputError(f"--partition-by {unknown[0]}: there is no such column, only {', '.join(columns)}")
    if by and len(set(by)) == len(columns):
        raise InputError(f"--partition-by {','.join(by)}: no column would be left in the files")


def _plain(field: t.StructField, fmt: str, *, raw: bool) -> Column:
    """Return a column as text formats can hold it: bytes as base64, in csv also nested values as JSON, and unless `raw`
    nothing that runs.
    """
    column = f.col(f"`{field.name}`")
    if fmt == "csv" and isinstance(field.dataType, t.BinaryType):
        column = f.base64(column)
    elif fmt == "csv" and isinstance(field.dataType, t.ArrayType | t.MapType | t.StructType):
        column = f.to_json(column, {"ignoreNullFields": "false"})
    if fmt == "csv" and not raw and isinstance(field.dataType, t.StringType | t.BinaryType):
        column = f.regexp_replace(column, RUNS, HARMLESS)
    return column.alias(field.name)


# Rows as text: made in the tasks, many at a time, so that whoever prints them only has to pass them on.


def texts(frame: DataFrame, fmt: str, limit: int | None) -> Iterator[tuple[int, str]]:
    """Texts in order, of one row or of several joined by ends of lines, with how many these are.

    With a limit only as many parts of files are read as it takes.

    Raises:
        InputError: Two columns have one name, which JSON can't say.

    """
    names = frame.columns
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"two columns are named {twice}: name one of them otherwise, with `as`")
    text_of, by_row = ROW_TEXTS[fmt], limit is not None

    def lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for some in batches:
            row_texts = [
                text_of(names, values) for values in zip(*(column.to_pylist() for column in some.columns), strict=True)
            ]
            if row_texts:
                counts, output = (
                    ([1] * len(row_texts), row_texts) if by_row else ([len(row_texts)], ["\n".join(row_texts)])
                )
                yield pa.RecordBatch.from_arrays(
                    [pa.array(counts, pa.int32()), pa.array(output, pa.string())], ["rows", "text"]
                )

    output = frame.mapInArrow(lines, "rows int, text string")
    for row in output.take(limit) if limit is not None else output.toLocalIterator(prefetchPartitions=True):
        yield row.rows, row.text
