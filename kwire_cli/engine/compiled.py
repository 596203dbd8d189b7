"""The kernel compiled by numba: many messages in one call, and numpy types of fixed fields.

numba compiles the same function that CPython runs, so both return identical spans. A call fills an output of fixed size
and is repeated until all jobs are done, because the number of spans is not known in advance.
"""

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


# The compiled kernel: the same function that CPython runs, over many messages in one call. It belongs to `kwire[lake]`;
# no interactive command imports it.
#
# Machine code is cached in a folder of the user, because the package folder may not be writable. The folder's name
# contains a digest of the sources: the compiler detects changes in the file of a function, but not in numbers that it
# imports from other files.

CHUNK = 16384
"""Spans that fit the output, which is reused and stays in the processor's caches. New memory would cost more than the
spans."""


MEASURED = 4096
"""Spans that fit the output if they are only summed up: these stay in the nearest cache."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The spans of many messages as columns. The spans [first[k], first[k + 1]) belong to job k, and cover its bytes
    once and in order.

    `jobs` has a row for each message, as specified at `program.JOB`, completed by the kernel; `flags` are pairs of a
    span's number and its bits, in order.
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
        """A mask of the messages whose fields were all decoded, even if bytes follow them."""
        mask: npt.NDArray[np.bool_] = (self.jobs[:, 5] == 0) | (self.jobs[:, 6] == p.GAP)
        return mask

    @property
    def doubtful(self) -> Ints:
        """The numbers of the messages that may have an anomaly without a flag, so that their trees have to be
        checked.
        """
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
        low = int(self.first[first])
        high = int(self.first[last])
        columns = (self.node[low:high], self.value[low:high], self.end[low:high])
        begin, end = np.searchsorted(self.flags[:, 0], (low, high))
        flags = self.flags[begin:end] - np.array([low, 0])
        return Walk(self.program, self.data, self.jobs[first:last], self.first[first : last + 1] - low, *columns, flags)

    def spans(self, job: int) -> Spans:
        """Return the spans of one message, equal to those from `engine.spans.walk`."""
        _, start, stop, _, used, bits, lost = map(int, self.jobs[job])
        first, last = map(int, self.first[job : job + 2])
        node, value, end = (column[first:last].tolist() for column in (self.node, self.value, self.end))
        flags: dict[int, int] = {}
        low, high = np.searchsorted(self.flags[:, 0], (first, last))
        for at, bit in self.flags[low:high].tolist():
            flags[at - first] = flags.get(at - first, 0) | bit
        return Spans(self.program, self.data.data, start, stop, node, value, end, flags, used, lost if bits else -1)


def octets(data: Any) -> npt.NDArray[np.uint8]:
    """Return bytes-likes as an array for the kernel: not copied, and read-only."""
    view = np.frombuffer(data, np.uint8)
    view.flags.writeable = False
    return view


def jobs_of(entry: Entry, starts: Any, stops: Any) -> Ints:
    """Return a job for each message [start, stop) of one layout."""
    jobs = np.zeros((len(starts), p.JOB), np.int64)
    jobs[:, 0] = entry.pc
    jobs[:, 1] = starts
    jobs[:, 2] = stops
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
        n = int(state[p.STATE_SPANS])
        f = int(state[p.STATE_FLAGS])
        pieces.append([column[:size].copy() for column, size in zip(out, (n, n, n, f), strict=True)])
    node, value, end, flags = pieces[0] if len(pieces) == 1 else map(np.concatenate, zip(*pieces, strict=True))
    pairs = flags.reshape(-1, 2)
    done = todo.reshape(-1, p.JOB)
    first = np.append(done[:, 3], len(node))
    return Walk(program, data, done, first, node, value, end, pairs[np.argsort(pairs[:, 0], kind="stable")])


def sum_many(program: Program, data: npt.NDArray[np.uint8], jobs: Ints) -> Ints:
    """Run the compiled kernel over all jobs, and sum up the spans instead of keeping them.

    `sum_walk` has the same sums of spans that are kept. The spans of small records take twenty times their bytes.

    Return a row for each leaf of the program: bytes of prefixes, bytes of values, number of spans.
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
    run = compiled_kernel()
    add = compiled(numba_loops.sum_spans)
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
    """Return the columns and the pairs of flags into which the kernel writes. A thread reuses them in each walk."""
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
        code = np.array(program.code, np.int64)
        tables = np.array(program.tables or [0], np.int64)
        doubts = np.array([p.doubt_of(leaf) for leaf in program.leaves], np.int8)
        arrays = _ARRAYS[id(program)] = _Arrays(program, code, tables, doubts)
    return arrays


def compiled_kernel() -> Any:
    """Return the kernel as machine code, which takes arrays where `kernel.run` takes sequences."""
    from kwire_cli.engine.compiled_kernel import run  # noqa: PLC0415 - it imports numba

    return compiled(run)


@cache
def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function to machine code that releases the interpreter's lock. The code is cached on disk if
    possible.
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
        return numba.njit(cache=True, nogil=True, error_model="numpy")(_from_file(function, folder))
    finally:
        settings.CACHE_DIR = cache_dir


def _from_file(function: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    """Return the function, or, if it was imported from a zip, the function with the path of a copy of its module.

    The cache is addressed by the path of a function's file, and a zip on a cluster has another path in each job.
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


# Declarations of fixed size as numpy types, for many headers at once: fields are columns, and offsets are declared only
# once.


@cache
def numpy_type(decl: Any) -> np.dtype[Any]:
    """Return the structured type of `decl`, with the field names of `fixed`. Numbers keep their byte order; `Bytes` and
    uuids are arrays of octets.

    Raises:
        TypeError: The declaration has no fixed size.

    """
    return np.dtype([(row.name, *_number(row.order, row.code, row.size)) for row in rows_of(decl)])


def _number(order: str, code: str, size: int) -> tuple[Any, ...]:
    if code.endswith("s"):
        return np.uint8, (size,)
    if code == "?":
        return ("?",)
    kind = "u"
    if code in "efd":
        kind = "f"
    elif code.islower():
        kind = "i"
    return (f"{order or '|'}{kind}{size}",)


def read_rows(data: Octets, start: Ints, layout: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return copies of the structures that begin at these places, one row each. All have to be within the data."""
    out = np.empty((len(start), layout.itemsize), np.uint8)
    compiled(copy_rows)(data, start, out)
    return out.view(layout)[:, 0]


@cache
def field_offset(decl: Any, name: str) -> int:
    """Return the offset at which a field begins in a declaration of fixed size."""
    return int(numpy_type(decl).fields[name][1])  # type: ignore[index] # it has fields


def copy_rows(data: Any, start: Any, out: Any) -> None:
    """Copy the bytes at each place into a row of `out`, whose width is the number of bytes."""
    size = out.shape[1]
    for i in range(len(start)):
        source = data[start[i] : start[i] + size]
        taken = out[i]
        for k in range(size):
            taken[k] = source[k]
