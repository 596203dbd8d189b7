"""Tables of a lake as tables of Delta or Iceberg: Spark puts the files that tasks wrote into them, one commit a table.

These tables have one column more than those in files, `unit`, which stands for inputs that are read together and
replaced together, and folders by it. So a commit replaces the rows of units, and rewrites no others. `inputs` is
replaced last: units of a killed run are not in it, and the next run replaces their rows again.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections import defaultdict
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, functions
from pyspark.sql.pandas.types import from_arrow_schema

from kwire_cli.errors import InputError
from kwire_cli.pipeline.lake.columns import plain
from kwire_cli.pipeline.lake.hidden import parquet_file
from kwire_cli.pipeline.lake.tables import DAY, INPUTS, POINT, SCHEMA_KEY, SCHEMA_VERSION, day_column
from kwire_cli.pipeline.lake.writing import LOGS
from kwire_cli.pipeline.session import spark_errors
from kwire_cli.stores import location
from kwire_cli.stores.writing import make_folder, move

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from kwire_cli.pipeline.lake.units import Work
    from kwire_cli.pipeline.lake.writing import Run, Written
    from kwire_cli.stores import Place

UNIT, FILE = "unit", "file"
JARS = {
    "delta": ("io.delta:delta-spark_{}_2.13:4.4.0", ("4.1", "4.2")),
    "iceberg": ("org.apache.iceberg:iceberg-spark-runtime-{}_2.13:1.12.0", ("4.1",)),
}
"""The newest jars of each format, by the version of Spark that they are for."""
_SCHEMA = SCHEMA_KEY.decode()
_LINKING = ("NoSuchMethodError", "NoSuchFieldError", "AbstractMethodError", "IncompatibleClassChangeError")
"""Java's errors about classes that were compiled for others than are there."""


@dataclass(frozen=True)
class TableLake:
    """The tables of a format in a folder that all machines of Spark reach.

    Raises:
        InputError: The place is no folder, or Spark has no jar of the format, or one for another Spark.

    """

    spark: SparkSession
    folder: Place
    form: str

    def __post_init__(self) -> None:
        if not isinstance(self.folder, Path):
            raise InputError(f"tables of {self.form} are written into folders, not to stores", file=str(self.folder))
        if self.form == "iceberg":
            for name, value in (
                ("", "org.apache.iceberg.spark.SparkCatalog"),
                (".type", "hadoop"),
                (".warehouse", f"file://{self.folder}"),
            ):
                self.spark.conf.set(f"spark.sql.catalog.{self._catalog}{name}", value)
        with contextlib.suppress(AnalysisException), self._told():  # there may be no such table yet
            self._read("inputs")

    @property
    def _catalog(self) -> str:
        """Return the name of the catalog of this folder: Spark keeps catalogs as long as a session is there."""
        return f"kwire_{hashlib.sha256(str(self.folder).encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"

    def inputs(self) -> pa.Table:
        """Return the table `inputs`; without rows if the lake has other tables than this kwire writes."""
        if not self._has("inputs"):
            return INPUTS.empty_table()
        with self._told():
            rows = self._read("inputs").where(functions.col(_SCHEMA) == SCHEMA_VERSION)
            own = [
                functions.col(name) if name in rows.columns else functions.lit(None).alias(name)
                for name in INPUTS.names
            ]
            return rows.select(*own).toArrow().cast(INPUTS)

    def finish(self, run: Run, work: Work) -> None:
        """Put what a run has written into the tables, in place of the rows of the same units."""
        if not work.units:
            return
        made: dict[str, list[Written]] = defaultdict(list)
        for each in work.made:
            made[each.table].append(each)
        work = work.beside(self.inputs())
        keys, unread = sorted(work.keys), work.unread["path"].to_pylist()
        there = {path.name for path in self.folder.iterdir() if (path / LOGS[self.form]).is_dir()} - {"inputs"}
        with self._told():
            for table in sorted({*there, *made}):
                parts = [self._written(run, table, made[table])] if table in made else []
                parts += [self._kept(table, keys, unread)] if table in there and (unread or not parts) else []
                self._replace(table, reduce(DataFrame.unionByName, parts), keys)
            rows = self.spark.createDataFrame(work.inputs)
            self._replace("inputs", rows.withColumn(_SCHEMA, functions.lit(SCHEMA_VERSION)))

    def _kept(self, table: str, keys: Sequence[str], paths: Sequence[str]) -> DataFrame:
        """Return the rows of inputs that are not read although their units are replaced."""
        rows = self._read(table)
        if not paths or FILE not in rows.columns:
            return rows.where("false")
        return rows.where(functions.col(UNIT).isin(*keys) & functions.col(FILE).isin(*map(location, paths)))

    def _written(self, run: Run, table: str, made: Sequence[Written]) -> DataFrame:
        """Return the rows of files of a run, with the columns that say where the files belong."""
        for each in made:
            folder = run.hidden / table / f"{UNIT}={each.name.partition('-')[0]}"
            place = folder / each.target.removeprefix(f"{table}/")
            make_folder(place.parent)
            move(run.hidden / each.name, place)
        own = plain(parquet_file(place).schema_arrow).remove_metadata()
        columns = [*own, *(pa.field(name, pa.date32() if name == DAY else pa.string()) for name in _folders(table))]
        return self.spark.read.schema(from_arrow_schema(pa.schema(columns))).parquet(f"file://{run.hidden / table}")

    def _replace(self, table: str, rows: DataFrame, keys: Sequence[str] | None = None) -> None:
        """Replace the rows of units in a table, or all of its rows, in one commit."""
        if self.form == "delta":
            out = rows.write.format("delta").mode("overwrite")
            if keys is None:
                out = out.option("overwriteSchema", "true")
            else:
                units = ", ".join(f"'{key}'" for key in keys)
                out = out.partitionBy(*_folders(table)).option("mergeSchema", "true")
                out = out.option("replaceWhere", f"{UNIT} in ({units})")
            out.save(self._path(table))
            return
        into = rows.writeTo(f"{self._catalog}.{table}").using("iceberg")
        if keys is None:
            into.createOrReplace()
        elif self._has(table):
            into.overwrite(functions.col(UNIT).isin(*keys))
        else:
            into.partitionedBy(*map(functions.col, _folders(table))).create()

    def _path(self, table: str) -> str:
        return f"file://{self.folder / table}"

    def _has(self, table: str) -> bool:
        return (self.folder / table / LOGS[self.form]).is_dir()

    def _read(self, table: str) -> DataFrame:
        return self.spark.read.format(self.form).load(self._path(table))

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Say which jar Spark needs if it has none of the format, or one for another Spark."""
        try:
            yield
        except spark_errors() as error:
            text = str(error)
            missing = (
                "DATA_SOURCE_NOT_FOUND" in text or "ClassNotFoundException" in text or "Cannot find catalog" in text
            )
            if not missing and not any(name in text for name in _LINKING):
                raise
            why = "needs a jar" if missing else "has a jar that is for another Spark"
            raise InputError(f"--out-format {self.form} {why}: {jar_for(self.form, self.spark.version)}") from None


def jar_for(form: str, version: str) -> str:
    """Return what to give Spark of a version, so that it knows a format."""
    name, versions = JARS[form]
    own = ".".join(version.split(".")[:2])
    if own in versions:
        return f"--conf spark.jars.packages={name.format(own)}"
    last = versions[-1]
    return f"none is known for Spark {own}; with pyspark=={last}.*: --conf spark.jars.packages={name.format(last)}"


def _folders(table: str) -> list[str]:
    return [UNIT, POINT, *([DAY] if day_column(table) else [])]
