"""Inputs as a lake knows them: units of files that are read and replaced together, and which of them are new."""

from __future__ import annotations

import contextlib
import hashlib
from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.arrow import batch_of
from kwire_cli.errors import InputError
from kwire_cli.pipeline.lake.tables import INPUTS, SCHEMA_KEY, SCHEMA_VERSION
from kwire_cli.pipeline.lake.writing import parquet_file, unit_of
from kwire_cli.pipeline.model import CAPTURES, INDEXES, REQUEST_LOGS, SEGMENTS
from kwire_cli.source.logs.files import segment_at
from kwire_cli.source.logs.splitting import SPLIT_SIZE
from kwire_cli.source.packets.descriptors import Schedule
from kwire_cli.spec.kafka import VERSION
from kwire_cli.stores import location, path_of
from kwire_cli.stores.opening import opened
from kwire_cli.stores.writing import below

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire_cli.pipeline.lake.writing import Run, Written
    from kwire_cli.pipeline.model import Found
    from kwire_cli.source.packets.descriptors import Scheduled
    from kwire_cli.stores import Place

CHECKPOINT = "_checkpoint"
"""The folder beside files that a stream writes, in which Spark keeps how far it is: readers pass over it."""
END = 1 << 16
"""Bytes of the beginning and of the end of a file of which a digest is made."""
SMALL = 16 << 20
"""Bytes of a log file, below which it is a unit together with the other small files of its folder."""
_KINDS = {CAPTURES: "capture", SEGMENTS: "segment", INDEXES: "index", REQUEST_LOGS: "request-log"}


@dataclass(frozen=True)
class Input:
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


@dataclass(frozen=True)
class Unit:
    """Files that are read together and replaced together: those of a capture point, a log file, or the small log files
    of a folder.
    """

    name: str
    point: str
    inputs: tuple[Input, ...]

    @property
    def key(self) -> str:
        """Return the beginning of the names of its files."""
        return hashlib.sha256(self.name.encode("utf-8", "surrogateescape")).hexdigest()[:12]

    @property
    def is_point(self) -> bool:
        """Return whether these are the captures of a capture point."""
        return self.inputs[0].kind == "capture"

    @property
    def size(self) -> int:
        """Return the bytes of its files."""
        return sum(each.size for each in self.inputs)

    @property
    def state(self) -> frozenset[tuple[str, int, str]]:
        """Return what tells whether the unit has changed."""
        return frozenset((each.path, each.size, each.digest) for each in self.inputs)


def units_of(files: Iterable[Found], plan: Schedule) -> Iterator[Unit]:
    """Yield the units of files: capture points first."""
    points: dict[str, str] = {}
    for point in plan.points:
        points |= dict.fromkeys(point.files, point.name)
    captures: dict[str, list[str]] = defaultdict(list)
    others: list[Found] = []
    faulty = {path for path, _ in plan.faults}
    at = dict(zip(plan.files, (points.get(location(path)) for path in plan.files), strict=True))
    for each in files:
        if each.kind is not CAPTURES:
            others.append(each)
        elif each.file in faulty:
            captures[log_point(each.file)].append(each.file)
        else:
            captures[at.get(each.file) or log_point(each.file)].append(each.file)
    for name, paths in captures.items():
        yield Unit(name, name, tuple(_input(path, "capture") for path in paths))
    small: dict[str, list[Input]] = defaultdict(list)
    for each in others:
        file = _input(each.file, _KINDS[each.kind])
        if file.size < SMALL:
            small[str(path_of(each.file).parent)].append(file)
        else:
            yield Unit(each.file, log_point(each.file), (file,))
    for folder, inputs in small.items():
        yield Unit(f"{folder} (small logs)", log_point(inputs[0].path), tuple(inputs))


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
        paths = {each.path for each in unit.inputs}
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
        file = opened(path)
        size, digest = file.size, hashlib.sha256(str(file.size).encode())
        for start, stop in (0, min(END, size)), (max(size - END, 0), size):
            digest.update(file.view(start, stop)[start:stop])
        text = digest.hexdigest()[:32]
    except InputError:
        size, text = 0, ""
    modified = None
    with contextlib.suppress(OSError):
        seconds = getattr(path_of(path).stat(), "st_mtime", None)
        modified = None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return Input(path, kind, size, modified, text)


def input_rows(unit: Unit, rows: int, filtered: str | None = None) -> list[tuple[Any, ...]]:
    """Return the rows of the table `inputs` for a unit, of which a run has written so many rows by a filter."""
    last = (unit.name, rows, datetime.now(UTC), VERSION, filtered)
    return [(unit.point, each.path, each.kind, each.size, each.modified, each.digest, *last) for each in unit.inputs]


def inputs_of(folder: Place) -> list[dict[str, Any]]:
    """Return the rows of the table `inputs` of a lake; none if the lake has other tables than this kwire writes."""
    inputs = folder / "inputs"
    for name in below(inputs):
        if name.endswith(".parquet"):
            table = parquet_file(inputs / name).read()
            if (table.schema.metadata or {}).get(SCHEMA_KEY) == str(SCHEMA_VERSION).encode():
                rows: list[dict[str, Any]] = table.to_pylist()
                return rows
    return []


def states_of(inputs: Iterable[Mapping[str, Any]]) -> dict[str, frozenset[tuple[str, int, str]]]:
    """Return what tells whether a unit has changed, for each unit that a lake has."""
    states: dict[str, set[tuple[str, int, str]]] = defaultdict(set)
    for row in inputs:
        states[row["unit"]].add((row["path"], row["size"], row["digest"]))
    return {unit: frozenset(state) for unit, state in states.items()}


# What a run has to do, and what it has done.


@dataclass
class Work:
    """The units that a run reads, the number of inputs that the lake has already, and the rows of `inputs` that stay.

    `made` and `rows` fill while units are done. `filtered` is the filter of frames.
    """

    units: tuple[Unit, ...]
    known: int
    kept: list[tuple[Any, ...]]
    filtered: str | None = None
    made: list[Written] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    _of_units: dict[str, int] = field(default_factory=dict)

    def done(self, unit: Unit, made: Iterable[Written]) -> None:
        """Take files of a unit that are ready."""
        for file in made:
            self.made.append(file)
            self.rows[file.table] = self.rows.get(file.table, 0) + file.rows
            self._of_units[unit.name] = self._of_units.get(unit.name, 0) + file.rows

    @property
    def read(self) -> int:
        """Return the number of inputs that are read."""
        return sum(len(unit.inputs) for unit in self.units)

    @property
    def size(self) -> int:
        """Return their bytes."""
        return sum(unit.size for unit in self.units)

    @property
    def inputs(self) -> list[tuple[Any, ...]]:
        """Return the rows of `inputs` when all is done."""
        read = [input_rows(unit, self._of_units.get(unit.name, 0), self.filtered) for unit in self.units]
        return self.kept + [row for rows in read for row in rows]


def work_of(folder: Place, files: Iterable[Found], plan: Schedule, *, again: bool, filtered: str | None = None) -> Work:
    """Return what a run has to do in a lake: units that it does not have, or has in another state, or all `again`.

    Raises:
        InputError: The lake has the frames of another filter, or a stream writes it.

    """
    if (folder / CHECKPOINT).exists():
        raise InputError("a stream writes this: give it the inputs, or write into another folder", file=str(folder))
    there = inputs_of(folder)
    for row in there:
        if (before := row.get("filter")) != filtered:
            has = f"the frames of --filter {before!r}" if before else "tables without a filter"
            raise InputError(f"this has {has}: write into another folder", file=str(folder))
    known = {} if again else states_of(there)
    units = [*units_of(files, plan)]
    new = [unit for unit in units if known.get(unit.name) != unit.state]
    read = {unit.name for unit in new}
    kept = [tuple(row.get(name) for name in INPUTS.names) for row in there if row["unit"] not in read]
    return Work(tuple(new), sum(len(unit.inputs) for unit in units if unit.name not in read), kept, filtered)


def finish(run: Run, work: Work) -> None:
    """Put all files of a run in their places, instead of those of the same units."""
    if not work.units:
        return
    keys = {unit.key for unit in work.units}
    out = run.files("inputs")
    out.whole("inputs", batch_of(work.inputs, INPUTS))
    replaced = [path for path in run.there() if unit_of(path) in keys or path.startswith("inputs/")]
    run.commit([*work.made, *out.close()], replaced)
