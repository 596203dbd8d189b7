"""Elements and record sets of two messages compared."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.comparison.differences import Difference, Side, by_key, parts_of, reached
from kwire_cli.engine.codes import UNREAD
from kwire_cli.engine.program import Leaf, Struct, Tags, holds_records
from kwire_cli.engine.python_source import TOPIC, TOPIC_ID
from kwire_cli.engine.values import ABSENT, Form, leaf_value, value
from kwire_cli.message.roles import RecordsAs, roles
from kwire_cli.spec.model import ZERO_UUID, field_at
from kwire_cli.structs.lengths import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.comparison.differences import At, InOrder, Pair, Parts
    from kwire_cli.engine.tree import Item
    from kwire_cli.engine.values import Body
    from kwire_cli.spec.model import FieldSpec

    Row = Mapping[str, Any]
    """An element by the names of its fields, of those at least that may be its key."""


# One of two messages that are compared, and what is known of it while it is walked.

_PLAIN = Form()


@dataclass(frozen=True)
class Operand:
    """One of two messages: `hidden` are the numbers of the spans that hold secrets, records among them where they would
    show as bytes.
    """

    body: Body
    hidden: frozenset[int] = frozenset()
    reading: RecordsAs = field(default_factory=RecordsAs)


class Look:
    """One side while it is walked: its body, how its values are shown, the anomalies by path, and the topic of the
    struct at work.
    """

    def __init__(self, operand: Operand) -> None:
        self.operand, self.body = operand, operand.body
        self.tree, self.data = operand.body.tree, operand.body.raw.data
        self.form = Form(hidden=operand.hidden)
        self.codes: dict[int, set[str]] = {}
        for note in operand.body.anomalies:
            self.codes.setdefault(note.offset, set()).add(note.code)
        self.topics = roles(self.body.spec, self.body.entry).by_node if holds_records(self.body.entry) else {}
        self.topic: str | None = None

    def enter(self, parts: Parts) -> None:
        """Below a struct: its topic is that of what comes now."""
        for item in parts.fields.values() if self.topics else ():
            if item.whole and isinstance(item.node, Leaf) and self.topics.get(item.node.id) in {TOPIC, TOPIC_ID}:
                self.topic = leaf_value(item, self.tree) or self.topic

    def odd(self, item: Item) -> set[str]:
        """The codes of the anomalies of a leaf."""
        value_at = self.tree.spans.value[item.span] if item.span >= 0 else item.start
        return self.codes.get(item.start, set()) | (self.codes.get(value_at, set()) if value_at < item.end else set())

    def raw(self, item: Item) -> bytes:
        """Its bytes."""
        return bytes(self.data[item.start : item.end])

    def value(self, item: Item) -> Any:
        """The value in JSON form, for comparing; ABSENT where the bytes did not reach it."""
        return value(item, self.tree, _PLAIN)

    def side(self, item: Item, path: str, *, raw: bool = False) -> Side:
        """Return this message's side of a difference.

        With `raw` the side has the item's bytes, unless there may be a secret in them.
        """
        content = self._shown(item)
        secret = item.span in self.form.hidden if item.span >= 0 else bool(self.form.hidden)
        data = self.raw(item) if raw and not secret else None
        return Side(path, content, item.start, item.end - item.start, self.body, None if secret else item, raw=data)

    def _shown(self, item: Item) -> Any:
        """The value in JSON form, without secrets: of a count how many there are, None for markers, tag headers and tag
        sections.
        """
        if isinstance(item.node, Tags) or (
            isinstance(item.node, Leaf) and item.node.kind in {"presence", "tag-header"}
        ):
            return None
        content = value(item, self.tree, self.form)
        is_count = isinstance(item.node, Leaf) and item.node.kind == "count"
        null = content is ABSENT or (is_count and isinstance(content, int) and content < 0)
        return None if null else content

    def key_parts(self, element: Item) -> dict[str, Any]:
        """The values of the fields of an element that is a struct and that may be its key, which is shown: no secret is
        one.
        """
        fields = parts_of(element).fields.items() if isinstance(element.node, Struct) else ()
        hidden = self.form.hidden
        return {
            name: leaf_value(item, self.tree)
            for name, item in fields
            if isinstance(item.node, Leaf) and item.span not in hidden
        }

    def payload(self, item: Item) -> bytes:
        """The bytes of a leaf without its length."""
        return bytes(self.data[self.tree.spans.value[item.span] : item.end])

    def record_items(self, item: Item) -> tuple[list[Any], list[Any]]:
        """The batches of a record set, and the gaps between them, in JSON form; and the same with secrets redacted."""
        reading = self.operand.reading
        items = list(reading.items(self.payload(item), self.topic))
        whole = [entry.to_json() for entry in items]
        return whole, [entry.to_json(hide=reading.hide) for entry in items] if reading.hide else whole

    def gap_side(self, item: Item | None, path: str) -> Side | None:
        """The bytes that could not be decoded."""
        if item is None:
            return None
        size, hidden = item.end - item.start, item.span in self.form.hidden
        text = redacted(size) if hidden else base64.b64encode(self.raw(item)).decode("ascii")
        return Side(path, text, item.start, size, is_bytes=not hidden)


# Which elements of two arrays belong together: those with the same key, wherever they stand, else in order.

IDENTIFYING: tuple[tuple[str, ...], ...] = (
    ("resourceType", "resourceName"),
    ("entityType", "entityName"),
    ("principalType", "principalName"),
    ("user", "mechanism"),
    ("topicId",),
    ("topicName",),
    ("topic",),
    ("name",),
    ("partitionIndex",),
    ("partition",),
    ("partitionId",),
    ("index",),
    ("batchIndex",),
    ("subtopologyId",),
    ("topicGroupId",),
    ("groupId",),
    ("memberId",),
    ("transactionalId",),
    ("producerId",),
    ("brokerId",),
    ("nodeId",),
    ("replicaId",),
    ("candidateId",),
    ("voterId",),
    ("resourceName",),
    ("logDir",),
    ("user",),
    ("id",),
    ("firstOffset",),
    ("key",),
)
"""Fields in JSON names that say which element of an array one is where no mapKey does, in the order in which they are
tried."""


def elements(p: Item) -> list[Item]:
    """The elements of an item that is an array, as far as the bytes reach."""
    return [element for element in p.parts[1:] if reached(element)]


def together(
    a: Look, b: Look, p: Item, q: Item, at: At, order: InOrder
) -> Iterator[tuple[At, Item | None, Item | None, bool]]:
    """The elements of two arrays at `at`, None where one array has no such element, and whether another order has
    them.
    """
    mine, other = elements(p), elements(q)
    rows = [a.key_parts(item) for item in mine], [b.key_parts(item) for item in other]
    tried = _candidates(_element_fields(a, p), _element_fields(b, q)) if all(rows[0]) and all(rows[1]) else ()
    for pair, key in paired(*rows, tried, lambda: order.pairs(_identities(a, mine), _identities(b, other))):
        i, j, moved = pair
        yield at.element(i, j, key), None if i is None else mine[i], None if j is None else other[j], moved


def paired(
    a: Sequence[Row], b: Sequence[Row], tried: Iterable[tuple[str, ...]], in_order: Callable[[], list[Pair]]
) -> Iterator[tuple[Pair, str | None]]:
    """The pairs of two arrays by the first key that all elements have, each its own on its side; `in_order` gives them
    where there is no such.

    Beside each stands its key for people: `name="orders"`, `partitionIndex=3`.
    """
    names = next((names for names in tried if _distinct(a, names) and _distinct(b, names)), ())
    for pair in (
        by_key(*([tuple(row[name] for name in names) for row in rows] for rows in (a, b))) if names else in_order()
    ):
        row = a[pair.a] if pair.a is not None else b[pair.b or 0]
        yield pair, ",".join(f"{name}={json.dumps(row[name], ensure_ascii=False)}" for name in names) if names else None


def _candidates(mine: Sequence[FieldSpec], other: Sequence[FieldSpec]) -> Iterator[tuple[str, ...]]:
    """The fields that may be the key of the elements of an array: the mapKeys of each side's definition, then what
    identifies.
    """
    for fields in (mine, other):
        if keys := tuple(field.json_name for field in fields if field.map_key):
            yield keys
    yield from IDENTIFYING


def _distinct(rows: Sequence[Row], names: tuple[str, ...]) -> bool:
    keys = set()
    for row in rows:
        key = tuple(row.get(name) for name in names)
        if None in key or ZERO_UUID in key or any(isinstance(part, dict | list) for part in key):
            return False
        keys.add(key)
    return len(keys) == len(rows)


def _element_fields(look: Look, item: Item) -> Sequence[FieldSpec]:
    """Return the definitions of the fields of an array's elements."""
    spec = look.body.spec
    field_spec = field_at(spec, item.node.path.replace("[]", ""))
    return spec.struct_fields(field_spec) if field_spec else ()


def _identities(look: Look, row: Sequence[Item]) -> list[Hashable]:
    """Return what makes elements equal: values, or the bytes of structs, which differ in another layout."""
    return [leaf_value(element, look.tree) if isinstance(element.node, Leaf) else look.raw(element) for element in row]


# Two record sets in a field, compared by batch and record as `kwire decode` shows them.

KEYS = (("baseOffset",), ("offset",), *IDENTIFYING)
"""Fields that identify a batch, a record and their elements."""


DERIVED = {
    "batch": frozenset({"position", "size", "crc", "anomalies"}),
    "record": frozenset({"keySize", "valueSize", "sequence"}),
}
"""Fields that follow from the rest of a batch or record, and so are no difference of their own."""

BYTES = ("records[].key", "records[].value", "headers[].value")
"""Paths in a batch whose base64 text stands for bytes."""

_INSIDE = {"batch": {"records": "record"}}
"""The lists of which the elements have something that follows from the rest, by the level that they are in."""


def is_unread(item: dict[str, Any]) -> bool:
    """Return whether an item of a record set in JSON form is a gap or a batch with records that cannot be read."""
    return "gap" in item or any(note["code"] in UNREAD for note in item["anomalies"])


def record_differences(
    a: list[Any], b: list[Any], shown: tuple[Any, Any], at: At, order: InOrder
) -> Iterator[Difference]:
    """Yield the differences between the items of two record sets in JSON form.

    `shown` are the same items with secrets redacted.
    """
    yield from _lists(a, b, shown, at, order, "batch")


def _values(a: Any, b: Any, shown: tuple[Any, Any], at: At, order: InOrder, level: str) -> Iterator[Difference]:
    if isinstance(a, dict) and isinstance(b, dict):
        yield from _objects(a, b, shown, at, order, level)
    elif isinstance(a, list) and isinstance(b, list):
        yield from _lists(a, b, shown, at, order, level)
    elif a != b or type(a) is not type(b):
        yield Difference("changed", at, _side(at.a, shown[0], at), _side(at.b, shown[1], at))


def _objects(
    a: dict[str, Any], b: dict[str, Any], shown: tuple[Any, Any], at: At, order: InOrder, level: str
) -> Iterator[Difference]:
    left_out = DERIVED.get(level, frozenset()) | (_meant(a, b) if level == "record" else frozenset())
    for name in [*a, *(name for name in b if name not in a)]:
        if name in left_out:
            continue
        place, parts = at.below(name), (_part(shown[0], name), _part(shown[1], name))
        if name not in b:
            yield Difference("removed", place, _side(place.a, parts[0], place), None)
        elif name not in a:
            yield Difference("added", place, None, _side(place.b, parts[1], place))
        else:
            yield from _values(a[name], b[name], parts, place, order, _INSIDE.get(level, {}).get(name, ""))


def _meant(a: dict[str, Any], b: dict[str, Any]) -> frozenset[str]:
    """The bytes of a record whose difference its decoded key or value tells."""
    mine, other = a.get("decoded"), b.get("decoded")
    if not isinstance(mine, dict) or not isinstance(other, dict):
        return frozenset()
    return frozenset(name for name in ("key", "value") if mine.get(name) != other.get(name))


def _lists(
    a: list[Any], b: list[Any], shown: tuple[Any, Any], at: At, order: InOrder, level: str
) -> Iterator[Difference]:
    tried = KEYS if all(isinstance(item, dict) for item in (*a, *b)) else ()
    for pair, key in paired(
        a,
        b,
        tried,
        lambda: order.pairs(*([json.dumps(_without_derived(item, level)) for item in rows] for rows in (a, b))),
    ):
        i, j, moved = pair
        place = at.element(i, j, key)
        parts = _part(shown[0], i), _part(shown[1], j)
        mine = None if i is None else _side(place.a, parts[0], place)
        other = None if j is None else _side(place.b, parts[1], place)
        if i is None or j is None:
            yield Difference("added" if i is None else "removed", place, mine, other)
            continue
        if moved:
            yield Difference("moved", place, mine, other)
        yield from _values(a[i], b[j], parts, place, order, level)


def _without_derived(value: Any, level: str) -> Any:
    left_out = DERIVED.get(level, frozenset())
    return {name: part for name, part in value.items() if name not in left_out} if isinstance(value, dict) else value


def _part(shown: Any, key: Any) -> Any:
    """A part of what is shown; what is redacted as a whole is so in all its parts."""
    if isinstance(shown, list):
        return None if key is None else shown[key]
    return shown[key] if isinstance(shown, dict) and key in shown else shown


def _side(path: str, value: Any, at: At) -> Side:
    return Side(path, value, is_bytes=isinstance(value, str) and not value.startswith("<") and at.field.endswith(BYTES))
