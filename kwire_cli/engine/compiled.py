"""The kernel compiled by numba: many messages in one call, and numpy types of fixed fields."""

from __future__ import annotations

import inspect
import sys
import tempfile
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kwire_cli.engine import kernel, numba_loops, program as p
from kwire_cli.engine.fixed import rows_of
from kwire_cli.engine.numba_loops import cache_folder
from kwire_cli.engine.spans import Spans, first_state

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from kwire_cli.engine.program import Entry, Program

    Ints = npt.NDArray[np.int64]
    Octets = npt.NDArray[np.uint8]


# The kernel compiled: the very function that CPython runs, over many messages in one call. Of `kwire[lake]`;
# nothing interactive imports this.
#
# Machine code is kept between processes, in a folder of the user's own and not beside the package, which may
# not be writable. The folder's name has a digest of the sources: the compiler itself only sees when the file
# of a function changes, not when the numbers do that it takes from other files.

CHUNK = 16384
"""Spans that the output has room for: it is used again and again, and stays in the processor's caches. New memory would
cost more than the spans."""


MEASURED = 4096
"""The same where nobody takes the spans: as many as stay in the nearest cache."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The spans of many messages as columns: those of job k are [first[k], first[k + 1]), and cover its bytes once and
    in order.

    `jobs` has a row for each message, as `program.JOB` says, filled in by the kernel; `flags` pairs of a span's number
    and its bits, in order.
    """

    program: Program
    data: npt.NDArray[np.uint8]
    jobs: Ints
    first: Ints
    node: npt.NDArray[np.int32]
    value: Ints
    end: Ints
    flags: Ints

    @property
    def start(self) -> Ints:
        """The beginning of each span: the end of the previous span, or the beginning of its message."""
        start = np.empty_like(self.end)
        start[1:] = self.end[:-1]
        some = self.first[:-1] < self.first[1:]
        start[self.first[:-1][some]] = self.jobs[some, 1]
        return start

    @property
    def complete(self) -> npt.NDArray[np.bool_]:
        """A mask of the messages of which every field was decoded, even if bytes are left over."""
        mask: npt.NDArray[np.bool_] = (self.jobs[:, 5] == 0) | (self.jobs[:, 6] == p.GAP)
        return mask

    @property
    def doubtful(self) -> Ints:
        """The numbers of the messages that may have an anomaly that no flag tells: the tree of each has to."""
        mask = np.zeros(len(self.jobs), np.bool_)
        doubts = _arrays(self.program).doubts
        compiled(numba_loops.doubtful)(self.data, self.node, self.value, self.end, self.first, doubts, mask)
        return np.flatnonzero(mask)

    def only(self, jobs: Ints) -> Walk:
        """Return the spans of some messages, in order."""
        sizes = self.first[jobs + 1] - self.first[jobs]
        first = np.append(0, np.cumsum(sizes))
        moved = np.repeat(first[:-1] - self.first[jobs], sizes)
        taken = np.arange(first[-1]) - moved
        flags = self.flags[np.isin(self.flags[:, 0], taken)]
        if len(flags):
            flags = np.column_stack((np.searchsorted(taken, flags[:, 0]), flags[:, 1]))
        return Walk(
            self.program, self.data, self.jobs[jobs], first, self.node[taken], self.value[taken], self.end[taken], flags
        )

    def part(self, first: int, last: int) -> Walk:
        """Return the spans of the messages [first, last) without copying the columns."""
        low, high = int(self.first[first]), int(self.first[last])
        columns = (self.node[low:high], self.value[low:high], self.end[low:high])
        begin, end = np.searchsorted(self.flags[:, 0], (low, high))
        flags = self.flags[begin:end] - np.array([low, 0])
        return Walk(self.program, self.data, self.jobs[first:last], self.first[first : last + 1] - low, *columns, flags)

    def spans(self, job: int) -> Spans:
        """Return the spans of one message, as `engine.spans.walk` gives them."""
        _, start, stop, _, used, bits, lost = map(int, self.jobs[job])
        first, last = map(int, self.first[job : job + 2])
        node, value, end = (column[first:last].tolist() for column in (self.node, self.value, self.end))
        flags: dict[int, int] = {}
        low, high = np.searchsorted(self.flags[:, 0], (first, last))
        for at, bit in self.flags[low:high].tolist():
            flags[at - first] = flags.get(at - first, 0) | bit
        return Spans(self.program, self.data.data, start, stop, node, value, end, flags, used, lost if bits else -1)


def octets(data: Any) -> npt.NDArray[np.uint8]:
    """Bytes-likes as the kernel takes them: not copied, and never written to."""
    view = np.frombuffer(data, np.uint8)
    view.flags.writeable = False
    return view


def jobs_of(entry: Entry, starts: Any, stops: Any) -> Ints:
    """A job for each message [start, stop) of one layout."""
    jobs = np.zeros((len(starts), p.JOB), np.int64)
    jobs[:, 0], jobs[:, 1], jobs[:, 2] = entry.pc, starts, stops
    return jobs


def walk_many(program: Program, data: npt.NDArray[np.uint8], jobs: Ints) -> Walk:
    """Run the compiled kernel over all jobs; they may be of any layouts in the program. Memory is in proportion to the
    spans.
    """
    if not len(jobs):
        none = np.zeros(0, np.int64)
        return Walk(program, data, jobs, np.zeros(1, np.int64), none.astype(np.int32), none, none, none.reshape(0, 2))
    todo = np.ascontiguousarray(jobs).reshape(-1).copy()
    arrays = _arrays(program)
    state = np.array(first_state(program, todo[: p.JOB].tolist(), CHUNK), np.int64)
    state[p.STATE_JOBS] = len(jobs)
    out = _output(program)
    run = compiled_kernel()
    pieces = []
    status = kernel.FULL
    while status == kernel.FULL:
        status = run(arrays.code, arrays.tables, data, todo, *out, state)
        n, f = int(state[p.STATE_SPANS]), int(state[p.STATE_FLAGS])
        pieces.append([column[:size].copy() for column, size in zip(out, (n, n, n, f), strict=True)])
    node, value, end, flags = pieces[0] if len(pieces) == 1 else map(np.concatenate, zip(*pieces, strict=True))
    pairs = flags.reshape(-1, 2)
    done = todo.reshape(-1, p.JOB)
    first = np.append(done[:, 3], len(node))
    return Walk(program, data, done, first, node, value, end, pairs[np.argsort(pairs[:, 0], kind="stable")])


def sum_many(program: Program, data: npt.NDArray[np.uint8], jobs: Ints) -> Ints:
    """As `walk_many`, but nothing is kept of the spans: a row for each leaf of the program, bytes of prefixes, bytes of
    values, number of spans.
    """
    sums = np.zeros((len(program.leaves), 3), np.int64)
    if not len(jobs):
        return sums
    todo = np.ascontiguousarray(jobs).copy()
    flat = todo.reshape(-1)
    arrays = _arrays(program)
    state = np.array(first_state(program, flat[: p.JOB].tolist(), MEASURED), np.int64)
    state[p.STATE_JOBS] = len(jobs)
    out = _output(program)
    run, add = compiled_kernel(), compiled(numba_loops.sum_spans)
    base = job = at = 0
    status = kernel.FULL
    while status == kernel.FULL:
        status = run(arrays.code, arrays.tables, data, flat, *out, state)
        n = int(state[p.STATE_SPANS])
        begun = int(state[p.STATE_JOB]) + 1 if status == kernel.FULL else len(jobs)
        job, at = add(*(column[:n] for column in out[:3]), base, todo, begun, job, at, sums)
        base += n
    return sums


_HELD = threading.local()


def _output(program: Program) -> tuple[Any, ...]:
    """The columns that the kernel writes into, and pairs of flags: of this thread, which is in one walk at a time."""
    room = CHUNK + program.widest
    columns: tuple[Any, ...] = getattr(_HELD, "output", ())
    if not columns or len(columns[0]) < room:
        columns = _HELD.output = (
            np.empty(room, np.int32),
            np.empty(room, np.int64),
            np.empty(room, np.int64),
            np.empty(4 * room, np.int64),
        )
    return columns


class _Arrays(NamedTuple):
    """A program as arrays: its code, its tables, and the doubts of its leaves (`program.doubt_of`)."""

    program: Program
    code: Ints
    tables: Ints
    doubts: npt.NDArray[np.int8]


_ARRAYS: dict[int, _Arrays] = {}


def _arrays(program: Program) -> _Arrays:
    """Return a program as arrays, which are made again when the program has grown."""
    arrays = _ARRAYS.get(id(program))
    if arrays is None or len(arrays.code) != len(program.code):
        code, tables = np.array(program.code, np.int64), np.array(program.tables or [0], np.int64)
        doubts = np.array([p.doubt_of(leaf) for leaf in program.leaves], np.int8)
        arrays = _ARRAYS[id(program)] = _Arrays(program, code, tables, doubts)
    return arrays


def compiled_kernel() -> Any:
    """Return the kernel as machine code, which takes arrays where `kernel.run` takes sequences."""
    from kwire_cli.engine.compiled_kernel import run  # noqa: PLC0415 - it imports numba

    return compiled(run)


@cache
def compiled(function: Callable[..., Any]) -> Any:
    """The function as machine code that leaves the interpreter's lock to others while it runs; kept for the next
    process where that can be.
    """
    import numba  # noqa: PLC0415 - it takes as long as all else that a Spark task imports, and planning one need not compile

    folder = cache_folder(function)
    if folder is None:
        return numba.njit(nogil=True, error_model="numpy")(function)
    settings: Any = numba.config
    cache_dir, settings.CACHE_DIR = (
        settings.CACHE_DIR,
        str(folder),
    )  # looked at now, when keeping is set up; other functions keep theirs
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(_in_a_file(function, folder))
    finally:
        settings.CACHE_DIR = cache_dir


def _in_a_file(function: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    """The function; if it was imported from a zip, as of a copy of its module in this folder.

    What is kept is found by the path of a function's file, and that of a zip which was sent to a cluster is another for
    each job.
    """
    if Path(function.__code__.co_filename).exists():
        return function
    module = sys.modules[function.__module__]
    copy = folder / f"{module.__name__}.py"
    if not copy.exists():
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".part", encoding="utf-8", delete=False) as file:
            file.write(inspect.getsource(module))
        Path(file.name).replace(copy)
    return FunctionType(
        function.__code__.replace(co_filename=str(copy)), function.__globals__, function.__name__, function.__defaults__
    )


# Declarations of fixed size as numpy types, for headers of which there are many: fields are columns, and no
# offset is written twice.


def numpy_type(decl: Any) -> np.dtype[Any]:
    """The structure of `decl`, fields named as `fixed` names them: numbers in their byte order, `Bytes` and uuids as
    arrays of octets.

    Raises:
        TypeError: The declaration has no fixed size.

    """
    return np.dtype([(row.name, *_number(row.order, row.code, row.size)) for row in rows_of(decl)])


def _number(order: str, code: str, size: int) -> tuple[Any, ...]:
    if code.endswith("s"):
        return np.uint8, (size,)
    kind = "?" if code == "?" else "f" if code in "efd" else "i" if code.islower() else "u"
    return (f"{order or '|'}{kind}{size}" if kind != "?" else "?",)


def read_rows(data: Octets, start: Ints, layout: np.dtype[Any]) -> npt.NDArray[Any]:
    """The structures that begin at these places, all of which have to lie within the data: copied, one row each."""
    out = np.empty((len(start), layout.itemsize), np.uint8)
    compiled(copy_rows)(data, start, out)
    return out.view(layout)[:, 0]


@cache
def offset_of(decl: Any, name: str) -> int:
    """Return the offset at which a field begins in a declaration of fixed size."""
    return int(numpy_type(decl).fields[name][1])  # type: ignore[index] # it has fields


def copy_rows(data: Any, start: Any, out: Any) -> None:
    """The bytes at each place, as many as `out` has columns."""
    size = out.shape[1]
    for i in range(len(start)):
        source, taken = data[start[i] : start[i] + size], out[i]
        for k in range(size):
            taken[k] = source[k]
