"""Captures, logs and request logs written as tables, in one process and without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.pipeline.lake.captures import PointTables, point_rows
from kwire_cli.pipeline.lake.frames import resolved
from kwire_cli.pipeline.lake.logs import log_rows, shaped
from kwire_cli.pipeline.lake.units import finish, work_of
from kwire_cli.pipeline.lake.writing import Run, Spool
from kwire_cli.pipeline.line_columns import UNREADABLE, Options, file_fault
from kwire_cli.pipeline.model import CAPTURES, INDEXES, REQUEST_LOGS, SEGMENTS, found, of_kind
from kwire_cli.source.packets.descriptors import outlined, schedule
from kwire_cli.source.packets.points import apart_notes
from kwire_cli.source.tls.decryption import blocks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from kwire_cli.pipeline.lake.units import Unit
    from kwire_cli.pipeline.lake.writing import Files
    from kwire_cli.pipeline.model import Reading
    from kwire_cli.source.packets.descriptors import Schedule


@dataclass(frozen=True)
class Wanted:
    """The tables that are wanted of inputs, and how to read these."""

    tables: Collection[str]
    reading: Reading
    port: int | None = None


@dataclass(frozen=True)
class Exported:
    """What a run has done: rows by table, inputs that were read with their bytes, inputs that the lake had already."""

    rows: Mapping[str, int]
    read: int
    known: int
    size: int
    faults: int


def export(
    paths: Sequence[str],
    into: Path,
    wanted: Wanted,
    *,
    form: str = "parquet",
    note: Callable[[str], None] = lambda _: None,
    again: bool = False,
) -> Exported:
    """Write the tables of inputs into a folder; inputs that the lake there has already are skipped unless `again`.

    Raises:
        InputError: There is nothing to read in the inputs, or the folder cannot be written to.

    """
    files = found(paths, CAPTURES, SEGMENTS, INDEXES, REQUEST_LOGS)
    reading = wanted.reading
    plan = schedule(map(outlined, of_kind(files, CAPTURES)), blocks_of(reading.key_logs), reading.naming)
    for text in apart_notes(point.name for point in plan.points if point.apart):
        note(text)
    with Run(into, form) as run:
        work = work_of(into, files, plan, again=again)
        for unit in work.units:
            out = run.files(unit.key)
            write_unit(unit, plan, out, wanted)
            work.done(unit, out.close())
        finish(run, work)
    return Exported(work.rows, work.read, work.known, work.size, reading.told.faults)


def write_unit(unit: Unit, plan: Schedule, out: Files, wanted: Wanted) -> None:
    """Write the rows of a unit."""
    if unit.inputs[0].kind == "capture":
        _write_captures(unit, plan, out, wanted)
        return
    for file in unit.inputs:
        for table, rows in log_rows(file, wanted.tables, wanted.reading):
            out.add(table, unit.point, rows)


def _write_captures(unit: Unit, plan: Schedule, out: Files, wanted: Wanted) -> None:
    number = next((number for number, point in enumerate(plan.points) if point.name == unit.name), None)
    if number is not None:
        options = Options(wanted.reading.catalog, show_secrets=wanted.reading.show_secrets)
        tables = PointTables(unit.name, options, wanted.tables)
        spool = Spool(out.hidden / "frames.arrows")
        for table, rows in point_rows(plan, number, tables, wanted.port):
            if table == "frames":
                spool.add(rows)
            else:
                out.add(table, unit.point, shaped(table, rows))
        for rows in spool.taken():
            out.add("frames", unit.point, resolved(rows, tables.names))
    write_unreadable(unit, plan, out, wanted)


def write_unreadable(unit: Unit, plan: Schedule, out: Files, wanted: Wanted) -> None:
    """Write the faults of captures that cannot be read."""
    names = {each.path for each in unit.inputs}
    for path, reason in plan.faults:
        if path in names:
            wanted.reading.told.fault(path, reason)
            if "faults" in wanted.tables:
                out.add("faults", unit.point, shaped("faults", file_fault(None, path, None, None, UNREADABLE, reason)))
