"""Captures, logs and request logs written as tables, in one process and without Spark."""

from __future__ import annotations

import signal
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError, close_to, did_you_mean
from kwire_cli.message.redaction import Redaction
from kwire_cli.pipeline.lake import BODIES
from kwire_cli.pipeline.lake.captures import PointTables, Spool, point_rows
from kwire_cli.pipeline.lake.frames import resolved
from kwire_cli.pipeline.lake.logs import log_rows, shaped, unreadable
from kwire_cli.pipeline.lake.tables import DAY, POINT, SHAPES
from kwire_cli.pipeline.lake.units import (
    finish,
    inputs_of,
    listed,
    named_files,
    points_of,
    refuse_others,
    shared_out,
    units_of,
    work_of,
)
from kwire_cli.pipeline.lake.writing import Files, Run
from kwire_cli.pipeline.model import CAPTURES, INDEXES, REQUEST_LOGS, SEGMENTS, Told, found, of_kind
from kwire_cli.source.packets.descriptors import outlined, schedule
from kwire_cli.source.packets.points import apart_notes
from kwire_cli.source.tls.decryption import blocks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from kwire_cli.pipeline.lake.units import Unit, Work
    from kwire_cli.pipeline.lake.writing import Written
    from kwire_cli.pipeline.model import Wanted
    from kwire_cli.source.packets.descriptors import Schedule
    from kwire_cli.stores import Place


MUCH = 256 << 20
"""Bytes of inputs from which on several processes pay: each takes a second to start."""


@dataclass(frozen=True)
class Exported:
    """The result of a run: rows by table, inputs that were read and their bytes, inputs that the lake had already."""

    rows: Mapping[str, int]
    read: int
    known: int
    size: int
    faults: int


def export(
    paths: Sequence[str],
    into: Place,
    wanted: Wanted,
    *,
    form: str = "parquet",
    processes: int = 1,
    note: Callable[[str], None] = lambda _: None,
    again: bool = False,
) -> Exported:
    """Write the tables of inputs into a folder; inputs that the lake there has already are skipped unless `again`.

    Up to so many `processes` write units at once if there is enough to read.

    Raises:
        InputError: There is nothing to read in the inputs, the folder cannot be written to, or it has the frames of
            another filter; a log with a filter.

    """
    files = found(paths, CAPTURES, SEGMENTS, INDEXES, REQUEST_LOGS)
    if wanted.filter and (logs := [each.file for each in files if each.kind is not CAPTURES]):
        raise InputError("--filter is for packet captures, and this is none: export it without", file=logs[0])
    reading = wanted.reading
    plan = schedule(map(outlined, of_kind(files, CAPTURES)), blocks_of(reading.key_logs), reading.naming)
    for text in apart_notes(point.name for point in plan.points if point.apart):
        note(text)
    with Run(into, form) as run:
        there, listing = inputs_of(run.folder), listed(named_files(files))
        refuse_others(run.folder, there, wanted.filter)
        units = units_of(listing, points_of(listing, plan))
        work = work_of(there, units, again=again, filtered=wanted.filter)
        if processes > 1 and len(work.units) > 1 and work.size >= MUCH:
            _in_processes(run, work, plan, wanted, processes)
        else:
            for unit, share in shared_out(plan, work.units):
                work.done(unit, _written(unit, share, run.hidden, form, wanted)[0])
        finish(run, work)
    return Exported(work.rows, work.read, work.known, work.size, reading.told.faults)


def _in_processes(run: Run, work: Work, plan: Schedule, wanted: Wanted, processes: int) -> None:
    """Write the units in processes of their own, the largest ones first."""
    units = sorted(work.units, key=lambda unit: -unit.size)
    own = replace(wanted, reading=replace(wanted.reading, told=Told()))  # each process tells what it could not read
    with ProcessPoolExecutor(min(processes, len(units)), get_context("spawn"), _begin) as pool:
        futures = {
            pool.submit(_written, unit, share, run.hidden, run.form, own): unit
            for unit, share in shared_out(plan, units)
        }
        try:
            for future in as_completed(futures):
                made, told = future.result()
                work.done(futures[future], made)
                wanted.reading.told.faults += told.faults
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _begin() -> None:
    """Leave Ctrl-C to the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _written(unit: Unit, plan: Schedule, hidden: Place, form: str, wanted: Wanted) -> tuple[list[Written], Told]:
    """Write the files of a unit; return them, and what could not be read."""
    out = Files(hidden, form, unit.key, wanted.columns)
    write_unit(unit, plan, out, wanted)
    return out.close(), wanted.reading.told


def write_unit(unit: Unit, plan: Schedule, out: Files, wanted: Wanted) -> None:
    """Write the rows of a unit, of which the plan is."""
    if unit.is_point:
        _write_captures(unit, plan, out, wanted)
        return
    for file in unit.inputs:
        for table, rows in log_rows(file, wanted.tables, wanted.reading):
            out.add(table, unit.point, rows)


def _write_captures(unit: Unit, plan: Schedule, out: Files, wanted: Wanted) -> None:
    if plan.points:
        redaction = Redaction(wanted.reading.catalog, show_secrets=wanted.reading.show_secrets)
        tables = PointTables(unit.name, redaction, wanted.tables, wanted.filter)
        spool = Spool(out.scratch / f"{unit.key}.arrows")
        for table, rows in point_rows(plan, 0, tables, wanted.port):
            if table == "frames":
                spool.add(rows)
            else:
                out.add(table, unit.point, shaped(table, rows))
        for rows in spool.taken():
            out.add("frames", unit.point, resolved(rows, tables.names))
        wanted.reading.told.faults += tables.unread
    for path, reason in plan.faults:
        wanted.reading.told.fault(path, reason)
    if "faults" in wanted.tables:
        for rows in unreadable(plan):
            out.add("faults", unit.point, rows)


def chosen_columns(tables: Collection[str], names: str) -> tuple[str, ...]:
    """Return the columns that a list of names chooses; `tables` is to be the only one that is wanted.

    Raises:
        InputError: There are several tables, or the table has no column of a name.

    """
    table, *others = tables
    if others or table == BODIES:
        raise InputError("--fields names columns of one table: choose it with --tables, such as --tables frames")
    known = [name for name in SHAPES[table].schema.names if name != DAY]
    wanted = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    for name in wanted:
        if name not in (*known, POINT, DAY):
            near = did_you_mean(close_to(name, known))
            raise InputError(f"--fields: {table} has no column {name!r}{near} (docs/tables.md lists them)")
    if not (columns := tuple(name for name in wanted if name in known)):
        raise InputError(f"--fields names no column of {table}: columns are {', '.join(known)}")
    return columns
