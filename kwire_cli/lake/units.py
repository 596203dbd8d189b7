"""Inputs as a lake knows them: units of files that are read and replaced together, and which of them are new."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.engine.arrow import batch_of
from kwire_cli.errors import InputError
from kwire_cli.lake.hidden import one_array
from kwire_cli.lake.model import CAPTURES, INDEXES, REQUEST_LOGS, SEGMENTS, found
from kwire_cli.lake.tables import INPUTS
from kwire_cli.source.logs.files import segment_at
from kwire_cli.source.logs.splitting import SPLIT_SIZE
from kwire_cli.source.packets.descriptors import Schedule
from kwire_cli.spec.kafka import VERSION
from kwire_cli.stores import FileBytes, in_parallel, location, path_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from kwire_cli.lake.model import Found, Wanted
    from kwire_cli.lake.writing import Written
    from kwire_cli.source.packets.descriptors import Scheduled

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


def key_of(name: str) -> str:
    """Return the beginning of the names of the files of a unit."""
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def states(rows: pa.Table) -> pa.ChunkedArray:
    """Return what tells whether each file is the same one with the same bytes."""
    return pc.binary_join_element_wise(rows["path"], rows["size"].cast(pa.string()), rows["digest"], "\0")


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


def captures_among(listing: pa.Table) -> list[str]:
    """Return the captures of a listing."""
    paths: list[str] = listing["path"].filter(pc.equal(listing["kind"], KINDS[CAPTURES])).to_pylist()
    return paths


def points_of(listing: pa.Table, plan: Schedule) -> list[str | None]:
    """Return the capture point of each file, by a plan; None for files that it does not have."""
    points: dict[str, str] = {}
    for point in plan.points:
        points |= dict.fromkeys(point.files, point.name)
    at = {path: points.get(location(path)) for path in plan.files}
    return [at.get(path) for path in listing["path"].to_pylist()]


def units_of(
    listing: pa.Table, points: Iterable[str | None], names: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Unit]:
    """Yield the units of files, captures with their points: capture points first.

    A capture without a point is one that cannot be read. `names` are those of units that are not called as their
    capture points.
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
    for point, numbers in captures.items():
        yield Unit(names.get(point, point), point, Listed(listing.take(pa.array(numbers, pa.int64())).combine_chunks()))
    for file in large:
        yield Unit(file.path, log_point(file.path), (file,))
    for name, inputs in _packed(small):
        yield Unit(name, log_point(inputs[0].path), tuple(inputs))


def _packed(small: Mapping[str, Sequence[Input]]) -> Iterator[tuple[str, list[Input]]]:
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
        number = numbers.get(unit.point) if unit.is_point else None
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
    place = path_of(path)
    try:
        file = FileBytes(place)
        seconds = place.stat().st_mtime
        digest = hashlib.sha256(str(file.size).encode())
        for start in (0, max(file.size - END, 0)):
            digest.update(file.read(start, start + END))
    except (InputError, OSError):
        return Input(path, kind, 0, None, "")
    modified = datetime.fromtimestamp(seconds, UTC) if seconds else None
    return Input(path, kind, file.size, modified, digest.hexdigest()[:32])


def choices(wanted: Wanted | None) -> dict[str, str | None]:
    """Return the choices of rows and columns that all inputs of a lake share, by the names of columns of `inputs`."""
    return {
        "filter": wanted.filter if wanted else None,
        "fields": (",".join(wanted.columns) if wanted else "") or None,
    }


def with_tables(there: pa.Table, tables: Collection[str]) -> pa.Table:
    """Return the `inputs` that a lake has all of these tables of, as far as it says so."""
    texts = pc.unique(there["tables"]).to_pylist()
    enough = [text for text in texts if text is None or {*tables}.issubset(text.split(","))]
    return there.filter(pc.is_in(there["tables"], value_set=pa.array(enough, pa.string())))


def input_rows(unit: Unit, rows: int, wanted: Wanted | None = None) -> pa.Table:
    """Return the rows of the table `inputs` for a unit, of which a run has written so many rows."""
    of_unit = {
        "capture_point": unit.point,
        "unit": unit.name,
        "rows": rows,
        "read": datetime.now(UTC),
        "version": VERSION,
        "tables": ",".join(sorted(wanted.tables)) if wanted else None,
        **choices(wanted),
    }
    own = unit.rows
    columns = [
        pa.repeat(pa.scalar(of_unit[each.name], each.type), own.num_rows) if each.name in of_unit else own[each.name]
        for each in INPUTS
    ]
    return pa.Table.from_arrays(columns, schema=INPUTS)


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
    now, `unread` the inputs whose units are replaced although they are not read: their rows are kept.
    """

    units: tuple[Unit, ...]
    known: int
    kept: pa.Table
    unread: pa.Table
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
        kept, unread, former = _beside(there, self.units)
        return replace(self, kept=kept, unread=unread, former=former)

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
    """Return what a run has to do in a lake with these `inputs`: units with files that it does not have, or not as they
    are, or all `again`. So many other files are `known` already. Units are read for all tables that the lake has of
    them, and for those that are wanted.
    """
    some = [*units]
    known_rows = with_tables(there, wanted.tables) if wanted else there
    has = _of_units(known_rows, known_rows["unit"])
    new = [
        unit for unit in some if again or not pc.all(pc.is_in(_of_units(unit.rows, unit.name), value_set=has)).as_py()
    ]
    read = {unit.name for unit in new}
    kept, unread, former = _beside(there, new)
    known += sum(len(unit.inputs) for unit in some if unit.name not in read)
    if wanted and not wanted.columns:  # what is replaced has no fewer tables than before
        replaced = there.filter(pc.is_in(there["unit"], pa.array([*read, *former], pa.string())))
        before = {table for text in pc.unique(replaced["tables"]).to_pylist() if text for table in text.split(",")}
        if more := before.difference(wanted.tables):
            wanted = replace(wanted, tables=frozenset(wanted.tables) | more)
    return Work(tuple(new), known, kept, unread, wanted, former)


def _of_units(rows: pa.Table, unit: pa.ChunkedArray | str) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(unit, states(rows), "\0")


def _beside(there: pa.Table, units: Sequence[Unit]) -> tuple[pa.Table, pa.Table, frozenset[str]]:
    """Return the `inputs` that stay beside those of units that are read, those of them in units that are replaced, and
    the names of units of which inputs are in other units now.

    Captures in units that are replaced do not stay, as no rows of `costs` are theirs alone: see `earlier.together`.
    """
    read = {unit.name for unit in units}
    paths = pa.concat_arrays([one_array(unit.rows["path"]) for unit in units]) if units else pa.array([], pa.string())
    is_read = pc.is_in(there["path"], paths)
    former = {*pc.unique(there["unit"].filter(is_read)).to_pylist()} - read
    is_touched = pc.is_in(there["unit"], pa.array([*read, *former], pa.string()))
    is_capture = pc.equal(there["kind"], KINDS[CAPTURES])
    stays = pc.invert(pc.or_(is_read, pc.and_(is_touched, is_capture)))
    return there.filter(stays), there.filter(pc.and_(stays, is_touched)), frozenset(former)
