"""The names that fields have in any definition of a catalogue: what a path of a field can be made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec

_MOSTLY = ("header", "response", "request")
"""Where the names are that people ask for."""


class FieldNames:
    """The names of the fields of all headers and messages, in JSON form. Definitions are read until one has the name that is asked for."""

    def __init__(self, catalog: Catalog) -> None:
        self._found: set[str] = set()
        in_order = sorted(catalog, key=lambda entry: _MOSTLY.index(entry.type) if entry.type in _MOSTLY else len(_MOSTLY))
        self._unread = (catalog.message(entry.name) for entry in in_order)

    def __contains__(self, name: str) -> bool:
        return name in self._found or any(name in self._add(spec) for spec in self._unread)

    def __iter__(self) -> Iterator[str]:
        for spec in self._unread:
            self._add(spec)
        return iter(sorted(self._found))

    def _add(self, spec: MessageSpec) -> set[str]:
        waiting: list[FieldSpec] = [*spec.fields, *(field for struct in spec.common_structs for field in struct.fields)]
        while waiting:
            field = waiting.pop()
            self._found.add(field.json_name)
            waiting += field.fields
        return self._found
