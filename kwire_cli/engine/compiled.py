"""The kernel compiled (`kwire[fast]`): the very function that runs interpreted, over many messages in one call."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine import kernel, program as p
from kwire_cli.engine.spans import first_state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.engine.program import Program

CHUNK = 4096
"""Spans that one call writes before it returns to have them taken away; the columns then stay in the processor's cache."""


@cache
def compiled_kernel() -> Any:
    """`kernel.run`, compiled when it is first called; ImportError where numba is not installed."""
    import numba  # noqa: PLC0415 - an extra

    return numba.njit(nogil=True, error_model="numpy")(kernel.run)


def walker(program: Program, jobs: Sequence[int], data: bytes) -> Callable[[], int]:
    """A function that walks all jobs and returns the number of spans; it has run once, so that the kernel is compiled.

    ImportError where numba is not installed, ValueError where a message does not fit its layout.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    run = compiled_kernel()
    room = CHUNK + program.widest
    code, tables, todo = (np.array(ints, np.int64) for ints in (program.code, program.tables or [0], jobs))
    start = np.array(first_state(program, todo, CHUNK), np.int64)
    octets = np.frombuffer(data, np.uint8)
    node, value, end, flags = np.zeros(room, np.int32), np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(4 * room, np.int64)

    def walk_all() -> int:
        state = start.copy()
        spans = 0
        while True:
            status = run(code, tables, octets, todo, node, value, end, flags, state)
            spans += int(state[p.STATE_SPANS])
            if status == kernel.DONE:
                return spans

    walk_all()
    if todo[5 :: p.JOB].any():
        raise ValueError("the kernel met a gap")
    return walk_all
