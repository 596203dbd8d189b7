"""The inputs that a lake has from earlier runs, and those of them that are read again together with new ones.

Rows of an input stay until the input itself is read again, also if it is gone by then.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from dataclasses import dataclass, field
from io import StringIO
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.errors import InputError, few
from kwire_cli.lake import FORMATS
from kwire_cli.lake.hidden import one_array, parquet_file
from kwire_cli.lake.model import CAPTURES
from kwire_cli.lake.tables import INPUTS, SCHEMA_KEY, SCHEMA_VERSION, unit_of
from kwire_cli.lake.units import (
    KINDS,
    choices,
    key_of,
    listed,
    log_point,
    states,
    units_of,
    with_tables,
    work_of,
)
from kwire_cli.lake.windows import Plan, groups
from kwire_cli.lake.writing import TEXTS, alone
from kwire_cli.source.packets.descriptors import Schedule
from kwire_cli.source.packets.points import apart_notes
from kwire_cli.stores import location
from kwire_cli.stores.writing import below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from kwire_cli.lake.model import Wanted
    from kwire_cli.lake.units import Work
    from kwire_cli.lake.writing import Files, Run, Written
    from kwire_cli.stores import Place

    Ints = npt.NDArray[np.int64]

P = TypeVar("P", Plan, Schedule)
"""The plan of captures, for tasks or for this process."""
_HAS = {
    "filter": ("the frames of --filter {!r}", "tables without a filter"),
    "fields": ("the columns of --fields {}", "all columns of its tables"),
}
"""The words for a lake with a choice of rows or columns, and for one without."""


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
        return pa.ipc.open_file(pa.py_buffer(path.read_bytes())).read_all()
    text = path.read_bytes().decode("utf-8")
    is_csv = path.name.endswith(".csv")
    rows = [*csv.DictReader(StringIO(text, newline=""))] if is_csv else [*map(json.loads, text.strip("\n").split("\n"))]
    names = [*dict.fromkeys(name for row in rows for name in row)]
    return pa.table({name: pa.array([_text(row.get(name)) for row in rows], pa.string()) for name in names})


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def refuse_others(folder: Place, there: pa.Table, wanted: Wanted | None) -> None:
    """Raise InputError if a lake with the `inputs` that are `there` has the frames of another filter, or other columns
    of its table.
    """
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
class Begun(Generic[P]):
    """The beginning of a run: the files that it reads, the plan of the captures among them, the work, and the tables
    that are wanted.
    """

    listing: pa.Table
    plan: P
    work: Work
    wanted: Wanted


def begin(
    run: Run,
    there: pa.Table,
    look: Callable[[], pa.Table],
    wanted: Wanted,
    planned: Callable[[pa.Table], tuple[P, Iterable[str | None]]],
    *,
    note: Callable[[str], None],
    again: bool,
) -> Begun[P]:
    """Return the beginning of a run into a lake that has the inputs `there`. `note` is told of captures that are apart.

    `look` lists the files with their sizes and digests; `planned` returns the plan of what is read of a listing, and
    the capture point of each file, None for those that are of none.

    Raises:
        InputError: The lake has the frames of another filter, a capture has changed that is in a unit with captures
            that are gone, or the lake would have tables of two formats.

    """
    refuse_others(run.folder, there, wanted)
    inputs = together(there, look(), wanted, again=again)
    plan, points = planned(inputs.listing)
    for text in apart_notes(point.name for point in plan.points if point.apart):
        note(text)
    units = units_of(inputs.listing, points, inputs.units)
    work = work_of(there, units, again=again, wanted=wanted, known=inputs.unchanged)
    refuse_text(run.form, work)
    return Begun(inputs.listing, plan, work, work.wanted or wanted)


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
    at, by_path = lake.places(own), lake.by_path(own)
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
        before = [(number, lake.units[row]) for number in rows.tolist() if (row := by_path[number]) >= 0]
        earlier = lake.others(name, by_path[rows])
        of_units = [lake.units[row] for row in earlier]
        looked = listed(lake.files(earlier))
        is_gone = pc.equal(looked["digest"], "").to_pylist()
        stays = {unit for unit, is_it in zip(of_units, is_gone, strict=True) if is_it}
        if again:  # all that can be read of a unit takes the place of all of it
            stays -= {unit for unit, is_it in zip(of_units, is_gone, strict=True) if not is_it}
            stays -= {unit for _, unit in before}
        settled = [number for number, unit in before if unit in stays]
        if changed := [number for number in settled if at[number] < 0]:
            gone = looked["path"].filter(pa.array(is_gone, pa.bool_())).to_pylist()
            be = "is" if len(gone) == 1 else "are"
            raise InputError(
                f"it has changed since it was read together with {few(gone, 2)}, which {be} gone: write into "
                "another folder, or use --force, which removes the rows of captures that are gone",
                file=paths[changed[0]].as_py(),
            )
        out += captures[settled].tolist()
        unchanged += len(settled)
        joins = [unit not in stays and not is_it for unit, is_it in zip(of_units, is_gone, strict=True)]
        more.append(looked.filter(pa.array(joins, pa.bool_())))
        units[name] = lake.unit(name, stays)
    left = np.setdiff1d(np.arange(listing.num_rows), np.array(out, np.int64))
    whole = pa.concat_tables([listing.take(pa.array(left)), *more]).combine_chunks()
    return Together(whole, unchanged, {point: unit for point, unit in units.items() if point != unit})


class _Captures:
    """The captures that a lake has, by the numbers of their rows. `units` are the units of the rows."""

    def __init__(self, there: pa.Table) -> None:
        self._rows = there.filter(pc.equal(there["kind"], KINDS[CAPTURES])).combine_chunks()
        self.units: list[str] = self._rows["unit"].to_pylist()
        self._of_units, self._of_points = _numbers(self.units), _numbers(self._rows["capture_point"].to_pylist())

    def places(self, listing: pa.Table) -> Ints:
        """Return the row of each file of a listing that is there as it is, and -1 for the others."""
        return _index(states(listing), states(self._rows))

    def by_path(self, listing: pa.Table) -> Ints:
        """Return the row of each file of a listing that is there, as it is or not, and -1 for the others."""
        return _index(listing["path"], self._rows["path"])

    def files(self, rows: Sequence[int]) -> pa.Table:
        """Return the paths and kinds of rows."""
        return self._rows.select(["path", "kind"]).take(pa.array(rows, pa.int64()))

    def points(self, rows: Ints) -> set[str]:
        """Return the capture points of rows."""
        return {*pc.unique(self._rows["capture_point"].take(pa.array(rows))).to_pylist()}

    def others(self, point: str, rows: Ints) -> list[int]:
        """Return the rows of a capture point, and of all units that have some of these rows, but for these."""
        own = {*rows[rows >= 0].tolist()}
        numbers = {*self._of_points.get(point, ())}
        for unit in {self.units[row] for row in own}:
            numbers.update(self._of_units[unit])
        return sorted(numbers - own)

    def unit(self, point: str, stays: Iterable[str]) -> str:
        """Return the name of the unit for what is read of a capture point; units that stay keep their names."""
        own = {self.units[row] for row in self._of_points.get(point, ())}
        if own.isdisjoint(stays):
            return point
        free = sorted(own.difference(stays))
        return free[0] if free else f"{point} ({len(own) + 1})"


def _numbers(texts: Sequence[str]) -> dict[str, list[int]]:
    """Return the places at which each text is."""
    places = defaultdict(list)
    for place, text in enumerate(texts):
        places[text].append(place)
    return dict(places)


def _index(values: pa.ChunkedArray, among: pa.ChunkedArray) -> Ints:
    """Return the place of each value among others; -1 for a value that is not among them."""
    places: Ints = pc.index_in(values, value_set=among).fill_null(-1).to_numpy()
    return places


# The end of a run.


def finish(run: Run, work: Work) -> None:
    """Put all files of a run in their places, instead of those of the same units."""
    if not work.units:
        return
    with alone(run.folder):
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
    units = dict(zip(*(work.unread[name].to_pylist() for name in ("unit", "capture_point")), strict=True))
    points = {key_of(unit): point for unit, point in units.items()}
    files = pa.array([location(path) for path in work.unread["path"].to_pylist()], pa.string())
    outs: dict[str, Files] = {}
    for path in replaced:
        key = unit_of(path)
        if key not in points:
            continue
        if key not in outs:
            outs[key] = run.files(key)
        rows = _rows(run.folder / path)
        for batch in rows.filter(pc.is_in(rows["file"], value_set=files)).to_batches():
            outs[key].add(path.partition("/")[0], points[key], batch)
    for out in outs.values():
        yield from out.close()
