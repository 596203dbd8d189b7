"""A lake that a stream writes: the files of a batch are put in their places at once, and each batch once."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql.pandas.types import from_arrow_schema

from kwire_cli.engine.arrow import batch_of
from kwire_cli.errors import InputError
from kwire_cli.pipeline.lake.columns import plain
from kwire_cli.pipeline.lake.names import NAMES
from kwire_cli.pipeline.lake.tables import AMOUNTS, COSTS, POINT, own_name, unit_of
from kwire_cli.pipeline.lake.writing import Files, Run, Written
from kwire_cli.pipeline.stream_logs import unpacked
from kwire_cli.stores.writing import arrow_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from kwire_cli.stores import Place

MADE = pa.schema(
    [
        pa.field("unit", pa.string()),
        pa.field("point", pa.string()),
        pa.field("name", pa.string()),
        pa.field("target", pa.string()),
        pa.field("table", pa.string()),
        pa.field("rows", pa.int64()),
        pa.field("data", pa.binary()),
    ]
)
"""The rows that tasks return. A file that is ready is as `Written` has it. A unit that was read has no name of a file.
Names that may be new are in `data`."""
_DATASETS = {"parquet": "parquet", "arrow": "arrow", "csv": "csv", "jsonl": "json"}
"""The formats of files as pyarrow calls them."""


_BATCH = "batch"
"""The beginning of the names of files of a batch; those of others begin with the unit whose rows they replace."""


class LakeFiles:
    """The tables in a folder, as `stream_following.Batches` writes them.

    Raises:
        InputError: The folder has tables that no stream wrote.

    """

    def __init__(self, folder: Place, form: str) -> None:
        if (folder / "inputs").is_dir():
            raise InputError("no stream wrote this: write into another folder", file=str(folder))
        self._folder, self._form = folder.absolute(), form
        self._done = False
        self._units: dict[str, list[str]] = defaultdict(list)
        self._names: set[tuple[str, ...]] = set()

    def clear(self, front: str) -> None:
        """Remove what a process left that was killed, and see what there is: the batch may be written already."""
        with Run(self._folder, self._form) as run:
            for path in run.there():
                self._done |= own_name(path).startswith(front)
                self._units[unit_of(path)].append(path)
        self._units.pop(_BATCH, None)
        if (folder := self._folder / "names").is_dir():
            schema = pa.schema([pa.field(POINT, pa.string()), *NAMES])
            files, name = arrow_place(folder)
            there = ds.dataset(name, schema, _DATASETS[self._form], partitioning="hive", filesystem=files)
            self._names = {tuple(row.values()) for row in there.to_table(columns=schema.names).to_pylist()}

    def write(self, batch: DataFrame, front: str) -> int:
        """Write the rows of a batch; return how many there are. A batch that is there is made all the same, for Spark's
        state of connections.
        """
        unit = front.rstrip("-")
        with Run(self._folder, self._form) as run:
            write = partial(_written, run.hidden, self._form, unit)
            told = batch.mapInArrow(write, from_arrow_schema(MADE)).toArrow().to_pylist()
            if self._done:
                self._done = False
                return 0
            made = [Written(*(row[name] for name in Written._fields)) for row in told if row["name"]]
            made += self._new_names(run, unit, [row for row in told if row["table"] == "names"])
            replaced = [path for key in {row["unit"] for row in told} for path in self._units.pop(key, ())]
            if made or replaced:
                run.commit(made, replaced)
            for each in made:
                if unit_of(each.name) != _BATCH:
                    self._units[unit_of(each.name)].append(each.target)
        return sum(each.rows for each in made)

    def _new_names(self, run: Run, unit: str, told: list[dict[str, Any]]) -> list[Written]:
        """Write the names that the lake does not have yet."""
        found = {
            (row["point"], *name.values())
            for row in told
            for each in unpacked(row["data"])
            for name in each.to_pylist()
        }
        new = sorted(found - self._names)
        self._names |= found
        out = run.files(unit)
        for point, some in groupby(new, key=lambda row: row[0]):
            out.add("names", point, batch_of([row[1:] for row in some], NAMES))
        return out.close()


def _written(hidden: Place, form: str, unit: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the rows that a task has; yield what there is then."""
    files: dict[str, Files] = {}
    costs: dict[str, list[pa.RecordBatch]] = defaultdict(list)
    made: list[tuple[Any, ...]] = []
    for batch in batches:
        for table, point, own, data in zip(*(batch.column(number).to_pylist() for number in range(4)), strict=True):
            if own:
                made.append((own, None, None, None, None, 0, None))
            if table == "names":
                made.append((None, point, None, None, table, 0, data))
                continue
            key = own or unit
            if key not in files:
                files[key] = Files(hidden, form, key)
            for rows in unpacked(data) if data else ():
                if table == "costs":
                    costs[point].append(rows)
                else:
                    files[key].add(table, point, rows)
    for point, rows in costs.items():
        files[unit].add("costs", point, summed(rows))
    for out in files.values():
        made += [(None, None, each.name, each.target, each.table, each.rows, None) for each in out.close()]
    yield batch_of(made, MADE)


def summed(costs: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Return rows of `costs` with one row for what is the same."""
    table = pa.Table.from_batches(costs).cast(plain(costs[0].schema))
    keys = [name for name in table.column_names if name not in AMOUNTS]
    sums = table.group_by(keys).aggregate([(name, "sum") for name in AMOUNTS])
    columns = [sums.column(f"{name}_sum" if name in AMOUNTS else name).combine_chunks() for name in COSTS.names]
    return pa.RecordBatch.from_arrays(
        [column.cast(field.type) for column, field in zip(columns, COSTS, strict=True)], schema=COSTS
    )
