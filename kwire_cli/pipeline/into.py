"""Tables of a lake written by Spark's tasks: the tables of `lake.export`, from inputs of any size.

Connections are whole in the task that owns them. The names that a capture point tells are known only when all of its
connections were read: tasks write frames without them into the hidden folder of the run, and other tasks put the names
in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from kwire_cli.pipeline.captures import Captures, layouts
from kwire_cli.pipeline.lake.captures import PointTables
from kwire_cli.pipeline.lake.export import Exported
from kwire_cli.pipeline.lake.frames import resolved
from kwire_cli.pipeline.lake.logs import log_rows, shaped
from kwire_cli.pipeline.lake.names import name_rows
from kwire_cli.pipeline.lake.tables import UNRESOLVED_FRAMES
from kwire_cli.pipeline.lake.units import finish, work_of
from kwire_cli.pipeline.lake.writing import Files, Run, parquet_file
from kwire_cli.pipeline.line_columns import CAPTURE_FAULTS, Options
from kwire_cli.pipeline.model import CAPTURES, INDEXES, REQUEST_LOGS, SEGMENTS, Told, Wanted, found, of_kind
from kwire_cli.pipeline.parts import Tally, folded
from kwire_cli.source.kafka.captured import Names
from kwire_cli.source.packets.descriptors import Schedule
from kwire_cli.source.packets.parts import PART_SIZE
from kwire_cli.stores import location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from kwire_cli.pipeline.lake.units import Input, Unit, Work
    from kwire_cli.pipeline.lake.writing import Written
    from kwire_cli.source.captures import Replay
    from kwire_cli.source.kafka.bulk_frames import EndsReader, Stretch
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.stores import Place

PACK = 128 << 20
"""Bytes of small files that one task reads."""


@dataclass
class Done:
    """The files that tasks have written, by the key of their unit, and what they learnt, by capture point."""

    made: dict[str, list[Written]] = field(default_factory=dict)
    names: dict[int, Names] = field(default_factory=dict)
    clients: dict[int, dict[str, str]] = field(default_factory=dict)
    told: Told = field(default_factory=Told)


def merge(one: Done, other: Done) -> None:
    """Add what another task has done."""
    for key, made in other.made.items():
        one.made.setdefault(key, []).extend(made)
    for point, names in other.names.items():
        own = one.names.setdefault(point, Names())
        own.topics = names.topics | own.topics
        own.brokers = names.brokers | own.brokers
        own.sessions = names.sessions | own.sessions
    for point, clients in other.clients.items():
        one.clients[point] = clients | one.clients.get(point, {})
    one.told.size += other.told.size
    one.told.faults += other.told.faults


def scan_into(
    spark: SparkSession,
    paths: Sequence[str],
    into: Place,
    wanted: Wanted,
    *,
    form: str = "parquet",
    part_size: int | None = None,
    note: Callable[[str], None] = lambda _: None,
    again: bool = False,
) -> Exported:
    """Write the tables of inputs to a place that all workers reach, as `lake.export.export` does in one process.

    Raises:
        InputError: There is nothing to read in the inputs, or the folder cannot be written to.

    """
    files, reading, tally = found(paths, CAPTURES, SEGMENTS, INDEXES, REQUEST_LOGS), wanted.reading, Tally(spark)
    captures = Captures(
        spark,
        of_kind(files, CAPTURES),
        port=wanted.port,
        show_secrets=reading.show_secrets,
        catalog=reading.catalog,
        key_logs=reading.key_logs,
        naming=reading.naming,
        note=note,
        tally=tally,
        part_size=part_size or PART_SIZE,
    )
    with Run(into, form) as run:
        plan = captures.plan if of_kind(files, CAPTURES) else Schedule((), (), (), ())
        work = work_of(into, files, plan, again=again, filtered=wanted.filter)
        done = Done()
        units = {unit.key: unit for unit in work.units}
        points = {unit.name: unit for unit in work.units if unit.is_point}
        if points:
            _captures(run, captures, points, wanted, done)
        for each in folded(spark, _packs(work), partial(_read_logs, run.hidden, run.form, wanted), merge):
            merge(done, each)
        for key, made in done.made.items():
            work.done(units[key], made)
        finish(run, work)
    return Exported(work.rows, work.read, work.known, work.size, tally.faults + done.told.faults)


# Captures.


def _captures(run: Run, captures: Captures, points: Mapping[str, Unit], wanted: Wanted, done: Done) -> None:
    """Write the tables of capture points, and say in `done` what was written."""
    numbers = {number: points[point.name] for number, point in enumerate(captures.plan.points) if point.name in points}
    narrowed = captures.narrowed(numbers)
    keys = {number: unit.key for number, unit in numbers.items()}
    owners = partial(_read_connections, run.hidden, run.form, keys, wanted)
    for each in narrowed.of_connections(owners, merge):
        merge(done, each)
    works = []
    for number, unit in numbers.items():
        made = done.made.get(unit.key, [])
        frames = [each.name for each in made if each.table == UNRESOLVED_FRAMES]
        done.made[unit.key] = [each for each in made if each.table != UNRESOLVED_FRAMES]
        names = done.names.get(number, Names())
        works += [_Unresolved(unit.key, unit.point, names, name) for name in frames]
        if "names" in wanted.tables:
            out = run.files(unit.key)
            out.add("names", unit.point, name_rows(names, done.clients.get(number, {})))
            merge(done, Done({unit.key: out.close()}))
    for each in folded(narrowed.spark, works, partial(_resolve, run.hidden, run.form), merge):
        merge(done, each)
    if "faults" in wanted.tables:
        _write_file_faults(run, narrowed, points, done)


def _write_file_faults(run: Run, captures: Captures, points: Mapping[str, Unit], done: Done) -> None:
    """Write the faults of files, which are looked for only if there are any."""
    of_file = {location(each.path): unit for unit in points.values() for each in unit.inputs}
    if not captures.has_faults and not any(point.apart for point in captures.plan.points):
        return
    rows = [row for row in captures.file_faults().toArrow().to_pylist() if row["file"] in of_file]
    for file, some in groupby(sorted(rows, key=lambda row: str(row["file"])), key=lambda row: row["file"]):
        unit = of_file[file]
        out = run.files(unit.key)
        for row in some:
            out.add("faults", unit.point, shaped("faults", _batch(row)))
        merge(done, Done({unit.key: out.close()}))


def _batch(row: dict[str, object]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([row], schema=CAPTURE_FAULTS)


def _read_connections(
    hidden: Place, form: str, keys: Mapping[int, str], wanted: Wanted, connections: Iterable[tuple[int, Replay, int]]
) -> Done:
    """Write the rows of the connections that a task owns, point by point."""
    done = Done()
    catalog = wanted.reading.catalog
    options = Options(catalog, show_secrets=wanted.reading.show_secrets)
    for number, some in groupby(connections, key=lambda each: each[0]):
        files: Files | None = None
        for _, replay, last in some:
            point = replay.origin.point or ""
            if files is None:
                files = Files(hidden, form, keys[number])
                tables = PointTables(point, options, wanted.tables, wanted.filter)
            reader = tables.reader(replay.ends, layouts(catalog), wanted.port, replay.origin, replay.tls)
            for run in replay.runs:
                _add(tables, files, point, reader, reader.take(run))
            _add(tables, files, point, reader, reader.close(last))
        if files is None:
            continue
        for table, rows in tables.close():
            _put(files, table, point, rows)
        made = done.made.setdefault(keys[number], [])
        made += files.close()
        done.names[number] = Names(tables.names.topics, tables.names.brokers, tables.names.sessions)
        done.clients[number] = tables.clients
    return done


def _add(
    tables: PointTables, files: Files, point: str, reader: EndsReader, items: Iterable[Stretch | Captured]
) -> None:
    for item in items:
        for table, rows in tables.item(item, reader):
            _put(files, table, point, rows)


def _put(files: Files, table: str, point: str, rows: pa.RecordBatch) -> None:
    if table == "frames":
        files.add(UNRESOLVED_FRAMES, point, rows)
    elif table != "names":  # those of one task say nothing yet
        files.add(table, point, shaped(table, rows))


class _Unresolved(NamedTuple):
    """A file of frames without the names of their capture point, and these."""

    key: str
    point: str
    names: Names
    file: str


def _resolve(hidden: Place, form: str, works: Iterable[_Unresolved]) -> Done:
    """Put names into frames."""
    done = Done()
    for work in works:
        out = Files(hidden, form, work.key)
        with parquet_file(hidden / work.file) as source:
            for rows in source.iter_batches():
                out.add("frames", work.point, resolved(rows, work.names))
        done.made.setdefault(work.key, []).extend(out.close())
    return done


# Logs.


class _Share(NamedTuple):
    """A file of a unit, or one of several shares of its parts."""

    key: str
    point: str
    file: Input
    share: int = 0
    shares: int = 1


def _packs(work: Work) -> list[list[_Share]]:
    """Return the log files that are to be read, in packs of about the same size; a large file has several shares."""
    packs: list[list[_Share]] = []
    room = 0
    for unit in work.units:
        for file in () if unit.is_point else unit.inputs:
            for share in range(file.shares):
                size = file.size // file.shares
                if room < size or not packs:
                    packs.append([])
                    room = PACK
                packs[-1].append(_Share(unit.key, unit.point, file, share, file.shares))
                room -= max(size, 1 << 16)  # opening a file takes its time too
    return packs


def _read_logs(hidden: Place, form: str, wanted: Wanted, packs: Iterable[Sequence[_Share]]) -> Done:
    """Write the rows of log files."""
    done = Done(told=wanted.reading.told)
    for pack in packs:
        for key, some in groupby(pack, key=lambda share: share.key):
            out = Files(hidden, form, key)
            for share in some:
                for table, rows in log_rows(share.file, wanted.tables, wanted.reading, share.share, share.shares):
                    out.add(table, share.point, rows)
            done.made.setdefault(key, []).extend(out.close())
    return done
