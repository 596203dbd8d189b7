"""Values and bytes of single types explained, as they would stand in a message."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.anomalies import anomalies
from kwire_cli.engine.lower import lower
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.explain.model import Event, Part
from kwire_cli.explain.walk import steps
from kwire_cli.structs.messages import MessageStruct
from kwire_cli.structs.numbers import FIXED, INTS, UVARINT, ZIGZAG, ZIGZAG_LONG
from kwire_cli.structs.sized import ArrayOf, Sized
from kwire_cli.structs.tags import UNKNOWN_KEY, TaggedField, TagSection

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Type:
    """A type that can be explained by itself: its declaration and a value for those who have none. `text` says that values are text, not JSON."""

    decl: Any
    example: Any
    text: bool = False


def _sized(kind: str, example: str) -> dict[str, Type]:
    forms = [(compact, nullable) for compact in (False, True) for nullable in (False, True)]
    return {
        f"{'compact-' * compact}{'nullable-' * nullable}{kind}": Type(Sized(kind, compact=compact, nullable=nullable), example, text=True)
        for compact, nullable in forms
    }


TYPES: dict[str, Type] = {
    **{name: Type(INTS[name], -2 if name[0] == "i" else 300) for name in INTS},
    "boolean": Type(FIXED["bool"], example=True),
    "float64": Type(FIXED["float64"], 1.5),
    "uuid": Type(FIXED["uuid"], "Wg6nBlB7TIOaMoA5IIT1cA", text=True),
    "unsigned-varint": Type(UVARINT, 300),
    "varint": Type(ZIGZAG, 300),
    "varlong": Type(ZIGZAG_LONG, -300),
    **_sized("string", "orders"),
    **_sized("bytes", "AQID"),
    "array": Type(ArrayOf(INTS["int32"], compact=False, nullable=True), [1, 2]),
    "compact-array": Type(ArrayOf(INTS["int32"], compact=True, nullable=True), [1, 2]),
}
"""By name, as the protocol guide calls them."""

_TAGGED = TaggedField(0, "known", Sized("string", compact=True, nullable=True), None)
TAGS = MessageStruct([], TagSection((_TAGGED,)), {})
"""A tag section that knows tag 0, a string."""
TAG_EXAMPLE = {"known": "rack-1", UNKNOWN_KEY: [{"tag": 7, "data": "AQI="}]}


def value_of(kind: Type, text: str | None) -> Any:
    """A value of a type in JSON form, by what somebody typed; that of the type's example where it is None."""
    if text is None:
        return kind.example
    if kind.text:
        return None if text == "null" else text
    try:
        return json.loads(text)
    except ValueError:
        return text


def explain_value(name: str, decl: Any, value: Any) -> Iterator[Event]:
    """A value as it is written. EncodeError where the type can't have it."""
    data = bytes(_wrapped(decl).build(value if isinstance(decl, MessageStruct) else {"value": value}))
    yield from explain_bytes(name, decl, data)


def explain_bytes(name: str, decl: Any, data: bytes) -> Iterator[Event]:
    """Bytes read as a type."""
    entry = lower(_wrapped(decl))
    spans = walk(entry, data)
    tree = build(entry, spans)
    odd = Part.where_they_are(anomalies(tree))
    size = f"{len(data)} byte{'s' * (len(data) != 1)}"
    part = Part(name, size, "", "", tree, odd)
    yield part
    yield from steps(part, every=True)


def _wrapped(decl: Any) -> MessageStruct:
    return decl if isinstance(decl, MessageStruct) else MessageStruct(["value" / decl], None, {})
