"""What in a body's JSON form has a role, by its definition: topic names and ids, error codes. As `message.roles`, for messages without bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.message.roles import ERROR, TOPIC, TOPIC_ID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.spec.model import FieldSpec, MessageSpec

NO_ID = "A" * 22
"""The text of a uuid that stands for none."""


@dataclass(slots=True)
class Marks:
    """The keys of one object: those whose values have a role, and those of objects in which there are any."""

    roles: dict[str, str] = field(default_factory=dict)
    inner: dict[str, Marks] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.roles or self.inner)


@dataclass(slots=True)
class Found:
    """The values in a body that have a role. `named` are topic ids with the names that stand beside them."""

    topics: list[str] = field(default_factory=list)
    topic_ids: list[str] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)


def marks(spec: MessageSpec) -> Marks:
    """The marks of a message, in all of its versions: a name means the same in each."""
    return _marks(spec, spec.fields)


def _marks(spec: MessageSpec, fields: tuple[FieldSpec, ...]) -> Marks:
    found = Marks()
    for each in fields:
        if role := _role(each):
            found.roles[each.json_name] = role
        elif inner := _marks(spec, spec.struct_fields(each)):
            found.inner[each.json_name] = inner
    return found


def _role(each: FieldSpec) -> str | None:
    name = each.name.lower()
    if each.element_type == "uuid" and name.endswith(("topicid", "topicids")):
        return TOPIC_ID
    if each.type == "int16" and name.endswith("errorcode"):
        return ERROR
    return TOPIC if each.element_type == "string" and each.entity_type == "topicName" else None


def found_in(marked: Marks, *bodies: Any) -> Found:
    """The values with a role in one or several bodies of a message; whatever is not as its definition says is passed over."""
    found = Found()
    for item, its in _objects(marked, bodies):
        names: list[str] = []
        ids: list[str] = []
        for key, role in its.roles.items():
            if key in item:
                _take(item[key], role, found, names, ids)
        found.topics += names
        found.topic_ids += ids
        if len(names) == len(ids) == 1:
            found.named[ids[0]] = names[0]
    return found


def _objects(marked: Marks, values: Any) -> Iterator[tuple[dict[str, Any], Marks]]:
    """The objects in which something has a role, in order, however deep they lie."""
    left: list[tuple[Any, Marks]] = [(value, marked) for value in reversed(values)]
    while left:
        value, its = left.pop()
        if isinstance(value, list):
            left += [(each, its) for each in reversed(value)]
        elif isinstance(value, dict):
            yield value, its
            left += [(value[key], inner) for key, inner in reversed(its.inner.items()) if key in value]


def _take(value: Any, role: str, found: Found, names: list[str], ids: list[str]) -> None:
    if role == ERROR:
        if type(value) is int and value:
            found.errors.append(value)
        return
    texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str) and text]
    if role == TOPIC:
        names += texts
    else:
        ids += [text for text in texts if text != NO_ID]
