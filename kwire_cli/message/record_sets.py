"""Where in the body of a message records are, and of which partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.message.roles import TOPIC, TOPIC_ID, uuid_text
from kwire_cli.structs.sized import Sized

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.spans import Spans
    from kwire_cli.engine.tree import Item, Tree
    from kwire_cli.message.roles import Roles

_PARTITION = frozenset({"index", "partitionIndex"})
"""What Produce, Fetch, ShareFetch and FetchSnapshot call a partition's number."""

_LONGEST_LENGTH = 5
"""Bytes of the longest length of a records field: those of an unsigned varint."""


class RecordSet(NamedTuple):
    """The bytes [start, stop) of the data, records of a partition; `topic` is a name or an id, empty where nothing says it, the partition then -1."""

    topic: str
    partition: int
    start: int
    stop: int


class InField(NamedTuple):
    """The bytes [start, stop) of a records field behind its length, which says `size`: more than there are where the field is cut.

    `span` is the number of the field's span, or of the gap that begins with the field.
    """

    span: int
    start: int
    stop: int
    size: int

    @property
    def is_cut(self) -> bool:
        """Whether the bytes of the message end in the field."""
        return self.size > self.stop - self.start

    @property
    def text(self) -> str:
        """The size for eyes."""
        there = self.stop - self.start
        return f"{there} of {self.size} bytes" if self.is_cut else f"{there} byte{'s' * (there != 1)}"


def records_in(item: Item, tree: Tree) -> InField | None:
    """Return the records in a leaf, also in the one in which the bytes end, or in the gap that begins there; None where there are none."""
    if not item.whole:
        return cut_records(tree.spans)
    start = tree.spans.value[item.span]
    return InField(item.span, start, item.end, item.end - start) if item.leaf.kind == "records" and start < item.end else None


def cut_records(raw: Spans) -> InField | None:
    """Return the records in the field in which the bytes of a message end; None where they end elsewhere, or in the field's length."""
    leaves = raw.program.leaves
    decl = leaves[raw.lost].decl if 0 <= raw.lost < len(leaves) else None
    if not isinstance(decl, Sized) or leaves[raw.lost].kind != "records":
        return None
    head = bytes(raw.data[raw.used : min(raw.used + _LONGEST_LENGTH, raw.stop)])
    length = getattr(decl.prefix, "length", 0) or next((number for number, byte in enumerate(head, 1) if byte < 0x80), len(head))
    at = raw.used + length
    if at >= raw.stop or length > len(head):
        return None
    wanted = int(decl.prefix.read(head[:length])) - decl.compact
    return InField(len(raw.node) - 1, at, raw.stop, wanted) if wanted > raw.stop - at else None


def record_sets(found: Roles, raw: Spans) -> Iterator[RecordSet]:
    """The record sets of a body with these spans and roles that are not empty, in order."""
    return (each for _, each in by_span(found, raw))


def cut_record_set(found: Roles, raw: Spans) -> RecordSet | None:
    """Return the record set in which the bytes of a message end; None where they end elsewhere."""
    if cut_records(raw) is None:
        return None
    *_, (_, last) = by_span(found, raw)
    return last


def by_span(found: Roles, raw: Spans) -> Iterator[tuple[int, RecordSet]]:
    """Yield the same with the number of the span that holds each; last the one in which the bytes end, with the number of the gap."""
    leaves, topics = raw.program.leaves, found.by_node
    topic, partition = "", -1
    for at, node in enumerate(raw.node):
        leaf, start, stop = leaves[node], raw.value[at], raw.end[at]
        if topics.get(node) in {TOPIC, TOPIC_ID}:
            value = bytes(raw.data[start:stop])
            topic = uuid_text(value) if leaf.kind == "uuid" else value.decode("utf-8", "replace")
        elif leaf.kind == "int32" and leaf.name in _PARTITION:
            partition = leaf.decl.read(raw.data[start:stop])
        elif leaf.kind == "records" and start < stop:
            yield at, RecordSet(topic, partition, start, stop)
    if cut := cut_records(raw):
        yield cut.span, RecordSet(topic, partition, cut.start, cut.stop)
