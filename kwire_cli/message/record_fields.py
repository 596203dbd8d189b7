"""Records in the fields of messages: the batches in them, and of which topic they are, which says what Kafka's own records mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.program import Array, Leaf, Nullable, Struct
from kwire_cli.message.roles import TOPIC, TOPIC_ID, Roles
from kwire_cli.spec.kafka import CLUSTER_METADATA, CLUSTER_METADATA_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.codec.model import Limits
    from kwire_cli.engine.program import Entry, Node
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Gap, Hide
    from kwire_cli.spec.catalog import Catalog

RAW = "raw"
"""The form of values in which records are bytes."""


def is_internal(topic: str) -> bool:
    """Whether records of a topic, by its name or id, may be messages of Kafka itself."""
    return topic.startswith("__") or topic == CLUSTER_METADATA_ID


@dataclass(frozen=True, slots=True)
class RecordsAs:
    """How records are read: `names` gives a topic's name for its id where that is known, `hide` what of a payload is secret.

    `shown` makes the JSON form of a field's bytes, for topics whose records are nobody's messages, where there is a faster way.
    """

    catalog: Catalog | None = None
    names: Callable[[str], str] | None = None
    hide: Hide | None = None
    limits: Limits | None = None
    shown: Callable[[bytes], Any] | None = None

    def topic(self, topic: str) -> str:
        """The name of a topic, by its name or id."""
        if topic == CLUSTER_METADATA_ID:
            return CLUSTER_METADATA
        return self.names(topic) if self.names else topic

    def items(self, data: Any, topic: str | None, start: int = 0, stop: int | None = None) -> Iterator[Batch | Gap]:
        """The batches in the bytes [start, stop) of a records field, and the gaps between them; `topic` is a name or an id."""
        from kwire_cli.records.opening import source_of  # noqa: PLC0415 - few messages hold records
        from kwire_cli.records.reading import read_items  # noqa: PLC0415 - as above

        source = source_of(data, topic=self.topic(topic) if topic else None, catalog=self.catalog, limits=self.limits)
        return read_items(source, start, stop)

    def to_json(self, data: Any, topic: str | None) -> Any:
        """The batches and gaps in a records field with all that is in them."""
        if self.shown and not (topic and is_internal(self.topic(topic))):
            return self.shown(data)
        return [item.to_json(deep=True, hide=self.hide) for item in self.items(data, topic)]


class _Way(NamedTuple):
    """Where records are in a struct: `topics` are its fields that say whose, `records` its own, `below` what has some, by name."""

    topics: tuple[str, ...]
    records: tuple[str, ...]
    below: tuple[tuple[str, _Way], ...]


_WAYS: dict[int, tuple[Roles, _Way | None]] = {}


def holds_records(entry: Entry) -> bool:
    """Whether a layout has any field of type records."""
    return any(leaf.kind == "records" for leaf in entry.program.leaves)


def filled(found: Roles, body: dict[str, Any], reading: RecordsAs) -> dict[str, Any]:
    """A body in RAW form with what is in its records in place of their bytes; the body itself is changed."""
    known = _WAYS.get(id(found))
    if known is None:
        known = _WAYS[id(found)] = found, _way(found.entry.root, found)  # the roles are kept, so that their id stays their own
    if known[1]:
        _fill(known[1], body, None, reading)
    return body


def _way(node: Node, found: Roles) -> _Way | None:
    if isinstance(node, Nullable):
        node = node.struct
    if isinstance(node, Array):
        return _way(node.element, found)
    if not isinstance(node, Struct):
        return None
    fields = [*node.fields, *([known for known, _ in node.tags.known.values()] if node.tags else ())]
    leaves = [each for each in fields if isinstance(each, Leaf)]
    topics = tuple(leaf.name for leaf in leaves if found.by_node.get(leaf.id) in {TOPIC, TOPIC_ID})
    records = tuple(leaf.name for leaf in leaves if leaf.kind == "records")
    below = tuple((each.name, way) for each in fields if (way := _way(each, found)))
    return _Way(topics, records, below) if records or below else None


def _fill(way: _Way, value: dict[str, Any], topic: str | None, reading: RecordsAs) -> None:
    for name in way.topics:
        topic = value.get(name) or topic
    for name in way.records:
        data = value.get(name)
        if data is not None and not isinstance(data, str):  # text says that it is hidden
            value[name] = reading.to_json(data, topic)
    for name, inner in way.below:
        found = value.get(name)
        for each in (found,) if isinstance(found, dict) else found or ():
            _fill(inner, each, topic, reading)
