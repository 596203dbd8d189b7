"""The data source: `spark.read.format("kwire").option("table", "records").load(path)`."""

from __future__ import annotations

import json
import os
import pickle
import re
from base64 import b64decode
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from kwire_cli.errors import InputError, KwireError, close_to, did_you_mean
from kwire_cli.pipeline.lake.unit_tables import KINDS, no_table, unit_table
from kwire_cli.pipeline.model import Reading
from kwire_cli.pipeline.packet_table import PACKET_TABLE, PacketTable, refuse_payload, without_payload
from kwire_cli.pipeline.segments import INDEX_TABLE, PARTITION_FAULTS, SEGMENT_TABLES
from kwire_cli.records.codecs import Limits
from kwire_cli.source.files import Naming
from kwire_cli.source.logs.splitting import SPLIT_SIZE
from kwire_cli.spec.catalog import catalog
from kwire_cli.stores import absolute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from kwire_cli.pipeline.model import Table
    from kwire_cli.pipeline.stream_reader import StreamReader
    from kwire_cli.spec.catalog import Catalog

P = ParamSpec("P")
R = TypeVar("R")
_NO_TRACEBACK = "SPARK_HIDE_TRACEBACK"
"""The environment variable by which PySpark's workers leave out a traceback."""
NAME, MADE_NAME = "kwire", "kwire-stream"
TABLES: dict[str, Table] = {
    table.name: table for table in (*SEGMENT_TABLES, INDEX_TABLE, PACKET_TABLE, PARTITION_FAULTS)
}
"""The tables whose rows single files hold. A table of another kind of file is one more line here."""
NAMES = (*dict.fromkeys((*TABLES, *KINDS)),)
"""All tables but those of bodies. Captures have faults too, so `faults` is read unit by unit."""
OTHERWISE = "records"
"""The table where none is asked for."""
OPTIONS = (
    "path",
    "paths",
    "table",
    "splitSize",
    "maxDecompressed",
    "showSecrets",
    "specs",
    "kafka",
    "overlay",
    "port",
    "tlsKeylog",
    "capturePoint",
    "mergePoints",
)
_REMEMBERED = "kwire.options"
"""The key of a table's options in the metadata of its first column: Spark (4.3 at least) keeps the options of
`CREATE TABLE`, but does not tell them to a Python data source when the table is read."""
_CREATED, _OPTION = "provider", "option."
"""An option that Spark adds only for `CREATE TABLE`, and how names of options begin there beside themselves."""
_ONE_SLASH = re.compile(r"^file:(?=/(?!/))")


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
        table = _table(_name(self.options), _definitions(self.options))
        schema = table.schema if _flag(self.options, "showSecrets") else without_payload(table.schema)
        columns = from_arrow_schema(schema)
        if _CREATED in self.options:
            columns[0].metadata = {_REMEMBERED: json.dumps(_to_remember(self.options))}
        return columns

    @in_one_line
    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in `schema`."""
        return KwireReader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
        """A reader of files that arrive and grow."""
        return _stream_of(self.options, schema)


class MadeSource(DataSource):
    """Rows of files that arrive by a reader that is there already, pickled in the option `reader`."""

    @classmethod
    def name(cls) -> str:
        """Return the name to give to `format`."""
        return MADE_NAME

    @property
    def made(self) -> StreamReader:
        """The reader."""
        reader: StreamReader = pickle.loads(b64decode(self.options["reader"]))  # noqa: S301 - our own
        return reader

    def schema(self) -> StructType:
        """Return its columns."""
        return from_arrow_schema(self.made.schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 - as above
        """As `KwireSource`."""
        return self.made


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


def _stream_of(options: Mapping[str, str], schema: StructType) -> DataSourceStreamReader:
    """Return the reader of a stream, or a reader that raises the reason why there is no stream."""
    try:
        return _stream(options, schema)
    except KwireError as error:
        return RefusedStream(error)


def _stream(options: Mapping[str, str], schema: StructType) -> DataSourceStreamReader:
    """Return the reader of a stream.

    Raises InputError if an option is wrong, a table has no stream, or PySpark is older than 4.2.
    """
    try:
        from kwire_cli.pipeline import stream_reader  # noqa: PLC0415 - streams take a newer PySpark than tables
    except ImportError as error:
        raise InputError(f"streams need PySpark 4.2 or newer ({error}): pip install -U pyspark") from None
    numbers = numbers_of(options, stream_reader.OPTIONS)
    own = {option: value for option, value in options.items() if option.lower() not in map(str.lower, numbers)}
    reader = KwireReader(own, schema)
    if reader.table not in stream_reader.STREAMED:
        raise InputError(
            f"the table {reader.table} cannot be a stream here; streams are {', '.join(stream_reader.STREAMED)}, and "
            "those of `streams`"
        )
    columns = to_arrow_schema(schema, timezone="UTC")
    return stream_reader.TableReader(reader.table, reader.paths, columns, reader.reading, reader.split_size, numbers)


def numbers_of(options: Mapping[str, str], otherwise: Mapping[str, int]) -> dict[str, int]:
    """Return the values of options that are numbers. InputError if one is none."""
    return {name: _bytes(options, name, value) for name, value in otherwise.items()}


class PartToRead(InputPartition):
    """The part that one task reads, as its table gave it."""


class KwireReader(DataSourceReader):
    """A reader that plans parts of files and reads them.

    It takes no filters: Spark (4.3 at least) plans a DataFrame once with the filters of its last query, and answers all
    other queries of this DataFrame from that plan. `tables` and `kwire scan --sql` use filters.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        options = {**_remembered(schema, options), **options}
        _refuse_strange(options)
        self.table = _name(options)
        self.paths = _paths(options)
        self.split_size = _bytes(options, "splitSize", SPLIT_SIZE)
        limits = Limits(output=_bytes(options, "maxDecompressed", Limits().output))
        self.port = _port(options)
        key_logs = tuple(map(absolute, _several(options, "tlsKeylog")))
        naming = Naming(_option(options, "capturePoint"), _flag(options, "mergePoints"))
        self.reading = Reading(
            limits, _flag(options, "showSecrets"), _definitions(options), key_logs=key_logs, naming=naming
        )
        self.schema = schema
        own = self.rows.schema
        if unknown := [name for name in schema.names if name not in own.names]:
            raise InputError(
                f"the table {self.table} has no column {unknown[0]}: its columns are {', '.join(own.names)}"
            )
        refuse_payload(own, schema.names, show_secrets=self.reading.show_secrets)

    @property
    def rows(self) -> Table:
        """The table, which tasks look up by its name."""
        reading = self.reading
        return _table(self.table, reading.catalog, port=self.port, naming=reading.naming, key_logs=reading.key_logs)

    @in_one_line
    def partitions(self) -> Sequence[InputPartition]:
        """Return a task for each part of a file, or for each unit of files."""
        return [PartToRead(part) for part in self.rows.parts(self.paths, (), self.split_size)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one part as Arrow record batches."""
        if not isinstance(partition, PartToRead):  # where there are no parts, PySpark makes one of its own
            return
        schema = to_arrow_schema(self.schema, timezone="UTC")
        for rows in self.rows.read(partition.value, schema.names, self.reading):
            yield rows.cast(schema)


def _name(options: Mapping[str, str]) -> str:
    return _option(options, "table") or OTHERWISE


def _table(name: str, definitions: Catalog, **settings: Any) -> Table:
    """Return the table of a name. `settings` are those of `UnitTable`.

    Raises:
        InputError: There is no such table.

    """
    table = unit_table(name, definitions, **settings) or TABLES.get(name)
    if table is None:
        raise no_table(name, NAMES, definitions)
    if isinstance(table, PacketTable) and "naming" in settings:
        return replace(table, naming=settings["naming"])
    return table


def _definitions(options: Mapping[str, str]) -> Catalog:
    return catalog(_several(options, "specs"), _option(options, "kafka"), _several(options, "overlay"))


# Options, and those of tables that SQL created.


def _refuse_strange(options: Iterable[str]) -> None:
    """Raise InputError if there is an option that no table has."""
    names = {option.lower() for option in OPTIONS}
    for option in sorted(options):
        if option.lower() not in names:
            meant = did_you_mean(close_to(option, OPTIONS, 1))
            raise InputError(f"there is no option {option}{meant}: options are {', '.join(OPTIONS)}")


def _to_remember(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a table that is created, with absolute paths.

    Raises:
        InputError: There is no such option, or no path.

    """
    _refuse_strange(option.removeprefix(_OPTION) for option in options if option.startswith(_OPTION))
    names = {option.lower() for option in OPTIONS}
    own = {option.lower(): value for option, value in options.items() if option.lower() in names - {"path", "paths"}}
    return {**own, "paths": json.dumps([*map(absolute, _paths(options))])}


def _remembered(schema: StructType, given: Mapping[str, str]) -> dict[str, str]:
    """Return the options of the table that was created with these columns, unless others are given."""
    text = schema[0].metadata.get(_REMEMBERED) if len(schema) else None
    options: dict[str, str] = json.loads(text) if text else {}
    if _option(given, "path") or _option(given, "paths"):
        options.pop("paths", None)
    names = {option.lower() for option in given}
    return {option: value for option, value in options.items() if option not in names}


def _option(options: Mapping[str, str], name: str) -> str | None:
    return next((value for option, value in options.items() if option.lower() == name.lower()), None)


def _several(options: Mapping[str, str], name: str) -> list[str]:
    """Return the texts between the commas of an option."""
    return [text.strip() for text in (_option(options, name) or "").split(",") if text.strip()]


def _paths(options: Mapping[str, str]) -> list[str]:
    """Return the paths that were given to `load`: one path, or several as a JSON list.

    Raises:
        InputError: There is no path, or `paths` is no JSON list.

    """
    text = _option(options, "paths") or "[]"
    try:
        several: Any = json.loads(text)
    except ValueError:
        several = None
    if not isinstance(several, list) or not all(isinstance(path, str) for path in several):
        raise InputError(f"paths={text!r}: it is a JSON list of texts")
    one = _option(options, "path")
    paths = [*several, *([_ONE_SLASH.sub("", one)] if one else [])]  # the catalog of Spark writes file:/folder
    if not paths:
        raise InputError(
            "no input: give captures, segments, log directories or request logs to load(), or as the option path of "
            "CREATE TABLE, which takes no list of columns then"
        )
    return paths


def _port(options: Mapping[str, str]) -> int | None:
    text = _option(options, "port")
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1 << 16:
        raise InputError(f"port={text!r}: it is a number from 1 to 65535")
    return int(text)


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
