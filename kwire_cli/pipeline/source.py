"""The data source: `spark.read.format("kwire").option("table", "records").load(path)`."""

from __future__ import annotations

import json
import os
import pickle
from base64 import b64decode
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from kwire_cli.errors import InputError, KwireError
from kwire_cli.pipeline.model import Reading
from kwire_cli.pipeline.packet_table import PACKET_TABLE, refuse_payload, without_payload
from kwire_cli.pipeline.segments import INDEX_TABLE, PARTITION_FAULTS, SEGMENT_TABLES
from kwire_cli.records.codecs import Limits
from kwire_cli.source.logs.splitting import SPLIT_SIZE
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from kwire_cli.pipeline.model import Table

P = ParamSpec("P")
R = TypeVar("R")
_NO_TRACEBACK = "SPARK_HIDE_TRACEBACK"
"""The environment variable by which PySpark's workers leave out a traceback."""
NAME, SEGMENTS_NAME = "kwire", "kwire-segments"
TABLES: dict[str, Table] = {
    table.name: table for table in (*SEGMENT_TABLES, INDEX_TABLE, PACKET_TABLE, PARTITION_FAULTS)
}
"""A table of another kind of file is one more line here."""
OTHERWISE = "records"
"""The table where none is asked for."""
OPTIONS = ("path", "paths", "table", "splitSize", "maxDecompressed", "showSecrets", "specs", "kafka", "overlay")


def in_one_line(planned: Callable[P, R]) -> Callable[P, R]:
    """Have Spark say an error of kwire in one line, without the traceback of the Python that plans a data source."""

    @wraps(planned)
    def planning(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return planned(*args, **kwargs)
        except KwireError:
            os.environ[_NO_TRACEBACK] = "1"  # of this process alone, which does nothing but plan
            raise

    return planning


class KwireSource(DataSource):
    """Segments, snapshots and folders of them as tables. Options are those in OPTIONS."""

    @classmethod
    def name(cls) -> str:
        """Return the name to give to `format`."""
        return NAME

    @in_one_line
    def schema(self) -> StructType:
        """All columns of the table; ask for fewer with `.schema(...)`, for others need not be made then."""
        schema = TABLES[_table(self.options)].schema
        return from_arrow_schema(schema if _flag(self.options, "showSecrets") else without_payload(schema))

    @in_one_line
    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in `schema`."""
        return KwireReader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
        """A reader of files that arrive and grow."""
        return _stream_of(self.options, schema)


class SegmentSource(KwireSource):
    """TCP segments by connection, of captures that arrive: what the streams of frames are made of."""

    @classmethod
    def name(cls) -> str:
        """Return the name to give to `format`."""
        return SEGMENTS_NAME

    def schema(self) -> StructType:
        """Return the columns that the connections of a stream take."""
        from kwire_cli.pipeline.stream_connections import SEGMENTS  # noqa: PLC0415 - as below

        return from_arrow_schema(SEGMENTS)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - as above
        """As `KwireSource`."""
        return _stream_of(self.options, schema, segments=True)


class RefusedStream(DataSourceStreamReader):
    """A stream that can't be, as an option is wrong or its table has none: reading it raises why.

    PySpark stops the reader even if making it raised, and then says that there is no reader.
    """

    def __init__(self, error: KwireError) -> None:
        self.error = error

    @in_one_line
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - PySpark's name
        """Raise the error of a new query."""
        raise self.error

    @in_one_line
    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override] # noqa: N802 - PySpark's name, which may take a limit
        """Raise the error of a query that goes on."""
        raise self.error

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:  # noqa: ARG002 - as PySpark has it
        """Raise the error."""
        raise self.error

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - as PySpark has it
        """Raise the error."""
        raise self.error


def _stream_of(options: Mapping[str, str], schema: StructType, *, segments: bool = False) -> DataSourceStreamReader:
    """Return the reader of a stream, or a reader that raises the reason why there is no stream."""
    try:
        return _stream(options, schema, segments=segments)
    except KwireError as error:
        return RefusedStream(error)


def _stream(options: Mapping[str, str], schema: StructType, *, segments: bool) -> DataSourceStreamReader:
    """Return the reader of a stream.

    Raises InputError if an option is wrong, a table has no stream, or PySpark is older than 4.2.
    """
    try:
        from kwire_cli.pipeline import stream_reader  # noqa: PLC0415 - streams take a newer PySpark than tables
        from kwire_cli.pipeline.stream_connections import SegmentReader  # noqa: PLC0415 - as above
    except ImportError as error:
        raise InputError(f"streams need PySpark 4.2 or newer ({error}): pip install -U pyspark") from None
    numbers = {name: _bytes(options, name, otherwise) for name, otherwise in stream_reader.OPTIONS.items()}
    not_of_tables = {name.lower() for name in (*stream_reader.OPTIONS, "reading")}
    own = {option: value for option, value in options.items() if option.lower() not in not_of_tables}
    table_reader = KwireReader(
        own, schema if not segments else from_arrow_schema(PACKET_TABLE.schema), PACKET_TABLE.name if segments else None
    )
    if table_reader.table not in stream_reader.STREAMED:
        raise InputError(
            f"the table {table_reader.table} cannot be a stream; streams are {', '.join(stream_reader.STREAMED)}"
        )
    given_reading = _option(
        options, "reading"
    )  # by `streams`: how things are read, with definitions that no option says
    reading = pickle.loads(b64decode(given_reading)) if given_reading else table_reader.reading  # noqa: S301 - our own
    arguments = (table_reader.paths, to_arrow_schema(schema, timezone="UTC"), reading, table_reader.split_size, numbers)
    return SegmentReader(*arguments) if segments else stream_reader.TableReader(table_reader.table, *arguments)


class PartToRead(InputPartition):
    """The part that one task reads, as its table gave it."""


class KwireReader(DataSourceReader):
    """A reader that plans parts of files and reads them.

    It takes no filters: Spark (4.3 at least) plans a DataFrame once with the filters of its last query, and answers all
    other queries of this DataFrame from that plan. `tables` and `kwire scan --sql` use filters.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType, table: str | None = None) -> None:
        option_names = {option.lower() for option in OPTIONS}
        if strange := sorted(option for option in options if option.lower() not in option_names):
            raise InputError(f"there is no option {strange[0]}: options are {', '.join(OPTIONS)}")
        self.table = table or _table(options)
        self.paths = _paths(options)
        self.split_size = _bytes(options, "splitSize", SPLIT_SIZE)
        limits = Limits(output=_bytes(options, "maxDecompressed", Limits().output))
        definitions = catalog(_several(options, "specs"), _option(options, "kafka"), _several(options, "overlay"))
        self.reading = Reading(limits, _flag(options, "showSecrets"), definitions)
        self.schema = schema
        own = TABLES[self.table].schema
        if unknown := [name for name in schema.names if name not in own.names]:
            raise InputError(
                f"the table {self.table} has no column {unknown[0]}: its columns are {', '.join(own.names)}"
            )
        if table is None:  # connections are made from packets, payloads and all
            refuse_payload(own, schema.names, show_secrets=self.reading.show_secrets)

    @in_one_line
    def partitions(self) -> Sequence[InputPartition]:
        """Return a task for each part of a file."""
        return [PartToRead(part) for part in TABLES[self.table].parts(self.paths, (), self.split_size)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one part as Arrow record batches."""
        if not isinstance(partition, PartToRead):  # where there are no parts, PySpark makes one of its own
            return
        schema = to_arrow_schema(self.schema, timezone="UTC")
        for rows in TABLES[self.table].read(partition.value, schema.names, self.reading):
            yield rows.cast(schema)


def _table(options: Mapping[str, str]) -> str:
    name = _option(options, "table") or OTHERWISE
    if name not in TABLES:
        raise InputError(f"there is no table {name!r}: tables are {', '.join(TABLES)}")
    return name


def _option(options: Mapping[str, str], name: str) -> str | None:
    return next((value for option, value in options.items() if option.lower() == name.lower()), None)


def _several(options: Mapping[str, str], name: str) -> list[str]:
    """Return the texts between the commas of an option."""
    return [text.strip() for text in (_option(options, name) or "").split(",") if text.strip()]


def _paths(options: Mapping[str, str]) -> list[str]:
    """Return the paths that were given to `load`: one path, or several as a JSON list.

    Raises InputError if there is no path.
    """
    several: Any = json.loads(_option(options, "paths") or "[]")
    one = _option(options, "path")
    paths = [*several, *([one] if one else [])]
    if not paths:
        raise InputError("no input: give segments, snapshots or folders of a log directory to load()")
    return paths


def _bytes(options: Mapping[str, str], name: str, otherwise: int) -> int:
    text = _option(options, name)
    if text is None:
        return otherwise
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise InputError(f"{name}={text!r}: it is a number of bytes")
    return int(text)


def _flag(options: Mapping[str, str], name: str) -> bool:
    text = (_option(options, name) or "false").lower()
    if text not in {"true", "false"}:
        raise InputError(f"{name}={text!r}: it is true or false")
    return text == "true"
