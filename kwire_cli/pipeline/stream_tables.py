"""The tables of files that arrive, as streaming DataFrames."""

from __future__ import annotations

import pickle
from base64 import b64encode
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from kwire_cli.errors import InputError
from kwire_cli.pipeline.lake import BODIES
from kwire_cli.pipeline.lake.tables import with_place
from kwire_cli.pipeline.lake.unit_tables import KINDS, schema_of
from kwire_cli.pipeline.lake.units import KINDS as NAMES_OF_KINDS
from kwire_cli.pipeline.model import CAPTURES, Reading, found
from kwire_cli.pipeline.packet_table import PACKET_TABLE, without_payload
from kwire_cli.pipeline.segments import SEGMENT_TABLES
from kwire_cli.pipeline.source import MADE_NAME, numbers_of
from kwire_cli.pipeline.stream_connections import MADE, SEGMENTS as SEGMENT_ROWS, Connections, SegmentReader
from kwire_cli.pipeline.stream_files import is_glob
from kwire_cli.pipeline.stream_logs import ROWS, LogReader, unpacked
from kwire_cli.pipeline.stream_reader import OPTIONS, STREAMED, StreamReader, TableReader
from kwire_cli.source.logs.splitting import SPLIT_SIZE
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from kwire_cli.pipeline.model import Table

STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
IDLE = 300
"""Seconds of silence after which connections are over."""
_OF_FILES: dict[str, Table] = {each.name: each for each in (*SEGMENT_TABLES, PACKET_TABLE)}
_KINDS = {name: kind for kind, name in NAMES_OF_KINDS.items()}
_OF_CAPTURES = frozenset(name for name, kinds in KINDS.items() if CAPTURES in kinds)


class Streams:
    """The tables of files that arrive.

    `batches`, `records` and `packets` are those of the data source; `frames`, `costs`, `names`, `faults` and those of
    bodies are those of a lake.

    Args:
        spark: A session.
        paths: Folders, files that grow, globs.
        reading: Limits, definitions, and whether secrets are shown.
        port: The broker's, where the bytes do not tell it.
        idle: Seconds after which connections of which nothing was heard are over; what waits is given then.
        options: Those of the data source: `maxBytesPerTrigger`, `patience`, `splitSize`.

    """

    def __init__(
        self,
        spark: SparkSession,
        paths: Sequence[str],
        *,
        reading: Reading | None = None,
        port: int | None = None,
        idle: int = IDLE,
        options: dict[str, Any],
    ) -> None:
        self._spark, self._paths, self._reading, self._port, self._idle = spark, paths, reading or Reading(), port, idle
        if self._reading.key_logs:
            raise InputError("a stream does not decrypt TLS: omit the key logs, or read what is there")
        numbers = numbers_of({name: str(value) for name, value in options.items()}, OPTIONS | {"splitSize": SPLIT_SIZE})
        self._how = self._reading, numbers.pop("splitSize"), numbers
        spark.conf.set(STATE_STORE, ROCKSDB)  # the only one that transformWithState works with

    def __getitem__(self, name: str) -> DataFrame:
        return self.table(name)

    def table(self, name: str, columns: Sequence[str] | None = None) -> DataFrame:
        """A streaming DataFrame with these columns; all by default. InputError where there is no such table or
        column.
        """
        catalog, show_secrets = self._reading.catalog, self._reading.show_secrets
        of_files = _OF_FILES.get(name)
        whole = of_files.schema if of_files else schema_of(name, catalog)
        if whole is None:
            known = ", ".join((*STREAMED, *KINDS, f"{BODIES}_<api>_<kind>"))
            raise InputError(f"there is no stream of the table {name!r}: there are {known}")
        shown = whole if show_secrets else without_payload(whole)
        names = [*(shown.names if columns is None else columns)]
        if unknown := [column for column in names if column not in shown.names]:
            raise InputError(f"the table {name} has no column {unknown[0]}: its columns are {', '.join(shown.names)}")
        schema = pa.schema([whole.field(column) for column in names])
        if of_files:
            return self._read(TableReader(name, self._paths, schema, *self._how))
        typed = partial(_typed, name, whole, names)
        dataframe: DataFrame = self.rows((name,)).mapInArrow(typed, from_arrow_schema(schema))
        return dataframe

    def rows(self, tables: Collection[str], *, replaced: bool = False) -> DataFrame:
        """Return the rows of tables of a lake as a streaming DataFrame with the columns of ROWS.

        BODIES stands for all tables of bodies. What files say that are written anew again and again is there if rows
        can be `replaced`.
        """
        files = self._files()
        if not replaced:
            del files["index"]
        captures = files.pop("capture")
        streams = []
        if captures and any(table in _OF_CAPTURES or table.startswith(BODIES) for table in tables):
            segments = self._read(SegmentReader(captures, SEGMENT_ROWS, *self._how))
            made = segments.groupBy("point", "ends").transformWithState(
                Connections(tables, self._reading, self._port, self._idle), MADE, "append", "ProcessingTime"
            )
            streams.append(made.select("table", "point", f.lit(None).cast("string").alias("unit"), "rows"))
        logs = LogReader(tables, files, self._paths, ROWS, *self._how)
        if logs.arrivals.kinds:
            streams.append(self._read(logs))
        if not streams:
            raise InputError(f"no table of {', '.join(sorted(tables))} is made of this", file=", ".join(self._paths))
        first, *others = streams
        return first.unionAll(others[0]) if others else first

    def _files(self) -> dict[str, list[str]]:
        """Return the paths that may have files of each kind: folders and globs may have all."""
        files: dict[str, list[str]] = {name: [] for name in _KINDS}
        for path in self._paths:
            several = is_glob(path) or path_of(path).is_dir()
            kinds = {*_KINDS.values()} if several else {each.kind for each in found([path], *_KINDS.values())}
            for name, kind in _KINDS.items():
                if kind in kinds:
                    files[name].append(path)
        return files

    def _read(self, reader: StreamReader) -> DataFrame:
        text = b64encode(pickle.dumps(reader)).decode()
        return self._spark.readStream.format(MADE_NAME).option("reader", text).load()


def _typed(
    table: str, schema: pa.Schema, names: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in Arrow streams with the columns of their table."""
    for batch in batches:
        for point, data in zip(batch.column("point").to_pylist(), batch.column("rows").to_pylist(), strict=True):
            for rows in unpacked(data):
                yield with_place(table, schema, rows, point, names)
