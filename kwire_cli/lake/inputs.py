"""The files that a run reads: new files and changed files.

A unit of a lake is one file, or the state of a capture point: the saved state of its connections, its names, and the
rows of connections that were open at the end. New captures of a point follow those in the lake, whose files may no
longer exist: a run reads nothing twice. If a capture has changed since it was read, all captures of its point are read
again, provided that all files exist.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.engine.arrow import batch_of
from kwire_cli.errors import InputError
from kwire_cli.lake.model import CAPTURES, INDEXES, REQUEST_LOGS, SEGMENTS, found
from kwire_cli.lake.tables import INPUTS
from kwire_cli.source.logs.files import segment_at
from kwire_cli.source.logs.splitting import SPLIT_SIZE
from kwire_cli.source.packets.model import NO_TIME
from kwire_cli.spec.kafka import VERSION
from kwire_cli.stores.opening import FileBytes
from kwire_cli.stores.paths import in_parallel, location, path_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.lake.model import Found
    from kwire_cli.lake.windows import Plan
    from kwire_cli.source.files import Naming

END = 1 << 16
"""Bytes at the start and at the end of a file that its digest covers."""
KINDS = {CAPTURES: "capture", SEGMENTS: "segment", INDEXES: "index", REQUEST_LOGS: "request-log"}
CAPTURE = KINDS[CAPTURES]
POINT = "point"
"""The kind of the unit with the state of a capture point."""


class Input(NamedTuple):
    """A file to read. `digest` covers its size, start and end; it is empty if the file is unreadable."""

    path: str
    kind: str
    size: int
    modified: datetime | None
    digest: str

    @property
    def shares(self) -> int:
        """Return the number of shares of a log file, if several tasks read it."""
        return max(-(-self.size // SPLIT_SIZE), 1)


LISTED = pa.schema([INPUTS.field(name) for name in Input._fields])
"""The columns of inputs. Many inputs are kept as a table."""
NAMED = pa.schema([INPUTS.field("path"), INPUTS.field("kind")])


def inputs_in(listing: pa.Table) -> Iterator[Input]:
    """Yield the files of a listing."""
    for batch in listing.to_batches(max_chunksize=1 << 12):
        yield from map(Input, *(column.to_pylist() for column in batch.columns))


def named_files(paths: Sequence[str]) -> pa.Table:
    """Return the files that paths and globs match, with their kinds.

    Raises:
        InputError: They match no readable file.

    """
    files: list[Found] = found(paths, CAPTURES, SEGMENTS, INDEXES, REQUEST_LOGS)
    return pa.Table.from_batches([batch_of([(each.file, KINDS[each.kind]) for each in files], NAMED)])


def listed(files: pa.Table) -> pa.Table:
    """Return files with their sizes and digests."""
    named = [*zip(files["path"].to_pylist(), files["kind"].to_pylist(), strict=True)]
    inputs = in_parallel(lambda each: _input(*each), named, lambda each: each[0])
    return pa.Table.from_batches([batch_of(inputs, LISTED)])


def _input(path: str, kind: str) -> Input:
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


def unit_of(path: str) -> str:
    """Return the unit of a file, in the form that rows contain."""
    return location(path)


def point_unit(point: str) -> str:
    """Return the unit with the state of a capture point."""
    return f"{POINT}: {point}"


def log_point(path: str) -> str:
    """Return the capture point of a log: the parent of its partition folder, or else its folder."""
    folder = path_of(path).parent
    return location(str(folder.parent if segment_at(path_of(path)).topic else folder))


# The work of a run.


@dataclass(frozen=True)
class Work:
    """The files that a run reads, for which tables, and the number of files that the lake has unchanged.

    `upto` is the time of the last packet in the lake, in nanoseconds, for each capture point that continues.
    """

    listing: pa.Table
    tables: frozenset[str]
    known: int = 0
    upto: Mapping[str, int] = field(default_factory=dict)


def work_of(
    there: pa.Table,
    listing: pa.Table,
    tables: Collection[str],
    naming: Naming,
    *,
    again: bool = False,
    at_rest: float = 0,
) -> Work:
    """Return the work of a run in a lake with these rows of `inputs`. With `again`, all files are read.

    A file that is read again is read for all its tables in the lake. A file that has changed in the last `at_rest`
    seconds is left for a later run.
    """
    lake = _Lake(there)
    if at_rest:
        latest = pa.scalar(datetime.now(UTC) - timedelta(seconds=at_rest), listing["modified"].type)
        listing = listing.filter(pc.less(listing["modified"], latest).fill_null(True))  # noqa: FBT003 - pyarrow
    new: list[Input] = []
    known = 0
    captures: dict[str, list[Input]] = defaultdict(list)
    for file in inputs_in(listing):
        if file.kind == CAPTURE:
            captures[naming.name(file.path)].append(file)
        elif again or not lake.has(file, tables):
            new.append(file)
        else:
            known += 1
    upto: dict[str, int] = {}
    for point, files in captures.items():
        reading = [file for file in files if again or not lake.has(file, tables)]
        if any(unit_of(file.path) in lake.rows for file in reading):
            others = lake.others(point, files)
            reading = reading if others is None else [*others, *files]
        paths = {each.path for each in reading}
        known += len(files) - sum(file.path in paths for file in files)
        if reading and not lake.is_covered(point, reading) and (latest := lake.latest.get(point)) is not None:
            upto[point] = latest
        new += reading
    wanted = frozenset(tables).union(*(lake.tables(file) for file in new))
    rows = pa.Table.from_batches([batch_of(new, LISTED)])
    return Work(rows, wanted, known, upto)


class _Lake:
    """The units of a lake, by name."""

    def __init__(self, there: pa.Table) -> None:
        self.rows: dict[str, dict[str, Any]] = {row["unit"]: row for row in there.to_pylist()}
        self.latest: dict[str, int] = {}
        self._captures: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in self.rows.values():
            if row["kind"] == POINT and row["latest"] is not None:
                self.latest[row["capture_point"]] = row["latest"]
            elif row["kind"] == CAPTURE:
                self._captures[row["capture_point"]].append(row)

    def has(self, file: Input, tables: Collection[str]) -> bool:
        """Return whether the lake has these tables of a file, and the file has not changed since."""
        row = self.rows.get(unit_of(file.path))
        if row is None or (row["size"], row["digest"]) != (file.size, file.digest):
            return False
        return {*tables} <= {*(row["tables"] or "").split(",")}

    def tables(self, file: Input) -> list[str]:
        """Return the tables that the lake has of a file."""
        row = self.rows.get(unit_of(file.path))
        return row["tables"].split(",") if row and row["tables"] else []

    def others(self, point: str, files: Collection[Input]) -> list[Input] | None:
        """Return the captures of a point except `files`, or None if one of them no longer exists."""
        units = {unit_of(file.path) for file in files}
        rows = [row for row in self._captures[point] if row["unit"] not in units]
        inputs = [_input(row["path"], CAPTURE) for row in rows]
        return inputs if all(file.digest for file in inputs) else None

    def is_covered(self, point: str, files: Collection[Input]) -> bool:
        """Return whether `files` include all captures of a point in the lake."""
        return {unit_of(file.path) for file in files}.issuperset(row["unit"] for row in self._captures[point])


# The result of a run.


@dataclass(frozen=True)
class Exported:
    """The result of a run: rows by table, inputs that were read, their bytes, and unchanged inputs."""

    rows: Mapping[str, int]
    read: int
    known: int
    size: int
    faults: int


def input_rows(work: Work, plan: Plan, run: str) -> pa.Table:
    """Return the rows of `inputs` for the files of a run, and for the capture points whose state was saved."""
    points = {work.listing["path"][number].as_py(): plan.points[point] for number, point in _numbers(plan)}
    same = {"run": run, "read": datetime.now(UTC), "version": VERSION, "tables": ",".join(sorted(work.tables))}
    rows: list[dict[str, Any]] = []
    for file in inputs_in(work.listing):
        planned = points.get(file.path)
        point = planned.name if planned else log_point(file.path)
        rows.append({**file._asdict(), "unit": unit_of(file.path), "capture_point": point, **same})
    for planned in plan.points:
        if planned.carries:
            latest = max(planned.latest, work.upto.get(planned.name, NO_TIME))
            state = {"unit": point_unit(planned.name), "capture_point": planned.name, "kind": POINT}
            rows.append({**state, "latest": None if latest == NO_TIME else latest, **same})
    return pa.Table.from_pylist(rows, schema=INPUTS)


def _numbers(plan: Plan) -> Iterable[tuple[int, int]]:
    return ((number, point) for number, point in enumerate(plan.of_files) if point is not None)
