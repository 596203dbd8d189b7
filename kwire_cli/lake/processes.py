"""The tasks of a run in processes of this machine.

Processes that describe packets write descriptors to files of the hidden folder. Processes that own connections read the
descriptors from there.
"""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, pairwise
from multiprocessing import active_children, get_all_start_methods, get_context
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from kwire_cli.errors import InputError
from kwire_cli.lake.descriptors import DESCRIBED, ORDER, descriptor, size_in_memory
from kwire_cli.lake.hidden import batches_of, put
from kwire_cli.lake.safe_path import keep_current_folder_out
from kwire_cli.lake.tasks import FEW_BYTES
from kwire_cli.lake.window_tasks import Done, described, descriptors_in, merge, owners_of, read_connections
from kwire_cli.stores.writing import remove

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy.typing as npt

    from kwire_cli.lake.tasks import Look, Tell
    from kwire_cli.lake.window_tasks import Job
    from kwire_cli.source.packets.descriptors import Described
    from kwire_cli.stores.paths import Place

WINDOW = 16 << 30
"""Bytes of a window. Each owner opens the descriptors of all packs of a window."""
OWNERS = 64
"""Maximum number of tasks of a window that own connections, for each core."""


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes:
    """A pool of `cores` processes, which start when the first large work arrives. A context manager that ends them.

    With one core, this process does the work. `tell` receives the progress.
    """

    def __init__(self, cores: int, tell: Tell = lambda *_: None) -> None:
        self.cores = cores
        self._tell = tell
        self._started = False
        self._others = {*active_children()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if not self._started:
            return
        if kind is not None:  # their results are not needed, and they would write to a folder that is removed
            for process in {*active_children()} - self._others:
                process.kill()
        self._pool.shutdown(cancel_futures=True)

    @cached_property
    def _pool(self) -> ProcessPoolExecutor:
        self._started = True
        keep_current_folder_out()
        way = get_context("forkserver" if "forkserver" in get_all_start_methods() else "spawn")
        way.set_forkserver_preload([__name__])  # imports are done once, in the server
        return ProcessPoolExecutor(self.cores, way, _begin)

    def _each(self, what: str, make: Callable[[Any], Any], works: Sequence[Any], *, here: bool) -> Iterator[Any]:
        """Yield the result of each work, in order. With `here`, the works are too small for processes.

        `what` names the works when progress is reported.

        Raises:
            InputError: A process was killed.

        """
        if here or min(len(works), self.cores) < 2:
            yield from map(make, works)
            return
        try:
            for done, made in enumerate(self._pool.map(make, works), 1):
                self._tell(what, done, len(works), "tasks")
                yield made
        except BrokenProcessPool:
            raise InputError("a process that reads was killed: if memory ran out, try fewer with --jobs N") from None

    def looked_at(
        self, hidden: Place, name: str, rows: pa.Table, costs: npt.NDArray[np.int64], look: Look, schema: pa.Schema
    ) -> pa.Table:
        """Return the results of `look` for the rows of a table. No process needs a file with the rows."""
        del hidden, name
        shares = np.cumsum(costs) // max(int(costs.sum()) // (4 * self.cores), 1)
        starts = [*np.flatnonzero(np.diff(shares, prepend=-1)).tolist(), rows.num_rows]
        some = [rows.slice(start, stop - start) for start, stop in pairwise(starts)]
        made = self._each("files", partial(_looked, look), some, here=int(costs.sum()) < FEW_BYTES)
        return pa.Table.from_batches(chain.from_iterable(made), schema)

    def folded(self, count: int, fold: Callable[[Iterable[int]], Any]) -> Iterator[Any]:
        """Yield the result of `fold` for each number below `count`."""
        return self._each("tables", partial(_one, fold), range(count), here=False)

    def read(self, job: Job) -> Done:
        """Have tasks describe packets, and owners read their connections."""
        here = job.window.size < FEW_BYTES
        packs = range(job.window.packs + len(job.carried))
        if here and (found := _in_memory(job, packs)) is not None:
            return read_connections(replace(job, has_one_owner=True), found)
        owners = 1 if here else min(owners_of(job.window, self.cores), OWNERS * self.cores)
        names = [*self._each("packets", partial(_describe, job, owners), packs, here=here)]
        done = Done()
        for each in self._each("connections", partial(_read_owned, job, names), range(owners), here=here):
            merge(done, each)
        for name in names:
            remove(job.hidden / name)
        return done


def _in_memory(job: Job, packs: Iterable[int]) -> list[Described] | None:
    """Return all descriptors of a window in order, or None if they take too much memory.

    They include the payloads if the files are small enough. Those of compressed files always do, and are large.
    """
    found: list[Described] = []
    size = 0
    for pack in packs:
        for each in descriptors_in(job, pack, payloads=job.window.size < MOST_IN_MEMORY):
            found.append(each)
            size += size_in_memory(each)
            if size > MOST_IN_MEMORY:
                return None
    return sorted(found, key=attrgetter(*ORDER))


MOST_IN_MEMORY = 64 << 20
"""Maximum bytes of the descriptors of a window that stay in memory."""


def _begin() -> None:
    """Ignore Ctrl-C in this process: the parent process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _looked(look: Look, rows: pa.Table) -> list[pa.RecordBatch]:
    return [*look(rows)]


def _one(fold: Callable[[Iterable[int]], Any], number: int) -> Any:
    return fold((number,))


def _describe(job: Job, owners: int, pack: int) -> str:
    """Write the descriptors of a pack, sorted by owner within each batch. Return the name of the file."""
    name = f"_described-{pack:05d}.arrow"
    put(job.hidden, name, (_by_owner(batch, owners) for batch in described(job, pack)), DESCRIBED)
    return name


def _by_owner(batch: pa.RecordBatch, owners: int) -> pa.RecordBatch:
    own = batch["owner"].to_numpy() % owners
    order = np.argsort(own, kind="stable")
    columns = [pa.array(own) if name == "owner" else batch[name] for name in DESCRIBED.names]
    return pa.RecordBatch.from_arrays(columns, schema=DESCRIBED).take(pa.array(order))


def _read_owned(job: Job, names: Sequence[str], owner: int) -> Done:
    return read_connections(job, map(descriptor, _in_order(job.hidden, names, owner)))


def _in_order(hidden: Place, names: Sequence[str], owner: int) -> Iterator[tuple[Any, ...]]:
    """Yield the descriptors of an owner in reading order. Only the sort keys are in memory."""
    found: list[tuple[tuple[Any, ...], pa.RecordBatch, int]] = []
    for name in names:
        for batch in batches_of(hidden, name):
            start, stop = np.searchsorted(batch["owner"].to_numpy(), (owner, owner + 1)).tolist()
            own = batch.slice(start, stop - start)
            keys = zip(*(own[key].to_pylist() for key in ORDER), strict=True)
            found += ((key, own, row) for row, key in enumerate(keys))
    found.sort(key=itemgetter(0))
    for _, batch, row in found:
        yield tuple(column[row].as_py() for column in batch.columns)
