"""The fields of a definition by path, and a definition with some of its fields changed: what overlays, what-if prices and advice stand on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kwire_cli.errors import SpecError
from kwire_cli.spec.model import MAX_NESTING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.spec.model import FieldSpec, MessageSpec

    Change = Callable[[str, FieldSpec], FieldSpec]


def fields_by_path(spec: MessageSpec) -> Iterator[tuple[str, FieldSpec]]:
    """Every field of every version with its path in JSON names, each before those in it: topics, topics[].partitions, topics[].partitions[].leaderId.

    An array stands under its own name; what is in it under that with []. A common struct is walked wherever it is used.
    """
    yield from _walk(spec, spec.fields, "", 0)


def changed(spec: MessageSpec, change: Change) -> MessageSpec:
    """The definition with each field as `change` (given its path, and the field with its sub-fields changed already) returns it.

    Common structs are written out where they are used, so that each use can be changed by itself.
    """
    return replace(spec, fields=_changed(spec, spec.fields, "", 0, change))


def _walk(spec: MessageSpec, fields: tuple[FieldSpec, ...], above: str, depth: int) -> Iterator[tuple[str, FieldSpec]]:
    _bound(spec, depth)
    for field in fields:
        path = above + field.json_name
        yield path, field
        if field.struct_name:
            yield from _walk(spec, spec.struct_fields(field), _inside(path, field), depth + 1)


def _changed(spec: MessageSpec, fields: tuple[FieldSpec, ...], above: str, depth: int, change: Change) -> tuple[FieldSpec, ...]:
    _bound(spec, depth)
    out = []
    for field in fields:
        path = above + field.json_name
        inner = _changed(spec, spec.struct_fields(field), _inside(path, field), depth + 1, change) if field.struct_name else ()
        out.append(change(path, replace(field, fields=inner)))
    return tuple(out)


def _inside(path: str, field: FieldSpec) -> str:
    return f"{path}[]." if field.is_array else f"{path}."


def _bound(spec: MessageSpec, depth: int) -> None:
    if depth > MAX_NESTING:
        raise SpecError(f"structs nest deeper than {MAX_NESTING} levels", file=spec.file, path=spec.name)
