"""What differs between two definitions, or between two versions of one: one model for what is shown and for what is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kwire_cli.spec.defaults import default_value
from kwire_cli.spec.evolution.layout import layout_at
from kwire_cli.spec.evolution.pairing import moved, pair
from kwire_cli.spec.header_versions import header_version_of
from kwire_cli.spec.versions import NONE, Versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.spec.evolution.layout import FieldAt, StructAt
    from kwire_cli.spec.model import Encoding, FieldSpec, MessageSpec

Kind = Literal["added", "removed", "renamed", "moved", "retyped", "becameTagged", "becameMandatory", "changed"]
Facts = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """A message or a field as something to compare: its name, what is said of it by the keys of Kafka's grammar, and its fields."""

    name: str
    facts: Facts
    parts: tuple[Part, ...] = ()
    versions: Versions = NONE
    """The valid versions that it is in: two that share none are not one under two names. None at a single version, where a name is what it is."""

    @property
    def json_name(self) -> str:
        """The key in Kafka's JSON form."""
        return self.name[:1].lower() + self.name[1:]

    @property
    def inside(self) -> str:
        """What a path goes on with to the fields in this one."""
        return "[]." if str(self.facts["type"]).startswith("[]") else "."


@dataclass(frozen=True)
class Change:
    """One thing that changed. Paths are in JSON names: `path` is that in the new definition (the message itself has none), `old_path` in the old one.

    `key` is the key of Kafka's grammar that changed, with its `old` and `new` value; of fields that are new, gone, renamed or moved there is none.
    `before` and `after` are the fields as they were and are; the fields of a new or gone struct are changes of their own.
    """

    kind: Kind
    path: str
    old_path: str
    key: str | None = None
    old: Any = None
    new: Any = None
    before: Part | None = None
    after: Part | None = None

    def to_json(self) -> dict[str, Any]:
        """The change as a JSON object, with what is said of fields that only one side has."""
        paths = {"path": None if self.kind == "removed" else self.path, "oldPath": None if self.kind == "added" else self.old_path}
        out = {"kind": self.kind, **paths, "key": self.key, "old": self.old, "new": self.new}
        only = self.after if self.kind == "added" else self.before if self.kind == "removed" else None
        return out | ({"facts": only.facts} if only else {})


def definition_part(spec: MessageSpec) -> Part:
    """A definition over all its versions."""
    facts: Facts = {"name": spec.name, "type": spec.type, "apiKey": spec.api_key, "validVersions": str(spec.valid_versions)}
    facts |= {"flexibleVersions": str(spec.flexible_versions), "deprecatedVersions": str(spec.deprecated_versions)}
    facts |= {"listeners": list(spec.listeners), "latestVersionUnstable": spec.latest_version_unstable}
    facts["headerVersions"] = {str(versions): number for versions, number in spec.header_versions}
    return Part(spec.name, facts, _definition_parts(spec, spec.fields))


def version_part(spec: MessageSpec, version: int) -> Part:
    """A definition at one version: what is so there, without what other versions have."""
    facts: Facts = {"name": spec.name, "type": spec.type, "apiKey": spec.api_key, "flexible": version in spec.flexible_versions}
    facts |= {"headerVersion": header_version_of(spec, version), "deprecated": version in spec.deprecated_versions}
    return Part(spec.name, facts, _version_parts(layout_at(spec, version)))


def changes(old: Part, new: Part) -> list[Change]:
    """Everything that differs, the message itself first, then its fields in the order of the new definition, those that are gone where they were."""
    return [*_fact_changes(old, new, "", ""), *_field_changes(old, new, "", "")]


def _field_changes(old: Part, new: Part, before: str, path: str) -> Iterator[Change]:
    """What differs in the fields of two messages or structs, at their old path and their new one."""
    pairs = pair(_tagged_last(old.parts), _tagged_last(new.parts), _alike)
    partner = {b.name: a for a, b in pairs.same}
    places = {part.name: number for number, part in enumerate(old.parts)}
    away = moved(places[partner[part.name].name] for part in new.parts if part.name in partner)
    gone = {part.name for part in pairs.gone}
    at = 0
    for part in new.parts:
        a = partner.get(part.name)
        # What is gone is told before what took its place.
        while at < len(old.parts) and (at < places[a.name] if a else old.parts[at].name in gone):
            if old.parts[at].name in gone:
                yield from _whole("removed", old.parts[at], before)
            at += 1
        if not a:
            yield from _whole("added", part, path)
            continue
        at = max(at, places[a.name] + 1)
        yield from _pair_changes(a, part, before, path, has_moved=places[a.name] in away)
    for part in old.parts[at:]:
        if part.name in gone:
            yield from _whole("removed", part, before)


def _tagged_last(parts: tuple[Part, ...]) -> list[Part]:
    """Mandatory fields in their order, then the tagged ones by number: where these stand in a definition says nothing."""
    return sorted(parts, key=lambda part: -1 if part.facts["tag"] is None else part.facts["tag"])


def _whole(kind: Literal["added", "removed"], part: Part, path: str) -> Iterator[Change]:
    """A field that only one side has, and those in it."""
    where = path + part.json_name
    if kind == "added":
        yield Change(kind, where, where, after=part)
    else:
        yield Change(kind, where, where, before=part)
    for sub in part.parts:
        yield from _whole(kind, sub, where + part.inside)


def _pair_changes(old: Part, new: Part, before: str, path: str, *, has_moved: bool) -> Iterator[Change]:
    was, where = before + old.json_name, path + new.json_name
    if old.name != new.name:
        yield Change("renamed", where, was, before=old, after=new)
    if has_moved:
        yield Change("moved", where, was, before=old, after=new)
    yield from _fact_changes(old, new, was, where)
    yield from _field_changes(old, new, was + old.inside, where + new.inside)


def _fact_changes(old: Part, new: Part, was: str, where: str) -> Iterator[Change]:
    for key in new.facts:
        a, b = old.facts.get(key), new.facts[key]
        if a != b:
            yield Change(_kind(key, a, b, in_message=not where), where, was, key, a, b, old, new)


def _kind(key: str, old: Any, new: Any, *, in_message: bool) -> Kind:
    if in_message:
        return "renamed" if key == "name" else "changed"
    if key == "type":
        return "retyped"
    if key == "tag" and (old is None or new is None):
        return "becameTagged" if old is None else "becameMandatory"
    return "changed"


def _alike(old: Part, new: Part) -> bool:
    """Whether fields of different names may be one: the same type and tag, and versions that both have."""
    return _shape(old) == _shape(new) and old.facts["tag"] == new.facts["tag"] and bool(old.versions & new.versions)


def _shape(part: Part) -> str:
    kind = str(part.facts["type"])
    plain = kind.removeprefix("[]")
    return kind.replace(plain, "Struct") if plain[:1].isupper() else kind


def _definition_parts(spec: MessageSpec, fields: tuple[FieldSpec, ...]) -> tuple[Part, ...]:
    out = []
    for field in fields:
        inner = _definition_parts(spec, spec.struct_fields(field)) if field.struct_name else ()
        out.append(Part(field.name, _definition_facts(field), inner, field.versions & spec.valid_versions))
    return tuple(out)


def _definition_facts(field: FieldSpec) -> Facts:
    facts: Facts = {"type": field.type, "versions": str(field.versions), "nullableVersions": str(field.nullable_versions)}
    facts |= {"tag": field.tag, "taggedVersions": str(field.tagged_versions)}
    facts["flexibleVersions"] = None if field.flexible_versions is None else str(field.flexible_versions)
    facts |= {"encoding": _encodings(field.encoding), "elementEncoding": _encodings(field.element_encoding)}
    return facts | _remarks(field)


def _version_parts(struct: StructAt) -> tuple[Part, ...]:
    out = []
    for field in (*struct.plain, *struct.tagged):
        inner = _version_parts(field.struct) if field.struct else ()
        out.append(Part(field.name, _version_facts(field), inner))
    return tuple(out)


def _version_facts(field: FieldAt) -> Facts:
    facts: Facts = {"type": field.spec.type, "tag": field.tag, "nullable": field.nullable, "compact": field.compact, "encoding": field.encoding}
    return facts | _remarks(field.spec)


def _remarks(field: FieldSpec) -> Facts:
    return {
        "default": default_value(field),
        "ignorable": field.ignorable,
        "mapKey": field.map_key,
        "zeroCopy": field.zero_copy,
        "entityType": field.entity_type,
    }


def _encodings(rows: tuple[Encoding, ...]) -> dict[str, str] | None:
    return {str(row.versions): row.name for row in rows} or None
