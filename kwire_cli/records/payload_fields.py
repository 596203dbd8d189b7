"""Payloads in fields of messages: subscriptions and assignments of group members.

To Kafka's protocol these are opaque bytes. A table maps fields to roles, and the protocol's name in the same struct or
an enclosing one selects the definition. Without a name the definition that fits all bytes is used, as a guess.
"""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kwire_cli.engine.codes import Anomaly
from kwire_cli.engine.program import Array, Leaf, Nullable, Struct, Tags
from kwire_cli.engine.tree import tagged_parts
from kwire_cli.engine.values import ABSENT, leaf_value
from kwire_cli.records.payload_model import (
    Payload,
    guessed,
    kept,
    own_definition,
    plain_body,
    schema_versioned,
    versioned,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.engine.tree import Item, Tree
    from kwire_cli.engine.values import Body
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec


# Messages that members of a group exchange through the coordinator: subscriptions and assignments, and the user data in
# them.
#
# Sources: ConsumerProtocol, AbstractStickyAssignor and its children, ConnectProtocol and
# IncrementalCooperativeConnectProtocol (KIP-415, KIP-507), Streams' SubscriptionInfo and AssignmentInfo.

Role = Literal["metadata", "assignment"]
"""The side of a rebalance: the metadata that a member sends, or the assignment that it gets."""


FAMILIES: dict[str, dict[Role, str]] = {
    "consumer": {"metadata": "ConsumerProtocolSubscription", "assignment": "ConsumerProtocolAssignment"},
    "connect": {"metadata": "ConnectWorkerState", "assignment": "ConnectAssignment"},
}
"""The message by protocol type. An int16 version precedes it."""


class Nested(NamedTuple):
    """Bytes in a member's message that are a message again."""

    message: str
    field: str
    role: Role


NESTED = (
    Nested("ConsumerProtocolSubscription", "userData", "metadata"),
    Nested("ConsumerProtocolAssignment", "userData", "assignment"),
    Nested("ConnectWorkerState", "allocation", "assignment"),
)


class UserData(NamedTuple):
    """User data of an assignor: a definition, and its version if the bytes do not contain it."""

    name: str
    version: int | None


_STICKY = (UserData("StickyAssignorUserData", 1), UserData("StickyAssignorUserData", 0))
_COOPERATIVE = UserData("CooperativeStickyAssignorUserData", 0)

ASSIGNORS: dict[str, dict[Role, tuple[UserData, ...]]] = {
    # Sarama's sticky assignor repeats the user data in assignments; librdkafka's cooperative assignor writes the user
    # data of its eager one.
    "sticky": {"metadata": _STICKY, "assignment": _STICKY},
    "cooperative-sticky": {"metadata": (_COOPERATIVE, *_STICKY), "assignment": (_COOPERATIVE, *_STICKY)},
    "stream": {
        "metadata": (UserData("SubscriptionInfoData", None),),
        "assignment": (UserData("AssignmentInfo", None),),
    },
}
"""What user data can be, by the name of the protocol that the group chose; of several the first that takes all
bytes."""

_UNNAMED: dict[Role, tuple[UserData, ...]] = {
    "metadata": (UserData("SubscriptionInfoData", None), _STICKY[0]),
    "assignment": (UserData("AssignmentInfo", None), _STICKY[0]),
}
"""The candidates if the assignor is unknown. The cooperative assignor is omitted, because its user data matches any
four
bytes."""


def definition(catalog: Catalog, name: str) -> MessageSpec:
    """Return the definition of a payload: Kafka's, or kwire's definition for bytes that Kafka encodes by hand."""
    return own_definition(name) if name in _OWN else catalog.message(name)


_OWN = frozenset(
    {
        "StickyAssignorUserData",
        "CooperativeStickyAssignorUserData",
        "ConnectWorkerState",
        "ConnectAssignment",
        "AssignmentInfo",
    }
)


def member_payloads(
    catalog: Catalog, role: Role, protocol_type: str | None, protocol: str | None, data: Any, path: str
) -> list[Payload]:
    """Return the payload in a member's bytes at `path`, followed by the payloads inside it.

    Return an empty list for a protocol type outside Kafka. Without a protocol type, as in SyncGroup below
    version 5, the payload is the one that takes all bytes, as a guess, if there is one.
    """
    if not len(data):  # a member without an assignment has empty bytes
        return []
    if protocol_type:
        if protocol_type not in FAMILIES:
            return []
        payload: Payload | None = versioned(path, definition(catalog, FAMILIES[protocol_type][role]), data)
    else:
        tried = (versioned(path, definition(catalog, family[role]), data) for family in FAMILIES.values())
        payload = next((guessed(payload) for payload in tried if _fits(payload)), None)
    return [payload, *_inside(catalog, payload, protocol)] if payload else []


def _inside(catalog: Catalog, payload: Payload, protocol: str | None) -> Iterator[Payload]:
    body = payload.body
    for nested in NESTED:
        if not body or nested.message != payload.type or not len(data := _field(body, nested.field)):
            continue
        path = f"{payload.path}.{nested.field}"
        if nested.field == "allocation":
            inner: Payload | None = versioned(path, definition(catalog, FAMILIES["connect"][nested.role]), data)
        else:
            inner = user_data(catalog, nested.role, protocol, data, path)
        if inner:
            yield replace(inner, guess=inner.guess or payload.guess)


def _field(body: Body, name: str) -> Any:
    """Return the bytes of a field of the message itself; empty if the field is null or truncated."""
    part = next(
        (
            part
            for part in body.tree.root.each()
            if part.node.name == name and isinstance(part.node, Leaf) and part.whole
        ),
        None,
    )
    return body.raw.data[body.raw.value[part.span] : part.end] if part else b""


def user_data(catalog: Catalog, role: Role, protocol: str | None, data: Any, path: str) -> Payload | None:
    """Return the user data of an assignor by the protocol's name; None if the assignor is unknown or has no user
    data.
    """
    if protocol:
        candidates = [
            _read(path, definition(catalog, kind.name), kind.version)(data)
            for kind in ASSIGNORS.get(protocol, {}).get(role, ())
        ]
        complete = (payload for payload in candidates if payload.body and payload.body.complete)
        return (
            next((payload for payload in candidates if payload.exact), None)
            or next(complete, None)
            or next(iter(candidates), None)
        )
    tried = (_read(path, definition(catalog, kind.name), kind.version)(data) for kind in _UNNAMED[role])
    return next((guessed(payload) for payload in tried if _fits(payload)), None)


def _fits(payload: Payload) -> bool:
    return payload.exact and not payload.anomalies


def _read(path: str, spec: MessageSpec, version: int | None) -> Callable[[Any], Payload]:
    return lambda data: schema_versioned(path, spec, data) if version is None else plain_body(path, spec, version, data)


# Payloads in the fields of requests, responses and coordinator records: which field holds what, as data, and
# where each one is.
#
# An Envelope's inner request and response need headers, which is the message room's work.


class Member(NamedTuple):
    """Bytes of a group's member. `protocol_type` and `protocol` are the fields that identify their format, in the
    struct itself or an enclosing one; or "=consumer".
    """

    message: str
    path: str
    role: Role
    protocol_type: str
    protocol: str


MEMBERS = (
    Member("JoinGroupRequest", "protocols[].metadata", "metadata", "protocolType", "name"),
    Member("JoinGroupResponse", "members[].metadata", "metadata", "protocolType", "protocolName"),
    Member("SyncGroupRequest", "assignments[].assignment", "assignment", "protocolType", "protocolName"),
    Member("SyncGroupResponse", "assignment", "assignment", "protocolType", "protocolName"),
    Member("DescribeGroupsResponse", "groups[].members[].memberMetadata", "metadata", "protocolType", "protocolData"),
    Member(
        "DescribeGroupsResponse", "groups[].members[].memberAssignment", "assignment", "protocolType", "protocolData"
    ),
    Member("GroupMetadataValue", "members[].subscription", "metadata", "protocolType", "protocol"),
    Member("GroupMetadataValue", "members[].assignment", "assignment", "protocolType", "protocol"),
    # A classic member of a consumer group (KIP-848) always uses the consumer protocol.
    Member(
        "ConsumerGroupMemberMetadataValue",
        "classicMemberMetadata.supportedProtocols[].metadata",
        "metadata",
        "=consumer",
        "name",
    ),
)


class Other(NamedTuple):
    """Other bytes: their message, path and kind."""

    message: str
    path: str
    kind: str


PRINCIPAL = "DefaultPrincipalData"
ADDRESS = "InetAddress"
TELEMETRY = "MetricsData"

OTHERS = (
    Other("EnvelopeRequest", "requestPrincipal", PRINCIPAL),
    Other("EnvelopeRequest", "clientHostAddress", ADDRESS),
    Other("PushTelemetryRequest", "metrics", TELEMETRY),
)


@cache
def _holders(message: str) -> tuple[Member | Other, ...]:
    return tuple(row for row in (*MEMBERS, *OTHERS) if row.message == message)


def holds_payloads(message: str) -> bool:
    """Return whether a message has fields that hold payloads."""
    return bool(_holders(message))


def payloads_of(catalog: Catalog, spec: MessageSpec, version: int, tree: Tree) -> list[Payload]:  # noqa: ARG001 - a layout may come to depend on it
    """Return the payloads in the fields of a decoded message, in the order of the table and then of the bytes.

    Paths are field paths, `protocols[0].metadata`. A payload inside a payload has a longer path,
    `protocols[0].metadata.userData`.
    """
    payloads: list[Payload] = []
    for row in _holders(spec.name):
        for path, item, scope in _reach(tree.root, row.path.replace("[]", "").split("."), "", ()):
            data = tree.spans.data[tree.spans.value[item.span] : item.end]
            payloads += (
                _member(catalog, row, data, path, scope, tree)
                if isinstance(row, Member)
                else _other(catalog, row, data, path, scope, tree)
            )
    return payloads


def _reach(
    item: Item, names: list[str], path: str, scope: tuple[Item, ...]
) -> Iterator[tuple[str, Item, tuple[Item, ...]]]:
    """Yield every leaf of that path, with its full path and the enclosing structs, the outermost first."""
    node = item.node
    if isinstance(node, Leaf):
        if item.whole and not names:
            yield path, item, scope
    elif isinstance(node, Array):
        for part in islice(item.each(), 1, None):
            yield from _reach(part, names, f"{path}[{part.index}]", scope)
    elif isinstance(node, Nullable):
        for part in islice(item.each(), 1, None):
            yield from _reach(part, names, path, scope)
    elif isinstance(node, Struct) and names:
        for part in _fields(item):
            if part.node.name == names[0]:
                yield from _reach(part, names[1:], f"{path}.{names[0]}" if path else names[0], (*scope, item))


def _fields(struct: Item) -> Iterator[Item]:
    """Yield the fields of a struct, followed by the known fields of its tag section."""
    for part in struct.each():
        if isinstance(part.node, Tags):
            yield from (field for header, field in tagged_parts(part) if header.tag is None)
        else:
            yield part


def _enclosing_value(name: str, scope: tuple[Item, ...], tree: Tree) -> Any:
    """Return the field of that name in the innermost struct that has it, or None if no struct has it."""
    for struct in reversed(scope):
        for part in _fields(struct):
            if part.node.name == name and isinstance(part.node, Leaf):
                value = leaf_value(part, tree)
                return None if value is ABSENT else value
    return None


def _member(catalog: Catalog, row: Member, data: Any, path: str, scope: tuple[Item, ...], tree: Tree) -> list[Payload]:
    fixed = row.protocol_type.startswith("=")
    protocol_type = row.protocol_type[1:] if fixed else _enclosing_value(row.protocol_type, scope, tree)
    return member_payloads(catalog, row.role, protocol_type, _enclosing_value(row.protocol, scope, tree), data, path)


def _other(catalog: Catalog, row: Other, data: Any, path: str, scope: tuple[Item, ...], tree: Tree) -> list[Payload]:
    if not len(data):
        return []
    if row.kind == TELEMETRY:
        from kwire_cli.records.telemetry import telemetry  # noqa: PLC0415 - it decompresses, which other messages need not load

        return [telemetry(path, _enclosing_value("compressionType", scope, tree), data)]
    if row.kind == ADDRESS:
        return [address(path, data)]
    payload = versioned(path, definition(catalog, PRINCIPAL), data)
    # Another KafkaPrincipalBuilder may write any bytes.
    return [payload if payload.exact else replace(payload, guess=True)]


def address(path: str, data: Any) -> Payload:
    """Return the text of the raw 4 or 16 bytes of an address (InetAddress.getAddress)."""
    try:
        return Payload(path, ADDRESS, None, data, plain=str(ipaddress.ip_address(bytes(data))))
    except ValueError:
        return kept(
            path,
            ADDRESS,
            None,
            data,
            Anomaly("INVALID_LENGTH", "", 0, f"an address has 4 or 16 bytes, not {len(data)}"),
        )
