"""Inputs as a lake knows them: units of files that are read and replaced together, and which of them are new."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.engine.arrow import batch_of
from kwire_cli.errors import InputError
from kwire_cli.pipeline.lake.hidden import one_array, parquet_file
from kwire_cli.pipeline.lake.tables import INPUTS, SCHEMA_KEY, SCHEMA_VERSION, unit_of
from kwire_cli.pipeline.lake.windows import groups
from kwire_cli.pipeline.model import CAPTURES, INDEXES, REQUEST_LOGS, SEGMENTS, found
from kwire_cli.source.logs.files import segment_at
from kwire_cli.source.logs.splitting import SPLIT_SIZE
from kwire_cli.source.packets.descriptors import Schedule
from kwire_cli.spec.kafka import VERSION
from kwire_cli.stores import in_parallel, location, path_of
from kwire_cli.stores.opening import ends
from kwire_cli.stores.writing import below

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire_cli.pipeline.lake.writing import Run, Written
    from kwire_cli.pipeline.model import Found, Wanted
    from kwire_cli.source.files import Naming
    from kwire_cli.source.packets.descriptors import Scheduled
    from kwire_cli.stores import Place

CHECKPOINT = "_checkpoint"
"""The folder beside files that a stream writes, in which Spark keeps how far it is: readers pass over it."""
END = 1 << 16
"""Bytes of the beginning and of the end of a file of which a digest is made."""
SMALL = 16 << 20
"""Bytes of a log file, below which it is a unit together with other small files: those of its folder, and of other
folders if those of its folder are no more bytes than this.
"""
KINDS = {CAPTURES: "capture", SEGMENTS: "segment", INDEXES: "index", REQUEST_LOGS: "request-log"}


class Input(NamedTuple):
    """A file that was read, or is to be read. `digest` is of its size, beginning and end."""

    path: str
    kind: str
    size: int
    modified: datetime | None
    digest: str

    @property
    def shares(self) -> int:
        """Return in how many shares a log file is read, if several tasks read it."""
        return max(-(-self.size // SPLIT_SIZE), 1)


LISTED = pa.schema([INPUTS.field(name) for name in Input._fields])
"""The columns of inputs: those of many files are kept as a table."""


@dataclass(frozen=True)
class Listed(Sequence[Input]):
    """Inputs in a table with the columns LISTED."""

    rows: pa.Table

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __getitem__(self, number: Any) -> Any:
        """Return an input."""
        return Input(*(column[number].as_py() for column in self.rows.columns))

    def __iter__(self) -> Iterator[Input]:
        for batch in self.rows.to_batches(max_chunksize=1 << 12):
            yield from map(Input, *(column.to_pylist() for column in batch.columns))


@dataclass(frozen=True)
class Unit:
    """Files that are read together and replaced together: those of a capture point, a log file, or the small log files
    of a folder or of several small folders.
    """

    name: str
    point: str
    inputs: Sequence[Input]

    @property
    def key(self) -> str:
        """Return the beginning of the names of its files."""
        return key_of(self.name)

    @property
    def is_point(self) -> bool:
        """Return whether these are the captures of a capture point."""
        return self.inputs[0].kind == "capture"

    @property
    def rows(self) -> pa.Table:
        """Return its files as a table with the columns LISTED."""
        if isinstance(self.inputs, Listed):
            return self.inputs.rows
        return pa.Table.from_batches([batch_of(self.inputs, LISTED)])

    @property
    def size(self) -> int:
        """Return the bytes of its files."""
        return int(pc.sum(self.rows["size"]).as_py() or 0)

    @property
    def state(self) -> str:
        """Return what tells whether the unit has changed."""
        return _state(self.rows)


def key_of(name: str) -> str:
    """Return the beginning of the names of the files of a unit."""
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _states(rows: pa.Table) -> pa.ChunkedArray:
    """Return what tells whether each file is the same one with the same bytes."""
    return pc.binary_join_element_wise(rows["path"], rows["size"].cast(pa.string()), rows["digest"], "\0")


def _state(rows: pa.Table) -> str:
    whole = hashlib.sha256()
    for text in sorted(_states(rows).to_pylist()):
        whole.update(text.encode("utf-8", "surrogateescape") + b"\0")
    return whole.hexdigest()


def inputs_for(paths: Sequence[str], wanted: Wanted) -> list[Found]:
    """Return the files that paths and globs name.

    Raises:
        InputError: There is nothing to read in them, or a log with a filter.

    """
    files = found(paths, CAPTURES, SEGMENTS, INDEXES, REQUEST_LOGS)
    if wanted.filter and (logs := [each.file for each in files if each.kind is not CAPTURES]):
        raise InputError("--filter is for packet captures, and this is none: leave it out of the inputs", file=logs[0])
    return files


NAMED = pa.schema([INPUTS.field("path"), INPUTS.field("kind")])


def named_files(files: Iterable[Found]) -> pa.Table:
    """Return files with their kinds, as columns."""
    return pa.Table.from_batches([batch_of([(each.file, KINDS[each.kind]) for each in files], NAMED)])


def listed(files: pa.Table) -> pa.Table:
    """Return files with their sizes and digests."""
    given = [*zip(files["path"].to_pylist(), files["kind"].to_pylist(), strict=True)]
    inputs = in_parallel(lambda each: _input(*each), given, lambda each: each[0])
    return pa.Table.from_batches([batch_of(inputs, LISTED)])


def points_of(listing: pa.Table, plan: Schedule) -> list[str | None]:
    """Return the capture point of each file, by a plan; None for files that it does not have."""
    points: dict[str, str] = {}
    for point in plan.points:
        points |= dict.fromkeys(point.files, point.name)
    at = {path: points.get(location(path)) for path in plan.files}
    return [at.get(path) for path in listing["path"].to_pylist()]


def units_of(listing: pa.Table, points: Iterable[str | None]) -> Iterator[Unit]:
    """Yield the units of files, captures with their points: capture points first.

    A capture without a point is one that cannot be read.
    """
    captures: dict[str, list[int]] = defaultdict(list)
    small: dict[str, list[Input]] = defaultdict(list)
    large: list[Input] = []
    for number, (file, point) in enumerate(zip(Listed(listing), points, strict=True)):
        if file.kind == KINDS[CAPTURES]:
            captures[point or log_point(file.path)].append(number)
        elif file.size < SMALL:
            small[str(path_of(file.path).parent)].append(file)
        else:
            large.append(file)
    for name, numbers in captures.items():
        yield Unit(name, name, Listed(listing.take(pa.array(numbers, pa.int64())).combine_chunks()))
    for file in large:
        yield Unit(file.path, log_point(file.path), (file,))
    for name, inputs in _together(small):
        yield Unit(name, log_point(inputs[0].path), tuple(inputs))


def _together(small: Mapping[str, Sequence[Input]]) -> Iterator[tuple[str, list[Input]]]:
    """Yield the small logs of folders under the names of their units: those of small folders together.

    A broker has thousands of small partitions, and each unit has files of its own in each table. Small folders of a
    capture point are put into packs of about SMALL bytes by a digest of their paths, and the number of packs is a power
    of two: so a new folder changes one pack, unless there is twice as much.
    """
    folders: dict[str, dict[str, Sequence[Input]]] = defaultdict(dict)
    for folder, inputs in small.items():
        if sum(each.size for each in inputs) < SMALL:
            folders[log_point(inputs[0].path)][folder] = inputs
        else:
            yield f"{folder} (small logs)", [*inputs]
    for point, own in folders.items():
        size = sum(each.size for inputs in own.values() for each in inputs)
        count = 1 << (size // SMALL).bit_length()
        packs: dict[int, list[Input]] = defaultdict(list)
        for folder, inputs in own.items():
            packs[crc32(folder.encode("utf-8", "surrogateescape")) % count].extend(inputs)
        for number, inputs in packs.items():
            yield f"{point} (small folders{f', {number + 1} of {count}' if count > 1 else ''})", inputs


def shared_out(plan: Schedule, units: Iterable[Unit]) -> Iterator[tuple[Unit, Schedule]]:
    """Yield units, each with its own share of a plan: that of a capture point has no other one, that of logs none."""
    numbers = {point.name: number for number, point in enumerate(plan.points)}
    parts: dict[int, list[Scheduled]] = defaultdict(list)
    for part in plan.parts:
        parts[part.point].append(part)
    for unit in units:
        number = numbers.get(unit.name) if unit.is_point else None
        files: dict[int, int] = {}
        own = () if number is None else parts[number]
        scheduled = tuple(replace(part, file=files.setdefault(part.file, len(files)), point=0) for part in own)
        paths = {*unit.rows["path"].to_pylist()}
        yield (
            unit,
            Schedule(
                tuple(plan.files[file] for file in files),
                scheduled,
                () if number is None else (plan.points[number],),
                tuple((path, reason) for path, reason in plan.faults if path in paths),
                plan.secrets,
            ),
        )


def log_point(path: str) -> str:
    """Return the capture point of a file that is no capture: the folder of partitions that it is in, or its own."""
    folder = path_of(path).parent
    return location(str(folder.parent if segment_at(path_of(path)).topic else folder))


def _input(path: str, kind: str) -> Input:
    """Return what tells a file from another one. A file that cannot be read has no digest."""
    try:
        size, seconds, *parts = ends(path, END)
    except InputError:
        return Input(path, kind, 0, None, "")
    digest = hashlib.sha256(str(size).encode())
    for part in parts:
        digest.update(part)
    modified = None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return Input(path, kind, size, modified, digest.hexdigest()[:32])


_HAS = {
    "filter": ("the frames of --filter {!r}", "tables without a filter"),
    "fields": ("the columns of --fields {}", "all columns of its tables"),
}
"""What a lake has by a choice of rows or columns, and what it has without."""


def _choices(wanted: Wanted | None) -> dict[str, str | None]:
    """Return the choices of rows and columns that all inputs of a lake share, by the names of columns of `inputs`."""
    if wanted is None:
        return dict.fromkeys(_HAS)
    return {"filter": wanted.filter, "fields": ",".join(wanted.columns) or None}


def input_rows(unit: Unit, rows: int, wanted: Wanted | None = None) -> pa.Table:
    """Return the rows of the table `inputs` for a unit, of which a run has written so many rows."""
    of_unit = {
        "capture_point": unit.point,
        "unit": unit.name,
        "rows": rows,
        "read": datetime.now(UTC),
        "version": VERSION,
        **_choices(wanted),
    }
    own = unit.rows
    columns = [
        pa.repeat(pa.scalar(of_unit[each.name], each.type), own.num_rows) if each.name in of_unit else own[each.name]
        for each in INPUTS
    ]
    return pa.Table.from_arrays(columns, schema=INPUTS)


def inputs_of(folder: Place) -> pa.Table:
    """Return the table `inputs` of a lake; without rows if the lake has other tables than this kwire writes."""
    inputs = folder / "inputs"
    for name in below(inputs):
        if not name.endswith(".parquet"):
            continue
        table = parquet_file(inputs / name).read()
        if (table.schema.metadata or {}).get(SCHEMA_KEY) == str(SCHEMA_VERSION).encode():
            own = {*table.schema.names}
            columns = [
                table[each.name].cast(each.type) if each.name in own else pa.nulls(table.num_rows, each.type)
                for each in INPUTS
            ]
            return pa.Table.from_arrays(columns, schema=INPUTS)
    return INPUTS.empty_table()


def states_of(inputs: pa.Table) -> dict[str, str]:
    """Return what tells whether a unit has changed, for each unit that a lake has."""
    units = inputs["unit"].combine_chunks().dictionary_encode()
    which = units.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(which, kind="stable")
    rows, ends = inputs.take(pa.array(order)), np.cumsum(np.bincount(which, minlength=len(units.dictionary)))
    states, start = {}, 0
    for name, stop in zip(units.dictionary.to_pylist(), ends.tolist(), strict=True):
        states[name], start = _state(rows.slice(start, stop - start)), stop
    return states


def unchanged(there: pa.Table, listing: pa.Table, naming: Naming) -> list[int]:
    """Return the captures of a listing, by their numbers in it, whose capture points a lake has as they are.

    This needs no look into the captures: it is so for files that the names put together, if the lake has these and no
    others of their units.
    """
    captures = np.flatnonzero(pc.equal(listing["kind"], KINDS[CAPTURES]).to_numpy())
    own = listing.take(pa.array(captures))
    at = pc.index_in(_states(own), value_set=_states(there)).fill_null(-1).to_numpy()
    units = one_array(there["unit"]).dictionary_encode()
    which = units.indices.to_numpy(zero_copy_only=False)
    counts = np.bincount(which, minlength=len(units.dictionary))
    paths, out = one_array(own["path"]), list[int]()
    for rows in groups(paths, naming):
        if (at[rows] < 0).any() or counts[some := np.unique(which[at[rows]])].sum() != len(rows):
            continue
        files = paths.take(pa.array(rows)).to_pylist()
        names = {naming.name(files[0]), *map(log_point, files), *map(location, files)}
        if names.issuperset(units.dictionary.take(pa.array(some)).to_pylist()):
            out += captures[rows].tolist()
    return out


# What a run has to do, and what it has done.


@dataclass(frozen=True)
class Exported:
    """The result of a run: rows by table, inputs that were read and their bytes, inputs that the lake had already."""

    rows: Mapping[str, int]
    read: int
    known: int
    size: int
    faults: int


@dataclass
class Work:
    """The units that a run reads, the number of inputs that the lake has already, and the rows of `inputs` that stay.

    `made` and `rows` fill while units are done. `former` are the names of units whose inputs are read as other units
    now.
    """

    units: tuple[Unit, ...]
    known: int
    kept: pa.Table
    wanted: Wanted | None = None
    former: frozenset[str] = frozenset()
    made: list[Written] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    _of_units: dict[str, int] = field(default_factory=dict)

    def done(self, unit: Unit, made: Iterable[Written]) -> None:
        """Take files of a unit that are ready."""
        for file in made:
            self.made.append(file)
            self.rows[file.table] = self.rows.get(file.table, 0) + file.rows
            self._of_units[unit.name] = self._of_units.get(unit.name, 0) + file.rows

    def beside(self, there: pa.Table) -> Work:
        """Return the work for a lake that has these `inputs` by now: another run may have ended meanwhile."""
        former, kept = _former_and_kept(there, self.units)
        return replace(self, kept=kept, former=former)

    @property
    def keys(self) -> frozenset[str]:
        """Return the keys of the units whose rows are replaced."""
        return frozenset((*(unit.key for unit in self.units), *map(key_of, self.former)))

    @property
    def read(self) -> int:
        """Return the number of inputs that are read."""
        return sum(len(unit.inputs) for unit in self.units)

    @property
    def size(self) -> int:
        """Return their bytes."""
        return sum(unit.size for unit in self.units)

    def exported(self, faults: int) -> Exported:
        """Return the result when all is done; so many gaps and files could not be read."""
        return Exported(self.rows, self.read, self.known, self.size, faults)

    @property
    def inputs(self) -> pa.Table:
        """Return the table `inputs` when all is done."""
        read = [input_rows(unit, self._of_units.get(unit.name, 0), self.wanted) for unit in self.units]
        return pa.concat_tables([self.kept, *read])


def work_of(
    there: pa.Table, units: Iterable[Unit], *, again: bool, wanted: Wanted | None = None, known: int = 0
) -> Work:
    """Return what a run has to do in a lake with these `inputs`: units that it does not have, or has in another state,
    or all `again`. So many other files are `known` already.
    """
    states = {} if again else states_of(there)
    some = [*units]
    new = [unit for unit in some if states.get(unit.name) != unit.state]
    read = {unit.name for unit in new}
    former, kept = _former_and_kept(there, new)
    known += sum(len(unit.inputs) for unit in some if unit.name not in read)
    return Work(tuple(new), known, kept, wanted, former)


def _former_and_kept(there: pa.Table, units: Sequence[Unit]) -> tuple[frozenset[str], pa.Table]:
    """Return the names of units of which inputs are in these units now, and the `inputs` that stay beside them."""
    read = {unit.name for unit in units}
    paths = pa.concat_arrays([one_array(unit.rows["path"]) for unit in units]) if units else pa.array([], pa.string())
    former = {*pc.unique(there.filter(pc.is_in(there["path"], paths))["unit"]).to_pylist()} - read
    kept = there.filter(pc.invert(pc.is_in(there["unit"], pa.array([*read, *former], pa.string()))))
    return frozenset(former), kept


def refuse_others(folder: Place, there: pa.Table, wanted: Wanted | None) -> None:
    """Raise InputError if a lake with the `inputs` that are `there` has the frames of another filter, or other columns
    of its table, or if a stream writes it.
    """
    if (folder / CHECKPOINT).exists():
        raise InputError("a stream writes this: give it the inputs, or write into another folder", file=str(folder))
    for name, choice in _choices(wanted).items():
        for before in pc.unique(there[name]).to_pylist():
            if before != choice:
                chosen, whole = _HAS[name]
                has = chosen.format(before) if before else whole
                raise InputError(f"this has {has}: write into another folder", file=str(folder))


def finish(run: Run, work: Work) -> None:
    """Put all files of a run in their places, instead of those of the same units."""
    if not work.units:
        return
    with run.alone():
        there = inputs_of(run.folder)
        refuse_others(run.folder, there, work.wanted)
        work = work.beside(there)
        out, keys = run.files("inputs"), work.keys
        out.whole("inputs", work.inputs.combine_chunks().to_batches()[0])
        replaced = [path for path in run.there() if unit_of(path) in keys or path.startswith("inputs/")]
        run.commit([*work.made, *out.close()], replaced)
