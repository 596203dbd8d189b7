"""Definitions of messages as a table, in Kafka's BNF, as declarations, and as JSON.

A message is shown at one version, or over all versions. With a version, the table has the properties of that version;
without one, its columns contain version ranges. On a narrow terminal most columns are merged into the notes, which are
folded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.spec.evolution.layout import tagged_at
from kwire_cli.spec.model import inside
from kwire_cli.spec.reading import element_encoding_at, encoding_at
from kwire_cli.spec.texts import texts_of
from kwire_cli.structs.composites import MessageStruct
from kwire_cli.structs.lengths import ArrayOf, NullableStruct
from kwire_cli.structs.messages import declare
from kwire_cli.view.widths import fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.spec.model import FieldSpec, MessageSpec
    from kwire_cli.view.lines import Line


_MIN_NOTES = 14
"""Minimum cells of folded notes. If there is less room, lines are not folded."""
HEADINGS = ("field", "type", "versions", "tag", "nullable", "default", "notes")


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A field at its depth in the message, and Kafka's own text about it."""

    depth: int
    field: FieldSpec
    about: str


def field_rows(spec: MessageSpec, version: int | None = None) -> Iterator[FieldRow]:
    """Yield the fields of a version, or of all versions, in the order of the definition, each before its sub-fields."""
    yield from _rows(spec, spec.fields, version, "")


def _rows(spec: MessageSpec, fields: tuple[FieldSpec, ...], version: int | None, above: str) -> Iterator[FieldRow]:
    for field in fields:
        if version is None or version in field.versions:
            path = above + field.json_name
            yield FieldRow(above.count("."), field, texts_of(spec).get(path, ""))
            yield from _rows(spec, spec.struct_fields(field) if field.struct_name else (), version, inside(path, field))


def table_lines(spec: MessageSpec, version: int | None, room: int | None = None) -> Iterator[Line]:
    """Yield a title, then one line for each field.

    Without a version, the columns contain version ranges. If the columns are wider than `room`, the notes contain most
    of them and are folded.
    """
    yield _title(spec, version)
    rows = [_cells(spec, row, version) for row in field_rows(spec, version)]
    if not rows:
        yield [("  no fields", "dim")]
        return
    used, widths = _columns(rows)
    notes = 0
    if room is not None and sum(widths) + 2 * len(used) - 2 > room:
        rows = [(*row[:3], "", "", "", _merged_notes(row)) for row in rows]
        used, widths = _columns(rows)
        notes = sum(widths[:-1]) + 2 * len(used) - 2
    styles = ("name", "text", "number", "number", "number", "bytes", "dim")
    heading = "  ".join(f"{HEADINGS[i]:<{width}}" for i, width in zip(used, widths, strict=True)).rstrip()
    lines: list[Line] = [[(heading, "dim")]]
    for row in rows:
        line = [(f"{row[i]:<{width}}  ", styles[i]) for i, width in zip(used, widths, strict=True)]
        line[-1] = (line[-1][0].rstrip(), line[-1][1])
        lines.append(line)
    for line in lines:
        if room is not None and 0 < notes <= room - _MIN_NOTES:
            yield from fold(line, room, " " * notes)
        else:
            yield line


def _columns(rows: Sequence[tuple[str, ...]]) -> tuple[list[int], list[int]]:
    """Return the columns that are not empty, and their widths."""
    used = []
    widths = []
    for i, heading in enumerate(HEADINGS):
        lengths = [len(row[i]) for row in rows]
        if i < 2 or any(lengths):
            used.append(i)
            widths.append(max(len(heading), *lengths))
    return used, widths


def _merged_notes(row: tuple[str, ...]) -> str:
    """Return the notes on a field, after its tag, nullability and default in words."""
    tag, nullable, default, notes = row[3:]
    null = "nullable" if nullable == "yes" else f"nullable {nullable}"
    texts = (tag and f"tag {tag}", nullable and null, default and f"default {default}", notes)
    return ", ".join(text for text in texts if text)


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
            str(field.nullable_versions) if field.nullable_versions else "", _default(field), _notes(row, None),
        )  # fmt: skip
    tag = str(field.tag) if tagged_at(spec, field, version) else ""
    nullable = "yes" if version in field.nullable_versions else ""
    return "  " * row.depth + field.json_name, field.type, "", tag, nullable, _default(field), _notes(row, version)


def _default(field: FieldSpec) -> str:
    return "" if field.default is None else field.default or '""'


def _notes(row: FieldRow, version: int | None) -> str:
    field = row.field
    notes = ["ignorable"] if field.ignorable else []
    if field.map_key:
        notes.append("map key")
    if field.entity_type:
        notes.append(field.entity_type)
    if field.flexible_versions is not None:
        notes.append(f"flexible {field.flexible_versions}")
    if version is None:
        notes += [f"{one.name} in {one.versions}" for one in (*field.encoding, *field.element_encoding)]
    elif encoding := encoding_at(field, version) or element_encoding_at(field, version):
        notes.append(encoding)
    return "; ".join(filter(None, (", ".join(notes), row.about)))


def version_document(spec: MessageSpec, version: int, header: int | None) -> dict[str, Any]:
    """Return a message at one version as JSON: types on the wire, tags, defaults, nullability."""
    out: dict[str, Any] = {"name": spec.name, "type": spec.type, "apiKey": spec.api_key, "version": version}
    out |= {"flexible": version in spec.flexible_versions, "headerVersion": header}
    return out | {"fields": _field_documents(spec, spec.fields, version, "")}


def _field_documents(
    spec: MessageSpec, fields: tuple[FieldSpec, ...], version: int, above: str
) -> list[dict[str, Any]]:
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
        path = above + field.json_name
        if about := texts_of(spec).get(path):
            document["about"] = about
        if field.struct_name:
            document["fields"] = _field_documents(spec, spec.struct_fields(field), version, inside(path, field))
        out.append(document)
    return out


def construct_lines(spec: MessageSpec, version: int) -> Iterator[Line]:
    """Yield the declaration of a version, with a line for each field."""
    yield [(f"{spec.name} version {version}", "title")]
    for line in repr(declare(spec, version)).split("\n"):
        yield [(line, "text")]


def bnf_lines(spec: MessageSpec, version: int) -> Iterator[Line]:
    """Yield the grammar of a version in the notation of Kafka's protocol guide, with the names of the definition.

    `{ }` is a struct, `[ ]` an array and `( )` a compact array. `?` marks nullable structs and arrays (KAFKA-19634).
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
    fields = [(field.name, field.subcon) for field in struct.subcons]
    tagged = [(f"{field.name}<tag: {field.tag}>", field.subcon) for field in struct.tags.known] if struct.tags else []
    symbols = [_symbol(field_name, declared) for field_name, declared in fields]
    symbols += [field_name for field_name, _ in tagged]
    yield [*left, (f"{'?' * nullable}{{ {' '.join(symbols)} }}" if symbols else "{ }", "")]
    for field_name, declared in (*fields, *tagged):
        yield from _bnf(field_name, declared, depth + 1)


def _symbol(name: str, decl: Any) -> str:
    if not isinstance(decl, ArrayOf):
        return name
    shown = f"({name})" if decl.compact else f"[{name}]"
    return f"?{shown}" if decl.nullable else shown
