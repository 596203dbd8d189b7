"""A consistent state of a lake for readers: the current runs, and the files of each table that may have their rows.

The versions of the tables fit together if `inputs` has the same version before and after they are listed: then no run
has ended or removed files meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kwire_cli.errors import InputError
from kwire_cli.lake import delta
from kwire_cli.lake.arrow_files import arrow_place
from kwire_cli.lake.delta import RUN, UNIT
from kwire_cli.lake.tables import SHAPES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from kwire_cli.stores.paths import Place


class LakeTable(NamedTuple):
    """A table of a lake: its folder, the relative paths of its files, and all columns of these files."""

    folder: Place
    files: list[str]
    schema: pa.Schema


@dataclass(frozen=True)
class Snapshot:
    """The current runs, as rows of `inputs`, and the requested tables by name."""

    inputs: pa.Table
    tables: dict[str, LakeTable]

    @property
    def runs(self) -> pa.Table:
        """Return the current runs with their units."""
        return self.inputs.select([UNIT, RUN])


def snapshot(folder: Place, names: Collection[str] | None = None) -> Snapshot:
    """Return the state of a lake, with all tables or the tables in `names`. Nothing is written.

    Raises:
        InputError: The folder is not a lake, or a log is unreadable.

    """
    if not (folder.is_dir() or folder.is_file()):
        raise InputError("there is no such folder", file=str(folder))
    if folder.is_file() or not delta.exists(folder):
        raise InputError("this is no lake: kwire export INPUT... -o DIR writes one", file=str(folder))
    while True:
        inputs = delta.inputs_of(folder)
        there = delta.tables_of(folder)
        tables = {name: _table(folder, name) for name in there if names is None or name in names}
        if delta.opened(folder, "inputs").version() == inputs.version:
            return Snapshot(inputs.rows, tables)


def _table(folder: Place, name: str) -> LakeTable:
    table = delta.opened(folder, name)
    paths = sorted(pa.table(table.get_add_actions())["path"].to_pylist())
    return LakeTable(folder / name, paths, pa.schema(table.schema().to_arrow()))


def rows_of_units(folder: Place, inputs: delta.Inputs, table: str, units: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of some units in a small table, of the current runs at a version of `inputs`."""
    if not delta.exists(folder, table):
        return
    runs = {unit: run for unit, run in inputs.runs.items() if unit in units}
    wanted = pa.array([f"{unit}\0{run}" for unit, run in runs.items()], pa.string())
    actions = pa.table(delta.opened(folder, table).get_add_actions(flatten=True)).to_pylist()
    for action in actions:
        least = action.get("min.unit")
        greatest = action.get("max.unit")
        if least is not None and not any(least <= unit <= greatest for unit in runs):
            continue
        files, name = arrow_place(folder / table / action["path"])
        with delta.told(folder / table):
            rows = pq.read_table(name, filesystem=files, partitioning=None)
        keys = pc.binary_join_element_wise(rows[UNIT], rows[RUN], "\0")
        own = {each.name for each in SHAPES[table].schema}
        yield from rows.filter(pc.is_in(keys, wanted)).select([UNIT, *own]).to_pylist()
