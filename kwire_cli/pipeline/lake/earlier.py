"""What earlier runs have put into a lake: its inputs, and which of them are read again together with new ones.

Rows of an input stay until the input itself is read again, also if it is gone by then.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from dataclasses import dataclass, field
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.errors import InputError, few
from kwire_cli.pipeline.lake import FORMATS
from kwire_cli.pipeline.lake.hidden import one_array, parquet_file
from kwire_cli.pipeline.lake.tables import INPUTS, SCHEMA_KEY, SCHEMA_VERSION, unit_of
from kwire_cli.pipeline.lake.units import KINDS, choices, key_of, listed, log_point, states, with_tables
from kwire_cli.pipeline.lake.windows import groups
from kwire_cli.pipeline.lake.writing import TEXTS
from kwire_cli.pipeline.model import CAPTURES
from kwire_cli.stores import location, mapped
from kwire_cli.stores.writing import below

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from kwire_cli.pipeline.lake.units import Work
    from kwire_cli.pipeline.lake.writing import Files, Run, Written
    from kwire_cli.pipeline.model import Wanted
    from kwire_cli.stores import Place

    Ints = npt.NDArray[np.int64]

CHECKPOINT = "_checkpoint"
"""The folder beside files that a stream writes, in which Spark keeps how far it is: readers pass over it."""
_HAS = {
    "filter": ("the frames of --filter {!r}", "tables without a filter"),
    "fields": ("the columns of --fields {}", "all columns of its tables"),
}
"""What a lake has by a choice of rows or columns, and what it has without."""


def inputs_of(folder: Place) -> pa.Table:
    """Return the table `inputs` of a lake; without rows if the lake has other tables than this kwire writes."""
    inputs = folder / "inputs"
    for name in below(inputs):
        form = name.rpartition(".")[2]
        if name.startswith(("_", ".")) or form not in FORMATS:
            continue
        table = _rows(inputs / name)
        if form in TEXTS or (table.schema.metadata or {}).get(SCHEMA_KEY) == str(SCHEMA_VERSION).encode():
            own = {*table.schema.names}
            columns = [
                table[each.name].cast(each.type) if each.name in own else pa.nulls(table.num_rows, each.type)
                for each in INPUTS
            ]
            return pa.Table.from_arrays(columns, schema=INPUTS)
    return INPUTS.empty_table()


def _rows(path: Place) -> pa.Table:
    """Return the rows of a file of a table; those of a text have no types."""
    if path.name.endswith(".parquet"):
        return parquet_file(path).read()
    if path.name.endswith(".arrow"):
        return pa.ipc.open_file(pa.py_buffer(mapped(path))).read_all()
    text = path.read_bytes().decode("utf-8")
    is_csv = path.name.endswith(".csv")
    rows = [*csv.DictReader(StringIO(text, newline=""))] if is_csv else [*map(json.loads, text.strip("\n").split("\n"))]
    names = [*dict.fromkeys(name for row in rows for name in row)]
    return pa.table({name: pa.array([_text(row.get(name)) for row in rows], pa.string()) for name in names})


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def refuse_others(folder: Place, there: pa.Table, wanted: Wanted | None) -> None:
    """Raise InputError if a lake with the `inputs` that are `there` has the frames of another filter, or other columns
    of its table, or if a stream writes it.
    """
    if (folder / CHECKPOINT).exists():
        raise InputError("a stream writes this: give it the inputs, or write into another folder", file=str(folder))
    for name, choice in choices(wanted).items():
        for before in pc.unique(there[name]).to_pylist():
            if before != choice:
                chosen, whole = _HAS[name]
                has = chosen.format(before) if before else whole
                raise InputError(f"this has {has}: write into another folder", file=str(folder))


def refuse_text(form: str, work: Work) -> None:
    """Raise InputError if a run would have to keep rows of files that are text, which has no types."""
    if work.unread.num_rows and form in TEXTS:
        first = work.unread["path"][0].as_py()
        raise InputError(
            f"rows of this are in files with those of inputs that are read now, and cannot be kept in {form}: write "
            "into another folder",
            file=first,
        )


@dataclass(frozen=True)
class Together:
    """The inputs of a run, as a table with the columns LISTED.

    Captures of a capture point that the lake has are with new ones of the point, as connections go on from file to
    file; those of a point to which nothing is new are left out. `unchanged` is the number of given inputs that the lake
    has as they are. `units` has the names of the units of capture points that have another name than their point.
    """

    listing: pa.Table
    unchanged: int = 0
    units: Mapping[str, str] = field(default_factory=dict)


def together(there: pa.Table, listing: pa.Table, wanted: Wanted, *, again: bool) -> Together:
    """Return what a run reads of a listing if a lake has the inputs that are `there`; `again` if it has to read all.

    This needs no look into the captures.

    If captures are gone that the lake has of a capture point, their unit stays as it is, and new captures of the point
    become another unit.

    Raises:
        InputError: A capture has changed that is in a unit with captures that are gone.

    """
    captures = np.flatnonzero(pc.equal(listing["kind"], KINDS[CAPTURES]).to_numpy())
    own = listing.take(pa.array(captures))
    lake = _Captures(there)
    at = lake.places(own)
    is_whole = pc.is_in(own["path"], with_tables(there, wanted.tables)["path"]).to_numpy()
    paths, naming = one_array(own["path"]), wanted.reading.naming
    out: list[int] = []
    more: list[pa.Table] = []
    units: dict[str, str] = {}
    unchanged = 0
    for rows in groups(paths, naming):
        point_paths = paths.take(pa.array(rows)).to_pylist()
        name = naming.name(point_paths[0])
        names = {name, *map(log_point, point_paths), *map(location, point_paths)}
        is_there = (at[rows] >= 0).all() and is_whole[rows].all()
        if not again and is_there and names.issuperset(lake.points(at[rows])):
            out += captures[rows].tolist()
            unchanged += len(rows)
            continue
        earlier = lake.others(name, point_paths)
        looked = listed(earlier.select(["path", "kind"]))
        is_gone = pc.equal(looked["digest"], "").to_numpy()
        stays = {*earlier["unit"].filter(pa.array(is_gone)).to_pylist()}
        if again:  # all that can be read of a unit takes the place of all of it
            stays -= {*earlier["unit"].filter(pa.array(~is_gone)).to_pylist(), *lake.units_with(point_paths)}
        in_them = {*there["path"].filter(pc.is_in(there["unit"], pa.array(sorted(stays), pa.string()))).to_pylist()}
        settled = [number for number, path in zip(rows.tolist(), point_paths, strict=True) if path in in_them]
        if changed := [number for number in settled if at[number] < 0]:
            gone = earlier["path"].filter(pa.array(is_gone)).to_pylist()
            be = "is" if len(gone) == 1 else "are"
            raise InputError(
                f"it has changed since it was read together with {few(gone, 2)}, which {be} gone: write into "
                "another folder, or use --force, which removes the rows of captures that are gone",
                file=paths[changed[0]].as_py(),
            )
        out += captures[settled].tolist()
        unchanged += len(settled)
        is_settled = pc.is_in(looked["path"], pa.array(sorted(in_them), pa.string())).to_numpy()
        more.append(looked.filter(pa.array(~is_gone & ~is_settled)))
        units[name] = lake.unit(name, stays)
    left = np.setdiff1d(np.arange(listing.num_rows), np.array(out, np.int64))
    whole = pa.concat_tables([listing.take(pa.array(left)), *more]).combine_chunks()
    return Together(whole, unchanged, {point: unit for point, unit in units.items() if point != unit})


class _Captures:
    """The captures that a lake has, by their rows."""

    def __init__(self, there: pa.Table) -> None:
        self._rows = there.filter(pc.equal(there["kind"], KINDS[CAPTURES])).combine_chunks()
        self._units, self._points = (self._by(name) for name in ("unit", "capture_point"))

    def _by(self, name: str) -> dict[str, list[int]]:
        numbers = defaultdict(list)
        for number, text in enumerate(self._rows[name].to_pylist()):
            numbers[text].append(number)
        return numbers

    def places(self, listing: pa.Table) -> Ints:
        """Return the row of each file of a listing that is there as it is, and -1 for the others."""
        rows: Ints = pc.index_in(states(listing), value_set=states(self._rows)).fill_null(-1).to_numpy()
        return rows

    def points(self, rows: Ints) -> set[str]:
        """Return the capture points of rows."""
        return {*pc.unique(self._rows["capture_point"].take(pa.array(rows))).to_pylist()}

    def others(self, point: str, paths: Sequence[str]) -> pa.Table:
        """Return those of a capture point, and of all units that have some of these files, but for these files."""
        rows = {*self._points.get(point, ())}
        for unit in self.units_with(paths):
            rows.update(self._units[unit])
        captures = self._rows.take(pa.array(sorted(rows), pa.int64()))
        return captures.filter(pc.invert(pc.is_in(captures["path"], value_set=pa.array(paths, pa.string()))))

    def units_with(self, paths: Sequence[str]) -> list[str]:
        """Return the names of units that have some of these files."""
        has = pc.is_in(self._rows["path"], value_set=pa.array(paths, pa.string()))
        names: list[str] = pc.unique(self._rows["unit"].filter(has)).to_pylist()
        return names

    def unit(self, point: str, stays: Iterable[str]) -> str:
        """Return the name of the unit for what is read of a capture point; units that stay keep their names."""
        own = pc.unique(self._rows["unit"].take(pa.array(self._points.get(point, ()), pa.int64()))).to_pylist()
        if not (taken := {*own} & {*stays}):
            return point
        free = sorted({*own} - taken)
        return free[0] if free else f"{point} ({len(own) + 1})"


# The end of a run.


def finish(run: Run, work: Work) -> None:
    """Put all files of a run in their places, instead of those of the same units."""
    if not work.units:
        return
    with run.alone():
        there = inputs_of(run.folder)
        refuse_others(run.folder, there, work.wanted)
        work = work.beside(there)
        replaced = [path for path in run.there() if unit_of(path) in work.keys or path.startswith("inputs/")]
        kept = [*_kept(run, work, replaced)]
        out = run.files("inputs")
        out.whole("inputs", work.inputs.combine_chunks().to_batches()[0])
        run.commit([*work.made, *kept, *out.close()], replaced)


def _kept(run: Run, work: Work, replaced: Iterable[str]) -> Iterator[Written]:
    """Write the rows of inputs that were not read, from files that are replaced, into files of their own."""
    units = {key_of(unit): unit for unit in pc.unique(work.unread["unit"]).to_pylist()}
    points = dict(zip(*(work.unread[name].to_pylist() for name in ("unit", "capture_point")), strict=True))
    files = pa.array([location(path) for path in work.unread["path"].to_pylist()], pa.string())
    outs: dict[str, Files] = {}
    for path in replaced:
        if (unit := units.get(key := unit_of(path))) is None:
            continue
        rows = _rows(run.folder / path)
        out = outs.setdefault(key, run.files(key))
        for batch in rows.filter(pc.is_in(rows["file"], value_set=files)).to_batches():
            out.add(path.partition("/")[0], points[unit], batch)
    for out in outs.values():
        yield from out.close()
