"""Captures, logs and request logs written as tables, in one process and without Spark."""

from __future__ import annotations

import contextlib
import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kwire_cli.engine.arrow import batch_of
from kwire_cli.errors import InputError
from kwire_cli.pipeline.lake.captures import PointTables, point_rows
from kwire_cli.pipeline.lake.frames import FRAMES, resolved
from kwire_cli.pipeline.lake.tables import FAULTS, INPUTS, SCHEMA_KEY, SCHEMA_VERSION
from kwire_cli.pipeline.lake.writing import Run, Spool
from kwire_cli.pipeline.line_columns import FRAMES as LINES, UNREADABLE, Options, file_fault
from kwire_cli.pipeline.model import CAPTURES, INDEXES, REQUEST_LOGS, SEGMENTS, found, of_kind
from kwire_cli.pipeline.request_logs import LOG_FAULTS, LOG_FRAMES, parts_of_all
from kwire_cli.pipeline.segments import INDEX_FAULTS, INDEX_TABLE, SEGMENT_FAULTS, SEGMENT_TABLES
from kwire_cli.source.logs.files import segment_at
from kwire_cli.source.logs.splitting import SPLIT_SIZE
from kwire_cli.source.packets.descriptors import outlined, schedule
from kwire_cli.source.packets.points import apart_notes
from kwire_cli.source.tls.decryption import blocks_of
from kwire_cli.spec.kafka import VERSION
from kwire_cli.stores import location, path_of
from kwire_cli.stores.opening import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from kwire_cli.pipeline.model import Found, Reading
    from kwire_cli.source.packets.descriptors import Schedule

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
    def state(self) -> frozenset[tuple[str, int, str]]:
        """Return what tells whether the unit has changed."""
        return frozenset((each.path, each.size, each.digest) for each in self.inputs)


@dataclass
class Exported:
    """What a run has done: rows by table, inputs that were read, and inputs that the lake had already."""

    rows: Mapping[str, int] = field(default_factory=dict)
    read: int = 0
    known: int = 0
    size: int = 0
    faults: int = 0


def export(
    paths: Sequence[str],
    into: Path,
    *,
    reading: Reading,
    tables: Collection[str],
    form: str = "parquet",
    port: int | None = None,
    note: Callable[[str], None] = lambda _: None,
    again: bool = False,
) -> Exported:
    """Write the tables of inputs into a folder; inputs that the lake there has already are skipped unless `again`.

    Raises:
        InputError: There is nothing to read in the inputs, or the folder cannot be written to.

    """
    files = found(paths, CAPTURES, SEGMENTS, INDEXES, REQUEST_LOGS)
    plan = _plan(of_kind(files, CAPTURES), reading)
    for text in apart_notes(point.name for point in plan.points if point.apart):
        note(text)
    done = Exported()
    with Run(into, form) as run:
        there = _inputs(into)
        known = {} if again else _states(there)
        units = [*_units(files, plan)]
        new = [unit for unit in units if known.get(unit.name) != unit.state]
        done.known = sum(len(unit.inputs) for unit in units) - sum(len(unit.inputs) for unit in new)
        read = {unit.name for unit in new}
        inputs = [(*row.values(),) for row in there if row["unit"] not in read]
        writer = _Writer(run, plan, reading, tables, port)
        for unit in new:
            before = sum(run.counts.values())
            run.begin(unit.key)
            writer.unit(unit)
            inputs += _input_rows(unit, sum(run.counts.values()) - before)
            done.read += len(unit.inputs)
            done.size += sum(each.size for each in unit.inputs)
        keys = {unit.key for unit in new}
        if new:
            run.put("inputs", batch_of(inputs, INPUTS))
            run.commit(lambda path: path.name.split("-")[0] in keys or path.parent == into / "inputs")
        done.rows = run.counts
    done.faults = reading.told.faults
    return done


def _plan(captures: Sequence[str], reading: Reading) -> Schedule:
    return schedule(map(outlined, captures), blocks_of(reading.key_logs), reading.naming)


def _units(files: Iterable[Found], plan: Schedule) -> Iterator[Unit]:
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
            captures[_log_point(each.file)].append(each.file)
        else:
            captures[at.get(each.file) or _log_point(each.file)].append(each.file)
    for name, paths in captures.items():
        yield Unit(name, name, tuple(_input(path, "capture") for path in paths))
    small: dict[str, list[Input]] = defaultdict(list)
    for each in others:
        file = _input(each.file, _KINDS[each.kind])
        if file.size < SMALL:
            small[str(path_of(each.file).parent)].append(file)
        else:
            yield Unit(each.file, _log_point(each.file), (file,))
    for folder, inputs in small.items():
        yield Unit(f"{folder} (small logs)", _log_point(inputs[0].path), tuple(inputs))


def _log_point(path: str) -> str:
    """Return the capture point of a file that is no capture: the folder of partitions that it is in, or its own."""
    folder = path_of(path).parent
    return location(str(folder.parent if segment_at(path_of(path)).topic else folder))


def _input(path: str, kind: str) -> Input:
    """Return what tells a file from another one. A file that cannot be read has no digest."""
    try:
        file = opened(path)
        size, digest = file.size, hashlib.sha256(str(file.size).encode())
        digest.update(file.view(0, min(END, size)))
        digest.update(file.view(max(size - END, 0), size))
        text = digest.hexdigest()[:32]
    except InputError:
        size, text = 0, ""
    modified = None
    with contextlib.suppress(OSError):
        seconds = getattr(path_of(path).stat(), "st_mtime", None)
        modified = None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return Input(path, kind, size, modified, text)


def _input_rows(unit: Unit, rows: int) -> list[tuple[Any, ...]]:
    now = datetime.now(UTC)
    return [
        (unit.point, each.path, each.kind, each.size, each.modified, each.digest, unit.name, rows, now, VERSION)
        for each in unit.inputs
    ]


def _inputs(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of the table `inputs` of a lake; none if the lake has other tables than this kwire writes."""
    for path in sorted((folder / "inputs").glob("*.parquet")):
        table = pq.read_table(path, partitioning=None)
        if (table.schema.metadata or {}).get(SCHEMA_KEY) == str(SCHEMA_VERSION).encode():
            rows: list[dict[str, Any]] = table.to_pylist()
            return rows
    return []


def _states(inputs: Iterable[Mapping[str, Any]]) -> dict[str, frozenset[tuple[str, int, str]]]:
    """Return what tells whether a unit has changed, for each unit that a lake has."""
    states: dict[str, set[tuple[str, int, str]]] = defaultdict(set)
    for row in inputs:
        states[row["unit"]].add((row["path"], row["size"], row["digest"]))
    return {unit: frozenset(state) for unit, state in states.items()}


class _Writer:
    """Writes the rows of units."""

    def __init__(self, run: Run, plan: Schedule, reading: Reading, tables: Collection[str], port: int | None) -> None:
        self._run, self._plan, self._reading, self._tables, self._port = run, plan, reading, tables, port
        self._options = Options(reading.catalog, show_secrets=reading.show_secrets)
        self._points = {point.name: number for number, point in enumerate(plan.points)}

    def unit(self, unit: Unit) -> None:
        """Write the rows of a unit."""
        if unit.inputs[0].kind == "capture":
            self._captures(unit)
            return
        for file in unit.inputs:
            for table, rows in self._log_rows(file):
                self._run.add(table, unit.point, rows)

    def _captures(self, unit: Unit) -> None:
        number = self._points.get(unit.name)
        if number is not None:
            tables = PointTables(unit.name, self._options, self._tables)
            spool = Spool(self._run.hidden / "frames.arrows")
            for table, rows in point_rows(self._plan, number, tables, self._port):
                if table == "frames":
                    spool.add(rows)
                else:
                    self._run.add(table, unit.point, _shaped(table, rows))
            for rows in spool.taken():
                self._run.add("frames", unit.point, resolved(rows, tables.names))
        if "faults" in self._tables:
            names = {each.path for each in unit.inputs}
            for path, reason in self._plan.faults:
                if path in names:
                    self._reading.told.fault(path, reason)
                    rows = file_fault(None, path, None, None, UNREADABLE, reason)
                    self._run.add("faults", unit.point, _shaped("faults", rows))

    def _log_rows(self, file: Input) -> Iterator[tuple[str, pa.RecordBatch]]:
        if file.kind == "request-log":
            for part in parts_of_all([file.path]):
                if "frames" in self._tables:
                    for rows in LOG_FRAMES.read(part, _LOGGED, self._reading):
                        yield "frames", _logged(rows)
                if "faults" in self._tables:
                    for rows in LOG_FAULTS.read(part, LOG_FAULTS.schema.names, self._reading):
                        yield "faults", _shaped("faults", rows)
            return
        some: Sequence[Any] = (INDEX_TABLE, INDEX_FAULTS) if file.kind == "index" else (*SEGMENT_TABLES, SEGMENT_FAULTS)
        for table in some:
            if table.name not in self._tables:
                continue
            for part in table.parts_of([file.path], (), SPLIT_SIZE):
                for rows in table.read(part, table.schema.names, self._reading):
                    yield table.name, _shaped(table.name, rows)


_LOGGED = [name for name in FRAMES.names if name in LINES.names] + ["latency"]
"""The columns of frames that request logs have."""


def _logged(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows of exchanges of a request log as rows of `frames`."""
    columns = {name: rows.column(name) for name in rows.schema.names}
    columns["latency_us"] = pc.round(pc.multiply(columns["latency"], 1e6)).cast(pa.int64())
    count = rows.num_rows
    return pa.RecordBatch.from_arrays(
        [columns[each.name].cast(each.type) if each.name in columns else pa.nulls(count, each.type) for each in FRAMES],
        schema=FRAMES,
    )


def _shaped(table: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of faults with the columns of all faults; other rows as they are."""
    if table != "faults":
        return rows
    own = set(rows.schema.names)
    columns = [rows.column(each.name) if each.name in own else pa.nulls(rows.num_rows, each.type) for each in FAULTS]
    return pa.RecordBatch.from_arrays(columns, schema=FAULTS)
