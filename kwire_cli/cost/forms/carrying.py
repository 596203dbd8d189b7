"""A message's values made to fit a form: what it has no place for is taken out, what it needs beside them is put in at its default; both are told."""

from __future__ import annotations

from dataclasses import dataclass, field as dataclass_field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.cost.forms.model import Filled, Form, Loss
from kwire_cli.spec.defaults import default_value
from kwire_cli.structs.tags import UNKNOWN_KEY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.spec.model import FieldSpec

_EMPTY: dict[str, Any] = {"string": "", "bytes": "", "records": ""}


class Carried(NamedTuple):
    """The values that a form can write, those that it can't, and the fields that it needs and the values lack."""

    value: Any
    lost: tuple[Loss, ...]
    filled: tuple[Filled, ...]


def carried(form: Form, value: Any) -> Carried:
    """The values of a message (in JSON form, of whatever version) as `form` can carry them.

    A key that no version of the definition has stays where it is: writing refuses it, as it does what is no object or list.
    """
    walk = _Walk(form)
    made = walk.struct(form.spec.fields, value, "")
    return Carried(made, tuple(walk.lost.values()), tuple(walk.filled.values()))


@dataclass
class _Walk:
    form: Form
    lost: dict[str, Loss] = dataclass_field(default_factory=dict)
    filled: dict[str, Filled] = dataclass_field(default_factory=dict)

    def struct(self, fields: Sequence[FieldSpec], value: Any, path: str) -> Any:
        """The values of a struct."""
        if not isinstance(value, dict):
            return value
        steps, names = self.steps(fields)
        out = {key: part for key, part in value.items() if key not in names}
        for field, name, here, left_out in steps:
            where = f"{path}.{name}" if path else name
            if not here:
                if name in value and not self.is_default(field, value[name]):
                    self.lose(where, value[name], ignorable=field.ignorable)
            elif name in value:
                out[name] = self.field(field, value[name], where)
            elif not left_out:
                out[name] = self.default(field)
                self.filled[where] = Filled(where, self.filled[where].number + 1 if where in self.filled else 1, out[name])
        if out.get(UNKNOWN_KEY):
            self.unknown_tags(fields, out, path)
        return out

    def steps(self, fields: Sequence[FieldSpec]) -> tuple[Any, ...]:
        """The fields of a struct, each with its key, whether it is there in this form and whether it may be left out; and all keys."""
        known = self.form.known.get(id(fields))
        if known is None:
            rows = [(field, field.json_name, self.form.version in field.versions, self.form.tagged(field)) for field in fields]
            known = self.form.known[id(fields)] = (rows, frozenset(field.json_name for field in fields))
        return known

    def lose(self, path: str, value: Any, *, ignorable: bool) -> None:
        """Note a value that has no place."""
        known = self.lost.get(path)
        self.lost[path] = known._replace(number=known.number + 1) if known else Loss(path, 1, value, ignorable)

    def field(self, field: FieldSpec, value: Any, path: str) -> Any:
        """The value of a field."""
        if value is None and not self.nullable(field):
            self.lose(path, None, ignorable=False)
            return self.default(field)
        if not field.struct_name or value is None:
            return value
        subs = self.form.spec.struct_fields(field)
        if not field.is_array:
            return self.struct(subs, value, path)
        return [self.struct(subs, item, f"{path}[]") for item in value] if isinstance(value, list | tuple) else value

    def nullable(self, field: FieldSpec) -> bool:
        """Whether null is a value of this field here; of a number it is the declaration's to refuse."""
        can_be = field.is_array or field.struct_name or field.type in _EMPTY
        return not can_be or self.form.version in field.nullable_versions

    def default(self, field: FieldSpec) -> Any:
        """What stands where nothing was given; what is empty where that is null and can't be."""
        value = None if field.default == "null" else default_value(field)
        if value is None and not self.nullable(field):
            value = [] if field.is_array else {} if field.struct_name else _EMPTY[field.type]
        if value is None or not field.struct_name or field.is_array:
            return value
        return _Walk(self.form).struct(self.form.spec.struct_fields(field), {}, "")

    def is_default(self, field: FieldSpec, value: Any) -> bool:
        """Whether leaving the value away says the same."""
        if field.struct_name and not field.is_array and isinstance(value, dict) and field.default != "null":
            subs = {sub.json_name: sub for sub in self.form.spec.struct_fields(field)}
            return all(key in subs and self.is_default(subs[key], part) for key, part in value.items())
        if field.struct_name and not field.is_array and field.default != "null":
            return False
        return bool(value == (None if field.default == "null" else default_value(field)))

    def unknown_tags(self, fields: Sequence[FieldSpec], out: dict[str, Any], path: str) -> None:
        """Take out the unknown tags that can't stand here: all in an inflexible form, and those whose number a field has."""
        given = out[UNKNOWN_KEY]
        taken = {field.tag for field in fields if field.tag is not None}
        keeps = [
            self.form.is_flexible and not (isinstance(tag, dict) and tag.get("tag") in taken) for tag in (given if isinstance(given, list) else [])
        ]
        if all(keeps):
            return  # also what is no list: writing refuses it
        where = f"{path}.{UNKNOWN_KEY}" if path else UNKNOWN_KEY
        for tag in (tag for tag, keep in zip(given, keeps, strict=True) if not keep):
            self.lose(where, tag, ignorable=False)
        out[UNKNOWN_KEY] = [tag for tag, keep in zip(given, keeps, strict=True) if keep]
        if not out[UNKNOWN_KEY]:
            del out[UNKNOWN_KEY]
