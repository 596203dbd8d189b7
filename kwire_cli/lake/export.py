"""Captures, logs and request logs written as tables, without Spark: in one process, or in several if they are large."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError, close_to, did_you_mean
from kwire_cli.facts.columnar.frames import resolved
from kwire_cli.facts.columnar.spool import Spool
from kwire_cli.lake import BODIES
from kwire_cli.lake.captures import PointTables, point_rows
from kwire_cli.lake.earlier import begin, finish, inputs_of
from kwire_cli.lake.in_tasks import Cut, write_in_tasks
from kwire_cli.lake.logs import log_rows, shaped, unreadable
from kwire_cli.lake.processes import WINDOW, Processes, cores
from kwire_cli.lake.tables import DAY, POINT, SHAPES
from kwire_cli.lake.units import (
    captures_among,
    inputs_for,
    listed,
    named_files,
    points_of,
    shared_out,
)
from kwire_cli.lake.writing import Files, Run
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.packets.descriptors import outlined, schedule
from kwire_cli.source.tls.decryption import blocks_of
from kwire_cli.stores import sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import pyarrow as pa

    from kwire_cli.lake.model import Wanted
    from kwire_cli.lake.tasks import Tell
    from kwire_cli.lake.units import Exported, Unit
    from kwire_cli.source.packets.descriptors import Schedule
    from kwire_cli.stores import Place


MUCH = 512 << 20
"""Bytes of inputs from which on several processes pay: each takes a second to start."""


def export(
    paths: Sequence[str],
    into: Place,
    wanted: Wanted,
    *,
    form: str = "parquet",
    processes: int | None = 1,
    note: Callable[[str], None] = lambda _: None,
    tell: Tell = lambda *_: None,
    again: bool = False,
) -> Exported:
    """Write the tables of inputs into a folder; inputs that the lake there has already are skipped unless `again`.

    So many `processes`, one for each core if that is None, share what there is to read if it is much. With a filter one
    reads: that needs the names that frames of other connections have told before. `tell` is told how far they are.

    Raises:
        InputError: There is nothing to read in the inputs, the folder cannot be written to, or it has the frames of
            another filter; a log with a filter.

    """
    files = inputs_for(paths, wanted)
    processes = processes or cores()
    if processes > 1 and not wanted.filter and sum(sizes(each.file for each in files)) >= MUCH:
        with Processes(processes, tell) as tasks:
            cut = Cut(window=WINDOW)
            return write_in_tasks(tasks, named_files(files), into, wanted, form=form, cut=cut, note=note, again=again)
    reading = wanted.reading

    def planned(listing: pa.Table) -> tuple[Schedule, list[str | None]]:
        plan = schedule(map(outlined, captures_among(listing)), blocks_of(reading.key_logs), reading.naming)
        return plan, points_of(listing, plan)

    with Run(into, form) as run:
        there, look = inputs_of(run.folder), partial(listed, named_files(files))
        begun = begin(run, there, look, wanted, planned, note=note, again=again)
        work, done = begun.work, 0
        for unit, share in shared_out(begun.plan, work.units):
            tell(unit.name, done, work.read, "files")
            done += len(unit.inputs)
            out = Files(run.hidden, form, unit.key, begun.wanted.columns)
            write_unit(unit, share, out, begun.wanted)
            work.done(unit, out.close())
        finish(run, work)
    return work.exported(reading.faults.count)


def write_unit(unit: Unit, plan: Schedule, out: Files, wanted: Wanted) -> None:
    """Write the rows of a unit, of which the plan is."""
    if unit.is_point:
        _write_captures(unit, plan, out, wanted)
        return
    for table, rows in log_rows(unit.inputs, wanted.tables, wanted.reading):
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
        wanted.reading.faults.count += tables.unread
    wanted.reading.faults.count += len(plan.faults)
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
