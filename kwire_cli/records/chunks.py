"""Spans of a long row of elements, some of them at a time, so that memory does not grow with their number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kwire_cli.engine import kernel, program as p
from kwire_cli.engine.spans import CHUNK, Spans, first_state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.program import Entry, Series

SMALL = 256
"""Spans that the output has room for where there are few bytes."""


def chunks(entry: Entry, data: Any, start: int = 0) -> Iterator[Spans]:
    """The spans of `data` from `start` on as `engine.spans.walk` gives them, in pieces that begin with an element; `entry` is a series alone.

    Each piece stands for itself: its flags count from its own first span. Only the last one may have a gap.
    """
    program, stop = entry.program, len(data)
    first = cast("Series", entry.root.fields[0]).first
    jobs = [entry.pc, start, stop, 0, 0, 0, 0]
    chunk = min(CHUNK, SMALL + (stop - start) // SMALL)
    state = first_state(program, jobs, chunk)
    room = chunk + program.widest
    out_node, out_value, out_end, pairs = [0] * room, [0] * room, [0] * room, [0] * (4 * room)
    node: list[int] = []
    value: list[int] = []
    end: list[int] = []
    flags: dict[int, int] = {}
    begin, gone = start, 0
    while True:
        status = kernel.run(program.code, program.tables, data, jobs, out_node, out_value, out_end, pairs, state)
        n = state[p.STATE_SPANS]
        for i in range(0, state[p.STATE_FLAGS], 2):
            at = pairs[i] - gone
            flags[at] = flags.get(at, 0) | pairs[i + 1]
        held = len(node)
        node += out_node[:n]
        value += out_value[:n]
        end += out_end[:n]
        if status != kernel.FULL:
            yield Spans(program, data, begin, stop, node, value, end, flags, jobs[4], jobs[6] if jobs[5] else -1)
            return
        cut = len(node) - 1
        while cut > max(held, 1) and node[cut] != first:
            cut -= 1
        if node[cut] != first or cut == 0:  # an element that is longer than a piece
            continue
        mine = {at: bits for at, bits in flags.items() if at < cut}
        yield Spans(program, data, begin, end[cut - 1], node[:cut], value[:cut], end[:cut], mine, end[cut - 1], -1)
        begin = end[cut - 1]
        flags = {at - cut: bits for at, bits in flags.items() if at >= cut} if len(mine) < len(flags) else {}
        gone += cut
        del node[:cut], value[:cut], end[:cut]
