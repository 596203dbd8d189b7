"""Records in the body of a message that are given as a list of batches: written, and put in as the base64 text that a declaration takes."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwire_cli.spec.model import FieldSpec, MessageSpec

    Way = dict[str, "Way | None"]
    """The keys on the way to records; None at the records themselves."""

_TOPIC_KEYS = ("name", "topic")
"""What Produce, Fetch and FetchSnapshot call the topic that holds partitions."""


def with_bytes(spec: MessageSpec, value: Any) -> Any:
    """The value with bytes in place of batches; itself where there are none. EncodeError with the path within the message."""
    way = records_in(spec)
    return _replaced(value, way, "", None) if way else value


def records_in(spec: MessageSpec) -> Way:
    """The way to the records in a message; empty where it can hold none."""
    return _way(spec, spec.fields, {})


def _way(spec: MessageSpec, fields: tuple[FieldSpec, ...], known: dict[str, Way]) -> Way:
    """The way from these fields on; `known` are those of the structs that were seen, so that none is walked twice, not even one that holds itself."""
    found: Way = {}
    for field in fields:
        if field.type == "records":
            found[field.json_name] = None
        elif name := field.struct_name:
            if name not in known:
                known[name] = {}
                known[name] |= _way(spec, spec.struct_fields(field), known)
            if known[name]:
                found[field.json_name] = known[name]
    return found


def _replaced(value: Any, way: Way, path: str, topic: str | None) -> Any:
    """What is no object, or lacks a key, is the declaration's to refuse."""
    if not isinstance(value, dict):
        return value
    own = next((value[key] for key in _TOPIC_KEYS if isinstance(value.get(key), str)), topic)
    changed: dict[str, Any] = {}
    for key, inner in way.items():
        part, where = value.get(key), f"{path}.{key}" if path else key
        if inner is None and isinstance(part, list | tuple):
            changed[key] = _written(part, where, own)
        elif inner is not None and isinstance(part, list | tuple):
            parts = [_replaced(each, inner, f"{where}[{i}]", own) for i, each in enumerate(part)]
            if any(a is not b for a, b in zip(part, parts, strict=True)):
                changed[key] = parts
        elif inner is not None and (new := _replaced(part, inner, where, own)) is not part:
            changed[key] = new
    return value | changed if changed else value


def _written(items: Any, path: str, topic: str | None) -> str:
    from kwire_cli.payload.records import OWN_TOPICS  # noqa: PLC0415 - only messages with batches need what knows records
    from kwire_cli.records.building import within  # noqa: PLC0415
    from kwire_cli.records.writing import write  # noqa: PLC0415

    known = topic if topic in OWN_TOPICS else None
    with within(path):
        return base64.b64encode(write(items, topic=known)).decode("ascii")
