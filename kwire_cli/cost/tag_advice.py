"""Advice on tagged fields that needs no traffic: what they cost where they are written, counted by writing them at their least values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.errors import KwireError
from kwire_cli.message.encode import build
from kwire_cli.spec.defaults import INTEGER_RANGES, default_value
from kwire_cli.spec.findings import Report, Spot
from kwire_cli.spec.versions import NONE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.spec.findings import Finding
    from kwire_cli.spec.model import FieldSpec, MessageSpec
    from kwire_cli.spec.reading import Definition, Item

_SECTION = 1
"""Bytes of an empty tag section."""
_OTHER: dict[str, Any] = {"string": "a", "bytes": "AA==", "records": "AA==", "uuid": "AAAAAAAAAAAAAAAAAAAAAQ", "float64": 1.0}
"""A small value by type that is not the implicit default."""


class Cost(NamedTuple):
    """Bytes of a tagged field that is written: its tag and size, and its value; and of an ordinary one at its default."""

    header: int
    value: int
    plain_default: int


def tag_advice(definition: Definition) -> list[Finding]:
    """Tagged fields that pay only where they are mostly left out, and structs that spend more on tags than on what they hold.

    All of it at the latest version, where that is flexible.
    """
    spec = definition.spec
    version = spec.valid_versions.high
    if not spec.valid_versions or version not in spec.flexible_versions:
        return []
    report = Report(definition.report.file, definition.report.text)
    for spot, items in _structs(definition):
        _judge(spec, version, spot, [item for item in items if version in item.spec.versions], report)
    return [finding._replace(severity="advice") for finding in report.findings]


def _structs(definition: Definition) -> Iterator[tuple[Spot, Sequence[Item]]]:
    yield Spot().key("fields"), definition.items
    yield from ((struct.spot, struct.items) for struct in definition.structs)
    yield from ((item.spot, item.items) for item in definition.walk() if item.items)


def _judge(spec: MessageSpec, version: int, spot: Spot, items: list[Item], report: Report) -> None:
    tagged = [item for item in items if item.spec.tag is not None and version in item.spec.tagged_versions]
    try:
        costs = [tag_cost(spec, item.spec, version) for item in tagged]
        plain = struct_size(spec, [item.spec for item in items if item not in tagged], version) - _SECTION
    except KwireError:
        return  # what cannot be written is for the rules to say
    for item, cost in zip(tagged, costs, strict=True):
        if cost.header > cost.plain_default:
            left_out = f"{cost.header} of {cost.header + cost.plain_default}"
            sizes = f"written it takes {cost.header + cost.value} bytes, and {cost.value} as an ordinary field"
            report.add("TAG_CHEAPER_AS_FIELD", f"{sizes}: the tag pays only where it is left out more than {left_out} times", item.spot.key("tag"))
    spent, held = _SECTION + sum(cost.header for cost in costs), plain + sum(cost.value for cost in costs)
    if tagged and spent > held:
        report.add("TAGS_OUTWEIGH_FIELDS", f"with all its tags it spends {spent} bytes on them, and {held} on what its fields hold", spot)


def tag_cost(spec: MessageSpec, field: FieldSpec, version: int) -> Cost:
    """What a tagged field costs at a version where it is written, at its least value that is not its default."""
    plain = replace(field, tag=None, tagged_versions=NONE)
    other = {field.json_name: _other_value(spec, field, version)}
    value = _size(spec, [plain], other, version) - _SECTION
    written = _size(spec, [field], other, version) - _SECTION
    return Cost(written - value, value, struct_size(spec, [plain], version) - _SECTION)


def struct_size(spec: MessageSpec, fields: Sequence[FieldSpec], version: int) -> int:
    """The bytes of a struct of these fields at their defaults, its tag section included."""
    return _size(spec, fields, _least_struct(spec, fields, version), version)


def _size(spec: MessageSpec, fields: Sequence[FieldSpec], value: dict[str, Any], version: int) -> int:
    return len(build(replace(spec, fields=tuple(fields)), value, version))


def _least_struct(spec: MessageSpec, fields: Sequence[FieldSpec], version: int) -> dict[str, Any]:
    return {
        field.json_name: _least_value(spec, field, version)
        for field in fields
        if version in field.versions and not (field.tag is not None and version in field.tagged_versions)
    }


def _least_value(spec: MessageSpec, field: FieldSpec, version: int) -> Any:
    """The default of a field, and where that is a null that this version has not, what is empty."""
    value = default_value(field)
    if value is None and version not in field.nullable_versions:
        return [] if field.is_array else _least_struct(spec, spec.struct_fields(field), version) if field.struct_name else ""
    return _least_struct(spec, spec.struct_fields(field), version) if value == {} else value


def _other_value(spec: MessageSpec, field: FieldSpec, version: int) -> Any:
    """A value of as few bytes as can be that is not the default."""
    default = default_value(field)
    if field.is_array:
        element = _least_struct(spec, spec.struct_fields(field), version) if field.struct_name else _plain_value(field.element_type)
        return [] if default is None else [element]
    if field.struct_name:
        subs = spec.struct_fields(field)
        value = _least_struct(spec, subs, version)
        first = next((sub for sub in subs if version in sub.versions), None)
        return value if default is None or first is None else value | {first.json_name: _other_value(spec, first, version)}
    if field.type == "bool":
        return not default
    if field.type in INTEGER_RANGES:
        return 0 if default else 1
    return "" if default and field.type in {"string", "bytes"} else "" if default is None else _OTHER[field.type]


def _plain_value(kind: str) -> Any:
    return 0 if kind in INTEGER_RANGES else False if kind == "bool" else _OTHER.get(kind, "")
