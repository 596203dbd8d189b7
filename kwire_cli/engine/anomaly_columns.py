"""Anomalies of many messages as columns: what may be odd is found by the compiled engine, what it is by the fold that decodes one message.

So both say the same by construction, and the slow way is gone only for the few messages that need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kwire_cli.engine.body import Body
from kwire_cli.engine.columns import by_node, places
from kwire_cli.engine.leaf_columns import Places, absent, lengths, not_utf8, numbers
from kwire_cli.engine.program import Array, Leaf, Nullable, Series, Struct, Tags
from kwire_cli.engine.row_batches import batch_of
from kwire_cli.structs.numbers import Bool

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from kwire_cli.engine.compiled import Walk
    from kwire_cli.engine.program import Entry, Node
    from kwire_cli.spec.model import MessageSpec

    Ints = npt.NDArray[np.int64]

ANOMALIES = pa.schema(
    [
        pa.field("message", pa.int32(), nullable=False),
        pa.field("code", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("detail", pa.string(), nullable=False),
    ]
)
"""Of `anomaly_rows`; `offset` counts from the start of the message."""


def anomaly_rows(spec: MessageSpec, version: int, entry: Entry, walk: Walk) -> pa.RecordBatch:
    """A row for each anomaly of these messages, which are of one layout of a definition."""
    rows: list[tuple[Any, ...]] = []
    for job in np.flatnonzero(may_be_odd(entry, walk)).tolist():
        raw = walk.spans(job)
        rows += [(job, *note._replace(offset=note.offset - raw.start)) for note in Body(spec, version, version, entry, raw).anomalies]
    return batch_of(rows, ANOMALIES)


def may_be_odd(entry: Entry, walk: Walk) -> npt.NDArray[np.bool_]:
    """Which messages may have an anomaly; the others have none."""
    start = walk.start
    begin, order = by_node(walk)
    odd: npt.NDArray[np.bool_] = walk.jobs[:, 5] != 0
    found = [walk.flags[:, 0]]
    for leaf in walk.program.leaves[1:]:
        spans = order[begin[leaf.id] : begin[leaf.id + 1]]
        if len(spans):
            found.append(spans[_odd_values(leaf, places(walk, start, spans))])
    for node, headers in _tagged(entry.root):
        spans = order[begin[headers] : begin[headers + 1]]
        spans = spans[~odd[np.searchsorted(walk.first, spans, "right") - 1]]  # a gap may follow a header: there would be no bytes to look at
        if len(spans):
            found.append(spans[_at_default(*node, walk, start, spans + 1)])
    odd[np.searchsorted(walk.first, np.concatenate(found), "right") - 1] = True
    return odd


def _odd_values(leaf: Leaf, at: Places) -> Any:
    """Which values of a leaf are odd, as an index."""
    if isinstance(leaf.decl, Bool):
        return at.data[at.value] > 1
    if leaf.kind == "string":
        return not_utf8(at.data, at.value, at.end)
    if declared := getattr(leaf.decl, "declared", None):
        number = numbers(leaf.decl, at.data, at.start)
        return (number < declared[0]) | (number > declared[1])
    return []


def _at_default(field: Node, default: Any, walk: Walk, start: Ints, spans: Ints) -> Any:
    """Which tagged fields, that begin with these spans, may be written at their default; of some kinds it is not looked at, and all may."""
    at = places(walk, start, spans)
    if isinstance(field, Array) and default == []:
        return lengths(field.count.decl, at.data, at.start) == 0
    if isinstance(field, Array) and default is None:
        return lengths(field.count.decl, at.data, at.start) < 0
    if isinstance(field, Nullable) and default is None:
        return absent(field.presence.decl, at.data, at.start)
    return slice(None)


def _tagged(node: Node) -> Iterator[tuple[tuple[Node, Any], int]]:
    """All tagged fields of a layout, with their defaults and their headers' nodes."""
    if isinstance(node, Struct):
        for field in node.fields:
            yield from _tagged(field)
        yield from _in_section(node.tags) if node.tags else ()
    elif isinstance(node, Array | Series):
        yield from _tagged(node.element)
    elif isinstance(node, Nullable):
        yield from _tagged(node.struct)


def _in_section(section: Tags) -> Iterator[tuple[tuple[Node, Any], int]]:
    for number, known in section.known.items():
        yield known, number
        yield from _tagged(known[0])
