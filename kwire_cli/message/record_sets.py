"""Where in the body of a message records are, and of which partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.message.roles import TOPIC, TOPIC_ID, uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.engine.spans import Spans
    from kwire_cli.message.roles import Roles

_PARTITION = frozenset({"index", "partitionIndex"})
"""What Produce, Fetch, ShareFetch and FetchSnapshot call a partition's number."""


class RecordSet(NamedTuple):
    """The bytes [start, stop) of the data, records of a partition; `topic` is a name or an id, empty where nothing says it, the partition then -1."""

    topic: str
    partition: int
    start: int
    stop: int


def record_sets(found: Roles, raw: Spans) -> Iterator[RecordSet]:
    """The record sets of a body with these spans and roles that are not empty, in order."""
    return (each for _, each in by_span(found, raw))


def cut_record_set(found: Roles, raw: Spans) -> RecordSet | None:
    """Return the record set in which the bytes of a message end, without its length; None where they end elsewhere."""
    leaves = raw.program.leaves
    if not 0 <= raw.lost < len(leaves) or leaves[raw.lost].kind != "records":
        return None
    prefix, at = leaves[raw.lost].decl.prefix, raw.used
    if size := getattr(prefix, "length", 0):
        at += size
    else:
        while at < raw.stop and raw.data[at] & 0x80:
            at += 1
        at += 1
    topics = [number for number, node in enumerate(raw.node) if found.by_node.get(node) in {TOPIC, TOPIC_ID}]
    topic = ""
    if topics:
        value = bytes(raw.data[raw.value[topics[-1]] : raw.end[topics[-1]]])
        topic = uuid_text(value) if leaves[raw.node[topics[-1]]].kind == "uuid" else value.decode("utf-8", "replace")
    return RecordSet(topic, -1, at, raw.stop) if at < raw.stop else None


def by_span(found: Roles, raw: Spans) -> Iterator[tuple[int, RecordSet]]:
    """The same, with the number of the span that holds each."""
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
