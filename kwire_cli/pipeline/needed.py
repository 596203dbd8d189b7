"""Which columns of which tables a query needs, and behind which filters: Spark itself is asked, over empty files with the same columns.

Of a table that Python makes Spark always wants all columns, and tells it no filter; of files it wants few, and its plan says which.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import datasource
from pyspark.sql.pandas.types import from_arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import Filter

_ADAPTIVE = "spark.sql.adaptive.enabled"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Needed:
    """What a query takes of a table: these columns, and rows behind all of these filters, which it looks at again itself."""

    columns: tuple[str, ...]
    filters: tuple[Filter, ...] = ()


def needed(spark: SparkSession, query: str, schemas: Mapping[str, pa.Schema]) -> dict[str, Needed]:
    """By the names of those tables that a query reads, what it needs of each. Spark's own errors where it is no query over these tables."""
    words = {word.lower() for word in _WORD.findall(query)}
    mentioned = [name for name in schemas if name in words]
    adaptive = spark.conf.get(_ADAPTIVE)
    with tempfile.TemporaryDirectory(prefix="kwire-") as made:
        folder = Path(made)
        try:
            spark.conf.set(_ADAPTIVE, "false")  # whose plan shows its parts only when it has run
            for name in mentioned:
                (folder / name).mkdir()
                # The URL says that it is a folder of this machine: Spark's default file system may be another.
                spark.read.schema(from_arrow_schema(schemas[name])).json((folder / name).as_uri()).createOrReplaceTempView(name)
            scans = [*_scans(spark.sql(query)._jdf.queryExecution().executedPlan())]  # noqa: SLF001 - there is no other way to a plan
        finally:
            spark.conf.set(_ADAPTIVE, str(adaptive))
            for name in mentioned:
                spark.catalog.dropTempView(name)
    found: dict[str, Needed] = {}
    for scan in scans:
        name = Path(scan.relation().location().rootPaths().apply(0).getName()).name
        own = Needed(tuple(scan.requiredSchema().fieldNames()), tuple(_filters(spark, scan)))
        found[name] = _both(found[name], own) if name in found else own
    return {name: Needed(tuple(each for each in schemas[name].names if each in one.columns), one.filters) for name, one in found.items()}


def _both(one: Needed, other: Needed) -> Needed:
    """What is enough for two uses of a table."""
    return Needed((*one.columns, *other.columns), one.filters if one.filters == other.filters else ())


def _scans(plan: Any) -> Iterator[Any]:
    """The reading of files in a plan, and in the subqueries of its expressions."""
    if plan.getClass().getSimpleName() == "FileSourceScanExec":
        yield plan
    for some in (plan.children(), plan.subqueries()):
        for number in range(some.size()):
            yield from _scans(some.apply(number))


def _filters(spark: SparkSession, scan: Any) -> Iterator[Filter]:
    """Those that kwire's tables can make use of, as the data source API has them."""
    jvm: Any = spark._jvm  # noqa: SLF001 - as above
    strategy = getattr(jvm.org.apache.spark.sql.execution.datasources, "DataSourceStrategy$")
    translate = getattr(strategy, "MODULE$").translateFilter
    some = scan.dataFilters()
    for number in range(some.size()):
        told = translate(some.apply(number), False)  # noqa: FBT003 - Scala's method: filters of nested columns
        if told.isDefined() and (found := _filter(told.get())) is not None:
            yield found


def _filter(told: Any) -> Filter | None:
    kind = told.getClass().getSimpleName()
    if kind not in {"EqualTo", "EqualNullSafe", "GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual", "In"}:
        return None
    attribute = (str(told.attribute()),)
    made: Filter
    if kind == "In":
        made = datasource.In(attribute, tuple(_value(each) for each in told.values()))
    else:
        made = getattr(datasource, kind)(attribute, _value(told.value()))
    return made


def _value(value: Any) -> Any:
    """Java's times as Python's; whatever else py4j leaves as an object is nothing that is looked at."""
    if hasattr(value, "getClass") and value.getClass().getName() == "java.sql.Timestamp":
        return datetime.fromtimestamp(value.getTime() // 1000, UTC).replace(microsecond=value.getNanos() // 1000)
    return value
