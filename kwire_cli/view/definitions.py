"""Definitions for eyes and programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.spec.evolution.layout import tagged_at
from kwire_cli.spec.reading import element_encoding_at, encoding_at
from kwire_cli.structs.composites import MessageStruct
from kwire_cli.structs.lengths import ArrayOf, NullableStruct
from kwire_cli.structs.messages import declare
from kwire_cli.view.widths import fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.spec.model import FieldSpec, MessageSpec
    from kwire_cli.view.lines import Line


# Definitions for eyes and programs: a message at one version or over all of them, as a table, in Kafka's BNF,
# or as JSON.

_LEAST = 14
"""The fewest columns that notes are folded to; where there are less, they go on behind an indent of their own."""
HEADINGS = ("field", "type", "versions", "tag", "nullable", "default", "notes")


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A field at its depth in the message."""

    depth: int
    field: FieldSpec


def field_rows(spec: MessageSpec, version: int | None = None) -> Iterator[FieldRow]:
    """The fields of a version, or of all versions, in the order of the definition, sub-fields below their parent."""
    yield from _rows(spec, spec.fields, version, 0)


def _rows(spec: MessageSpec, fields: tuple[FieldSpec, ...], version: int | None, depth: int) -> Iterator[FieldRow]:
    for field in fields:
        if version is None or version in field.versions:
            yield FieldRow(depth, field)
            yield from _rows(spec, spec.struct_fields(field) if field.struct_name else (), version, depth + 1)


def table_lines(spec: MessageSpec, version: int | None, room: int | None = None) -> Iterator[Line]:
    """A title, then one line a field. Without a version the ranges stand in the columns, with one only what holds
    there. Where the columns do not fit into the `room` of a terminal, the notes say what most of them do, folded.
    """
    yield _title(spec, version)
    rows = [_cells(spec, row, version) for row in field_rows(spec, version)]
    if not rows:
        yield [("  no fields", "dim")]
        return
    used, widths = _columns(rows)
    notes = 0
    if room is not None and sum(widths) + 2 * len(used) - 2 > room:
        rows = [(*row[:3], "", "", "", _told(row)) for row in rows]
        used, widths = _columns(rows)
        notes = sum(widths[:-1]) + 2 * len(used) - 2
    styles = ("name", "text", "number", "number", "number", "bytes", "dim")
    heading = "  ".join(f"{HEADINGS[i]:<{width}}" for i, width in zip(used, widths, strict=True)).rstrip()
    lines: list[Line] = [[(heading, "dim")]]
    lines += [[(f"{row[i]:<{width}}  ", styles[i]) for i, width in zip(used, widths, strict=True)] for row in rows]
    for line in lines:
        line[-1] = (line[-1][0].rstrip(), line[-1][1])
        yield from fold(line, room, " " * notes) if room is not None and 0 < notes <= room - _LEAST else [line]


def _columns(rows: Sequence[tuple[str, ...]]) -> tuple[list[int], list[int]]:
    """Return the columns of which a row has a text, and their widths."""
    used = [i for i in range(len(HEADINGS)) if i < 2 or any(row[i] for row in rows)]
    return used, [max(len(HEADINGS[i]), *(len(row[i]) for row in rows)) for i in used]


def _told(row: tuple[str, ...]) -> str:
    """Return the notes on a field with its tag, its null and its default in words."""
    tag, nullable, default, notes = row[3:]
    null = "nullable" if nullable == "yes" else f"nullable {nullable}"
    told = (tag and f"tag {tag}", nullable and null, default and f"default {default}", notes)
    return ", ".join(text for text in told if text)


def _title(spec: MessageSpec, version: int | None) -> Line:
    which = f"versions {spec.valid_versions}" if version is None else f"version {version}"
    key = f", api key {spec.api_key}" if spec.api_key is not None else ""
    flexible = f"flexible from {spec.flexible_versions}" if spec.flexible_versions else "never flexible"
    if version is not None:
        flexible = "flexible" if version in spec.flexible_versions else "not flexible"
    old = (
        f", deprecated {spec.deprecated_versions}"
        if spec.deprecated_versions and (version is None or version in spec.deprecated_versions)
        else ""
    )
    return [(spec.name, "title"), (f" {which}, {spec.type}{key}, {flexible}{old}", "dim")]


def _cells(spec: MessageSpec, row: FieldRow, version: int | None) -> tuple[str, ...]:
    field = row.field
    if version is None:
        tag = f"{field.tag} ({field.tagged_versions})" if field.tag is not None else ""
        return (
            "  " * row.depth + field.json_name, field.type, str(field.versions), tag,
            str(field.nullable_versions) if field.nullable_versions else "", _default(field), _notes(field, None),
        )  # fmt: skip
    tag = str(field.tag) if tagged_at(spec, field, version) else ""
    nullable = "yes" if version in field.nullable_versions else ""
    return "  " * row.depth + field.json_name, field.type, "", tag, nullable, _default(field), _notes(field, version)


def _default(field: FieldSpec) -> str:
    return "" if field.default is None else field.default or '""'


def _notes(field: FieldSpec, version: int | None) -> str:
    notes = ["ignorable"] if field.ignorable else []
    if field.map_key:
        notes.append("map key")
    if field.entity_type:
        notes.append(field.entity_type)
    if field.flexible_versions is not None:
        notes.append(f"flexible {field.flexible_versions}")
    if version is None:
        notes += [f"{row.name} in {row.versions}" for row in (*field.encoding, *field.element_encoding)]
    elif encoding := encoding_at(field, version) or element_encoding_at(field, version):
        notes.append(encoding)
    return ", ".join(notes)


def version_document(spec: MessageSpec, version: int, header: int | None) -> dict[str, Any]:
    """A message at one version: types as they stand on the wire, tags, defaults, nullability."""
    out: dict[str, Any] = {"name": spec.name, "type": spec.type, "apiKey": spec.api_key, "version": version}
    out |= {"flexible": version in spec.flexible_versions, "headerVersion": header}
    return out | {"fields": _field_documents(spec, spec.fields, version)}


def _field_documents(spec: MessageSpec, fields: tuple[FieldSpec, ...], version: int) -> list[dict[str, Any]]:
    out = []
    for field in fields:
        if version not in field.versions:
            continue
        tag = field.tag if tagged_at(spec, field, version) else None
        document: dict[str, Any] = {
            "name": field.json_name,
            "type": field.type,
            "tag": tag,
            "nullable": version in field.nullable_versions,
        }
        document |= {"default": field.default, "ignorable": field.ignorable, "mapKey": field.map_key}
        document["encoding"] = encoding_at(field, version) or element_encoding_at(field, version)
        if field.struct_name:
            document["fields"] = _field_documents(spec, spec.struct_fields(field), version)
        out.append(document)
    return out


def construct_lines(spec: MessageSpec, version: int) -> Iterator[Line]:
    """The declaration of a version, a line a field."""
    yield [(f"{spec.name} version {version}", "title")]
    for line in repr(declare(spec, version)).split("\n"):
        yield [(line, "text")]


def bnf_lines(spec: MessageSpec, version: int) -> Iterator[Line]:
    """The grammar of a version in the notation of Kafka's protocol guide, with the names of the definition.

    `{ }` is a struct, `[ ]` an array and `( )` a compact array; `?` marks those that may be
    null (KAFKA-19634).
    """
    yield from _bnf(f"{spec.name} (Version: {version})", declare(spec, version), 0)


def _bnf(name: str, decl: Any, depth: int) -> Iterator[Line]:
    inner = decl.element if isinstance(decl, ArrayOf) else decl
    nullable = isinstance(inner, NullableStruct)
    struct = inner.subcon if nullable else inner
    left: Line = [("  " * depth + name, "name"), (" => ", "dim")]
    if not isinstance(struct, MessageStruct):
        yield [*left, (repr(struct), "text")]
        return
    tagged = [(f"{field.name}<tag: {field.tag}>", field.subcon) for field in struct.tags.known] if struct.tags else []
    symbols = " ".join([*(_symbol(sc.name, sc.subcon) for sc in struct.subcons), *(name for name, _ in tagged)])
    yield [*left, (f"{'?' * nullable}{{ {symbols} }}" if symbols else "{ }", "")]
    for field, inner in [*((sc.name, sc.subcon) for sc in struct.subcons), *tagged]:
        yield from _bnf(field, inner, depth + 1)


def _symbol(name: str, decl: Any) -> str:
    if not isinstance(decl, ArrayOf):
        return name
    shown = f"({name})" if decl.compact else f"[{name}]"
    return f"?{shown}" if decl.nullable else shown
