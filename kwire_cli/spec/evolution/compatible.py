"""Whether two layouts of one version read each other's bytes, and if not, why: field by field, whatever the definitions look like otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.spec.defaults import default_value
from kwire_cli.spec.evolution.pairing import Pairs, moved, pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.spec.evolution.layout import FieldAt, StructAt


_OF_EQUAL_BYTES = frozenset({"FIELD_MOVED", "TAG_REUSED", "TAG_DEFAULT_CHANGED", "SAME_BYTES_OTHER_TYPE"})
"""What can be wrong where both layouts have the same bytes; whatever else differs is fields put into a struct or taken out of it."""


class Problem(NamedTuple):
    """A rule that a change breaks at one version. `path` is that of the field in JSON names; that of one that is gone ends in its old name.

    `old_fails` and `new_fails` say which reader can't do with what the other side writes.
    """

    rule: str
    path: str
    what: str
    old_fails: bool = True
    new_fails: bool = True


def problems(old: StructAt, new: StructAt, path: str = "") -> Iterator[Problem]:
    """Every rule that going from one layout to the other breaks; `path` is that of the structs, with its dot."""
    fields = _paired(old, new)
    inside = [each for a, b in fields.same if (a.tag is None) == (b.tag is None) for each in _value(a, b, path)]
    found = [*_mandatory(old, new, fields, path), *_tags(old, new, fields, path), *inside]
    if old.wire != new.wire:
        yield from found
        return
    kept = [each for each in found if each.rule in _OF_EQUAL_BYTES]
    yield from kept
    elsewhere = set() if any(each.rule == "FIELD_MOVED" for each in kept) else _elsewhere(old, new, path)
    for where in sorted(elsewhere):
        yield Problem("FIELD_MOVED", where, "its bytes are now where those of another field were")
    for each in found:
        if each.rule == "TYPE_CHANGED" and each.path not in elsewhere:
            yield each._replace(rule="SAME_BYTES_OTHER_TYPE", old_fails=False, new_fails=False)


def _paired(old: StructAt, new: StructAt) -> Pairs[FieldAt]:
    """Fields by name. Of the others: tagged ones by number, mandatory ones by place."""
    return pair((*old.plain, *old.tagged), (*new.plain, *new.tagged), _alike)


def _alike(old: FieldAt, new: FieldAt) -> bool:
    return (old.tag, old.kind) == (new.tag, new.kind)


def _mandatory(old: StructAt, new: StructAt, fields: Pairs[FieldAt], path: str) -> Iterator[Problem]:
    for field in fields.gone:
        if field.tag is None:
            yield Problem("FIELD_REMOVED", path + field.spec.json_name, f"{kind_of(field)} is gone")
    for field in fields.added:
        if field.tag is None:
            # Its definition says that it is tagged, which it can't be in a version that is not flexible.
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
            before, after = (old.plain[number - 1].spec.json_name if number else None), (order[at - 1] if at else None)
            yield Problem("FIELD_MOVED", path + field.spec.json_name, f"it {_place(before)}, and now {_place(after)}")


def _elsewhere(old: StructAt, new: StructAt, path: str) -> set[str]:
    """Fields of structs with equal bytes whose own bytes are those of another one now, by names alone: A and B became B and C.

    A struct of which only some fields are still the same is where these are.
    """
    before, after = ({where: (start, group) for where, start, group in _offsets(struct, path)} for struct in (old, new))
    both = before.keys() & after.keys()
    return {where for where in both if before[where][0] != after[where][0] and not (before[where][1] and after[where][1])}


def _offsets(struct: StructAt, path: str, start: int = 0) -> Iterator[tuple[str, int, bool]]:
    """The place of each mandatory field among the forms of a struct, and whether it is a struct that adds nothing to its own fields."""
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
    before, after = ({field.tag: field for field in struct.tagged} for struct in (old, new))
    origin = {b.name: a for a, b in fields.same}
    reused = {tag for tag in before.keys() & after.keys() if origin.get(after[tag].name) is not before[tag]}
    for tag in sorted(tag for tag in reused if tag is not None):
        a, b = before[tag], after[tag]
        yield Problem(
            "TAG_REUSED", path + b.spec.json_name, f"tag {tag} was {a.spec.json_name}, {kind_of(a)}, and is {b.spec.json_name}, {kind_of(b)}"
        )
    for field in fields.gone:
        if field.tag is not None and field.tag not in reused:
            where = path + field.spec.json_name
            if field.tag in new.foreign:
                yield Problem("TAG_NARROWED", where, f"tag {field.tag} is not allowed any more", old_fails=False)
            else:
                yield Problem("TAGGED_REMOVED", where, f"{kind_of(field)} with tag {field.tag} is gone", old_fails=False)
    for field in fields.added:
        if field.tag is not None and field.tag in old.foreign:
            yield Problem("TAG_WIDENED", path + field.spec.json_name, f"tag {field.tag} was known here, but not allowed", new_fails=False)
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
    """What changed in the value of a field that stands among the mandatory ones in both, or among the tagged ones in both."""
    where, tagged = path + b.spec.json_name, b.tag is not None
    if _retyped(a, b):
        yield Problem("TAG_TYPE_CHANGED" if tagged else "TYPE_CHANGED", where, f"{kind_of(a)} became {kind_of(b)}")
        return
    if a.compact != b.compact:
        yield Problem("COMPACT_CHANGED", where, f"its length was {_length(a)} and is {_length(b)}")
    elif a.element != b.element and not a.struct:
        rule = "TAG_TYPE_CHANGED" if tagged else "TYPE_CHANGED" if a.encoding == b.encoding else "ENCODING_CHANGED"
        # Zig-zag varints are the same at every width: the wider reader does well.
        zigzag = a.element[:2] == b.element[:2] == ("integer", "packed")
        what = f"{kind_of(a)} became {kind_of(b)}"
        yield Problem(rule, where, what, old_fails=not zigzag or a.element < b.element, new_fails=not zigzag or a.element > b.element)
    elif a.spec.type != b.spec.type and not a.struct:
        yield Problem("SAME_BYTES_OTHER_TYPE", where, f"{kind_of(a)} became {kind_of(b)}", old_fails=False, new_fails=False)
    if a.nullable != b.nullable:
        yield _nullable(a, b, where)
    # Where a struct has other fields there is more wrong than its default.
    if tagged and a.default != b.default and [part.wire for part in _plain(a)] == [part.wire for part in _plain(b)]:
        yield Problem("TAG_DEFAULT_CHANGED", where, _other_default(a, b))
    if a.struct and b.struct:
        yield from problems(a.struct, b.struct, f"{where}[]." if b.spec.is_array else f"{where}.")


def _retyped(a: FieldAt, b: FieldAt) -> bool:
    """Whether one is another kind of thing: an array or none, a struct or none."""
    return a.spec.is_array != b.spec.is_array or bool(a.struct) != bool(b.struct) or (a.compact is None) != (b.compact is None)


def _nullable(a: FieldAt, b: FieldAt, where: str) -> Problem:
    what = "it may be null now" if b.nullable else "it may not be null any more"
    if b.struct and not b.spec.is_array:
        return Problem("NULLABLE_STRUCT_CHANGED", where, what)
    rule = "TAG_NULLABLE_CHANGED" if b.tag is not None else "NULLABLE_ADDED" if b.nullable else "NULLABLE_REMOVED"
    return Problem(rule, where, what, old_fails=b.nullable, new_fails=a.nullable)


def kind_of(field: FieldAt) -> str:
    """The type of a field, with the encoding where it has one."""
    return f"{field.spec.type} as {field.encoding}" if field.encoding else field.spec.type


def _length(field: FieldAt) -> str:
    return "a varint" if field.compact else "fixed"


def _plain(field: FieldAt) -> tuple[FieldAt, ...]:
    """The mandatory fields of a struct."""
    return field.struct.plain if field.struct and not field.spec.is_array else ()


def _other_default(a: FieldAt, b: FieldAt) -> str:
    if _plain(b) and None not in (a.default, b.default):
        return "the defaults of its fields are others"
    return f"the default {shown(default_value(a.spec))} became {shown(default_value(b.spec))}"


def shown(value: object) -> str:
    """A value that a definition names: null, true, 7, 'text'."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, str) else str(value)
