"""Rules of structs: where they are described, and in which versions they exist (Kafka's StructRegistry, VersionConditional)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.spec.model import MAX_FIELDS, MAX_NESTING
from kwire_cli.spec.scalars import stated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.spec.reading import Definition, Item, Struct
    from kwire_cli.spec.versions import Versions


def struct_rules(definition: Definition) -> None:
    """Report what is wrong with structs and with the versions of what is in them."""
    common = {struct.spec.name: struct for struct in definition.structs}
    _common_structs(definition)
    _inline_structs(definition, common)
    if definition.spec.valid_versions:
        _versions(definition.items, definition.spec.valid_versions, definition)
    _size(definition, common)


def _common_structs(definition: Definition) -> None:
    report = definition.report
    seen: set[str] = set()
    for struct in definition.structs:
        name = struct.spec.name
        if not name[:1].isupper():
            report.add("STRUCT_NAME", "a common struct's name starts with a capital letter", struct.spot)
        if not stated(struct.keys, "versions"):
            report.add("STRUCT_VERSIONS_MISSING", "a common struct has versions", struct.spot)
        if name in seen:
            report.add("STRUCT_DUPLICATE", f"another struct is called {name!a}", struct.spot.key("name"))
        seen.add(name)
        _versions(struct.items, struct.spec.versions, definition)


def _inline_structs(definition: Definition, common: dict[str, Struct]) -> None:
    report = definition.report
    in_common = {item.spot.keys for struct in definition.structs for top in struct.items for item in top.walk()}
    seen: set[str] = set()
    for item in definition.walk():
        name = item.spec.struct_name
        if not name:
            continue
        if item.items and not stated(item.keys, "versions"):
            report.add("STRUCT_VERSIONS_MISSING", "a field with sub-fields has versions, even beside taggedVersions", item.spot)
        if name in common:
            if item.items:
                report.add("STRUCT_INLINE_AND_COMMON", f"{name} is a common struct", item.spot.key("fields"))
            continue
        if item.spot.keys in in_common:
            report.add("STRUCT_NOT_COMMON", f"a common struct uses {name}, so that must be common too", item.spot.key("type"))
        elif name in seen:
            report.add("STRUCT_DUPLICATE", f"the struct {name} is described or used before; only a common one may be shared", item.spot.key("type"))
        elif not item.items:
            report.add("STRUCT_EMPTY", f"the struct {name} is described nowhere", item.spot.key("type"))
        seen.add(name)


def _versions(items: Iterable[Item], parent: Versions, definition: Definition) -> None:
    for item in items:
        field = item.spec
        if field.versions and parent and not field.versions & parent:
            definition.report.add(
                "FIELD_NO_COMMON_VERSIONS", f"{field.versions} and {parent}, of what it is in, have no version in common", item.spot
            )
        _versions(item.items, parent & field.versions, definition)


def _size(definition: Definition, common: dict[str, Struct]) -> None:
    """Report structs that contain themselves, and layouts that are too large written out."""
    counts: dict[str, int] = {}
    heights: dict[str, int] = {}

    def measure(items: Iterable[Item], above: tuple[str, ...], depth: int) -> tuple[int, int]:
        count, height = 0, 0
        for item in items:
            name = item.spec.struct_name
            inner, rise = 0, 0
            if depth >= MAX_NESTING:
                definition.report.add("STRUCT_TOO_LARGE", f"structs nest deeper than {MAX_NESTING} levels", item.spot)
            elif name in above:
                definition.report.add("STRUCT_RECURSIVE", f"the struct {name} contains itself", item.spot)
            elif item.items:
                inner, rise = measure(item.items, above, depth + 1)
            elif name in common:
                if name not in counts:
                    counts[name], heights[name] = measure(common[name].items, (*above, name), depth + 1)
                inner, rise = counts[name], heights[name]
                if depth + 1 + rise > MAX_NESTING:
                    definition.report.add("STRUCT_TOO_LARGE", f"structs nest deeper than {MAX_NESTING} levels", item.spot)
            count, height = min(count + 1 + inner, MAX_FIELDS + 1), max(height, rise + 1)
        return count, height

    total, _ = measure(definition.items, (), 0)
    for struct in definition.structs:
        if struct.spec.name not in counts:
            total += measure(struct.items, (struct.spec.name,), 1)[0]
    if total > MAX_FIELDS:
        definition.report.add("STRUCT_TOO_LARGE", f"the layout has more than {MAX_FIELDS} fields", definition.items[0].spot)
