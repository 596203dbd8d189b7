"""Roles of fields: topics, ids, error codes, records, secrets.

Roles are determined once per layout, by the names, types and entity types of its fields, and stored by node number.
Values with a role are then read from the spans without a tree, because every frame of a capture needs them.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.program import Array, Leaf, Nullable, Struct
from kwire_cli.engine.python_source import ERROR, TOPIC, TOPIC_ID
from kwire_cli.engine.tree import Item, Tree
from kwire_cli.engine.values import leaf_value
from kwire_cli.spec.kafka import CLUSTER_METADATA, CLUSTER_METADATA_ID, CONNECT_CONFIGS, CONSUMER_OFFSETS
from kwire_cli.spec.model import field_at, fields_by_path
from kwire_cli.structs.composites import UNKNOWN_KEY
from kwire_cli.structs.lengths import redacted
from kwire_cli.structs.numbers import FIXED, FixedInt, shown, uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    from kwire_cli.engine.program import Entry, Node
    from kwire_cli.engine.spans import Spans
    from kwire_cli.records.batch import Batch, Hide, Source
    from kwire_cli.records.codecs import Limits
    from kwire_cli.records.gaps import Gap
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec


# Single fields read from spans without a tree: by role (topic names, topic ids, error codes) or by name. The nodes are
# determined once per layout.


NO_UUID = bytes(16)
NO_ERROR = bytes(2)


class Roles(NamedTuple):
    """The nodes of a layout that have a role: `by_node` has the roles; `top` the leaves of the message itself by name.

    `naming` are the fields for a topic's name and its id in one struct, from which the names of ids are learned.
    `encoded` are the error codes that an overlay gives another form, by node. `message` is the message's name.
    """

    entry: Entry
    by_node: dict[int, str]
    top: dict[str, int]
    naming: tuple[tuple[int, int], ...]
    encoded: dict[int, Any]
    message: str


_ROLES: dict[int, Roles] = {}


def roles(spec: MessageSpec, entry: Entry) -> Roles:
    """Return the roles in a layout."""
    cached = _ROLES.get(id(entry))
    if cached is None:
        by_node = dict(_find(spec, entry))
        top = {field.name: field.id for field in entry.root.fields if isinstance(field, Leaf)}
        codes = {leaf.id: leaf.decl for leaf in entry.program.leaves if by_node.get(leaf.id) == ERROR}
        encoded = {
            node: decl for node, decl in codes.items() if not isinstance(decl, FixedInt) or decl.wire != decl.kind
        }
        naming = tuple(_naming(entry.root, by_node))
        cached = _ROLES[id(entry)] = Roles(
            entry, by_node, top, naming, encoded, spec.name
        )  # it keeps the entry, so that its id stays its own
    return cached


def _find(spec: MessageSpec, entry: Entry) -> Iterator[tuple[int, str]]:
    for leaf in entry.program.leaves:
        if leaf.kind == "uuid" and leaf.name.lower().endswith("topicid"):
            yield leaf.id, TOPIC_ID
        elif leaf.kind == "int16" and leaf.name.lower().endswith("errorcode"):
            yield leaf.id, ERROR
        elif leaf.kind == "string":
            field = field_at(spec, leaf.path.replace("[]", ""))
            if field and field.entity_type == "topicName":
                yield leaf.id, TOPIC


def _naming(node: Node, by_node: dict[int, str]) -> Iterator[tuple[int, int]]:
    if isinstance(node, Struct):
        leaves = [field.id for field in node.fields if isinstance(field, Leaf)]
        names = [leaf for leaf in leaves if by_node.get(leaf) == TOPIC]
        ids = [leaf for leaf in leaves if by_node.get(leaf) == TOPIC_ID]
        if len(names) == len(ids) == 1:
            yield names[0], ids[0]
        for field in node.fields:
            yield from _naming(field, by_node)
    elif isinstance(node, Array | Nullable):
        yield from _naming(node.element if isinstance(node, Array) else node.struct, by_node)


def role_values(found: Roles, raw: Spans, topics: Sequence[str] = ()) -> dict[str, list[bytes]]:
    """Return the bytes of all values that have a role, in order, by role; nothing of a message that is doubtful."""
    out: dict[str, list[bytes]] = {}
    if is_doubtful(found.message, raw, topics):
        return out
    for at, node in enumerate(raw.node):
        if role := found.by_node.get(node):
            value = bytes(raw.data[raw.value[at] : raw.end[at]])
            if node in found.encoded:
                value = _as_shipped(found.encoded[node].read(value))
            out.setdefault(role, []).append(value)
    return out


def _as_shipped(code: int) -> bytes:
    """Return an error code as encoded without an overlay, or in 8 bytes if it does not fit."""
    return code.to_bytes(2 if -0x8000 <= code < 0x8000 else 8, "big", signed=True)


def topics_in(values: dict[str, list[bytes]]) -> tuple[list[str], list[str]]:
    """Return the topic names and the topic ids (as text) among the values with a role, including duplicates."""
    names = [name.decode("utf-8", "replace") for name in values.get(TOPIC, ()) if name]
    return names, [uuid_text(topic) for topic in values.get(TOPIC_ID, ()) if topic != NO_UUID]


def topic_names(found: Roles, raw: Spans) -> list[tuple[str, str]]:
    """Return the ids and names of the topics for which a message contains both, in wire order."""
    pairs: list[tuple[int, int]] = []
    for name_node, id_node in found.naming:
        names = _spans_of_node(raw, name_node)
        ids = _spans_of_node(raw, id_node)
        if len(names) == len(ids):  # they may differ in a truncated message
            pairs += zip(ids, names, strict=True)
    topics: list[tuple[str, str]] = []
    for id_at, name_at in sorted(pairs):
        topic = raw.data[raw.value[id_at] : raw.end[id_at]]
        name = raw.data[raw.value[name_at] : raw.end[name_at]]
        if name and topic != NO_UUID:
            topics.append((uuid_text(topic), str(name, "utf-8", "replace")))
    return topics


def _spans_of_node(raw: Spans, wanted: int) -> list[int]:
    return [at for at, node in enumerate(raw.node) if node == wanted]


def error_codes(values: dict[str, list[bytes]]) -> list[int]:
    """Return the distinct error codes other than 0 among the values with a role."""
    return [*dict.fromkeys(all_error_codes(values))]


def all_error_codes(values: dict[str, list[bytes]]) -> list[int]:
    """Return the error codes other than 0 among the values with a role, including duplicates."""
    return [int.from_bytes(code, "big", signed=True) for code in values.get(ERROR, ()) if code != NO_ERROR]


def top_value(found: Roles, raw: Spans, name: str) -> Any:
    """Return a field of the message itself, not of its structs, in JSON form; None if it is missing."""
    wanted = found.top.get(name, -1)
    if wanted not in raw.node:
        return None
    at = raw.node.index(wanted)
    leaf = raw.program.leaves[wanted]
    item = Item(leaf, raw.end[at - 1] if at else raw.start)
    item.span = at
    item.end = raw.end[at]
    item.whole = True
    return leaf_value(item, Tree(item, None, raw))


# Records in the fields of messages: their batches, and their topic, which determines the types of Kafka's own records.

RAW = "raw"
"""The form of values in which records are bytes."""


def is_internal(topic: str) -> bool:
    """Return whether records of a topic, by its name or id, may be messages of Kafka itself."""
    return topic.startswith("__") or topic == CLUSTER_METADATA_ID or topic.endswith(CONNECT_CONFIGS)


@dataclass(frozen=True, slots=True)
class RecordsAs:
    """The way to read records.

    `names` gives a topic's name for its id, if the name is known. `hide` gives the secrets of a payload. `shown`
    makes the JSON form of a field's bytes, for topics whose records are not Kafka's own messages, if there is a
    faster way.
    """

    catalog: Catalog | None = None
    names: Callable[[str], str] | None = None
    hide: Hide | None = None
    limits: Limits | None = None
    shown: Callable[[bytes], Any] | None = None

    def topic(self, topic: str) -> str:
        """Return the name of a topic, by its name or id."""
        if topic == CLUSTER_METADATA_ID:
            return CLUSTER_METADATA
        return self.names(topic) if self.names else topic

    def items(self, data: Any, topic: str | None, start: int = 0, stop: int | None = None) -> Iterator[Batch | Gap]:
        """Yield the batches in the bytes [start, stop) of a records field, and the gaps between them.

        `topic` is a name or an id.
        """
        items: Iterator[Batch | Gap] = _reading().read_items(self._source(data, topic), start, stop)
        return items

    def record_set(self, data: Any, topic: str | None) -> Sequence[Batch | Gap]:
        """Return the batches and gaps in all bytes of a records field, usually one valid batch."""
        items: Sequence[Batch | Gap] = _reading().record_set(self._source(data, topic))
        return items

    def _source(self, data: Any, topic: str | None) -> Source:
        source: Source = _reading().source_of(
            data, topic=self.topic(topic) if topic else None, catalog=self.catalog, limits=self.limits
        )
        return source

    def to_json(self, data: Any, topic: str | None) -> Any:
        """Return the batches and gaps in a records field, with their records."""
        if self.shown and not (topic and is_internal(self.topic(topic))):
            return self.shown(data)
        return [item.to_json(deep=True, hide=self.hide) for item in self.items(data, topic)]


def _reading() -> ModuleType:
    from kwire_cli.records import reading  # noqa: PLC0415 - few messages hold records

    return reading


class _RecordsPath(NamedTuple):
    """The places of records in a struct.

    `topics` are the struct's fields that identify the topic. `records` are its own records fields. `below` are its
    fields that contain records, by name.
    """

    topics: tuple[str, ...]
    records: tuple[str, ...]
    below: tuple[tuple[str, _RecordsPath], ...]


_RECORDS_PATHS: dict[int, tuple[Roles, _RecordsPath | None]] = {}


class RecordsField(NamedTuple):
    """A records field of a body: its path, the name or id of its topic if known, and the struct that contains it as
    `name`.
    """

    path: str
    topic: str | None
    struct: dict[str, Any]
    name: str


def filled(found: Roles, body: dict[str, Any], reading: RecordsAs) -> dict[str, Any]:
    """Replace the bytes of all records fields of a body in RAW form by their batches. Return the changed body."""
    for _, topic, struct, name in records_fields(found, body):
        struct[name] = reading.to_json(struct[name], topic)
    return body


def records_fields(found: Roles, body: dict[str, Any]) -> Iterator[RecordsField]:
    """Yield the records fields of a body in RAW form that have a value which is not hidden."""
    cached = _RECORDS_PATHS.get(id(found))
    if cached is None:
        # Keeping the roles in the value prevents that another object gets the same id.
        cached = _RECORDS_PATHS[id(found)] = (found, _records_path(found.entry.root, found))
    return _follow_path(cached[1], body, "", None) if cached[1] else iter(())


def _records_path(node: Node, found: Roles) -> _RecordsPath | None:
    if isinstance(node, Nullable):
        node = node.struct
    if isinstance(node, Array):
        return _records_path(node.element, found)
    if not isinstance(node, Struct):
        return None
    fields = [*node.fields, *([tagged for tagged, _ in node.tags.known.values()] if node.tags else ())]
    leaves = [field for field in fields if isinstance(field, Leaf)]
    topics = tuple(leaf.name for leaf in leaves if found.by_node.get(leaf.id) in {TOPIC, TOPIC_ID})
    records = tuple(leaf.name for leaf in leaves if leaf.kind == "records")
    below = tuple((field.name, way) for field in fields if (way := _records_path(field, found)))
    return _RecordsPath(topics, records, below) if records or below else None


def _follow_path(way: _RecordsPath, value: dict[str, Any], path: str, topic: str | None) -> Iterator[RecordsField]:
    for name in way.topics:
        topic = value.get(name) or topic
    for name in way.records:
        data = value.get(name)
        if data is not None and not isinstance(data, str):  # a string is a redacted value
            yield RecordsField(f"{path}{name}", topic, value, name)
    for name, inner in way.below:
        nested = value.get(name)
        if isinstance(nested, dict):
            yield from _follow_path(inner, nested, f"{path}{name}.", topic)
            continue
        for number, struct in enumerate(nested or ()):
            yield from _follow_path(inner, struct, f"{path}{name}[{number}].", topic)


SECRET_FIELDS: dict[str, frozenset[str]] = {
    "SaslAuthenticateRequest": frozenset({"authBytes"}),
    "SaslAuthenticateResponse": frozenset({"authBytes"}),
    "AlterUserScramCredentialsRequest": frozenset({"upsertions[].salt", "upsertions[].saltedPassword"}),
    "UserScramCredentialRecord": frozenset({"salt", "storedKey", "serverKey"}),
    "CreateDelegationTokenResponse": frozenset({"hmac"}),
    "RenewDelegationTokenRequest": frozenset({"hmac"}),
    "ExpireDelegationTokenRequest": frozenset({"hmac"}),
    "DescribeDelegationTokenResponse": frozenset({"tokens[].hmac"}),
    # A response does not identify the request that it answers, so its contents are unknown.
    "EnvelopeResponse": frozenset({"responseData"}),
}
"""Fields that always contain secrets, by message and path."""

CONFIG_VALUES: dict[str, frozenset[str]] = {
    "AlterConfigsRequest": frozenset({"resources[].configs[].value"}),
    "IncrementalAlterConfigsRequest": frozenset({"resources[].configs[].value"}),
    "DescribeConfigsResponse": frozenset({"results[].configs[].value", "results[].configs[].synonyms[].value"}),
    "CreateTopicsRequest": frozenset({"topics[].configs[].value"}),
    "CreateTopicsResponse": frozenset({"topics[].configs[].value"}),
    "ConfigRecord": frozenset({"value"}),
    "StreamsGroupHeartbeatRequest": frozenset(
        f"topology.subtopologies[].{topics}[].topicConfigs[].value"
        for topics in ("repartitionSourceTopics", "stateChangelogTopics")
    ),
    "StreamsGroupDescribeResponse": frozenset(
        f"groups[].topology.subtopologies[].{topics}[].topicConfigs[].value"
        for topics in ("repartitionSourceTopics", "stateChangelogTopics")
    ),
    "StreamsGroupTopologyValue": frozenset(
        f"subtopologies[].{topics}[].topicConfigs[].value"
        for topics in ("repartitionSourceTopics", "stateChangelogTopics")
    ),
    "StreamsGroupMetadataValue": frozenset({"lastAssignmentConfigs[].value"}),
}
"""Fields that are secret if the field `name` or `key` of the same struct names a sensitive config, or if its
`isSensitive` is true."""

FORWARDED: dict[str, str] = {"EnvelopeRequest": "requestData"}
"""Fields that contain a complete request, and are secret if the request contains a secret."""

FETCHED = frozenset({"FetchResponse", "FetchSnapshotResponse"})
"""Messages that transfer the records of the metadata log."""
WITH_RECORDS = FETCHED | {"ProduceRequest", "ShareFetchResponse"}
"""Messages whose records may hold secrets."""

_INDEX = re.compile(r"\[\d+\]")


def can_hold_secrets(message: str | None, *, raw_records: bool = False) -> bool:
    """Return whether a message of this name has any field that may be secret.

    The records of a fetch response are among these fields if they are shown as bytes (`raw_records`).
    """
    return (
        message in SECRET_FIELDS
        or message in CONFIG_VALUES
        or message in FORWARDED
        or (raw_records and message in WITH_RECORDS)
    )


def may_hold_secrets(message: str | None, data: Any, topics: Sequence[str] = ()) -> bool:
    """Return whether a message in some bytes may hold secrets, in its fields or in records of Kafka's own topics.

    `topics` are those that the request of a response names. Without any, names in the bytes decide. Only KRaft fetches
    snapshots, and only of its log.
    """
    if message not in WITH_RECORDS:
        return can_hold_secrets(message)
    if message == "FetchSnapshotResponse":
        return True
    if topics:
        return any(map(is_internal, topics))
    return bool(_own_topics(with_id=message in FETCHED).search(data))


@cache
def _own_topics(*, with_id: bool) -> re.Pattern[bytes]:
    """Return the pattern of the names of topics whose records may hold secrets. The first bytes may be missing."""
    names = [name.lstrip("_").encode() for name in (CLUSTER_METADATA, CONSUMER_OFFSETS, *CONNECT_CONFIGS)]
    ids = [urlsafe_b64decode(f"{CLUSTER_METADATA_ID}==")] if with_id else []
    return re.compile(b"|".join(map(re.escape, names + ids)))


def is_doubtful(message: str, raw: Spans, topics: Sequence[str]) -> bool:
    """Return whether any field of a message may have bytes of a secret: the message may hold secrets and is malformed.

    `topics` are as in `may_hold_secrets`.
    """
    return not raw.aligned and may_hold_secrets(message, memoryview(raw.data)[raw.start : raw.stop], topics)


def has_secret(spec: MessageSpec, path: str) -> bool:
    """Return whether the value at a path of a message may be or contain a secret, independent of other values.

    The path "" is the whole message.
    """
    path = _INDEX.sub("[]", path)
    secret = (
        SECRET_FIELDS.get(spec.name, frozenset())
        | CONFIG_VALUES.get(spec.name, frozenset())
        | {FORWARDED.get(spec.name, "")} - {""}
    )
    secret |= {name for name, field in fields_by_path(spec) if field.type == "records"}
    below = (f"{path}.", f"{path}[]") if path else ("",)
    return any(name == path or name.startswith(below) or path.startswith((f"{name}.", f"{name}[")) for name in secret)


def redacted_value(spec: MessageSpec, path: str, value: Any) -> str:
    """Return the placeholder for a value in JSON form that is or contains a secret; `path` is the path of its field."""
    try:
        return redacted(_size(dict(fields_by_path(spec)), _INDEX.sub("[]", path), value))
    except RecursionError:
        return redacted(len(shown(value)))


def _size(fields: dict[str, FieldSpec], path: str, value: Any) -> int:
    """Return the bytes of a given value without prefixes. A value that its field can't hold counts by its text."""
    if isinstance(value, dict):
        return sum(_size(fields, f"{path}.{key}" if path else key, part) for key, part in value.items())
    if isinstance(value, list | tuple):
        return sum(_size(fields, f"{path}[]", part) for part in value)
    field = fields.get(path.removesuffix("[]"))
    kind = ""
    if field:
        kind = field.element_type
    elif UNKNOWN_KEY in path:
        kind = "bytes"
    if kind in FIXED and value is not None:
        return int(FIXED[kind].sizeof())
    if kind in {"bytes", "records"} and isinstance(value, str):
        return len(value.rstrip("=")) * 3 // 4
    is_tag_number = field is None and kind == "bytes"
    return 0 if value is None or is_tag_number else len(str(value).encode("utf-8", "replace"))
