"""The kernel compiled: the very function that CPython runs, over many messages in one call. Of `kwire[fast]`; nothing interactive imports this.

Machine code is kept between processes, in a folder of the user's own and not beside the package, which may not be writable. The folder's name has a
digest of the sources: the compiler itself only sees when the file of a function changes, not when the numbers do that it takes from other files.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from kwire_cli.engine import codes, kernel, program as p
from kwire_cli.engine.spans import Spans, first_state

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from kwire_cli.engine.program import Entry, Program

    Ints = npt.NDArray[np.int64]

CHUNK = 4096
"""Spans that the output has room for at least whenever the kernel is called."""
BYTES_A_SPAN = 8
"""What a span is taken to need when the output is first made; it grows where they need less."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The spans of many messages as columns: those of job k are [first[k], first[k + 1]), and cover its bytes once and in order.

    `jobs` has a row for each message, as `program.JOB` says, filled in by the kernel; `flags` pairs of a span's number and its bits, in order.
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
        """Where each span begins: where the one before it ended, or its message begins."""
        start = np.empty_like(self.end)
        start[1:] = self.end[:-1]
        some = self.first[:-1] < self.first[1:]
        start[self.first[:-1][some]] = self.jobs[some, 1]
        return start

    @property
    def complete(self) -> npt.NDArray[np.bool_]:
        """Of which messages every field was decoded; bytes may be left over."""
        found: npt.NDArray[np.bool_] = (self.jobs[:, 5] == 0) | (self.jobs[:, 6] == p.GAP)
        return found

    def spans(self, job: int) -> Spans:
        """Those of one message, as `engine.spans.walk` gives them."""
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
    found = np.frombuffer(data, np.uint8)
    found.flags.writeable = False
    return found


def jobs_of(entry: Entry, starts: Any, stops: Any) -> Ints:
    """A job for each message [start, stop) of one layout."""
    jobs = np.zeros((len(starts), p.JOB), np.int64)
    jobs[:, 0], jobs[:, 1], jobs[:, 2] = entry.pc, starts, stops
    return jobs


def walk_many(program: Program, data: npt.NDArray[np.uint8], jobs: Ints) -> Walk:
    """Run the compiled kernel over all jobs; they may be of any layouts in the program. Memory is in proportion to the spans."""
    if not len(jobs):
        none = np.zeros(0, np.int64)
        return Walk(program, data, jobs, np.zeros(1, np.int64), none.astype(np.int32), none, none, none.reshape(0, 2))
    output = _Output(program, int((jobs[:, 2] - jobs[:, 1]).sum()))
    todo = np.ascontiguousarray(jobs).reshape(-1).copy()
    code, tables = _arrays(program)
    state = np.array(first_state(program, todo[: p.JOB].tolist(), CHUNK), np.int64)
    state[p.STATE_JOBS] = len(jobs)
    run = compiled(kernel.run)
    status = kernel.FULL
    while status == kernel.FULL:
        node, value, end, flags, state[p.STATE_ROOM] = output.window()
        status = run(code, tables, data, todo, node, value, end, flags, state)
        output.take(int(state[p.STATE_SPANS]), flags[: state[p.STATE_FLAGS]])
    done = todo.reshape(-1, p.JOB)
    first = np.append(done[:, 3], output.used)
    node, value, end = output.columns()
    return Walk(program, data, done, first, node, value, end, output.flags())


class _Output:
    """Columns that the kernel writes into from where it stopped; made larger when they are full."""

    def __init__(self, program: Program, size: int) -> None:
        self.widest = program.widest
        self.used = 0
        self._made(size // BYTES_A_SPAN + CHUNK + 2 * self.widest)
        self._pairs: list[Ints] = []

    def _made(self, room: int) -> None:
        self.node, self.value, self.end = np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64)
        self.pairs = np.empty(4 * room, np.int64)  # memory that is not written to costs nothing

    def window(self) -> tuple[Any, Ints, Ints, Ints, int]:
        """The columns from where they are free, with room for the flags, and the spans at which the kernel has to stop."""
        if len(self.node) - self.used < CHUNK + self.widest:
            kept = self.columns()
            self._made(2 * len(self.node) + CHUNK + self.widest)
            self.node[: self.used], self.value[: self.used], self.end[: self.used] = kept
        at = self.used
        return self.node[at:], self.value[at:], self.end[at:], self.pairs, len(self.node) - at - self.widest

    def take(self, spans: int, flags: Ints) -> None:
        """What the kernel wrote."""
        self.used += spans
        if len(flags):
            self._pairs.append(flags.copy())

    def columns(self) -> tuple[Any, Ints, Ints]:
        return self.node[: self.used], self.value[: self.used], self.end[: self.used]

    def flags(self) -> Ints:
        pairs = (np.concatenate(self._pairs) if self._pairs else np.zeros(0, np.int64)).reshape(-1, 2)
        return pairs[np.argsort(pairs[:, 0], kind="stable")]


_ARRAYS: dict[int, tuple[Program, int, Ints, Ints]] = {}


def _arrays(program: Program) -> tuple[Ints, Ints]:
    """The program as arrays; made again when it has grown."""
    known = _ARRAYS.get(id(program))
    if known is None or known[1] != len(program.code):
        code, tables = np.array(program.code, np.int64), np.array(program.tables or [0], np.int64)
        known = _ARRAYS[id(program)] = program, len(program.code), code, tables
    return known[2], known[3]


@cache
def compiled(function: Callable[..., Any]) -> Any:
    """The function as machine code that leaves the interpreter's lock to others while it runs; kept for the next process where that can be."""
    folder = cache_folder(function)
    if folder is None:
        return numba.njit(nogil=True, error_model="numpy")(function)
    settings: Any = numba.config
    known, settings.CACHE_DIR = settings.CACHE_DIR, str(folder)  # looked at now, when keeping is set up; other functions keep theirs
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    finally:
        settings.CACHE_DIR = known


def cache_folder(function: Callable[..., Any]) -> Path | None:
    """Where the machine code of a function is kept; None where there is no folder of the user's own that can be written to.

    It is in `NUMBA_CACHE_DIR` or `XDG_CACHE_HOME` where they are set, else in `~/.cache`, else among temporary files. What is kept there is run: a
    folder that others can write to is none.
    """
    try:
        sources = [inspect.getsource(module) for module in (p, codes, sys.modules[function.__module__])]
    except (OSError, TypeError):
        return None
    name = f"kwire-{hashlib.sha256(''.join(sources).encode()).hexdigest()[:16]}"
    named = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    candidates = [Path(named)] if named else []
    with contextlib.suppress(RuntimeError):  # there is no home
        candidates.append(Path.home() / ".cache")
    owner = os.getuid() if hasattr(os, "getuid") else 0
    candidates.append(Path(tempfile.gettempdir()) / f"kwire-{owner}")
    return next((base / name for base in candidates if _is_ours(base / name)), None)


def _is_ours(folder: Path) -> bool:
    """Whether this folder is there, or could be made, and only its owner, who runs this, may write into it and the one around it."""
    try:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        if hasattr(os, "getuid"):
            for each in (folder, folder.parent):
                found = each.stat()
                if found.st_uid != os.getuid() or found.st_mode & 0o022:
                    return False
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)
