"""Bodies for the compiled kernel, which walks all of them in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.engine.compiled import walker as walker_of
from kwire_cli.engine.lower import lower
from kwire_cli.engine.program import Program
from kwire_cli.structs.messages import declare

if TYPE_CHECKING:
    from collections.abc import Callable

    from inputs import Body


def walker(bodies: list[Body], copies: int = 1) -> Callable[[], int]:
    """A function that walks all bodies, `copies` times over, and returns the number of spans."""
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
    return walker_of(program, jobs * copies, bytes(data))
