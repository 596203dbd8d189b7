"""The kernel compiled: the very function that runs interpreted, the loop over messages inside it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine import kernel, program as p
from kwire_cli.engine.lower import lower
from kwire_cli.engine.program import Program
from kwire_cli.engine.spans import first_state
from kwire_cli.structs.messages import declare

if TYPE_CHECKING:
    from collections.abc import Callable

    from inputs import Body

CHUNK = 4096
"""Spans that one call writes before it returns to have them taken away; the columns then stay in the processor's cache."""


@cache
def compile_kernel() -> Any:
    import numba

    return numba.njit(nogil=True, error_model="numpy")(kernel.run)


def walker(bodies: list[Body], copies: int = 1) -> Callable[[], int]:
    """A function that walks all bodies, `copies` times over, and returns the number of spans."""
    import numpy as np

    run = compile_kernel()
    program = Program()
    entries: dict[tuple[str, int], int] = {}
    jobs: list[int] = []
    data = bytearray()
    for body in bodies:
        key = body.spec.name, body.version
        if key not in entries:
            entries[key] = lower(declare(body.spec, body.version), program).pc
        jobs += [entries[key], len(data), len(data) + len(body.data), 0, 0, 0, 0]
        data += body.data
    room = CHUNK + program.widest
    code, tables, todo = (np.array(ints, np.int64) for ints in (program.code, program.tables, jobs * copies))
    start = np.array(first_state(program, todo, CHUNK), np.int64)
    octets = np.frombuffer(bytes(data), np.uint8)
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
    assert not todo[5 :: p.JOB].any(), "the kernel met a gap"
    return walk_all
