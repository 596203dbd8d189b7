"""Tables by name."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, datasource
from pyspark.sql.pandas.types import from_arrow_schema

from kwire_cli.errors import InputError
from kwire_cli.pipeline.captures import Captures
from kwire_cli.pipeline.lake import BODIES
from kwire_cli.pipeline.lake.logs import shaped
from kwire_cli.pipeline.lake.request_logs import LOG_FAULTS, LOG_FRAMES
from kwire_cli.pipeline.lake.tables import POINT, day_column, whole_schema, with_place
from kwire_cli.pipeline.lake.unit_tables import no_table, schema_of
from kwire_cli.pipeline.lake.units import log_point
from kwire_cli.pipeline.line_walks import FIELDS
from kwire_cli.pipeline.model import CAPTURES, INDEXES, REQUEST_LOGS, SEGMENTS, Reading, by_kind
from kwire_cli.pipeline.packet_table import PAYLOAD, PacketTable, refuse_payload, without_payload
from kwire_cli.pipeline.parts import Rows, Tally, rows_of_parts
from kwire_cli.pipeline.segments import INDEX_TABLE, SEGMENT_TABLES
from kwire_cli.pipeline.source import TABLES
from kwire_cli.source.logs.splitting import SPLIT_SIZE
from kwire_cli.source.request_log.lines import beside_captures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import Filter

    from kwire_cli.pipeline.model import Kind, Table
    from kwire_cli.spec.catalog import Catalog


# Which columns of which tables a query needs, and behind which filters: Spark itself is asked, over empty
# files with the same columns.
#
# Of a table that Python makes Spark always wants all columns, and tells it no filter; of files it wants few,
# and its plan says which.

KINDS = (SEGMENTS, INDEXES, CAPTURES, REQUEST_LOGS)
FILE = "file"
_ADAPTIVE = "spark.sql.adaptive.enabled"


_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Needed:
    """The needs of a query from a table: these columns, and the rows that pass all of these filters.

    The query applies the filters again itself.
    """

    columns: tuple[str, ...]
    filters: tuple[Filter, ...] = ()


def needed(spark: SparkSession, query: str, schemas: Mapping[str, pa.Schema]) -> dict[str, Needed]:
    """By the names of those tables that a query reads, what it needs of each. Spark's own errors where it is no query
    over these tables.
    """
    words = {word.lower() for word in _WORD.findall(query)}
    mentioned = [name for name in schemas if name in words]
    adaptive = spark.conf.get(_ADAPTIVE)
    with tempfile.TemporaryDirectory(prefix="kwire-") as temporary:
        folder = Path(temporary)
        try:
            spark.conf.set(_ADAPTIVE, "false")  # whose plan shows its parts only when it has run
            for name in mentioned:
                (folder / name).mkdir()
                # The URL says that it is a folder of this machine: Spark's default file system may be another.
                spark.read.schema(from_arrow_schema(schemas[name])).json(
                    (folder / name).as_uri()
                ).createOrReplaceTempView(name)
            scans = [*_scans(spark.sql(query)._jdf.queryExecution().executedPlan())]  # noqa: SLF001 - there is no other way to a plan
        finally:
            spark.conf.set(_ADAPTIVE, str(adaptive))
            for name in mentioned:
                spark.catalog.dropTempView(name)
    by_table: dict[str, Needed] = {}
    for scan in scans:
        name = Path(scan.relation().location().rootPaths().apply(0).getName()).name
        own = Needed(tuple(scan.requiredSchema().fieldNames()), tuple(_filters(spark, scan)))
        by_table[name] = _both(by_table[name], own) if name in by_table else own
    return {
        name: Needed(tuple(column for column in schemas[name].names if column in one.columns), one.filters)
        for name, one in by_table.items()
    }


def _both(one: Needed, other: Needed) -> Needed:
    """Return the columns and filters that are enough for two uses of a table."""
    return Needed((*one.columns, *other.columns), one.filters if one.filters == other.filters else ())


def _scans(plan: Any) -> Iterator[Any]:
    """The reading of files in a plan, and in the subqueries of its expressions."""
    if plan.getClass().getSimpleName() == "FileSourceScanExec":
        yield plan
    for some in (plan.children(), plan.subqueries()):
        for number in range(some.size()):
            yield from _scans(some.apply(number))


def _filters(spark: SparkSession, scan: Any) -> Iterator[Filter]:
    """Yield the filters of a scan that kwire's tables can use, as the data source API has them."""
    jvm: Any = spark._jvm  # noqa: SLF001 - as above
    strategy = getattr(jvm.org.apache.spark.sql.execution.datasources, "DataSourceStrategy$")
    translate = getattr(strategy, "MODULE$").translateFilter
    some = scan.dataFilters()
    for number in range(some.size()):
        told = translate(some.apply(number), False)  # noqa: FBT003 - Scala's method: filters of nested columns
        if told.isDefined() and (predicate := _filter(told.get())) is not None:
            yield predicate


def _filter(told: Any) -> Filter | None:
    kind = told.getClass().getSimpleName()
    if kind not in {
        "EqualTo",
        "EqualNullSafe",
        "GreaterThan",
        "GreaterThanOrEqual",
        "LessThan",
        "LessThanOrEqual",
        "In",
    }:
        return None
    attribute = (str(told.attribute()),)
    predicate: Filter
    if kind == "In":
        predicate = datasource.In(attribute, tuple(_value(operand) for operand in told.values()))
    else:
        predicate = getattr(datasource, kind)(attribute, _value(told.value()))
    return predicate


def _value(value: Any) -> Any:
    """Java's times as Python's; whatever else py4j leaves as an object is nothing that is looked at."""
    if hasattr(value, "getClass") and value.getClass().getName() == "java.sql.Timestamp":
        return datetime.fromtimestamp(value.getTime() // 1000, UTC).replace(microsecond=value.getNanos() // 1000)
    return value


# All tables of some inputs, by name: DataFrames that read nothing before they are asked, and SQL over them
# that reads only what it needs.


@dataclass(frozen=True)
class Inputs:
    """The inputs of tables: paths and globs, how files are cut and read, and the tally of what was read."""

    spark: SparkSession
    paths: tuple[str, ...]
    tally: Tally
    reading: Reading = field(default_factory=Reading)
    split_size: int = SPLIT_SIZE
    port: int | None = None
    note: Callable[[str], None] = lambda _: None

    @cached_property
    def captures(self) -> Captures:
        """The captures, planned once. InputError where there is none."""
        (files,), reading = by_kind(self.paths, CAPTURES), self.reading
        return Captures(
            self.spark,
            files,
            port=self.port,
            show_secrets=reading.show_secrets,
            part_size=self.split_size,
            catalog=reading.catalog,
            key_logs=reading.key_logs,
            naming=reading.naming,
            note=self.note,
            fail_fast=reading.fail_fast,
            tally=self.tally,
        )


class Maker(Protocol):
    """Makes a table of inputs."""

    @property
    def schema(self) -> pa.Schema:
        """All of its columns."""

    def make(self, inputs: Inputs, wanted: Needed) -> DataFrame:
        """The columns that are wanted, in that order, and at least the rows behind all wanted filters."""


@dataclass(frozen=True)
class FromParts:
    """A table whose rows files hold."""

    table: Table

    @property
    def schema(self) -> pa.Schema:
        """All of its columns."""
        return self.table.schema

    def make(self, inputs: Inputs, wanted: Needed) -> DataFrame:
        """As `Maker`."""
        return self.rows(inputs, wanted).frame()

    def rows(self, inputs: Inputs, wanted: Needed) -> Rows:
        """The same before Spark has them."""
        table = replace(self.table, naming=inputs.reading.naming) if isinstance(self.table, PacketTable) else self.table
        parts = table.parts(inputs.paths, wanted.filters, inputs.split_size)
        return rows_of_parts(inputs.spark, table, parts, wanted.columns, inputs.reading, inputs.tally)


@dataclass(frozen=True)
class Placed:
    """A table of logs, with the columns that a lake has by the names of folders; as `model.Table`."""

    table: Table

    @property
    def name(self) -> str:
        """Its name."""
        return self.table.name

    @property
    def schema(self) -> pa.Schema:
        """All of its columns: those of the table in a lake."""
        return whole_schema(self.name)

    def parts(self, paths: Sequence[str], filters: Sequence[Filter], split_size: int) -> Iterable[Any]:
        """As `model.Table`."""
        return self.table.parts(paths, filters, split_size)

    def read(self, part: Any, names: Sequence[str], reading: Reading) -> Iterator[pa.RecordBatch]:
        """As `model.Table`."""
        needed_too = {FILE, day_column(self.name)}
        own = [name for name in self.table.schema.names if name in names or name in needed_too]
        for rows in self.table.read(part, own, reading):
            for point, of_point in _by_point(rows) if POINT in names else ((None, rows),):
                if of_point.num_rows:
                    yield with_place(self.name, self.schema, shaped(self.name, of_point), point, names)


def _by_point(rows: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of logs by capture point."""
    files = rows.column(FILE).cast(pa.string())
    by_point: dict[str, list[str]] = {}
    for file in pc.unique(files).to_pylist():
        by_point.setdefault(log_point(file), []).append(file)
    for point, own in by_point.items():
        yield point, rows if len(by_point) == 1 else rows.filter(pc.is_in(files, pa.array(own)))


@dataclass(frozen=True)
class FromCaptures:
    """A table of the frames in captures: packets are shuffled by connection for it."""

    schema: pa.Schema
    frame: Callable[[Captures, Sequence[str]], DataFrame]

    def make(self, inputs: Inputs, wanted: Needed) -> DataFrame:
        """As `Maker`."""
        return self.frame(inputs.captures, wanted.columns).select(*wanted.columns)


def of_lake(name: str, schema: pa.Schema | None = None) -> FromCaptures:
    """Return a table of captures that a lake has. Tables of bodies have a `schema` of their own."""
    return FromCaptures(schema or whole_schema(name), lambda captures, columns: captures.table(name, columns))


@dataclass(frozen=True)
class OfBoth:
    """A table of captures and of logs, as far as there are any. `kinds` are those of the logs of each of `logs`."""

    captures: FromCaptures
    logs: tuple[tuple[Placed, tuple[Kind, ...]], ...]
    same_exchanges: bool = False
    """Tells whether captures and request logs may have rows of the same exchanges."""

    @property
    def schema(self) -> pa.Schema:
        """All of its columns."""
        return self.captures.schema

    def make(self, inputs: Inputs, wanted: Needed) -> DataFrame:
        """As `Maker`. InputError where there is nothing of any."""
        files = dict(zip(KINDS, by_kind(inputs.paths, *KINDS), strict=True))
        if self.same_exchanges and files[CAPTURES] and files[REQUEST_LOGS]:
            inputs.note(beside_captures(files[REQUEST_LOGS], "frames has rows of both"))
        makers: list[Maker] = [self.captures] if files[CAPTURES] else []
        makers += [FromParts(table) for table, kinds in self.logs if any(files[kind] for kind in kinds)]
        return reduce(DataFrame.unionByName, (maker.make(inputs, wanted) for maker in makers))


FAULTS = "faults"
MAKERS: dict[str, Maker] = {
    **{name: FromParts(table) for name, table in TABLES.items() if name != FAULTS},
    "frames": OfBoth(of_lake("frames"), ((Placed(LOG_FRAMES), (REQUEST_LOGS,)),), same_exchanges=True),
    **{name: of_lake(name) for name in ("costs", "names")},
    "fields": FromCaptures(FIELDS, lambda captures, _: captures.fields()),
    FAULTS: OfBoth(
        of_lake(FAULTS),
        ((Placed(TABLES[FAULTS]), (SEGMENTS, INDEXES)), (Placed(LOG_FAULTS), (REQUEST_LOGS,))),
    ),
}
"""A table of another kind is one more line here. Tables of bodies are made as they are asked for."""


def maker_of(name: str, definitions: Catalog) -> Maker | None:
    """Return what makes a table, those of bodies too; None if there is no such table."""
    if name in MAKERS:
        return MAKERS[name]
    schema = schema_of(name, definitions)
    return None if schema is None else of_lake(name, schema)


class Tables(Mapping[str, "DataFrame"]):
    """The tables by name. A table is made when it is asked for, with all of its columns; `sql` and `table` make those
    that are needed.
    """

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self._made: dict[str, DataFrame] = {}

    @classmethod
    def over(
        cls,
        spark: SparkSession,
        paths: tuple[str, ...],
        reading: Reading | None,
        split_size: int | None,
        port: int | None,
        note: Callable[[str], None],
    ) -> Tables:
        """Return the tables of files, folders and globs."""
        size = split_size or SPLIT_SIZE
        return cls(Inputs(spark, paths, Tally(spark), reading or Reading(), size, port, note))

    def __getitem__(self, name: str) -> DataFrame:
        if maker_of(name, self.inputs.reading.catalog) is None:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = self.table(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MAKERS)

    def __len__(self) -> int:
        return len(MAKERS)

    def table(self, name: str, columns: Sequence[str] | None = None) -> DataFrame:
        """A table with these columns only. InputError where there is no such table or column."""
        table_rows = self.rows(name, columns)
        return table_rows.frame() if isinstance(table_rows, Rows) else table_rows

    def rows(self, name: str, columns: Sequence[str] | None = None) -> DataFrame | Rows:
        """As `table`; of a table whose rows files hold, what makes them in tasks, which can do something else with them
        than giving them to Spark.
        """
        maker = maker_of(name, self.inputs.reading.catalog)
        if maker is None:
            raise no_table(name, [*MAKERS], self.inputs.reading.catalog)
        if unknown := [column for column in columns or () if column not in maker.schema.names]:
            raise InputError(
                f"the table {name} has no column {unknown[0]}: its columns are {', '.join(maker.schema.names)}"
            )
        names = tuple(without_payload(maker.schema).names if columns is None else columns)
        refuse_payload(maker.schema, names, show_secrets=self.inputs.reading.show_secrets)
        wanted = Needed(names)
        return maker.rows(self.inputs, wanted) if isinstance(maker, FromParts) else maker.make(self.inputs, wanted)

    def sql(self, query: str) -> DataFrame:
        """Return the result of a query over the tables.

        Of each table only the columns that the query needs are made, and only the parts of files that it needs are
        read.
        """
        spark = self.inputs.spark
        named = self.inputs.reading.show_secrets and PAYLOAD in query.lower()  # a star alone does not ask for it
        makers = self._makers(query)
        schemas = {name: maker.schema if named else without_payload(maker.schema) for name, maker in makers.items()}
        for name, wanted in needed(spark, query, schemas).items():
            columns = wanted.columns or (_narrow(makers[name].schema),)
            makers[name].make(self.inputs, Needed(columns, wanted.filters)).createOrReplaceTempView(name)
        return spark.sql(query)

    def _makers(self, query: str) -> dict[str, Maker]:
        """Return what makes the tables that a query may name."""
        words = {word.lower() for word in _WORD.findall(query)}
        bodies = {name: maker_of(name, self.inputs.reading.catalog) for name in words if name.startswith(BODIES)}
        return {**MAKERS, **{name: maker for name, maker in bodies.items() if maker is not None}}

    def create_views(self, *names: str) -> None:
        """Make temporary views of these tables, or of all that there is something for: `spark.sql` knows them then,
        with all of their columns.
        """
        for name in names or self._filled():
            self[name].createOrReplaceTempView(name)

    def _filled(self) -> list[str]:
        """The tables of what is in the inputs."""
        segments, indexes, captures, logs = by_kind(self.inputs.paths, *KINDS)
        there = {INDEX_TABLE.name: indexes, FAULTS: True, LOG_FRAMES.name: captures or logs} | {
            table.name: segments for table in SEGMENT_TABLES
        }
        return [name for name in MAKERS if there.get(name, captures)]


def _narrow(schema: pa.Schema) -> str:
    """A column that costs little where only the number of rows is asked for."""
    names: list[str] = [column.name for column in schema if pa.types.is_integer(column.type)]
    return (names or schema.names)[0]
