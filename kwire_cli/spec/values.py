"""Names of values: the lists of specs/enums.json, by the field that holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cli.spec.model import FieldSpec, MessageSpec


class Enums:
    """Lists of named values, found by the path of a field: MetadataResponse.Topics.TopicAuthorizedOperations, in any case."""

    def __init__(self, lists: Mapping[str, Mapping[str, Any]]) -> None:
        self._values: dict[str, dict[str, str]] = {}
        self._bits: dict[str, dict[str, str]] = {}
        for row in lists.values():
            for key, table in (("fields", self._values), ("bitSetFields", self._bits)):
                for path in row.get(key, ()):
                    table.setdefault(path.lower(), {}).update(row["values"])

    def name(self, path: str, value: int | str | bool) -> str | None:  # noqa: FBT001 - a field's value may be one
        """The name of a value of the field at `path`, if it has one; of a bit set the names of its bits, joined by |."""
        code = str(value).lower() if isinstance(value, bool) else str(value)
        name = self._values.get(path.lower(), {}).get(code)
        if name:
            # The name of a state that is itself a text ("Stable", STABLE) says nothing new.
            return None if isinstance(value, str) and name.replace("_", "").lower() == value.replace("_", "").lower() else name
        bits = self._bits.get(path.lower())
        return _bit_names(bits, value) if bits and isinstance(value, int) else None


def field_at(spec: MessageSpec, path: str) -> FieldSpec | None:
    """The field at a path without indexes (Topics.Partitions.ErrorCode), in any case."""
    fields, found = spec.fields, None
    for name in path.lower().split("."):
        found = next((field for field in fields if field.name.lower() == name), None)
        if not found:
            return None
        fields = spec.struct_fields(found)
    return found


def _bit_names(bits: Mapping[str, str], value: int) -> str | None:
    names = [name for code, name in bits.items() if value >> int(code) & 1]
    rest = value & 0xFFFFFFFF & ~sum(1 << int(code) for code in bits)
    return "|".join([*names, f"0x{rest:x}"] if rest else names) or None
