"""Clients that are logged in, and may not do what they ask for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.places import Places, client_of
from kwire_cli.analysis.diagnosis.tallies import Book
from kwire_cli.errors import counted, few

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call

REFUSED = FindingKind(
    "AUTHORIZATION_FAILED",
    "error",
    "A client has no permission for what it asks.",
    "The client is logged in (or the listener needs no login), but no ACL allows its principal this operation on this "
    "resource. Brokers also refuse access to resources without any ACL, unless allow.everyone.if.no.acl.found is true.",
    "Add an ACL with kafka-acls.sh --add --allow-principal User:NAME, the --operation that the api needs (Read, "
    "Write, Describe, ...), and --topic, --group, --transactional-id or --cluster. The broker's log "
    "kafka.authorizer.logger names principal and operation.",
    ("KIP-11",),
    rank=15,
)
KINDS_OF_RESOURCE = {
    29: ("TOPIC_AUTHORIZATION_FAILED", "topic"),
    30: ("GROUP_AUTHORIZATION_FAILED", "group"),
    31: ("CLUSTER_AUTHORIZATION_FAILED", "cluster"),
    53: ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "transactional id"),
    65: ("DELEGATION_TOKEN_AUTHORIZATION_FAILED", "delegation token"),
}
"""The error codes of missing permissions, with the kinds of resources that they are about."""
NAMES = {name: code for code, (name, _) in KINDS_OF_RESOURCE.items()}
FIELDS = {
    "topic": ("topic", "name", "topicName", "resourceName"),
    "group": ("groupId", "group", "key", "coordinatorKey", "name"),
    "transactional id": ("transactionalId", "key", "coordinatorKey"),
}
"""Fields that name a resource of a kind."""
MOST_NAMES = 1 << 10
MOST_DEPTH = 8


@dataclass
class _Refusals:
    names: set[str] = field(default_factory=set)
    apis: set[str] = field(default_factory=set)
    evidence: Places = field(default_factory=Places)


class Authorization(Rule):
    """Refused requests by client and kind of resource."""

    KINDS = (REFUSED,)

    unusual_only = True

    def __init__(self) -> None:
        self._refusals: Book[tuple[str, int], _Refusals] = Book(_Refusals)

    def call(self, call: Call) -> None:
        """Take a call: its errors say whether something was not allowed."""
        errors = call.errors
        if not errors:
            return
        for error in errors:
            code = NAMES.get(error) if isinstance(error, str) else None
            if code is None:
                continue
            refusals = self._refusals[client_of(call), code]
            refusals.apis.add(call.api)
            refusals.evidence.add(call.evidence())
            for name in _refused(call, code):
                if len(refusals.names) < MOST_NAMES:
                    refusals.names.add(name)

    def merge(self, other: Authorization) -> None:
        for key, its in other._refusals.items():
            own = self._refusals[key]
            own.names |= its.names
            own.apis |= its.apis
            own.evidence.merge(its.evidence)

    def findings(self) -> Iterator[Finding]:
        for (who, code), refusals in self._refusals.items():
            error, kind = KINDS_OF_RESOURCE[code]
            names = sorted(refusals.names)
            what = f"{kind} {few(names, 5)}" if names else f"the {kind}"
            apis = ", ".join(sorted(refusals.apis)[:5])
            count = refusals.evidence.count
            text = f"{counted(count, 'response')} with {error} for {what}: {apis}"
            yield Finding(REFUSED, f"client {who}", text, refusals.evidence.earliest, count)


def _refused(call: Call, code: int) -> Iterator[str]:
    """Yield the names of the resources that a response refuses with an error code, as far as it or its request says."""
    kind = KINDS_OF_RESOURCE[code][1]
    if kind not in FIELDS:
        return
    names = dict.fromkeys(_at(call, call.response, code, kind, (), 0))
    if not names and (name := _name(call, call.request, kind)):
        names[name] = None
    if not names and kind == "topic":
        names.update(dict.fromkeys(call.topics))
    yield from names


def _at(call: Call, value: Any, code: int, kind: str, around: tuple[dict[str, Any], ...], depth: int) -> Iterator[str]:
    """Yield the names of the parts of a body that have an error code, or of the closest part around with a name."""
    if depth > MOST_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            yield from _at(call, item, code, kind, around, depth + 1)
    elif isinstance(value, dict):
        inside = (value, *around)
        if value.get("errorCode") == code:
            for part in inside:
                if name := _name(call, part, kind):
                    yield name
                    break
        for item in value.values():
            if isinstance(item, dict | list):
                yield from _at(call, item, code, kind, inside, depth + 1)


def _name(call: Call, part: dict[str, Any], kind: str) -> str:
    """Return the name that a part of a body gives a resource of a kind; empty if it gives none."""
    for key in FIELDS[kind]:
        if isinstance(name := part.get(key), str) and name:
            return name
    if kind == "topic" and isinstance(part.get("topicId"), str):
        return call.topic(part)
    return ""
