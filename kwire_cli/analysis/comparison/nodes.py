"""The values of two messages in a comparison, as nodes: structs with fields, arrays with elements, and leaves.

A MessageNode is a part of a decoded message and has bytes. A DocumentNode is a part of a JSON document: the batches of
a record set are compared in the JSON form that `kwire decode` prints. Both classes have the same attributes, so that
one walk compares both.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from kwire_cli.analysis.comparison.differences import Side
from kwire_cli.engine.codes import UNREAD
from kwire_cli.engine.program import Array, Leaf, Nullable, Struct, Tags, holds_records
from kwire_cli.engine.python_source import TOPIC, TOPIC_ID
from kwire_cli.engine.tree import is_null, read_count, tagged_parts
from kwire_cli.engine.values import ABSENT, Form, leaf_value, value
from kwire_cli.message.roles import RecordsAs, roles
from kwire_cli.spec.model import field_at
from kwire_cli.structs.lengths import redacted

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from kwire_cli.engine.tree import Item
    from kwire_cli.engine.values import Body

_PLAIN = Form()
NO_FIELD = object()
"""The default of a field that a layout does not have."""
NOT_REACHED = object()
"""The default of a field that is not in the bytes, because they end before it."""
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
"""Fields in JSON names that identify an element of an array if no mapKey does, in the order in which they are tried."""
DERIVED = {
    "batch": frozenset({"position", "size", "crc", "anomalies"}),
    "record": frozenset({"keySize", "valueSize", "sequence"}),
}
"""Fields that follow from the rest of a batch or record. They are not compared."""
BYTES = ("records[].key", "records[].value", "headers[].value")
"""Paths in a batch whose values are bytes in base64."""


@dataclass(frozen=True)
class Operand:
    """One of two messages. `hidden` contains the numbers of the spans with secrets.

    The spans of records are in `hidden` too if records are compared as bytes.
    """

    body: Body
    hidden: frozenset[int] = frozenset()
    reading: RecordsAs = field(default_factory=RecordsAs)

    @property
    def root(self) -> MessageNode:
        """The whole message."""
        return MessageNode(self, self.body.tree.root)

    @cached_property
    def topic_roles(self) -> Mapping[int, str]:
        """The roles of fields by the number of their node, if the message has records."""
        return roles(self.body.spec, self.body.entry).by_node if holds_records(self.body.entry) else {}

    def raw(self, item: Item) -> bytes:
        """Return the bytes of an item."""
        return bytes(self.body.raw.data[item.start : item.end])

    def gap_side(self, path: str) -> Side | None:
        """Return the bytes after the message that could not be decoded."""
        gap = self.body.tree.gap
        if gap is None:
            return None
        size = gap.end - gap.start
        is_hidden = gap.span in self.hidden
        text = redacted(size) if is_hidden else base64.b64encode(self.raw(gap)).decode("ascii")
        return Side(path, text, gap.start, size, is_bytes=not is_hidden)


@dataclass(frozen=True)
class MessageNode:
    """A value in a decoded message, and the topic of the struct that it is in."""

    message: Operand
    item: Item
    topic: str | None = None

    @cached_property
    def raw(self) -> bytes:
        """The bytes of the value."""
        return self.message.raw(self.item)

    @property
    def _content(self) -> Item:
        """The item itself; of a nullable struct that is not null, the struct."""
        return self.item.parts[1] if isinstance(self.item.node, Nullable) and not self.is_null else self.item

    @property
    def kind(self) -> str:
        """`struct`, `array`, `records`, or empty for any other value."""
        node = self._content.node
        if isinstance(node, Leaf):
            return "records" if node.kind == "records" else ""
        if isinstance(node, Struct):
            return "struct"
        return "array" if isinstance(node, Array) else ""

    @property
    def is_null(self) -> bool:
        """Return whether the value is null."""
        item = self.item
        body = self.message.body
        if isinstance(item.node, Leaf):
            return leaf_value(item, body.tree) is None
        if isinstance(item.node, Array):
            return read_count(item.parts[0], body.raw.data) < 0
        return isinstance(item.node, Nullable) and is_null(item.parts[0], body.raw.data)

    @property
    def value(self) -> Any:
        """The value in JSON form, for comparing."""
        return value(self.item, self.message.body.tree, _PLAIN)

    @property
    def identity(self) -> Hashable:
        """The value by which elements of an array are equal: the value of a leaf, or the bytes of a struct."""
        return leaf_value(self.item, self.message.body.tree) if isinstance(self.item.node, Leaf) else self.raw

    @property
    def codes(self) -> list[str]:
        """The codes of the anomalies in the bytes of the value."""
        notes = self.message.body.anomalies
        return sorted({note.code for note in notes if self.item.start <= note.offset < self.item.end})

    @cached_property
    def tags(self) -> MessageNode | None:
        """The tag section of a struct."""
        parts = [part for part in self._content.parts if isinstance(part.node, Tags)]
        return MessageNode(self.message, parts[0]) if parts else None

    @cached_property
    def fields(self) -> dict[str, MessageNode]:
        """The fields of a struct, plain and tagged alike, that are in the bytes. The last tag of a number counts."""
        items: dict[str, Item] = {}
        for part in self._content.parts:
            if isinstance(part.node, Tags):
                for header, tagged in tagged_parts(part):
                    if header.tag is None and _is_reached(tagged):
                        items[tagged.node.name] = tagged
                    elif header.tag is not None and tagged.whole:
                        items[f"_tags[{header.tag}]"] = tagged
            elif _is_reached(part):
                items[part.node.name] = part
        topic = self.topic
        roles_of = self.message.topic_roles
        for item in items.values() if roles_of else ():
            if item.whole and isinstance(item.node, Leaf) and roles_of.get(item.node.id) in {TOPIC, TOPIC_ID}:
                topic = leaf_value(item, self.message.body.tree) or topic
        return {name: MessageNode(self.message, item, topic) for name, item in items.items()}

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The names of all fields that the layout of a struct has, with the defaults of those that may be left out."""
        node = self._content.node
        assert isinstance(node, Struct)  # noqa: S101 - for the type checker
        names = {child.name: NOT_REACHED for child in node.fields}
        is_whole = self.tags is not None and self.tags.item.whole
        for named, default in (node.tags.known if node.tags else {}).values():
            names[named.name] = default if is_whole else NOT_REACHED
        return names

    def names(self, other: MessageNode) -> Iterator[str]:  # noqa: ARG002 - as DocumentNode
        """Yield the names of the fields that are compared."""
        yield from self.defaults
        yield from (name for name in self.fields if name not in self.defaults)

    @cached_property
    def elements(self) -> list[MessageNode]:
        """The elements of an array that are in the bytes."""
        return [MessageNode(self.message, part, self.topic) for part in self.item.parts[1:] if _is_reached(part)]

    @property
    def keys(self) -> list[tuple[str, ...]]:
        """The names of fields that may identify the elements of an array: mapKeys first, then IDENTIFYING."""
        spec = self.message.body.spec
        array = field_at(spec, self.item.node.path.replace("[]", ""))
        keys = tuple(one.json_name for one in (spec.struct_fields(array) if array else ()) if one.map_key)
        return [keys, *IDENTIFYING] if keys else [*IDENTIFYING]

    @property
    def leaves(self) -> dict[str, Any]:
        """The fields of a struct that are leaves and not secret. The key of the struct is one or more of them."""
        items = {name: node.item for name, node in self.fields.items()} if self.kind == "struct" else {}
        tree = self.message.body.tree
        hidden = self.message.hidden
        return {
            name: leaf_value(item, tree)
            for name, item in items.items()
            if isinstance(item.node, Leaf) and item.span not in hidden
        }

    @property
    def payload(self) -> bytes:
        """The bytes of a leaf without its length."""
        raw = self.message.body.raw
        return bytes(raw.data[raw.value[self.item.span] : self.item.end])

    def records(self) -> DocumentNode:
        """Return the batches and gaps of a record set as documents."""
        reading = self.message.reading
        items = list(reading.items(self.payload, self.topic))
        documents = [item.to_json() for item in items]
        shown = [item.to_json(hide=reading.hide) for item in items] if reading.hide else documents
        return DocumentNode(documents, shown, "batch")

    def side(self, path: str, _: str = "", *, raw: bool = False) -> Side:
        """Return this message's side of a difference. With `raw` it contains the bytes, unless they may be a secret."""
        item = self.item
        hidden = self.message.hidden
        is_secret = item.span in hidden if item.span >= 0 else bool(hidden)
        content = None
        if not isinstance(item.node, Tags):
            content = value(item, self.message.body.tree, Form(hidden=hidden))
        return Side(
            path,
            None if content is ABSENT else content,
            item.start,
            item.end - item.start,
            self.message.body,
            None if is_secret else item,
            raw=self.raw if raw and not is_secret else None,
        )


@dataclass(frozen=True)
class DocumentNode:
    """A value in the JSON document of a record set, and the same as it is shown, with secrets redacted.

    `level` is "batch" for a list of batches and a batch, "record" for a list of records and a record.
    """

    value: Any
    shown: Any
    level: str = ""

    @property
    def kind(self) -> str:
        """`struct` for an object, `array` for a list, empty for any other value."""
        if isinstance(self.value, dict):
            return "struct"
        return "array" if isinstance(self.value, list) else ""

    @property
    def is_null(self) -> bool:
        """Return whether the value is null."""
        return self.value is None

    @property
    def is_unread(self) -> bool:
        """Return whether this is a gap, or a batch with records that cannot be read."""
        return "gap" in self.value or any(note["code"] in UNREAD for note in self.value["anomalies"])

    @property
    def identity(self) -> Hashable:
        """The JSON text by which elements of a list are equal, without derived fields."""
        derived = DERIVED.get(self.level, frozenset())
        is_object = isinstance(self.value, dict)
        return json.dumps({k: v for k, v in self.value.items() if k not in derived} if is_object else self.value)

    @cached_property
    def fields(self) -> dict[str, DocumentNode]:
        """The fields of an object."""
        return {
            name: DocumentNode(part, _part(self.shown, name), "record" if (self.level, name) == _RECORDS else "")
            for name, part in self.value.items()
        }

    @property
    def defaults(self) -> dict[str, Any]:
        """The names of fields that may be missing: all, as if the bytes did not reach them."""
        return {}

    def names(self, other: DocumentNode) -> Iterator[str]:
        """Yield the names of the fields that are compared.

        If the decoded key or value of a record differs, its bytes are not compared.
        """
        left_out = DERIVED.get(self.level, frozenset())
        mine = self.value.get("decoded")
        others = other.value.get("decoded")
        if self.level == "record" and isinstance(mine, dict) and isinstance(others, dict):
            left_out |= {name for name in ("key", "value") if mine.get(name) != others.get(name)}
        yield from (name for name in self.value if name not in left_out)

    @cached_property
    def elements(self) -> list[DocumentNode]:
        """The elements of a list."""
        return [DocumentNode(part, _part(self.shown, at), self.level) for at, part in enumerate(self.value)]

    @property
    def keys(self) -> list[tuple[str, ...]]:
        """The names of fields that may identify the elements of a list."""
        return [("baseOffset",), ("offset",), *IDENTIFYING]

    @property
    def leaves(self) -> dict[str, Any]:
        """The fields of an object. The key of the object is one or more of them."""
        return self.value if isinstance(self.value, dict) else {}

    def side(self, path: str, field_path: str = "", *, raw: bool = False) -> Side:  # noqa: ARG002 - it has no bytes
        """Return this document's side of a difference at a path without indexes."""
        is_text = isinstance(self.shown, str) and not self.shown.startswith("<")
        return Side(path, self.shown, is_bytes=is_text and field_path.endswith(BYTES))


Node: TypeAlias = MessageNode | DocumentNode
_RECORDS = ("batch", "records")


def _is_reached(item: Item) -> bool:
    """Return whether the bytes contain the start of an item.

    The start is the whole leaf, the count of an array, a presence marker, or the first field of a struct.
    """
    return item.whole or (bool(item.parts) and _is_reached(item.parts[0]))


def _part(shown: Any, key: Any) -> Any:
    """Return a part of a shown value. If a whole value is redacted, all its parts are."""
    if isinstance(shown, list):
        return shown[key]
    return shown[key] if isinstance(shown, dict) and key in shown else shown
