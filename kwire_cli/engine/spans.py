"""Spans: the output of the kernel, as columns.

Spans cover the input once and in order, so the start of a span is the end of the one before it. Columns of small
messages are lists, and columns of large ones arrays, which take less memory.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine import kernel, program as p
from kwire_cli.engine.codes import STILL

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    from kwire_cli.engine.program import Entry, Program

FIRST_CHUNK = 64
"""Number of spans that first fit the output. Most messages are small, and a list of zeros takes as long as many
messages."""
CHUNK = 4096
"""Maximum number of spans that fit the output."""
MANY = 16384
"""Number of spans from which on columns are arrays."""


class Span(NamedTuple):
    """One leaf: [start, value) is its prefix (a length, a count, a presence marker, a tag header), [value, end) its
    value.
    """

    path: str
    kind: str
    start: int
    value: int
    end: int
    flags: int


class Spans(NamedTuple):
    """The spans of one message: columns of equal length, and `flags` of spans with an anomaly.

    `start` and `stop` are the bounds of the message in `data`, `used` is the end of its last field, `lost` the node
    that could not be read, or -1. It is a named tuple, which is created as fast as it is read.
    """

    program: Program
    data: Any
    start: int
    stop: int
    node: Sequence[int]
    value: Sequence[int]
    end: Sequence[int]
    flags: dict[int, int]
    used: int
    lost: int

    @property
    def well_formed(self) -> bool:
        """Return whether the layout took all bytes and nothing is anomalous."""
        return self.lost < 0 and self.used == self.stop and not self.flags

    @property
    def aligned(self) -> bool:
        """Return whether the layout took all bytes and no anomaly may have moved one (`codes.SHIFTS`)."""
        return self.lost < 0 and self.used == self.stop and not any(bits & ~STILL for bits in self.flags.values())


def walk(entry: Entry, data: Any, start: int = 0, stop: int | None = None, *, strict: bool = False) -> Spans:
    """Run the kernel, interpreted, over one message in `data`: bytes, or a memoryview of bytes. Nothing is copied.

    With `strict` the run ends soon after the first flag. The rest of the spans is then missing.
    """
    stop = len(data) if stop is None else stop
    program = entry.program
    jobs = [entry.pc, start, stop, 0, 0, 0, 0]
    chunk = min(FIRST_CHUNK, max(stop - start, 0) + 1)  # each span has a byte, but for a gap at the end
    state = first_state(program, jobs, chunk)
    room = chunk + program.widest
    out_node = [0] * room
    out_value = [0] * room
    out_end = [0] * room
    pairs = [0] * (4 * room)
    status = kernel.run(program.code, program.tables, data, jobs, out_node, out_value, out_end, pairs, state)
    n = state[p.STATE_SPANS]
    flags: dict[int, int] = {}
    _flagged(flags, pairs, state)
    if status != kernel.FULL:  # most messages are small
        del out_node[n:], out_value[n:], out_end[n:]
        return Spans(
            program, data, start, stop, out_node, out_value, out_end, flags, jobs[4], jobs[6] if jobs[5] else -1
        )
    node: MutableSequence[int] = out_node[:n]
    value: MutableSequence[int] = out_value[:n]
    end: MutableSequence[int] = out_end[:n]
    while status == kernel.FULL and not (strict and flags):
        state[p.STATE_ROOM] = chunk = min(2 * chunk, CHUNK)
        if room < chunk + program.widest:
            room = chunk + program.widest
            out_node = [0] * room
            out_value = [0] * room
            out_end = [0] * room
            pairs = [0] * (4 * room)
        status = kernel.run(program.code, program.tables, data, jobs, out_node, out_value, out_end, pairs, state)
        n = state[p.STATE_SPANS]
        node.extend(out_node[:n])
        value.extend(out_value[:n])
        end.extend(out_end[:n])
        _flagged(flags, pairs, state)
        if len(node) >= MANY and isinstance(
            node, list
        ):  # lists are the faster ones to fill, but hold an object for each number
            node, value, end = array("i", node), array("q", value), array("q", end)
    return Spans(program, data, start, stop, node, value, end, flags, jobs[4], jobs[6] if jobs[5] else -1)


def _flagged(flags: dict[int, int], pairs: Sequence[int], state: Sequence[int]) -> None:
    for i in range(0, state[p.STATE_FLAGS], 2):
        flags[pairs[i]] = flags.get(pairs[i], 0) | pairs[i + 1]


def without_rest(spans: Spans) -> Spans:
    """Return the spans of a message that other bytes follow, without the gap for these bytes."""
    if spans.lost > 0 or spans.used == spans.stop:  # the gap of following bytes has no lost node
        return spans
    last = len(spans.node) - 1
    flags = {at: bits for at, bits in spans.flags.items() if at != last}
    columns = (spans.node[:last], spans.value[:last], spans.end[:last])
    return Spans(spans.program, spans.data, spans.start, spans.used, *columns, flags, spans.used, -1)


def first_state(program: Program, jobs: Any, chunk: int) -> list[int]:
    """Return the kernel's state before the first job; output columns need room for `chunk` plus the program's widest
    step.
    """
    job = [jobs[0], jobs[1], jobs[2], p.STACK - p.FRAME, 0, 0, 0]
    return [*job, 0, chunk, program.widest, len(jobs) // p.JOB, 0, 0] + [0] * (p.FRAME * program.depth)
