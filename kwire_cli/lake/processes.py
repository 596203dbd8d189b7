"""The tasks of a run in processes of this machine.

What goes from the processes that describe packets to those that own connections lies in files of the hidden folder.
"""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
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
from kwire_cli.source.packets.points import sketch
from kwire_cli.stores.writing import remove

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy.typing as npt

    from kwire_cli.lake.tasks import Look, Tell
    from kwire_cli.lake.window_tasks import Job
    from kwire_cli.source.packets.descriptors import Described
    from kwire_cli.source.packets.points import Sketch
    from kwire_cli.stores import Place

WINDOW = 16 << 30
"""Bytes of a window: each owner opens what was described of all of its packs."""
OWNERS = 64
"""Tasks of a window that own connections, for each core at most."""


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes:
    """So many processes, which start with the first works that are worth it; a context manager that ends them.

    A single one is this process. `tell` is told how far they are.
    """

    def __init__(self, cores: int, tell: Tell = lambda *_: None) -> None:
        self.cores, self._tell = cores, tell
        self._started = False
        self._others = {*active_children()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if not self._started:
            return
        if kind is not None:  # nobody wants what they are doing, and they would write on into a folder that goes
            for process in {*active_children()} - self._others:
                process.kill()
        self._pool.shutdown(cancel_futures=True)

    @cached_property
    def _pool(self) -> ProcessPoolExecutor:
        self._started = True
        keep_current_folder_out()
        way = get_context("forkserver" if "forkserver" in get_all_start_methods() else "spawn")
        way.set_forkserver_preload([__name__])  # what all of them need is imported once
        return ProcessPoolExecutor(self.cores, way, _begin)

    def _each(self, what: str, make: Callable[[Any], Any], works: Sequence[Any], *, here: bool) -> Iterator[Any]:
        """Yield what is made of each work, in their order; `here` are works that are not worth a process.

        `what` they are about is told with how many of them are done.

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
        """Return what `look` makes of the rows of a table; no process needs a file of them."""
        del hidden, name
        shares = np.cumsum(costs) // max(int(costs.sum()) // (4 * self.cores), 1)
        starts = [*np.flatnonzero(np.diff(shares, prepend=-1)).tolist(), rows.num_rows]
        some = [rows.slice(start, stop - start) for start, stop in pairwise(starts)]
        made = self._each("files", partial(_looked, look), some, here=int(costs.sum()) < FEW_BYTES)
        return pa.Table.from_batches((batch for batches in made for batch in batches), schema)

    def sketched(self, files: Sequence[str]) -> Iterator[Sketch]:
        """Yield the sketches of files, made in this process: few are needed."""
        return map(sketch, files)

    def folded(self, count: int, fold: Callable[[Iterable[int]], Any], merge: Callable[[Any, Any], None]) -> Any:
        """Yield the result of `fold` for each of so many works."""
        del merge
        return self._each("tables", partial(_one, fold), range(count), here=False)

    def read(self, job: Job) -> Done:
        """Have packets described, and connections read by their owners."""
        here = job.window.size < FEW_BYTES
        packs = range(job.window.packs + len(job.carried))
        if here and (found := _in_memory(job, packs)) is not None:
            return read_connections(replace(job, has_one_owner=True), found)
        owners = 1 if here else min(owners_of(job.window, self.cores), OWNERS * self.cores)
        names = [*self._each("packets", partial(_describe, job, owners), packs, here=here)]
        done = Done()
        for each in self._each("connections", partial(_own, job, names), range(owners), here=here):
            merge(done, each)
        for name in names:
            remove(job.hidden / name)
        return done


def _in_memory(job: Job, packs: Iterable[int]) -> list[Described] | None:
    """Return all descriptors of a window in their order; None if they take too much memory, as those of packed files
    do, which have their payloads with them.
    """
    found: list[Described] = []
    size = 0
    for pack in packs:
        for each in descriptors_in(job, pack):
            found.append(each)
            size += size_in_memory(each)
            if size > MOST_IN_MEMORY:
                return None
    return sorted(found, key=attrgetter(*ORDER))


MOST_IN_MEMORY = 64 << 20
"""Bytes of the descriptors of a window that stay in memory."""


def _begin() -> None:
    """Leave Ctrl-C to the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _looked(look: Look, rows: pa.Table) -> list[pa.RecordBatch]:
    return [*look(rows)]


def _one(fold: Callable[[Iterable[int]], Any], number: int) -> Any:
    return fold((number,))


def _describe(job: Job, owners: int, pack: int) -> str:
    """Write the descriptors of a pack, those of each batch by their owner; return the name of the file."""
    name = f"_described-{pack:05d}.arrow"
    put(job.hidden, name, (_by_owner(batch, owners) for batch in described(job, pack)), DESCRIBED)
    return name


def _by_owner(batch: pa.RecordBatch, owners: int) -> pa.RecordBatch:
    own = batch["owner"].to_numpy() % owners
    order = np.argsort(own, kind="stable")
    columns = [pa.array(own) if name == "owner" else batch[name] for name in DESCRIBED.names]
    return pa.RecordBatch.from_arrays(columns, schema=DESCRIBED).take(pa.array(order))


def _own(job: Job, names: Sequence[str], owner: int) -> Done:
    """Write the rows of the connections of an owner."""
    return read_connections(job, map(descriptor, _in_order(job.hidden, names, owner)))


def _in_order(hidden: Place, names: Sequence[str], owner: int) -> Iterator[tuple[Any, ...]]:
    """Yield the descriptors of an owner in the order in which they are read: only their keys are in memory."""
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
