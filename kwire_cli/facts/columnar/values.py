"""The values of frames of one layout by column: numbers at the top level, and fields with a role, such as topics.

The compiled engine has found the spans of all frames of the layout. A column is read from the spans of its leaves, for
all frames at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kwire_cli.engine.arrow import Columns, numbers, values_of
from kwire_cli.engine.program import Array, Leaf
from kwire_cli.engine.python_source import ERROR, TOPIC, TOPIC_ID
from kwire_cli.facts.columnar.arrays import list_offsets, once, padded
from kwire_cli.facts.frame_values import GROUP, TRANSACTIONAL_ID, entities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from kwire_cli.message.known_layout import Layout
    from kwire_cli.source.kafka.bulk_frames import Frames
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

    Ints = npt.NDArray[np.int64]

NO_UUID_TEXT = "A" * 22


# The positions of columns in a layout.


@dataclass(frozen=True, slots=True)
class Nodes:
    """The leaves of a layout that columns are computed from."""

    names: tuple[Leaf, ...]
    ids: tuple[Leaf, ...]
    errors: tuple[Leaf, ...]
    groups: tuple[Leaf, ...]
    transactional_ids: tuple[Leaf, ...]
    top: dict[str, Leaf]
    counts: dict[str, Leaf]


_NODES: dict[int, tuple[Any, Nodes]] = {}


def nodes_of(spec: MessageSpec, layout: Layout) -> Nodes:
    """Return the leaves of a layout that columns are computed from. They are cached."""
    cached = _NODES.get(id(layout))
    if cached is None:
        by_node = layout.roles.by_node
        leaves = layout.entry.program.leaves
        own = [leaves[number] for number in by_node]
        top = {leaf.name: leaf for leaf in layout.entry.root.fields if isinstance(leaf, Leaf)}
        counts = {node.name: node.count for node in layout.entry.root.fields if isinstance(node, Array)}
        cached = _NODES[id(layout)] = (
            layout,  # kept alive, so that its id is not reused
            Nodes(
                tuple(leaf for leaf in own if by_node[leaf.id] == TOPIC),
                tuple(leaf for leaf in own if by_node[leaf.id] == TOPIC_ID),
                tuple(leaf for leaf in own if by_node[leaf.id] == ERROR),
                entities(spec, leaves, GROUP),
                entities(spec, leaves, TRANSACTIONAL_ID),
                top,
                counts,
            ),
        )
    return cached[1]


# Columns of frames of one layout.


@dataclass(frozen=True)
class Values:
    """The columns of the frames of one layout in a stretch."""

    frames: Frames
    nodes: Nodes
    catalog: Catalog
    columns: Columns = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", Columns(self.frames.layout.entry, self.frames.walk))

    @property
    def count(self) -> int:
        """Return the number of frames."""
        return len(self.frames.which)

    def job(self, leaf: Leaf) -> Ints:
        """Return the number of the frame of each value of a leaf."""
        return np.searchsorted(self.frames.walk.first, self.columns.spans(leaf), side="right") - 1

    def top(self, name: str) -> Ints | None:
        """Return a number at the top level of each frame, or None if the layout has no such field."""
        leaf = self.nodes.top.get(name)
        if leaf is None:
            return None
        at = self.columns.places(leaf)
        return numbers(leaf.decl, at.data, at.start) if len(at.start) == self.count else None

    def length(self, name: str) -> Ints:
        """Return the length of an array at the top level of each frame; 0 if the layout has no such array."""
        leaf = self.nodes.counts.get(name)
        return np.zeros(self.count, np.int64) if leaf is None else np.maximum(self.columns.lengths(leaf), 0)

    def topics(self) -> pa.ListArray:
        """Return the topics in each frame: names, then ids."""
        return self._lists(((self.nodes.names, ""), (self.nodes.ids, NO_UUID_TEXT)))

    def groups(self) -> pa.ListArray:
        """Return the groups in each frame, without duplicates."""
        return once(self._lists(((self.nodes.groups, ""),)))

    def transactional_id(self) -> pa.Array:
        """Return the first transactional id in each frame."""
        lists = self._lists(((self.nodes.transactional_ids, ""),))
        return pc.list_element(padded(lists), 0)

    def _lists(self, roles: Sequence[tuple[tuple[Leaf, ...], str]]) -> pa.ListArray:
        """Return for each frame a list of the values of some leaves, without empty values."""
        jobs = []
        spans = []
        order = []
        texts = []
        for number, (leaves, nothing) in enumerate(roles):
            for leaf in leaves:
                value = values_of(leaf, self.columns.places(leaf))
                keep = np.flatnonzero(
                    pc.not_equal(value, nothing).fill_null(fill_value=False).to_numpy(zero_copy_only=False)
                )
                jobs.append(self.job(leaf)[keep])
                spans.append(self.columns.spans(leaf)[keep])
                order.append(np.full(len(keep), number))
                texts.append(value if len(keep) == len(value) else value.take(pa.array(keep)))
        if not texts:
            return pa.ListArray.from_arrays(pa.array(np.zeros(self.count + 1, np.int32)), pa.array([], pa.string()))
        job = np.concatenate(jobs)
        flat = pa.concat_arrays(texts)
        if len(texts) > 1:
            which = np.lexsort((np.concatenate(spans), np.concatenate(order), job))
            flat = flat.take(pa.array(which))
        return pa.ListArray.from_arrays(pa.array(list_offsets(job, self.count)), flat)

    def error_codes(self) -> pa.ListArray:
        """Return the error codes of each frame except 0, without duplicates."""
        jobs = [np.zeros(0, np.int64)]
        spans = [np.zeros(0, np.int64)]
        codes = [np.zeros(0, np.int64)]
        for leaf in self.nodes.errors if self.frames.layout.kind == "response" else ():
            at = self.columns.places(leaf)
            value = numbers(leaf.decl, at.data, at.start)
            keep = np.flatnonzero(value)
            jobs.append(self.job(leaf)[keep])
            spans.append(self.columns.spans(leaf)[keep])
            codes.append(value[keep])
        job = np.concatenate(jobs)
        code = np.concatenate(codes)
        which = np.lexsort((np.concatenate(spans), job))
        values = pa.array(code[which].astype(np.int32))
        return once(pa.ListArray.from_arrays(pa.array(list_offsets(job, self.count)), values))


def values_in(
    side: Iterable[Frames], catalog: Catalog, wants: Callable[[Layout], bool] = lambda _: True
) -> list[Values]:
    """Return the columns of the frames of one direction of a stretch, of the layouts that `wants` accepts."""
    return [
        Values(frames, nodes_of(catalog.message(frames.layout.message), frames.layout), catalog)
        for frames in side
        if wants(frames.layout)
    ]
