"""Topics, partitions and records in messages: the owners of bytes, and the contents of records.

The spans of a topic or partition are those of its structure in the message, so its name may follow its first bytes.
Records are counted by `RecordSets`, in place of the value of their field.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.program import Leaf, Struct, below, leaf_ids
from kwire_cli.engine.python_source import TOPIC, TOPIC_ID
from kwire_cli.facts.costs.ledger import in_body
from kwire_cli.facts.costs.record_sets import RecordSets
from kwire_cli.facts.costs.subjects import api_key_of, kind_of, packet_of, request_of, topic_name
from kwire_cli.message.roles import NO_UUID
from kwire_cli.records.formats import AUTO
from kwire_cli.spec.kafka import FETCH, PRODUCE
from kwire_cli.structs.numbers import uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.engine.program import Entry, Node
    from kwire_cli.engine.spans import Spans
    from kwire_cli.facts.costs.batch_sizes import BatchSizes
    from kwire_cli.facts.costs.ledger import Ledger
    from kwire_cli.facts.costs.limits import Largest
    from kwire_cli.facts.costs.subjects import Message
    from kwire_cli.message.roles import Roles
    from kwire_cli.records.codecs import Limits
    from kwire_cli.source.kafka.captured import Captured

    Place = tuple[int, int, int, int]
    """The number of a span, its node, and the start and end of its value."""
    Named = Callable[[Message], dict[str, Any]]
    """Returns the identification of a message in results: {"frame": 12}."""


# The positions of records, topics and partitions in a message. Each span of a message belongs to a topic and partition.

PARTITION = "partition"
RECORDS = "records"


_PARTITIONS = frozenset({"partition", "partitionIndex", "partitionId", "index"})
"""Names of the field for the number of a partition in definitions."""


class Owner(NamedTuple):
    """The topic and partition that bytes belong to. Both are None for other bytes."""

    topic: str | None = None
    partition: int | None = None


class _Element(NamedTuple):
    """A structure about one topic or partition: its leaves, and the leaves with its name."""

    leaves: frozenset[int]
    names: frozenset[int]


@dataclass(frozen=True, slots=True)
class Places:
    """The leaves of a layout with a role, by node. `topics` and `partitions` are structures, by their first leaf."""

    entry: Entry
    by_node: dict[int, str]
    topics: dict[int, _Element]
    partitions: dict[int, _Element]


_PLACES: dict[int, Places] = {}


def places(found: Roles) -> Places:
    """Return the places of a layout. They are cached."""
    cached = _PLACES.get(id(found.entry))
    if cached is None:
        entry = found.entry
        by_node = {node: role for node, role in found.by_node.items() if role in {TOPIC, TOPIC_ID}}
        topics = dict(_elements(entry.root, by_node.keys()))
        inside: set[int] = set()
        for element in topics.values():
            inside |= element.leaves
        numbers = {
            leaf.id
            for leaf in entry.program.leaves
            if leaf.kind == "int32" and leaf.name in _PARTITIONS and leaf.id in inside
        }
        by_node |= dict.fromkeys(numbers, PARTITION)
        by_node |= {leaf.id: RECORDS for leaf in entry.program.leaves if leaf.kind == "records"}
        cached = _PLACES[id(entry)] = Places(entry, by_node, topics, dict(_elements(entry.root, numbers)))
    return cached


def _elements(node: Node, named: Any) -> Iterator[tuple[int, _Element]]:
    if isinstance(node, Struct):
        names = frozenset(field.id for field in node.fields if isinstance(field, Leaf) and field.id in named)
        if names:
            leaves = list(leaf_ids(node))
            yield leaves[0], _Element(frozenset(leaves), names)
    for child in below(node):
        yield from _elements(child, named)


def owners(found: Places, spans: Spans, names: Callable[[str], str]) -> Iterator[tuple[int, int, Owner]]:
    """Yield the topic and partition of each span, as ranges [first, last) that cover all spans in order.

    `names` returns the name of a topic id.
    """

    def topic(role_nodes: frozenset[int], first: int, last: int) -> str | None:
        name = None
        for at in range(first, last):
            if spans.node[at] in role_nodes:
                name = topic_at(found, spans.node[at], spans.data[spans.value[at] : spans.end[at]], names) or name
        return name

    def partition(role_nodes: frozenset[int], first: int, last: int) -> int | None:
        at = next((at for at in range(first, last) if spans.node[at] in role_nodes), None)
        return None if at is None else number_at(spans.data[spans.value[at] : spans.end[at]])

    topics = _marked(found.topics, spans, topic)
    partitions = _marked(found.partitions, spans, partition)
    first = 0
    owner: Owner | None = None
    for at, now in enumerate(map(Owner, topics, partitions)):
        if now != owner:
            if owner is not None:
                yield first, at, owner
            first = at
            owner = now
    if owner is not None:
        yield first, len(spans.node), owner


def _marked(elements: dict[int, _Element], spans: Spans, name: Callable[[frozenset[int], int, int], Any]) -> list[Any]:
    """Return for each span the name of the element that contains it."""
    out: list[Any] = []
    element: _Element | None = None
    for at, node in enumerate((*spans.node, -1)):  # the last node closes the open element
        if element and node in element.leaves and node not in elements:
            continue
        out += [name(element.names, len(out), at) if element else None] * (at - len(out))
        element = elements.get(node)
    return out


def topic_at(found: Places, node: int, data: Any, names: Callable[[str], str]) -> str | None:
    """Return the topic that a leaf contains, or None if it is empty."""
    if found.by_node.get(node) == TOPIC:
        return str(data, "utf-8", "replace") or None
    return None if bytes(data) == NO_UUID or len(data) != len(NO_UUID) else names(uuid_text(data))


def number_at(data: Any) -> int:
    """Return the number of a partition."""
    return int.from_bytes(data, "big", signed=True)


# Records in the fields of messages. They are expanded: the bytes of batches and records replace the bytes of the field.


def places_in(spans: Spans, found: Places) -> list[Place]:
    """Return the spans of records, topics and partitions."""
    wanted = found.by_node
    return [(at, node, spans.value[at], spans.end[at]) for at, node in enumerate(spans.node) if node in wanted]


class Opened:
    """Expands the records in messages. `wire` and `inside` count them like `RecordSets`, with statistics by owner.

    `largest` receives the sizes that limits apply to, with a place from `named`.
    """

    def __init__(
        self,
        wire: Ledger,
        inside: Ledger,
        sizes_of: Callable[[Any], BatchSizes],
        largest: Largest,
        limits: Limits | None,
        named: Named,
    ) -> None:
        self._wire = wire
        self._inside = inside
        self._sizes_of = sizes_of
        self.largest = largest
        self._limits = limits
        self._named = named
        self._record_sets: dict[tuple[Any, str], RecordSets] = {}

    def add(
        self,
        subject: Message,
        prefix: str,
        data: Any,
        rows: list[Place],
        found: Places,
        owner_of: Callable[[int], Any],
    ) -> None:
        """Count the records of a message whose fields are counted already. `owner_of` returns the owner of a span."""
        topic: tuple[int, int, int] | None = None
        partition: tuple[int, int] | None = None
        total = 0
        packet = packet_of(subject)
        request = request_of(subject)
        kind = kind_of(subject)
        api_key = api_key_of(subject)
        produce = kind == "request" and api_key == PRODUCE
        fetched = _fetched(request) if kind == "response" and api_key == FETCH else None

        def where() -> dict[str, Any]:
            place = {"topic": named(), "partition": numbered()}
            return self._named(subject) | {name: value for name, value in place.items() if value is not None}

        def named() -> str | None:
            return topic and topic_at(found, topic[0], data[topic[1] : topic[2]], partial(topic_name, subject))

        def numbered() -> int | None:
            return partition and number_at(data[partition[0] : partition[1]])

        for at, node, value, end in rows:
            role = found.by_node[node]
            if role == PARTITION:
                partition = value, end
            elif role != RECORDS:
                topic = node, value, end
            elif size := end - value:
                total += size
                leaf = found.entry.program.leaves[node]
                owner = owner_of(at)
                path = prefix + leaf.path
                self._wire.add(owner, path, in_body(leaf), 0, -size, 0)
                sets = self._sets(owner, f"{path}[].", AUTO, produced=produce)
                sets.largest_batch = 0
                sets.largest_record = 0
                sets.add(data, value, end)
                self._see_batches(sets, packet, where)
                if produce:
                    self.largest.see("append", size, packet, where)
                elif fetched:
                    self.largest.see(
                        f"{fetched}-partition",
                        size,
                        packet,
                        where,
                        partial(_requested, request, "partitionMaxBytes"),
                    )
        if produce:
            self.largest.see("request-batches", total, packet, partial(self._named, subject))
        elif fetched:
            self.largest.see(
                fetched, total, packet, partial(self._named, subject), partial(_requested, request, "maxBytes")
            )

    def whole(self, owner: Any, data: Any, form: str, where: dict[str, Any]) -> Iterator[int]:
        """Count a record set or segment of a partition. Yield the position after each batch."""
        sets = self._sets(owner, "", form, produced=True)
        sets.largest_batch = 0
        sets.largest_record = 0
        at = 0
        for end in sets.steps(data, 0, len(data)):
            self._see_batches(sets, 0, partial(dict, where, position=at))
            yield end
            at = end
        self.largest.see("append", len(data), 0, lambda: where)

    def _sets(self, owner: Any, prefix: str, form: str, *, produced: bool) -> RecordSets:
        sets = self._record_sets.get((owner, prefix))
        if sets is None:
            sets = self._record_sets[owner, prefix] = RecordSets(
                self._wire,
                self._inside,
                self._sizes_of(owner),
                owner=owner,
                prefix=prefix,
                form=form,
                limits=self._limits,
                produced=produced,
            )
        return sets

    def _see_batches(self, sets: RecordSets, packet: int, where: Callable[[], dict[str, Any]]) -> None:
        sizes = self.largest.sizes
        if sets.largest_batch >= sizes["batch"]:
            self.largest.see("batch", sets.largest_batch, packet, where)
        if sets.produced and sets.largest_record >= sizes["record"]:
            self.largest.see("record", sets.largest_record, packet, where)


def _fetched(request: Captured | None) -> str:
    """Return "replicated" if the request has a node id in `replicaId`, as only followers do; else "fetched"."""
    return "replicated" if any(number >= 0 for number in _numbers(request, "replicaId")) else "fetched"


def _requested(request: Captured | None, name: str) -> int | None:
    """Return the largest number in the fields of this name of a request."""
    return max(_numbers(request, name), default=None)


def _numbers(request: Captured | None, name: str) -> list[int]:
    if request is None:
        return []
    plain = request.plain
    if plain and name in plain.layout.roles.top:
        return [plain.top(name)]
    if plain:
        spans = plain.spans
    elif request.read:
        spans = request.read[1]
    else:
        return []
    wanted = {leaf.id for leaf in spans.program.leaves if leaf.name == name and leaf.kind == "int32"}
    return [
        number_at(spans.data[spans.value[at] : spans.end[at]]) for at, node in enumerate(spans.node) if node in wanted
    ]
