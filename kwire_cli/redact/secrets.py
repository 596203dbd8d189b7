"""Secrets in messages: which fields hold them, as data, and which spans of a decoded message these are.

Kafka's own request log hides the values of AlterConfigs alone; here SASL tokens, SCRAM salts and keys, delegation-token HMACs and the values of
sensitive configs are hidden too, and what contains them: a forwarded request, and bytes of such a message that could not be decoded.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from kwire_cli.engine.program import Leaf, Struct
from kwire_cli.engine.tree import Item, places
from kwire_cli.engine.values import leaf_value
from kwire_cli.message.frames import Hints, read

if TYPE_CHECKING:
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.spec.catalog import Catalog

SECRET_FIELDS: dict[str, frozenset[str]] = {
    "SaslAuthenticateRequest": frozenset({"authBytes"}),
    "SaslAuthenticateResponse": frozenset({"authBytes"}),
    "AlterUserScramCredentialsRequest": frozenset({"upsertions[].salt", "upsertions[].saltedPassword"}),
    "UserScramCredentialRecord": frozenset({"salt", "storedKey", "serverKey"}),
    "CreateDelegationTokenResponse": frozenset({"hmac"}),
    "RenewDelegationTokenRequest": frozenset({"hmac"}),
    "ExpireDelegationTokenRequest": frozenset({"hmac"}),
    "DescribeDelegationTokenResponse": frozenset({"tokens[].hmac"}),
    # A response carries nothing that tells what it answers, so that what it holds can't be looked at.
    "EnvelopeResponse": frozenset({"responseData"}),
}
"""Fields that are secret whatever their value, by message and path."""

CONFIG_VALUES: dict[str, frozenset[str]] = {
    "AlterConfigsRequest": frozenset({"resources[].configs[].value"}),
    "IncrementalAlterConfigsRequest": frozenset({"resources[].configs[].value"}),
    "DescribeConfigsResponse": frozenset({"results[].configs[].value", "results[].configs[].synonyms[].value"}),
    "CreateTopicsRequest": frozenset({"topics[].configs[].value"}),
    "CreateTopicsResponse": frozenset({"topics[].configs[].value"}),
    "ConfigRecord": frozenset({"value"}),
}
"""Fields that are secret where the field `name` beside them names a sensitive config."""

FORWARDED: dict[str, str] = {"EnvelopeRequest": "requestData"}
"""Fields that hold a whole request, secret where something in it is."""

_SENSITIVE = (
    r"password|secret|jaas|credential|private|certificate|(?:access|api|auth|encryption|master|signing|keystore)[._-]?key|(?:auth|bearer)[._-]?token"
)


@cache
def _sensitive() -> re.Pattern[str]:
    return re.compile(_SENSITIVE, re.IGNORECASE)


def is_sensitive_config(name: str) -> bool:
    """Whether a config's value is one that Kafka keeps as a password (ConfigDef.Type.PASSWORD), by its name."""
    return bool(_sensitive().search(name))


def hidden_spans(catalog: Catalog, decoded: Decoded) -> frozenset[int]:
    """The numbers of the spans that hold secrets, the gap among them where a message that can hold some could not be decoded to its end."""
    message = decoded.message
    if message not in SECRET_FIELDS and message not in CONFIG_VALUES and message not in FORWARDED:
        return frozenset()
    hidden = {part.span for part in _secret_parts(catalog, decoded) if part.whole and part.end > decoded.raw.value[part.span]}
    if decoded.tree.gap:
        hidden.add(decoded.tree.gap.span)
    return frozenset(hidden)


def hidden_in_frame(catalog: Catalog, frame: Frame) -> dict[str, frozenset[int]]:
    """The hidden spans of a frame's parts, by the name of the part."""
    return {name: hidden for name, part in frame.parts if (hidden := hidden_spans(catalog, part))}


def _secret_parts(catalog: Catalog, decoded: Decoded) -> list[Item]:
    message = decoded.message
    always, configs = SECRET_FIELDS.get(message, frozenset()), CONFIG_VALUES.get(message, frozenset())
    found: list[Item] = []
    for _, item in places(decoded.tree.root):
        node = item.node
        if isinstance(node, Struct):
            found += (part for part in item.parts if part.node.path in configs and _is_sensitive(item, decoded))
        elif not isinstance(node, Leaf) or not item.whole or node.kind in {"count", "presence", "tag-header"}:
            continue
        elif node.path in always or (node.path == FORWARDED.get(message) and _holds_secrets(catalog, decoded, item)):
            found.append(item)
    return found


def _is_sensitive(struct: Item, decoded: Decoded) -> bool:
    names = [leaf_value(part, decoded.tree) for part in struct.parts if part.node.name == "name" and part.whole]
    return not names or is_sensitive_config(str(names[0]))


def _holds_secrets(catalog: Catalog, decoded: Decoded, item: Item) -> bool:
    start = decoded.raw.value[item.span]
    inner = read(catalog, decoded.data, Hints(kind="request"), number=1, start=start, stop=item.end, prefixed=False)
    return not inner.sure or bool(hidden_in_frame(catalog, inner))
