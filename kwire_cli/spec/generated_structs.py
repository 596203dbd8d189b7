"""The versions of structs, in the order in which Kafka's generator visits them.

MessageDataGenerator writes a class for each struct and refuses a struct that shares no version with its parent.
SchemaGenerator writes schemas of the common structs by name, each after the structs of its fields, and refuses a field
whose struct has no schema at the field's first version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.spec.model import MAX_NESTING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.spec.model import Versions
    from kwire_cli.spec.reading import Definition, Item


def generated_structs(definition: Definition) -> None:
    """Report fields and structs whose versions do not fit the versions of the enclosing struct."""
    valid = definition.spec.valid_versions
    if not valid:
        return
    walk = _Walk(definition)
    for struct in definition.structs:
        if not struct.spec.versions:
            struct.json.add("STRUCT_NO_COMMON_VERSIONS", "the struct has no versions", "versions")
        walk.classes(struct.items, struct.spec.versions)
    walk.classes(definition.items, valid)
    for name in sorted(walk.common):
        walk.schemas(name, valid)
    walk.schemas("", valid)


class _Walk:
    """The walk over the structs of one definition. The message itself is the struct with an empty name."""

    def __init__(self, definition: Definition) -> None:
        self.common = {struct.spec.name: struct.items for struct in definition.structs}
        self.versions = {struct.spec.name: struct.spec.versions for struct in definition.structs}
        self.items: dict[str, Sequence[Item]] = {**self.common, "": definition.items}
        self.first: dict[str, int | None] = {}
        for item in definition.walk_generated():
            name = item.spec.struct_name
            if name and name not in self.items:
                self.items[name] = item.items
                self.versions[name] = item.spec.versions
        self.versions[""] = definition.spec.valid_versions

    def classes(self, items: Sequence[Item], parent: Versions) -> None:
        for item in items:
            field = item.spec
            if field.struct_name and field.struct_name not in self.common:
                if not parent & field.versions:
                    _disjoint("STRUCT_NO_COMMON_VERSIONS", item, parent)
                self.classes(item.items, parent & field.versions)
            elif field.versions and parent and not parent & field.versions:
                _disjoint("FIELD_NO_COMMON_VERSIONS", item, parent)
            elif field.type == "records" and field.tag is not None and parent & field.tagged_versions:
                item.json.add("TAGGED_RECORDS", "records cannot be tagged", "type")
            elif field.type == "[]records" and parent & field.versions:
                item.json.add("RECORDS_ARRAY", "records cannot be the elements of an array", "type")

    def schemas(self, name: str, parent: Versions, depth: int = 0) -> None:
        """Set the first version that has a schema, for a struct and the structs of its fields."""
        if name in self.first or depth > MAX_NESTING:
            return
        self.first[name] = None
        versions = parent & self.versions[name]
        structs = [item for item in self.items[name] if item.spec.struct_name]
        for item in structs:
            self.schemas(item.spec.struct_name or "", versions, depth + 1)
        for item in structs:
            self._has_schema(item, versions, name)
        self.first[name] = versions.low if versions else None

    def _has_schema(self, item: Item, versions: Versions, inside: str) -> None:
        used = versions & item.spec.versions
        name = item.spec.struct_name or ""
        first = self.first.get(name)
        if name == inside and used.low > versions.low:
            first = versions.low
        if used and (first is None or first > used.low):
            begins = "has no version here" if first is None else f"begins with version {first}"
            text = f"the field begins with version {used.low}, but {name} {begins}"
            item.json.add("STRUCT_USED_EARLY", text)


def _disjoint(rule: str, item: Item, parent: Versions) -> None:
    item.json.add(rule, f"{item.spec.versions} and {parent}, of what it is in, have no version in common")
