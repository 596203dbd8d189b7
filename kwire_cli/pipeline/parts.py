"""Tables whose rows files hold, as DataFrames: the parts of files are planned here and read in tasks, by Arrow.

The data source does the same for users of Spark. It takes seconds more for its first query, as Spark starts Pythons of their own to ask it.
"""

from __future__ import annotations

import pickle
from dataclasses import InitVar, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.accumulators import AccumulatorParam
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from kwire_cli.errors import InputError
from kwire_cli.pipeline.model import MOST_NAMED, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark import Accumulator
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from kwire_cli.pipeline.model import Reading, Table

MOST_TASKS = 20_000
"""Tasks of a scan: beyond this each reads several parts, one behind the other."""


class _ByPart(AccumulatorParam[dict[Any, Told]]):
    """What was read, by table and part: a part that is read again is counted once."""

    def zero(self, value: dict[Any, Told]) -> dict[Any, Told]:  # noqa: ARG002 - PySpark's method
        return {}

    def addInPlace(self, value1: dict[Any, Told], value2: dict[Any, Told]) -> dict[Any, Told]:  # noqa: N802 - as above
        value1.update(value2)
        return value1


@dataclass
class Tally:
    """How much tasks have read. It goes to them."""

    spark: InitVar[SparkSession]
    counted: Accumulator[dict[Any, Told]] = field(init=False)
    tables: int = field(default=0, init=False)
    local: bool = field(init=False)

    def __post_init__(self, spark: SparkSession) -> None:
        self.local = str(spark.sparkContext.master).startswith("local")
        self.counted = spark.sparkContext.accumulator({}, _ByPart())

    def table(self) -> int:
        """The number of one more table."""
        self.tables += 1
        return self.tables

    def add(self, table: int, part: int | None, told: Told) -> None:
        """Count what was read of a part, once."""
        self.counted.add({(table, part): told})

    @property
    def size(self) -> int:
        """Bytes of the parts."""
        return sum(each.size for each in self.counted.value.values())

    def check(self) -> None:
        """Raise InputError, with the names of files, if there was something to read and nothing of it could be read."""
        if self.size or not self.faults:
            return
        first = sorted({each for told in self.counted.value.values() for each in told.first})
        named = "; ".join(f"{file}: {text}" for file, text in first[:MOST_NAMED])
        left = self.faults - min(len(first), MOST_NAMED)
        more = f"; and {left} more" if left else ""
        hint = "" if self.local else "; all machines of a cluster need the files under these paths"
        raise InputError(f"nothing could be read of the inputs: {named}{more}{hint}")

    @property
    def faults(self) -> int:
        """Gaps between batches, and files that cannot be read, or not to their end."""
        return sum(each.faults for each in self.counted.value.values())


@dataclass(frozen=True)
class Rows:
    """Rows that tasks make by Arrow, of the `numbers` of what each reads."""

    numbers: DataFrame
    make: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    schema: StructType

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return self.schema.names

    def frame(self) -> DataFrame:
        """The rows as Spark takes them."""
        return self.numbers.mapInArrow(self.make, self.schema)


def rows_of_parts(spark: SparkSession, table: Table, parts: Iterable[Any], names: Sequence[str], reading: Reading, tally: Tally) -> Rows:
    """The rows of parts with these columns, a task for each part. What tasks need to know of parts is sent to each worker once."""
    row_type = from_arrow_schema(pa.schema([table.schema.field(name) for name in names]))
    schema = to_arrow_schema(row_type, timezone="UTC")
    pickled = [pickle.dumps(part) for part in parts]
    sent, key = spark.sparkContext.broadcast(pickled), tally.table()

    def read(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for some in numbers:
            for number in some.column(0).to_pylist():
                part, told = pickle.loads(sent.value[number]), Told(stop=reading.fail_fast)  # noqa: S301 - our own
                for found in table.read(part, names, replace(reading, told=told)):
                    yield found.cast(schema)
                tally.add(key, number, told)

    return Rows(spark.range(0, len(pickled), 1, min(max(len(pickled), 1), MOST_TASKS)), read, row_type)
