"""Exports of captures, logs and request logs to a lake or a folder. Tasks run in this process, several or Spark.

Captures are read window by window (`windows`), and one task reads all of a connection (`window_tasks`). The names of a
capture point are complete only after all of its connections were read. Tasks therefore write frames without names into
the hidden folder of the run, and other tasks add the names.

All rows of a run become visible in a lake at once (`delta`).
"""

from __future__ import annotations

import pickle
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa

from kwire_cli.errors import InputError
from kwire_cli.facts.columnar.frames import resolved
from kwire_cli.facts.columnar.names import Learnt
from kwire_cli.lake import DELTA, delta
from kwire_cli.lake.capture_faults import OVERLAPPING_FILES, UNREADABLE, file_fault
from kwire_cli.lake.descriptors import DESCRIBED, rows_of
from kwire_cli.lake.files import Files, Target
from kwire_cli.lake.hidden import put, put_table, streamed, table_of
from kwire_cli.lake.inputs import (
    CAPTURE,
    LISTED,
    Exported,
    Input,
    Work,
    input_rows,
    inputs_in,
    listed,
    log_point,
    named_files,
    point_unit,
    unit_of,
    work_of,
)
from kwire_cli.lake.logs import log_rows, shaped
from kwire_cli.lake.long_connections import Lengths, lengths_of
from kwire_cli.lake.model import Faults
from kwire_cli.lake.processes import WINDOW, Processes, cores
from kwire_cli.lake.snapshot import rows_of_units
from kwire_cli.lake.tasks import FEW_BYTES
from kwire_cli.lake.upkeep import compact_grown
from kwire_cli.lake.window_tasks import CARRIED, Done, Job, merge, read_pieces
from kwire_cli.lake.windows import BUDGET, MOST_PARTS, OPENING, OUTLINES, PACK, Mode, outline_rows, planned, windows
from kwire_cli.source.packets.descriptors import Described
from kwire_cli.source.packets.parts import PART_SIZE
from kwire_cli.source.packets.points import APART, apart_notes
from kwire_cli.source.tls.decryption import blocks_of
from kwire_cli.stores.paths import refuse_bytes, sizes
from kwire_cli.stores.writing import below, make_folder, remove, remove_empty, remove_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kwire_cli.lake.model import Wanted
    from kwire_cli.lake.tasks import Tasks, Tell
    from kwire_cli.lake.windows import Plan, Window
    from kwire_cli.source.kafka.captured import Names
    from kwire_cli.stores.paths import Place

FEW_FILES = 4096
"""Below this number of files, they are listed in this process."""
ROWS = 1 << 18
"""Approximate number of frames to which one task adds names."""
HIDDEN = "_run-"
"""Prefix of the folders for files that the tasks of a run exchange."""
LATE_FILE = "LATE_FILE"
LATE = "it begins before the end of captures that were read before, so its connections are read alone"
TRIES = 3
"""How often a run starts if another run reads the same files meanwhile."""
DEAD_S = 24 * 3600
"""Age in seconds after which a hidden folder is treated as left over from a run that died."""


@dataclass(frozen=True)
class Cut:
    """Sizes of the units of work: bytes of a part, bytes of a window, and parts of a window.

    `lengths` are the sizes above which connections are cut into pieces. By default they depend on the window.
    """

    part: int = PART_SIZE
    window: int = BUDGET
    parts: int = MOST_PARTS
    lengths: Lengths | None = None


MUCH = 512 << 20
"""Input size in bytes from which several processes are faster: each takes a second to start."""


def export(
    paths: Sequence[str],
    into: Place,
    wanted: Wanted,
    *,
    form: str = DELTA,
    processes: int | None = 1,
    cut: Cut | None = None,
    note: Callable[[str], None] = lambda _: None,
    tell: Tell = lambda *_: None,
    again: bool = False,
    at_rest: float = 0,
) -> Exported:
    """Write the tables of inputs to a place, in processes of this machine.

    Large inputs are shared between `processes` processes, or one for each core if `processes` is None. `tell` receives
    the progress; `write_tables` documents the other arguments.

    Raises:
        InputError: The inputs contain nothing to read, or an error of `write_tables`.

    """
    files = named_files(paths)
    several = processes or cores()
    is_much = several > 1 and sum(sizes(files["path"].to_pylist())) >= MUCH
    cut = cut or Cut(window=WINDOW)
    with Processes(several if is_much else 1, tell) as tasks:
        return write_tables(tasks, files, into, wanted, form=form, cut=cut, note=note, again=again, at_rest=at_rest)


def write_tables(
    tasks: Tasks,
    files: pa.Table,
    into: Place,
    wanted: Wanted,
    *,
    form: str = DELTA,
    cut: Cut | None = None,
    note: Callable[[str], None] = lambda _: None,
    again: bool = False,
    at_rest: float = 0,
) -> Exported:
    """Write the tables of files, as `named_files` returns them, to a place that all tasks reach.

    Inputs that a lake already contains are skipped unless `again`. Files that have changed in the last `at_rest`
    seconds are skipped too, as they may be growing. Formats other than a lake need a new or empty folder.

    Raises:
        InputError: The place cannot be written to, it has other files, or other runs wrote the same inputs each time.

    """
    into = into.absolute()
    refuse_bytes(into)
    if form == DELTA:
        delta.uri_of(into)
    elif below(into):
        raise InputError(f"this has files already, and {form} is written into a new folder only", file=str(into))
    for _ in range(TRIES):
        done = _run(tasks, files, into, wanted, form, cut or Cut(), note, again=again, at_rest=at_rest)
        if done is not None:
            return done
    raise InputError("other runs wrote the same inputs each time: try again when they have ended", file=str(into))


def _run(
    tasks: Tasks,
    files: pa.Table,
    into: Place,
    wanted: Wanted,
    form: str,
    cut: Cut,
    note: Callable[[str], None],
    *,
    again: bool,
    at_rest: float,
) -> Exported | None:
    """Return a summary of the export, or None if it must restart: another run read a capture point meanwhile."""
    is_lake = form == DELTA
    before = delta.inputs_of(into) if is_lake else delta.NO_INPUTS
    target = Target(into, form, uuid4().hex[:16])
    with _Hidden(into) as hidden:
        run = _Run(tasks, hidden, target, wanted, cut)
        listing = _listed(tasks, hidden, files)
        naming = wanted.reading.naming
        work = work_of(before.rows, listing, wanted.tables, naming, again=again, at_rest=at_rest)
        if not work.listing.num_rows:
            return Exported({}, 0, work.known, 0, 0)
        if work.tables != wanted.tables:
            run = replace(run, wanted=replace(wanted, tables=work.tables))
        plan = run.planned(work)
        for text in apart_notes(point.name for point in plan.points if point.apart):
            note(text)
        done = Done()
        run.read_captures(plan, before, done)
        run.write_faults(plan, work, done)
        run.by_tasks("_logs", _packs(work), partial(_read_logs, target, run.wanted), done)
        if is_lake:
            for table, other in delta.add_files(into, done.made).items():
                note(f"{table} has columns of other types than before: rows go to {other}")
            lost = delta.replace_inputs(into, before, input_rows(work, plan, target.run))
            if any(point_unit(point.name) in lost for point in plan.points):
                return None
            compact_grown(into)
    rows: dict[str, int] = {}
    for file in done.made:
        if file.table != "carried":
            rows[file.table] = rows.get(file.table, 0) + file.rows
    size = sum(file.size for file in inputs_in(work.listing))
    return Exported(rows, work.listing.num_rows, work.known, size, done.faults)


class _Hidden:
    """The folder for files that tasks exchange. It is removed after the run, as are the folders of runs that died."""

    def __init__(self, into: Place) -> None:
        self._into = into
        self._folder = into / f"{HIDDEN}{uuid4().hex[:12]}"

    def __enter__(self) -> Place:
        make_folder(self._into)
        for each in self._into.iterdir() if self._into.is_dir() else ():
            if each.name.startswith(HIDDEN) and 0 < _last_written(each) < time.time() - DEAD_S:
                remove_tree(each)
        make_folder(self._folder)
        return self._folder

    def __exit__(self, *_: object) -> None:
        remove_tree(self._folder)
        remove_empty(self._into)


def _last_written(folder: Place) -> float:
    """Return the time of the last write in a hidden folder; 0 if unknown.

    A store has times for files only, so an empty folder there has no time.
    """
    with suppress(FileNotFoundError):  # the run may have just ended
        times = [each.stat().st_mtime for each in folder.iterdir() if each.is_file()]
        if times:
            return max(times)
        if isinstance(folder, Path):
            return folder.stat().st_mtime
    return 0


# Looks into all files.


def _listed(tasks: Tasks, hidden: Place, files: pa.Table) -> pa.Table:
    """Return files with their sizes and digests. Tasks do this if there are many files."""
    if files.num_rows < FEW_FILES:
        return listed(files)
    costs = np.full(files.num_rows, OPENING * 4)
    return tasks.looked_at(hidden, "_named", files, costs, _listed_batches, LISTED)


def _listed_batches(files: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from listed(files).to_batches()


def _outlined(part_size: int, files: pa.Table) -> Iterator[pa.RecordBatch]:
    return outline_rows(zip(files["number"].to_pylist(), files["path"].to_pylist(), strict=True), part_size)


# A run.


@dataclass(frozen=True)
class _Run:
    """A run: its tasks, hidden folder, destination, and what to read."""

    tasks: Tasks
    hidden: Place
    target: Target
    wanted: Wanted
    cut: Cut

    def planned(self, work: Work) -> Plan:
        """Return the plan of the captures. Tasks count their packets if the captures are many or large."""
        listing = work.listing
        numbers = np.flatnonzero(np.array(listing["kind"]) == CAPTURE)
        rows = pa.table({"number": numbers, "path": listing["path"].take(pa.array(numbers))})
        sizes = np.array(listing["size"], np.int64)[numbers]
        outline = partial(_outlined, self.cut.part)
        if len(numbers) < 2 or (len(numbers) < FEW_FILES and sizes.sum() <= FEW_BYTES):
            outlines = pa.Table.from_batches([*outline(rows)], OUTLINES)
        else:
            costs = np.maximum(sizes, OPENING)
            outlines = self.tasks.looked_at(self.hidden, "_captures", rows, costs, outline, OUTLINES)
        reading = self.wanted.reading
        secrets = blocks_of(reading.key_logs)
        return planned(listing, outlines, reading.naming, secrets, work.upto)

    def by_tasks(self, name: str, works: Iterable[Any], fold: Callable[[Iterable[Any]], Done], done: Done) -> None:
        """Distribute works to tasks, which read them from the file `name` of the hidden folder."""
        table = pa.table({"work": pa.array(map(pickle.dumps, works), pa.binary())})
        if not table.num_rows:
            return
        put_table(self.hidden, name, table)
        for each in self.tasks.folded(table.num_rows, partial(_fold, self.hidden, name, fold)):
            merge(done, each)

    def read_captures(self, plan: Plan, before: delta.Inputs, done: Done) -> None:
        """Write the tables of capture points, window by window, and add the results to `done`."""
        states = _States.from_lake(self.target.folder, before, plan)
        carried: tuple[str, ...] = ()
        cores = self.tasks.cores
        for number, window in enumerate(
            windows(plan, self.hidden, range(len(plan.points)), self.cut.window, self.cut.parts, cores)
        ):
            if more := states.write_carried(self.hidden, number, window):
                carried = (*carried, more)
            lengths = self.cut.lengths or lengths_of(window, cores)
            former = {point: states.learnt[point] for point in window.points if point in states.learnt}
            job = Job(self.hidden, self.target, window, carried, self.wanted, plan.secrets, lengths, former)
            each = self.tasks.read(job)
            for name in (window.table, *carried):
                remove(self.hidden / name)
            carried = tuple(each.carried)
            each.carried = []
            pieces = each.pieces
            each.pieces = []
            merge(done, each)
            self.by_tasks(f"_pieces-{window.table}", pieces, partial(read_pieces, job), done)
            for name in pieces:
                remove(self.hidden / name)
        self._put_names(plan, states, done)

    def _put_names(self, plan: Plan, states: _States, done: Done) -> None:
        """Have tasks add names to frames, and write the names of each capture point."""
        works: list[_Unresolved] = []
        out = Files(self.target)
        frames: dict[int, dict[str | None, list[tuple[str, int]]]] = {}
        for (number, unit), files in done.frames.items():
            frames.setdefault(number, {})[unit] = files
        for number, point in enumerate(plan.points):
            learnt = states.names(number).with_others(done.learnt.get(number, Learnt()))
            for unit, files in frames.get(number, {}).items():
                room = 0
                for file, count in files:
                    if room <= 0:
                        works.append(_Unresolved(unit, point.name, learnt.names, []))
                        room = ROWS
                    works[-1].files.append(file)
                    room -= count
            if "names" in self.wanted.tables:
                first = plan.files["path"][point.start].as_py()
                out.add("names", point.name, learnt.rows(), point_unit(point.name) if point.carries else unit_of(first))
        merge(done, Done(out.close()))
        self.by_tasks("_frames", _packed(works), partial(_resolve, self.hidden, self.target), done)

    def write_faults(self, plan: Plan, work: Work, done: Done) -> None:
        """Write the faults that the plan contains: unreadable, late and separate captures."""
        out = Files(self.target)
        has_faults = "faults" in self.wanted.tables
        for number, reason in plan.faults:
            done.faults += 1
            path = work.listing["path"][number].as_py()
            if has_faults:
                row = file_fault(None, path, None, None, UNREADABLE, reason)
                out.add("faults", log_point(path), shaped("faults", row))
        for point in plan.points if has_faults else ():
            fault: tuple[str, str] | None = None
            if point.apart:
                fault = (OVERLAPPING_FILES, APART)
            elif point.mode is Mode.LATE:
                fault = (LATE_FILE, LATE)
            if fault:
                first = plan.files["path"][point.start].as_py()
                out.add("faults", point.name, shaped("faults", file_fault(point.name, first, None, None, *fault)))
        merge(done, Done(out.close()))


def _fold(hidden: Place, name: str, fold: Callable[[Iterable[Any]], Done], numbers: Iterable[int]) -> Done:
    works = table_of(hidden, name)["work"]
    return fold(pickle.loads(works[number].as_py()) for number in numbers)  # noqa: S301 - our own


@dataclass
class _States:
    """The state of continued capture points in the lake: their names, and the state of their connections."""

    carried: dict[int, list[Described]] = field(default_factory=dict)
    learnt: dict[int, Learnt] = field(default_factory=dict)

    @classmethod
    def from_lake(cls, folder: Place, before: delta.Inputs, plan: Plan) -> _States:
        """Read the states of the continued points of a plan."""
        numbers = {point_unit(point.name): at for at, point in enumerate(plan.points) if point.mode is Mode.GOES_ON}
        states = cls()
        if not numbers:
            return states
        for row in rows_of_units(folder, before, "carried", numbers):
            number = numbers[row["unit"]]
            state: str = row["state"]
            has_ends = int('"has_ends":true' in state)
            one = Described(number, bytes.fromhex(row["ends"]), CARRIED, 0, has_ends, b"", state.encode())
            states.carried.setdefault(number, []).append(one)
        for row in rows_of_units(folder, before, "names", numbers):
            states.names(numbers[row["unit"]]).know(row["kind"], row["key"], row["name"])
        return states

    def names(self, number: int) -> Learnt:
        """Return the names of a capture point."""
        return self.learnt.setdefault(number, Learnt())

    def write_carried(self, hidden: Place, number: int, window: Window) -> str | None:
        """Write the state of the connections of a window to a file of the hidden folder. Return its name, if any."""
        rows: list[Described] = []
        for point in window.points:
            rows += self.carried.pop(point, ())
        if not rows:
            return None
        name = f"_earlier-{number:05d}.arrow"
        put(hidden, name, [rows_of(rows, window.whole)], DESCRIBED)
        return name


class _Unresolved(NamedTuple):
    """Files with the unresolved frames of a capture point, and the names of the point."""

    unit: str | None
    point: str
    names: Names
    files: list[str]


def _packed(works: Sequence[_Unresolved]) -> Iterator[list[_Unresolved]]:
    """Yield works in packs: many small points go to one task."""
    for start in range(0, len(works), AT_ONCE):
        yield [*works[start : start + AT_ONCE]]


AT_ONCE = 64
"""Number of works of one task that adds names. The rows of small capture points share files."""


def _resolve(hidden: Place, target: Target, packs: Iterable[Sequence[_Unresolved]]) -> Done:
    """Add names to frames."""
    done = Done()
    for works in packs:
        out = Files(target)
        for work in works:
            for file in work.files:
                for rows in streamed(hidden / file):
                    out.add("frames", work.point, resolved(rows, work.names), work.unit)
        done.made += out.close()
    return done


# Logs.


class _Share(NamedTuple):
    """A log file, or one of several shares of its parts."""

    file: Input
    share: int = 0
    shares: int = 1


def _packs(work: Work) -> Iterator[list[_Share]]:
    """Yield the log files to read, in packs of about the same size. A large file has several shares."""
    pack: list[_Share] = []
    room = PACK
    for file in inputs_in(work.listing):
        for share in range(file.shares) if file.kind != CAPTURE else ():
            size = file.size // file.shares
            if room < size and pack:
                yield pack
                pack = []
                room = PACK
            pack.append(_Share(file, share, file.shares))
            room -= max(size, OPENING)
    if pack:
        yield pack


def _read_logs(target: Target, wanted: Wanted, packs: Iterable[Sequence[_Share]]) -> Done:
    """Write the rows of log files."""
    done = Done()
    reading = replace(wanted.reading, faults=Faults())  # tasks of one process would share the other count
    for pack in packs:
        out = Files(target)
        for point, some in groupby(pack, key=lambda share: log_point(share.file.path)):
            for share in some:
                for table, rows in log_rows(share.file, wanted.tables, reading, share.share, share.shares):
                    out.add(table, point, rows, unit_of(share.file.path) if table == "names" else None)
        done.made += out.close()
    done.faults = reading.faults.count
    return done
