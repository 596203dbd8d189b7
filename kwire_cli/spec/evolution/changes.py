"""Differences of two definitions or versions, and layouts that read each other's bytes.

`problems` compares the bytes of two layouts, and ignores all differences without an effect on them. `changes` compares
all facts of two definitions, for display.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kwire_cli.spec.evolution.layout import Pairs, layout_at, moved, pair
from kwire_cli.spec.model import NONE, Versions, default_value, header_version_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.spec.evolution.layout import FieldAt, StructAt
    from kwire_cli.spec.model import Encoding, FieldSpec, MessageSpec


# The compatibility of two layouts of one version: field by field, independent of other differences between the
# definitions.

_OF_EQUAL_BYTES = frozenset({"FIELD_MOVED", "TAG_REUSED", "TAG_DEFAULT_CHANGED", "SAME_BYTES_OTHER_TYPE"})
"""Rules that a change may break although both layouts have the same bytes. Other differences are only fields that moved
into a struct or out of it."""


class Problem(NamedTuple):
    """A rule that a change breaks at one version. `path` is the field's path in JSON names; the path of a removed field
    ends in its old name.

    `old_fails` and `new_fails` are set if the old or new reader fails on the other side's bytes.
    """

    rule: str
    path: str
    what: str
    old_fails: bool = True
    new_fails: bool = True


def problems(old: StructAt, new: StructAt, path: str = "") -> Iterator[Problem]:
    """Yield every rule that the change from one layout to the other breaks; `path` is the structs' path with a dot."""
    fields = _paired(old, new)
    inside: list[Problem] = []
    for a, b in fields.same:
        if (a.tag is None) == (b.tag is None):
            inside.extend(_value(a, b, path))
    violations = [*_mandatory(old, new, fields, path), *_tags(old, new, fields, path), *inside]
    if old.wire != new.wire:
        yield from violations
        return
    kept = [problem for problem in violations if problem.rule in _OF_EQUAL_BYTES]
    yield from kept
    elsewhere = set() if any(problem.rule == "FIELD_MOVED" for problem in kept) else _elsewhere(old, new, path)
    for where in sorted(elsewhere):
        yield Problem("FIELD_MOVED", where, "its bytes are now where those of another field were")
    for problem in violations:
        if problem.rule == "TYPE_CHANGED" and problem.path not in elsewhere:
            yield problem._replace(rule="SAME_BYTES_OTHER_TYPE", old_fails=False, new_fails=False)


def _paired(old: StructAt, new: StructAt) -> Pairs[FieldAt]:
    """Pair fields by name, then tagged fields by number and mandatory ones by place."""
    return pair((*old.plain, *old.tagged), (*new.plain, *new.tagged), _compatible)


def _compatible(old: FieldAt, new: FieldAt) -> bool:
    return (old.tag, old.kind) == (new.tag, new.kind)


def _mandatory(old: StructAt, new: StructAt, fields: Pairs[FieldAt], path: str) -> Iterator[Problem]:
    for field in fields.gone:
        if field.tag is None:
            yield Problem("FIELD_REMOVED", path + field.spec.json_name, f"{kind_of(field)} is gone")
    for field in fields.added:
        if field.tag is None:
            # Its definition tags it, but a version that is not flexible cannot have tags.
            rule = "FIELD_ADDED" if field.spec.tag is None or new.flexible else "TAG_ON_INFLEXIBLE_VERSION"
            yield Problem(rule, path + field.spec.json_name, f"{kind_of(field)} is new")
    place = {field.name: number for number, field in enumerate(old.plain)}
    stayed = [(place[a.name], b) for a, b in fields.same if a.tag is None and b.tag is None]
    away = moved(number for number, _ in stayed)
    order = [field.spec.json_name for field in new.plain]
    places = {name: at for at, name in enumerate(order)}
    for number, field in stayed:
        if number in away:
            at = places[field.spec.json_name]
            before = old.plain[number - 1].spec.json_name if number else None
            after = order[at - 1] if at else None
            yield Problem("FIELD_MOVED", path + field.spec.json_name, f"it {_place(before)}, and now {_place(after)}")


def _elsewhere(old: StructAt, new: StructAt, path: str) -> set[str]:
    """Return the fields of structs with equal bytes that are at the place of another field now: A and B became B and C.

    Only names are compared. A struct that keeps some of its fields is at the place of these fields.
    """
    before = {where: (start, group) for where, start, group in _offsets(old, path)}
    after = {where: (start, group) for where, start, group in _offsets(new, path)}
    both = before.keys() & after.keys()
    return {
        where for where in both if before[where][0] != after[where][0] and not (before[where][1] and after[where][1])
    }


def _offsets(struct: StructAt, path: str, start: int = 0) -> Iterator[tuple[str, int, bool]]:
    """Yield the place of each mandatory field among the forms of a struct, and whether it is a struct that adds nothing
    to its own fields.
    """
    for field in struct.plain:
        where = path + field.spec.json_name
        group = field.struct if not field.spec.is_array and not field.nullable else None
        yield where, start, group is not None
        if group:
            yield from _offsets(group, f"{where}.", start)
        start += len(field.wire)


def _place(previous: str | None) -> str:
    return f"followed {previous}" if previous else "came first"


def _tags(old: StructAt, new: StructAt, fields: Pairs[FieldAt], path: str) -> Iterator[Problem]:
    before = {field.tag: field for field in old.tagged}
    after = {field.tag: field for field in new.tagged}
    origin = {b.name: a for a, b in fields.same}
    reused = {tag for tag in before.keys() & after.keys() if origin.get(after[tag].name) is not before[tag]}
    for tag in sorted(tag for tag in reused if tag is not None):
        a = before[tag]
        b = after[tag]
        yield Problem(
            "TAG_REUSED",
            path + b.spec.json_name,
            f"tag {tag} was {a.spec.json_name}, {kind_of(a)}, and is {b.spec.json_name}, {kind_of(b)}",
        )
    for field in fields.gone:
        if field.tag is not None and field.tag not in reused:
            where = path + field.spec.json_name
            if field.tag in new.foreign:
                yield Problem("TAG_NARROWED", where, f"tag {field.tag} is not allowed any more", old_fails=False)
            else:
                yield Problem(
                    "TAGGED_REMOVED", where, f"{kind_of(field)} with tag {field.tag} is gone", old_fails=False
                )
    for field in fields.added:
        if field.tag is not None and field.tag in old.foreign:
            yield Problem(
                "TAG_WIDENED",
                path + field.spec.json_name,
                f"tag {field.tag} was known here, but not allowed",
                new_fails=False,
            )
    for a, b in fields.same:
        where = path + b.spec.json_name
        if a.tag is None and b.tag is not None:
            yield Problem("MANDATORY_TO_TAGGED", where, f"{kind_of(a)} became tag {b.tag}")
        elif a.tag is not None and b.tag is None:
            yield Problem("TAGGED_TO_MANDATORY", where, f"tag {a.tag} became mandatory")
        elif a.tag != b.tag and not {a.tag, b.tag} & reused:
            yield from _renumbered(a, b, old, new, where)


def _renumbered(a: FieldAt, b: FieldAt, old: StructAt, new: StructAt, where: str) -> Iterator[Problem]:
    what = f"tag {a.tag} became {b.tag}"
    yield Problem("TAG_NUMBER_CHANGED", where, what)
    if b.tag in old.foreign:
        yield Problem("TAG_WIDENED", where, f"{what}, which was known here, but not allowed", new_fails=False)
    if a.tag in new.foreign:
        yield Problem("TAG_NARROWED", where, f"{what}, and {a.tag} is not allowed any more", old_fails=False)


def _value(a: FieldAt, b: FieldAt, path: str) -> Iterator[Problem]:
    """Yield the problems of the value of a field that is mandatory in both layouts or tagged in both."""
    where = path + b.spec.json_name
    tagged = b.tag is not None
    if _retyped(a, b):
        yield Problem("TAG_TYPE_CHANGED" if tagged else "TYPE_CHANGED", where, f"{kind_of(a)} became {kind_of(b)}")
        return
    if a.compact != b.compact:
        yield Problem("COMPACT_CHANGED", where, f"its length was {_length_form(a)} and is {_length_form(b)}")
    elif a.element != b.element and not a.struct:
        rule = "ENCODING_CHANGED"
        if tagged:
            rule = "TAG_TYPE_CHANGED"
        elif a.encoding == b.encoding:
            rule = "TYPE_CHANGED"
        # Zig-zag varints are the same at every width: the wider reader does well.
        zigzag = a.element[:2] == b.element[:2] == ("integer", "packed")
        what = f"{kind_of(a)} became {kind_of(b)}"
        yield Problem(
            rule,
            where,
            what,
            old_fails=not zigzag or a.element < b.element,
            new_fails=not zigzag or a.element > b.element,
        )
    elif a.spec.type != b.spec.type and not a.struct:
        yield Problem(
            "SAME_BYTES_OTHER_TYPE", where, f"{kind_of(a)} became {kind_of(b)}", old_fails=False, new_fails=False
        )
    if a.nullable != b.nullable:
        yield _nullable(a, b, where)
    # If the fields of a struct differ, other problems report it, and not only its default.
    same_forms = [part.form for part in _plain_fields(a)] == [part.form for part in _plain_fields(b)]
    if tagged and a.default != b.default and same_forms:
        yield Problem("TAG_DEFAULT_CHANGED", where, _other_default(a, b))
    if a.struct and b.struct:
        yield from problems(a.struct, b.struct, f"{where}[]." if b.spec.is_array else f"{where}.")


def _retyped(a: FieldAt, b: FieldAt) -> bool:
    """Return whether two fields differ in kind: array or not, struct or not, with or without a length."""
    return (
        a.spec.is_array != b.spec.is_array
        or bool(a.struct) != bool(b.struct)
        or (a.compact is None) != (b.compact is None)
    )


def _nullable(a: FieldAt, b: FieldAt, where: str) -> Problem:
    what = "it may be null now" if b.nullable else "it may not be null any more"
    if b.struct and not b.spec.is_array:
        return Problem("NULLABLE_STRUCT_CHANGED", where, what)
    rule = "NULLABLE_ADDED" if b.nullable else "NULLABLE_REMOVED"
    if b.tag is not None:
        rule = "TAG_NULLABLE_CHANGED"
    return Problem(rule, where, what, old_fails=b.nullable, new_fails=a.nullable)


def kind_of(field: FieldAt) -> str:
    """Return the type of a field, with its encoding if it has one."""
    return f"{field.spec.type} as {field.encoding}" if field.encoding else field.spec.type


def _length_form(field: FieldAt) -> str:
    return "a varint" if field.compact else "fixed"


def _plain_fields(field: FieldAt) -> tuple[FieldAt, ...]:
    """Return the mandatory fields of a struct."""
    return field.struct.plain if field.struct and not field.spec.is_array else ()


def _other_default(a: FieldAt, b: FieldAt) -> str:
    if _plain_fields(b) and None not in (a.default, b.default):
        return "the defaults of its fields are others"
    return f"the default {shown(default_value(a.spec))} became {shown(default_value(b.spec))}"


def shown(value: object) -> str:
    """Return a value of a definition as text: null, true, 7, 'text'."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, str) else str(value)


# The differences between two definitions, or between two versions of one, as one model for display and for rules.

Kind = Literal["added", "removed", "renamed", "moved", "retyped", "becameTagged", "becameMandatory", "changed"]


Facts = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """A message or a field to compare: its name, its facts by the keys of Kafka's grammar, and its fields."""

    name: str
    facts: Facts
    parts: tuple[Part, ...] = ()
    versions: Versions = NONE
    """The valid versions that have it. Two parts without a common version are not one part under two names. Empty for a
    part at a single version, where each name is a separate part."""

    @property
    def json_name(self) -> str:
        """The key in Kafka's JSON form."""
        return self.name[:1].lower() + self.name[1:]

    @property
    def inside(self) -> str:
        """The text that joins the path of this field and the name of a field in it."""
        return "[]." if str(self.facts["type"]).startswith("[]") else "."


@dataclass(frozen=True)
class Change:
    """One difference. Paths are in JSON names: `path` in the new definition, `old_path` in the old one. The message
    itself has empty paths.

    `key` is the key of Kafka's grammar that changed, with its `old` and `new` value; it is None for fields that are
    new, gone, renamed or moved. `before` and `after` are the old and new fields; the fields of a new or removed struct
    are separate changes.
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
        """Return the change as a JSON object, with the facts of fields that only one side has."""
        paths = {
            "path": None if self.kind == "removed" else self.path,
            "oldPath": None if self.kind == "added" else self.old_path,
        }
        out = {"kind": self.kind, **paths, "key": self.key, "old": self.old, "new": self.new}
        only = None
        if self.kind == "added":
            only = self.after
        elif self.kind == "removed":
            only = self.before
        return out | ({"facts": only.facts} if only else {})


def definition_part(spec: MessageSpec) -> Part:
    """Return a definition over all its versions."""
    facts: Facts = {
        "name": spec.name,
        "type": spec.type,
        "apiKey": spec.api_key,
        "validVersions": str(spec.valid_versions),
    }
    facts |= {"flexibleVersions": str(spec.flexible_versions), "deprecatedVersions": str(spec.deprecated_versions)}
    facts |= {"listeners": list(spec.listeners), "latestVersionUnstable": spec.latest_version_unstable}
    facts["headerVersions"] = {str(versions): number for versions, number in spec.header_versions}
    return Part(spec.name, facts, _definition_parts(spec, spec.fields))


def version_part(spec: MessageSpec, version: int) -> Part:
    """Return a definition at one version, without the facts of other versions."""
    facts: Facts = {
        "name": spec.name,
        "type": spec.type,
        "apiKey": spec.api_key,
        "flexible": version in spec.flexible_versions,
    }
    facts |= {"headerVersion": header_version_of(spec, version), "deprecated": version in spec.deprecated_versions}
    return Part(spec.name, facts, _version_parts(layout_at(spec, version)))


def changes(old: Part, new: Part) -> list[Change]:
    """Return all differences: of the message itself, then of its fields in the order of the new definition. Removed
    fields keep their old place.
    """
    return [*_fact_changes(old, new, "", ""), *_field_changes(old, new, "", "")]


def _field_changes(old: Part, new: Part, before: str, path: str) -> Iterator[Change]:
    """Yield the differences in the fields of two messages or structs, at their old and new paths."""
    pairs = pair(_tagged_last(old.parts), _tagged_last(new.parts), _may_be_renamed)
    partner = {b.name: a for a, b in pairs.same}
    places = {part.name: number for number, part in enumerate(old.parts)}
    away = moved(places[partner[part.name].name] for part in new.parts if part.name in partner)
    gone = {part.name for part in pairs.gone}
    at = 0
    for part in new.parts:
        a = partner.get(part.name)
        # A removed field precedes the field that replaced it.
        while at < len(old.parts) and (at < places[a.name] if a else old.parts[at].name in gone):
            if old.parts[at].name in gone:
                yield from _with_inner_fields("removed", old.parts[at], before)
            at += 1
        if not a:
            yield from _with_inner_fields("added", part, path)
            continue
        at = max(at, places[a.name] + 1)
        yield from _pair_changes(a, part, before, path, has_moved=places[a.name] in away)
    for part in old.parts[at:]:
        if part.name in gone:
            yield from _with_inner_fields("removed", part, before)


def _tagged_last(parts: tuple[Part, ...]) -> list[Part]:
    """Return mandatory fields in their order, then tagged fields by number: their order in a definition has no
    meaning.
    """
    return sorted(parts, key=lambda part: -1 if part.facts["tag"] is None else part.facts["tag"])


def _with_inner_fields(kind: Literal["added", "removed"], part: Part, path: str) -> Iterator[Change]:
    """Yield the changes for a field that only one side has, and for its inner fields."""
    where = path + part.json_name
    if kind == "added":
        yield Change(kind, where, where, after=part)
    else:
        yield Change(kind, where, where, before=part)
    for sub in part.parts:
        yield from _with_inner_fields(kind, sub, where + part.inside)


def _pair_changes(old: Part, new: Part, before: str, path: str, *, has_moved: bool) -> Iterator[Change]:
    was = before + old.json_name
    where = path + new.json_name
    if old.name != new.name:
        yield Change("renamed", where, was, before=old, after=new)
    if has_moved:
        yield Change("moved", where, was, before=old, after=new)
    yield from _fact_changes(old, new, was, where)
    yield from _field_changes(old, new, was + old.inside, where + new.inside)


def _fact_changes(old: Part, new: Part, was: str, where: str) -> Iterator[Change]:
    for key in new.facts:
        a = old.facts.get(key)
        b = new.facts[key]
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


def _may_be_renamed(old: Part, new: Part) -> bool:
    """Return whether fields of different names may be one: same type and tag, and a version in common."""
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
    facts: Facts = {
        "type": field.type,
        "versions": str(field.versions),
        "nullableVersions": str(field.nullable_versions),
    }
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
    facts: Facts = {
        "type": field.spec.type,
        "tag": field.tag,
        "nullable": field.nullable,
        "compact": field.compact,
        "encoding": field.encoding,
    }
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
