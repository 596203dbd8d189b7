"""What members of a group tell each other through the coordinator: subscriptions and assignments, and the user data in them.

Sources: ConsumerProtocol, AbstractStickyAssignor and its children, ConnectProtocol and IncrementalCooperativeConnectProtocol (KIP-415, KIP-507),
Streams' SubscriptionInfo and AssignmentInfo.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kwire_cli.engine.program import Leaf
from kwire_cli.payload.body import own_definition
from kwire_cli.payload.model import Payload, guessed, plain_body, schema_versioned, versioned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.engine.body import Body
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec

Role = Literal["metadata", "assignment"]
"""What a member brings to a rebalance, or what it gets from it."""

FAMILIES: dict[str, dict[Role, str]] = {
    "consumer": {"metadata": "ConsumerProtocolSubscription", "assignment": "ConsumerProtocolAssignment"},
    "connect": {"metadata": "ConnectWorkerState", "assignment": "ConnectAssignment"},
}
"""The message by protocol type; an int16 version stands before it."""


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
    """User data of an assignor: a definition, and its version where the bytes do not say it."""

    name: str
    version: int | None


_STICKY = (UserData("StickyAssignorUserData", 1), UserData("StickyAssignorUserData", 0))
_COOPERATIVE = UserData("CooperativeStickyAssignorUserData", 0)

ASSIGNORS: dict[str, dict[Role, tuple[UserData, ...]]] = {
    # Sarama's sticky assignor repeats the user data in assignments; librdkafka's cooperative one writes that of the eager one.
    "sticky": {"metadata": _STICKY, "assignment": _STICKY},
    "cooperative-sticky": {"metadata": (_COOPERATIVE, *_STICKY), "assignment": (_COOPERATIVE, *_STICKY)},
    "stream": {"metadata": (UserData("SubscriptionInfoData", None),), "assignment": (UserData("AssignmentInfo", None),)},
}
"""What user data can be, by the name of the protocol that the group chose; of several the first that takes all bytes."""

_UNNAMED: dict[Role, tuple[UserData, ...]] = {
    "metadata": (UserData("SubscriptionInfoData", None), _STICKY[0]),
    "assignment": (UserData("AssignmentInfo", None), _STICKY[0]),
}
"""What is tried where no name is known. Any four bytes are the user data of the cooperative assignor, so that it is not among them."""


def definition(catalog: Catalog, name: str) -> MessageSpec:
    """The definition of a payload: Kafka's, or kwire's own of what Kafka writes by hand."""
    return own_definition(name) if name in _OWN else catalog.message(name)


_OWN = frozenset({"StickyAssignorUserData", "CooperativeStickyAssignorUserData", "ConnectWorkerState", "ConnectAssignment", "AssignmentInfo"})


def member_payloads(catalog: Catalog, role: Role, protocol_type: str | None, protocol: str | None, data: Any, path: str) -> list[Payload]:
    """What a member's bytes at `path` are, followed by what lies inside them; nothing where the protocol type is somebody else's.

    Without a protocol type (SyncGroup below version 5 has none) it is the one that takes all bytes, as a guess, if there is one.
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
    """The bytes of a field of the message itself; none where it is null or was not reached."""
    part = next((part for part in body.tree.root.each() if part.node.name == name and isinstance(part.node, Leaf) and part.whole), None)
    return body.raw.data[body.raw.value[part.span] : part.end] if part else b""


def user_data(catalog: Catalog, role: Role, protocol: str | None, data: Any, path: str) -> Payload | None:
    """The user data of an assignor by the protocol's name; nothing for one that has none, or that is not known."""
    if protocol:
        candidates = [_read(path, definition(catalog, kind.name), kind.version)(data) for kind in ASSIGNORS.get(protocol, {}).get(role, ())]
        complete = (payload for payload in candidates if payload.body and payload.body.complete)
        return next((payload for payload in candidates if payload.exact), None) or next(complete, None) or next(iter(candidates), None)
    tried = (_read(path, definition(catalog, kind.name), kind.version)(data) for kind in _UNNAMED[role])
    return next((guessed(payload) for payload in tried if _fits(payload)), None)


def _fits(payload: Payload) -> bool:
    return payload.exact and not payload.anomalies


def _read(path: str, spec: MessageSpec, version: int | None) -> Callable[[Any], Payload]:
    return lambda data: schema_versioned(path, spec, data) if version is None else plain_body(path, spec, version, data)
