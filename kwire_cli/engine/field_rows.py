"""The fields of many messages as rows: each span with its path, value and bytes; or the sums of bytes by path, which is a ledger of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kwire_cli.engine import gathers
from kwire_cli.engine.columns import by_node, places
from kwire_cli.engine.compiled import Walk, compiled
from kwire_cli.engine.leaf_columns import as_texts
from kwire_cli.engine.program import GAP

if TYPE_CHECKING:
    import numpy.typing as npt

    from kwire_cli.engine.program import Program

    Ints = npt.NDArray[np.int64]

FIELDS = pa.schema(
    [
        pa.field("message", pa.int32(), nullable=False),
        pa.field("path", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("kind", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("prefix_bytes", pa.int64(), nullable=False),
        pa.field("value_bytes", pa.int64(), nullable=False),
        pa.field("value", pa.string()),
    ]
)
"""Of `field_rows`. `path` is without indexes, as in a ledger: `topics[].name`; `kind` as `program.Leaf` has it; `start` counts from the message's."""


def field_rows(walk: Walk, *, texts: bool = True) -> pa.RecordBatch:
    """A row for each span, in order: everything the bytes hold, counts and tag headers too, and gaps under the path of what could not be read.

    The messages may be of any layouts in the walk's program. Without `texts` all values are null: what costs are made of needs none.
    """
    program, start = walk.program, walk.start
    sizes = walk.first[1:] - walk.first[:-1]
    message = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    path = walk.node.astype(np.int32)
    gaps = np.flatnonzero(walk.node == GAP)
    path[gaps] = walk.jobs[message[gaps], 6]
    rows = [
        pa.array(message),
        _named(path, [leaf.path for leaf in program.leaves]),
        _named(walk.node, [leaf.kind for leaf in program.leaves]),
        pa.array(start - walk.jobs[message, 1]),
        pa.array(walk.value - start),
        pa.array(walk.end - walk.value),
        _texts(walk, start) if texts else pa.nulls(len(walk.node), pa.string()),
    ]
    return pa.RecordBatch.from_arrays(rows, schema=FIELDS)


def _named(node: Any, names: list[str]) -> pa.DictionaryArray:
    """The names of nodes, each of them once."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    which = np.array([numbers[name] for name in names], np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(which[node]), pa.array(list(numbers)))


def _texts(walk: Walk, start: Ints) -> pa.Array:
    begin, order = by_node(walk)
    there = np.flatnonzero(begin[1:] > begin[:-1])
    if not len(there):
        return pa.nulls(0, pa.string())
    found = [as_texts(walk.program.leaves[k], places(walk, start, order[begin[k] : begin[k + 1]])) for k in there.tolist()]
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return pa.concat_arrays(found).take(pa.array(back))


def sum_walk(walk: Walk) -> Ints:
    """The bytes of each leaf over all messages: a row for each, bytes of prefixes, bytes of values, number of spans."""
    sums = np.zeros((len(walk.program.leaves), 3), np.int64)
    compiled(gathers.sum_by_node)(walk.node, walk.start, walk.value, walk.end, sums)
    return sums


def by_path(program: Program, sums: Ints) -> dict[str, Ints]:
    """Sums of leaves as those of their paths."""
    rows: dict[str, Ints] = {}
    for number in np.flatnonzero(sums[:, 2]).tolist():
        path = "gap" if number == GAP else program.leaves[number].path
        rows[path] = rows[path] + sums[number] if path in rows else sums[number]
    return rows
