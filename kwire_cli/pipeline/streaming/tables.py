"""The tables of a folder as streams."""

from __future__ import annotations

import json
import pickle
from base64 import b64encode
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from kwire_cli.errors import InputError
from kwire_cli.pipeline.line_columns import FRAMES, frame_rows
from kwire_cli.pipeline.line_walks import FIELDS, fields_of
from kwire_cli.pipeline.streaming.connections import MADE, Connections, unwrapped
from kwire_cli.pipeline.streaming.reader import STREAMED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader

    from kwire_cli.pipeline.line_columns import Line, Options
    from kwire_cli.pipeline.model import Reading

STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
IDLE = 300
"""Seconds of silence after which connections are over."""
OF_CONNECTIONS = {"frames": FRAMES, "fields": FIELDS}


class Streams:
    """The tables of files that arrive: `batches`, `records`, `packets` and `faults`, and of connections `frames` and `fields`.

    Args:
        spark: A session.
        paths: Folders, files that grow, globs.
        reading: Limits, definitions, and whether secrets are shown.
        port: The broker's, where the bytes do not tell it.
        idle: Seconds after which connections of which nothing was heard are over; what waits is given then.
        options: Those of the data source: `maxBytesPerTrigger`, `patience`, `splitSize`.

    """

    def __init__(
        self, spark: SparkSession, paths: Sequence[str], *, reading: Reading, port: int | None = None, idle: int = IDLE, options: dict[str, Any]
    ) -> None:
        self._spark, self._paths, self._reading, self._port, self._idle, self._options = spark, paths, reading, port, idle, options
        spark.conf.set(STATE_STORE, ROCKSDB)  # the only one that transformWithState works with

    def __getitem__(self, name: str) -> DataFrame:
        return self.table(name)

    def table(self, name: str, columns: Sequence[str] | None = None) -> DataFrame:
        """A streaming DataFrame with these columns; all by default. InputError where there is no such table or column."""
        if name in OF_CONNECTIONS:
            return self._of_connections(name, columns)
        if name not in STREAMED:
            raise InputError(f"there is no stream of the table {name!r}: there are {', '.join((*STREAMED, *OF_CONNECTIONS))}")
        made = self._source("kwire").option("table", name).load()
        return made if columns is None else made.select(*columns)

    def _of_connections(self, name: str, columns: Sequence[str] | None) -> DataFrame:
        schema = OF_CONNECTIONS[name]
        names = [*(schema.names if columns is None else columns)]
        if unknown := [each for each in names if each not in schema.names]:
            raise InputError(f"the table {name} has no column {unknown[0]}: its columns are {', '.join(schema.names)}")
        processor = Connections(partial(_rows, name, names), self._reading, self._port, self._idle)
        found = self._source("kwire-segments").load().groupBy("point", "ends").transformWithState(processor, MADE, "append", "ProcessingTime")
        own = schema if name == "fields" else pa.schema([schema.field(each) for each in names])
        made: DataFrame = found.mapInArrow(unwrapped, from_arrow_schema(own)).select(*names)
        return made

    def _source(self, form: str) -> DataStreamReader:
        reading = b64encode(pickle.dumps(self._reading)).decode()
        return self._spark.readStream.format(form).options(paths=json.dumps([*self._paths]), reading=reading, **self._options)


def _rows(table: str, names: Sequence[str], lines: Iterator[Line], how: Options) -> Iterator[pa.RecordBatch]:
    return frame_rows(lines, names) if table == "frames" else fields_of(lines, how)
