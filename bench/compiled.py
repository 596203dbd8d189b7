"""Messages for the compiled kernel, which walks all of them in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kwire_cli.engine import kernel, program as p
from kwire_cli.engine.compiled import MEASURED, compiled_kernel, octets
from kwire_cli.engine.lower import lower
from kwire_cli.engine.spans import first_state
from kwire_cli.structs.messages import declare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inputs import Body


def body_walker(bodies: list[Body], copies: int) -> Callable[[], int]:
    """A function that walks all bodies, `copies` times over, and returns the number of spans."""
    program = p.Program()
    entries: dict[tuple[str, int], int] = {}
    jobs: list[int] = []
    data = bytearray()
    for body in bodies:
        key = body.spec.name, body.version
        if key not in entries:
            entries[key] = lower(declare(body.spec, body.version), program).pc
        jobs += [entries[key], len(data), len(data) + len(body.data), 0, 0, 0, 0]
        data += body.data
    return walker(program, jobs * copies, bytes(data))


def walker(program: p.Program, jobs: Sequence[int], data: bytes) -> Callable[[], int]:
    """A function that walks all jobs, and returns the number of spans, none of which is kept.

    It has run once, so the kernel is compiled. Raises ValueError if a message does not fit its layout.
    """
    run = compiled_kernel()
    room = MEASURED + program.widest
    code, tables, todo = (np.array(ints, np.int64) for ints in (program.code, program.tables or [0], jobs))
    bytes_ = octets(data)
    start = np.array(first_state(program, todo.tolist(), MEASURED), np.int64)
    node, value, end, flags = (
        np.zeros(room, np.int32),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(4 * room, np.int64),
    )

    def walk_all() -> int:
        state = start.copy()
        spans = 0
        while True:
            status = run(code, tables, bytes_, todo, node, value, end, flags, state)
            spans += int(state[p.STATE_SPANS])
            if status == kernel.DONE:
                return spans

    walk_all()
    if todo[5 :: p.JOB].any():
        raise ValueError("the kernel met a gap")
    return walk_all
