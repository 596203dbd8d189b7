"""Tables of a lake written by tasks, those of Spark or processes of this machine: the tables of `lake.export`, from
inputs of any size.

Captures are read window by window. Connections are whole in the task that owns them. The names that a capture point
tells are known only when all of its connections were read: tasks write frames without them into the hidden folder of
the run, and other tasks put the names in.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from kwire_cli.facts.columnar.frames import resolved
from kwire_cli.facts.columnar.names import Learnt
from kwire_cli.lake.capture_faults import SAME_CONNECTIONS, UNREADABLE, file_fault
from kwire_cli.lake.earlier import begin, finish, inputs_of
from kwire_cli.lake.hidden import put_table, streamed, table_of
from kwire_cli.lake.logs import log_rows, shaped
from kwire_cli.lake.long_connections import Lengths, lengths_of
from kwire_cli.lake.model import CAPTURES, Faults
from kwire_cli.lake.tasks import FEW_BYTES
from kwire_cli.lake.units import KINDS, LISTED, listed
from kwire_cli.lake.window_tasks import Done, Job, merge, read_pieces
from kwire_cli.lake.windows import BUDGET, MOST_PARTS, OPENING, OUTLINES, PACK, outline_rows, planned, windows
from kwire_cli.lake.writing import Files, Run
from kwire_cli.source.packets.parts import PART_SIZE
from kwire_cli.source.packets.points import APART
from kwire_cli.source.tls.decryption import blocks_of
from kwire_cli.stores.writing import remove, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.lake.model import Wanted
    from kwire_cli.lake.tasks import Tasks
    from kwire_cli.lake.units import Exported, Input, Unit, Work
    from kwire_cli.lake.windows import Plan
    from kwire_cli.source.kafka.captured import Names
    from kwire_cli.stores import Place

FEW_FILES = 4096
"""Files that are looked at without tasks."""
ROWS = 1 << 18
"""Frames into which one task puts names, about."""


@dataclass(frozen=True)
class Cut:
    """How much is read at once: bytes of a part, bytes of a window, and parts of a window; and at which lengths
    connections are cut, if the window does not say it.
    """

    part: int = PART_SIZE
    window: int = BUDGET
    parts: int = MOST_PARTS
    lengths: Lengths | None = None


def write_in_tasks(
    tasks: Tasks,
    files: pa.Table,
    into: Place,
    wanted: Wanted,
    *,
    form: str = "parquet",
    cut: Cut | None = None,
    note: Callable[[str], None] = lambda _: None,
    again: bool = False,
) -> Exported:
    """Write the tables of files, as `named_files` returns them, to a place that all tasks reach.

    Raises:
        InputError: The folder cannot be written to, or it has the frames of another filter.

    """
    cut = cut or Cut()
    with Run(into, form) as run:
        there = inputs_of(run.folder)
        look, planned = partial(_listed, tasks, run, files), partial(_planned, tasks, run, wanted, cut.part)
        begun = begin(run, there, look, wanted, planned, note=note, again=again)
        listing, plan, work, wanted = begun.listing, begun.plan, begun.work, begun.wanted
        done = Done()
        of_keys = {unit.key: unit for unit in work.units}
        _captures(tasks, run, plan, {unit.point: unit for unit in work.units if unit.is_point}, wanted, cut, done)
        _file_faults(run, plan, listing, work, wanted, done)
        _by_tasks(tasks, run, "_logs", _packs(work), partial(_read_logs, run.hidden, run.form, wanted), done)
        for key, made in done.made.items():
            work.done(of_keys[key], made)
        finish(run, work)
    return work.exported(done.faults)


def _by_tasks(
    tasks: Tasks, run: Run, name: str, works: Iterable[Any], fold: Callable[[Iterable[Any]], Done], done: Done
) -> None:
    """Have tasks do some works, each of which finds its own in a file of the hidden folder under a name."""
    table = pa.table({"work": pa.array(map(pickle.dumps, works), pa.binary())})
    put_table(run.hidden, name, table)
    for each in tasks.folded(table.num_rows, partial(_fold, run.hidden, name, fold), merge):
        merge(done, each)


def _fold(hidden: Place, name: str, fold: Callable[[Iterable[Any]], Done], numbers: Iterable[int]) -> Done:
    works = table_of(hidden, name)["work"]
    return fold(pickle.loads(works[number].as_py()) for number in numbers)  # noqa: S301 - our own


# Looks into all files.


def _listed(tasks: Tasks, run: Run, files: pa.Table) -> pa.Table:
    """Return files with their sizes and digests; many are looked at in tasks."""
    if files.num_rows < FEW_FILES:
        return listed(files)
    costs = np.full(files.num_rows, OPENING * 4)
    return tasks.looked_at(run.hidden, "_named", files, costs, _listed_batches, LISTED)


def _listed_batches(files: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from listed(files).to_batches()


def _planned(
    tasks: Tasks, run: Run, wanted: Wanted, part_size: int, listing: pa.Table
) -> tuple[Plan, Iterator[str | None]]:
    """Return the plan of the captures among files, whose packets are counted in tasks if they are many, and the capture
    point of each file.
    """
    numbers = np.flatnonzero(np.array(listing["kind"]) == KINDS[CAPTURES])
    rows = pa.table({"number": numbers, "path": listing["path"].take(pa.array(numbers))})
    sizes = np.array(listing["size"], np.int64)[numbers]
    outline = partial(_outlined, part_size)
    if len(numbers) < 2 or (len(numbers) < FEW_FILES and sizes.sum() <= FEW_BYTES):
        outlines = pa.Table.from_batches([*outline(rows)], OUTLINES)
    else:
        outlines = tasks.looked_at(run.hidden, "_captures", rows, np.maximum(sizes, OPENING), outline, OUTLINES)
    reading = wanted.reading
    plan = planned(listing, outlines, reading.naming, blocks_of(reading.key_logs), tasks.sketched)
    return plan, (None if number is None else plan.points[number].name for number in plan.of_files)


def _outlined(part_size: int, files: pa.Table) -> Iterator[pa.RecordBatch]:
    return outline_rows(zip(files["number"].to_pylist(), files["path"].to_pylist(), strict=True), part_size)


# Captures.


def _captures(
    tasks: Tasks, run: Run, plan: Plan, points: Mapping[str, Unit], wanted: Wanted, cut: Cut, done: Done
) -> None:
    """Write the tables of capture points, window by window, and say in `done` what was written."""
    numbers = {number: points[point.name] for number, point in enumerate(plan.points) if point.name in points}
    keys = {number: unit.key for number, unit in numbers.items()}
    carried: tuple[str, ...] = ()
    cores = tasks.cores
    for window in windows(plan, run.hidden, numbers, cut.window, cut.parts, cores):
        lengths = cut.lengths or lengths_of(window, cores)
        job = Job(run.hidden, run.form, window, keys, carried, wanted, plan.secrets, lengths)
        each = tasks.read(job)
        for name in (window.table, *carried):
            remove(run.hidden / name)
        carried, each.carried = tuple(each.carried), []
        pieces, each.pieces = each.pieces, []
        merge(done, each)
        if pieces:
            _by_tasks(tasks, run, f"_pieces-{window.table}", pieces, partial(read_pieces, job), done)
        for name in pieces:
            remove(run.hidden / name)
    works: list[_Unresolved] = []
    for number, unit in numbers.items():
        learnt, name = done.learnt.get(number, Learnt()), f"_names-{number}"
        write(run.hidden / name, pickle.dumps(learnt.names))
        room = 0
        for file, count in done.frames.get(unit.key, ()):
            if room <= 0:
                works.append(_Unresolved(unit.key, unit.point, name, []))
                room = ROWS
            works[-1].files.append(file)
            room -= count
        if "names" in wanted.tables:
            out = run.files(unit.key, wanted.columns)
            out.add("names", unit.point, learnt.rows())
            merge(done, Done({unit.key: out.close()}))
    _by_tasks(tasks, run, "_frames", works, partial(_resolve, run.hidden, run.form, wanted.columns), done)


class _Unresolved(NamedTuple):
    """Files of frames without the names of their capture point, and the file with these."""

    key: str
    point: str
    names: str
    files: list[str]


def _resolve(hidden: Place, form: str, columns: tuple[str, ...], works: Iterable[_Unresolved]) -> Done:
    """Put names into frames."""
    done = Done()
    for work in works:
        out, names = Files(hidden, form, work.key, columns), _names(hidden / work.names)
        for file in work.files:
            for rows in streamed(hidden / file):
                out.add("frames", work.point, resolved(rows, names))
        done.made.setdefault(work.key, []).extend(out.close())
    return done


@lru_cache(maxsize=1)
def _names(path: Place) -> Names:
    return pickle.loads(path.read_bytes())  # type: ignore[no-any-return] # noqa: S301 - our own


def _file_faults(run: Run, plan: Plan, listing: pa.Table, work: Work, wanted: Wanted, done: Done) -> None:
    """Write the faults that the plan knows of: captures that cannot be read, and points that are apart."""
    reasons = {listing["path"][number].as_py(): reason for number, reason in plan.faults}
    apart = {point.name: point.chains[0].start for point in plan.points if point.apart}
    for unit in work.units if reasons or apart else ():
        if not unit.is_point:
            continue
        own = [path for path in unit.rows["path"].to_pylist() if path in reasons]
        rows = [file_fault(None, path, None, None, UNREADABLE, reasons[path]) for path in own]
        if unit.point in apart:
            first = plan.files["path"][apart[unit.point]].as_py()
            rows.append(file_fault(unit.point, first, None, None, SAME_CONNECTIONS, APART))
        done.faults += len(own)
        if rows and "faults" in wanted.tables:
            out = run.files(unit.key, wanted.columns)
            for each in rows:
                out.add("faults", unit.point, shaped("faults", each))
            merge(done, Done({unit.key: out.close()}))


# Logs.


class _Share(NamedTuple):
    """A file of a unit, or one of several shares of its parts."""

    key: str
    point: str
    file: Input
    share: int = 0
    shares: int = 1


def _packs(work: Work) -> Iterator[list[_Share]]:
    """Yield the log files that are to be read, in packs of about the same size; a large file has several shares."""
    pack: list[_Share] = []
    room = PACK
    for unit in work.units:
        for file in () if unit.is_point else unit.inputs:
            for share in range(file.shares):
                size = file.size // file.shares
                if room < size and pack:
                    yield pack
                    pack, room = [], PACK
                pack.append(_Share(unit.key, unit.point, file, share, file.shares))
                room -= max(size, OPENING)
    if pack:
        yield pack


def _read_logs(hidden: Place, form: str, wanted: Wanted, packs: Iterable[Sequence[_Share]]) -> Done:
    """Write the rows of log files."""
    done = Done()
    reading = replace(wanted.reading, faults=Faults())  # tasks of one process would share the other one
    for pack in packs:
        for key, some in groupby(pack, key=lambda share: share.key):
            out = Files(hidden, form, key, wanted.columns)
            for share in some:
                for table, rows in log_rows((share.file,), wanted.tables, reading, share.share, share.shares):
                    out.add(table, share.point, rows)
            done.made.setdefault(key, []).extend(out.close())
    done.faults = reading.faults.count
    return done
