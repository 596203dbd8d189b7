"""The data source: `spark.read.format("kwire").option("table", "records").load(path)`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from kwire_cli.codec.model import Limits
from kwire_cli.errors import InputError
from kwire_cli.pipeline.filters import Wanted, wanted
from kwire_cli.pipeline.tables import Part, table_of
from kwire_cli.source.logs.segments import segments_of
from kwire_cli.source.logs.splitting import SPLIT_SIZE, split_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

NAME = "kwire"
OPTIONS = ("path", "paths", "table", "splitSize", "maxDecompressed")


class KwireSource(DataSource):
    """Segments, snapshots and folders of them as tables. Options: `path`, `table`, `splitSize` and `maxDecompressed` in bytes."""

    @classmethod
    def name(cls) -> str:
        """What to give to `format`."""
        return NAME

    def schema(self) -> StructType:
        """All columns of the table; ask for fewer with `.schema(...)`, for others need not be made then."""
        return from_arrow_schema(table_of(_table(self.options)).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in `schema`."""
        return KwireReader(dict(self.options), schema)


class PartToRead(InputPartition):
    """A part of a file, for one task."""

    def __init__(self, part: Part) -> None:
        super().__init__(part.file)
        self.part = part


class KwireReader(DataSourceReader):
    """Plans parts of files and reads them."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        known = {option.lower() for option in OPTIONS}
        if strange := sorted(option for option in options if option.lower() not in known):
            raise InputError(f"there is no option {strange[0]}: options are {', '.join(OPTIONS)}")
        self.table = _table(options)
        self.paths = _paths(options)
        self.split_size = _bytes(options, "splitSize", SPLIT_SIZE)
        self.limits = Limits(output=_bytes(options, "maxDecompressed", Limits().output))
        self.schema = schema
        self.wanted = Wanted()
        own = table_of(self.table).schema
        if unknown := [name for name in schema.names if name not in own.names]:
            raise InputError(f"the table {self.table} has no column {unknown[0]}: its columns are {', '.join(own.names)}")

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - PySpark's name
        """Take what cuts work from the filters. Spark looks at all of them again: a batch is wanted as a whole."""
        self.wanted = wanted(self.table, filters)
        return filters

    def partitions(self) -> Sequence[InputPartition]:
        """A task for each part of each file that may have wanted rows."""
        found: list[InputPartition] = []
        for segment in segments_of(self.paths):
            if not self.wanted.has(segment):
                continue
            try:
                parts: list[tuple[int, int | None]] = [*split_file(segment.path, self.split_size)]
            except InputError:
                parts = [(0, None)]
            found += [PartToRead(Part(segment.path, segment.topic, segment.partition, *part)) for part in parts]
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one part as Arrow record batches."""
        if not isinstance(partition, PartToRead):  # PySpark's way to say that there are no parts
            return
        schema = to_arrow_schema(self.schema, timezone="UTC")
        for rows in table_of(self.table).read(partition.part, schema.names, self.wanted.selection, self.limits):
            yield rows.cast(schema)


def _table(options: Mapping[str, str]) -> str:
    return table_of(_option(options, "table") or "records").name


def _option(options: Mapping[str, str], name: str) -> str | None:
    return next((value for option, value in options.items() if option.lower() == name.lower()), None)


def _paths(options: Mapping[str, str]) -> list[str]:
    """What was given to `load`: one path, or several as a JSON list."""
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
