"""Conversion of a message's values to a form, which is a version of a definition.

A walk over the definition removes values that the form has no field for, and adds missing fields with their defaults.
Lost values are counted by path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.extremes import extreme
from kwire_cli.analysis.costs.forms import Form
from kwire_cli.errors import EncodeError
from kwire_cli.message.decoded import LOSSLESS_KEY
from kwire_cli.spec.evolution.layout import tagged_at
from kwire_cli.spec.model import default_value
from kwire_cli.spec.reading import ENCODABLE_TYPES, element_encoding_at, encoding_at
from kwire_cli.structs.composites import SIZE_SUFFIX, UNKNOWN_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire_cli.spec.model import FieldSpec, MessageSpec

_EMPTY: dict[str, Any] = {"string": "", "bytes": "", "records": ""}


class Misfit(NamedTuple):
    """Values that a form has no field for.

    `path` has no indexes. `value` is the first value. Kafka drops lost values of `ignorable` fields, and refuses to
    write other lost values.
    """

    path: str
    number: int
    value: Any
    ignorable: bool = False


def count_misfits(into: dict[str, Misfit], found: Iterable[Misfit]) -> None:
    """Add misfits to `into`, which contains the misfits by path."""
    for one in found:
        previous = into.get(one.path)
        into[one.path] = previous._replace(number=previous.number + one.number) if previous else one


class Carried(NamedTuple):
    """The values that a form can write, and the values that it lost."""

    value: Any
    lost: tuple[Misfit, ...]


def carried(form: Form, value: Any) -> Carried:
    """Return the values of a message in the form `form`. The values are in JSON form and may be of any version.

    Keys that no version of the definition has are kept, and so are values that should be an object or list and are
    not. The writer reports both as errors.
    """
    walk = _Walk(form)
    own = walk.renamed(value, "") if form.foreign or form.names else value
    for steps, new in form.assumed.items():
        own = with_value(own, steps, new)
    return Carried(walk.struct(form.spec.fields, own, ""), tuple(walk.lost.values()))


def with_value(value: Any, steps: Sequence[str], new: Any) -> Any:
    """Return values in JSON form with a new field in every struct of a path. Null structs and arrays stay null."""
    if isinstance(value, list):
        return [with_value(item, steps, new) for item in value]
    if not isinstance(value, dict):
        return value
    name = steps[0].removesuffix("[]")
    if len(steps) == 1:
        return {**value, name: new}
    return {**value, name: with_value(value[name], steps[1:], new)} if name in value else value


def with_defaults(spec: MessageSpec, value: Any, version: int) -> Any:
    """Return the values of a message with defaults for missing fields.

    Raises EncodeError for a value that the version has no field for, unless Kafka drops the value. Values in the
    lossless form are complete and returned unchanged.
    """
    if version not in spec.valid_versions or (isinstance(value, dict) and LOSSLESS_KEY in value):
        return value
    fit = carried(Form(f"version {version}", spec, version), value)
    for loss in fit.lost:
        if not loss.ignorable:
            lost = "null" if loss.value is None else "this value"
            raise EncodeError(f"version {version} has no place for {lost}", path=loss.path, value=loss.value)
    return fit.value


class _Walk:
    """A walk over the values of a message, with the lost values by path."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.lost: dict[str, Misfit] = {}

    def renamed(self, value: Any, path: str) -> Any:
        """Return the values of another definition under the field names of the form, without those of other fields."""
        if isinstance(value, list):
            return [self.renamed(item, f"{path}[]") for item in value]
        if not isinstance(value, dict):
            return value
        out = {}
        for key, part in value.items():
            where = f"{path}.{key}" if path else key
            if where in self.form.foreign:
                self.lose(where, part)
            else:
                out[self.form.names.get(where, key)] = self.renamed(part, where)
        return out

    def struct(self, fields: Sequence[FieldSpec], value: Any, path: str) -> Any:
        """Return the values of a struct."""
        if not isinstance(value, dict):
            return value
        steps, names = self.steps(fields)
        out = {key: part for key, part in value.items() if key not in names}
        for field, name, exists, is_optional in steps:
            where = f"{path}.{name}" if path else name
            if exists and name in value:
                out[name] = self.field(field, value[name], where)
            elif exists and not is_optional and name + SIZE_SUFFIX not in value:
                out[name] = self.default(field)
            elif not exists and name in value and not _is_default(self.form.spec, field, value[name]):
                self.lose(where, value[name], ignorable=field.ignorable)
            if self.form.case and name in out and field.element_type in ENCODABLE_TYPES:
                out[name] = self.extreme(field, out[name], self.form.case)
        tags = out.get(UNKNOWN_KEY)
        if tags and isinstance(tags, list):  # the writer refuses anything else
            out[UNKNOWN_KEY] = self.unknown_tags(fields, tags, f"{path}.{UNKNOWN_KEY}" if path else UNKNOWN_KEY)
            if not out[UNKNOWN_KEY]:
                del out[UNKNOWN_KEY]
        return out

    def steps(self, fields: Sequence[FieldSpec]) -> tuple[Any, ...]:
        """Return the fields of a struct, and the set of all their keys.

        Each field comes with its key, whether it exists in this form, and whether it may be left out.
        """
        cached = self.form.known.get(id(fields))
        if cached is None:
            spec = self.form.spec
            version = self.form.version
            names = [field.json_name for field in fields]
            rows = [
                (field, name, version in field.versions, tagged_at(spec, field, version))
                for field, name in zip(fields, names, strict=True)
            ]
            cached = self.form.known[id(fields)] = (rows, frozenset(names))
        return cached

    def lose(self, path: str, value: Any, *, ignorable: bool = False) -> None:
        """Count a value that the form has no field for."""
        count_misfits(self.lost, [Misfit(path, 1, value, ignorable)])

    def field(self, field: FieldSpec, value: Any, path: str) -> Any:
        """Return the value of a field."""
        if value is None and not self.is_nullable(field):
            self.lose(path, None)
            return self.default(field)
        if not field.struct_name or value is None:
            return value
        subs = self.form.spec.struct_fields(field)
        if not field.is_array:
            return self.struct(subs, value, path)
        return [self.struct(subs, item, f"{path}[]") for item in value] if isinstance(value, list | tuple) else value

    def extreme(self, field: FieldSpec, value: Any, case: str) -> Any:
        """Return the best or the worst value of integers with a varint's encoding."""
        encoding = (element_encoding_at if field.is_array else encoding_at)(field, self.form.version)
        if not encoding or "packed" not in encoding:
            return value
        number = extreme(field.element_type, encoding, case)
        if field.is_array:
            return [number] * len(value) if isinstance(value, list | tuple) else value
        return number

    def is_nullable(self, field: FieldSpec) -> bool:
        """Return whether the field may be null in this form. It is True for numbers, whose writer refuses null."""
        can_be = field.is_array or field.struct_name or field.type in _EMPTY
        return not can_be or self.form.version in field.nullable_versions

    def default(self, field: FieldSpec) -> Any:
        """Return the value of a missing field.

        This is the default, or an empty value if the default is null and the field cannot be null.
        """
        value = _default(field)
        if value is None and not self.is_nullable(field):
            value = [] if field.is_array else {} if field.struct_name else _EMPTY[field.type]
        if value is None or not field.struct_name or field.is_array:
            return value
        return _Walk(self.form).struct(self.form.spec.struct_fields(field), {}, "")

    def unknown_tags(self, fields: Sequence[FieldSpec], tags: list[Any], path: str) -> list[Any]:
        """Return the unknown tags that the form can write.

        An inflexible form cannot write any tags. A flexible form cannot write a tag with the number of a field.
        """
        taken = {field.tag for field in fields if field.tag is not None}
        kept = []
        for tag in tags:
            if self.form.is_flexible and not (isinstance(tag, dict) and tag.get("tag") in taken):
                kept.append(tag)
            else:
                self.lose(path, tag)
        return kept


def _default(field: FieldSpec) -> Any:
    return None if field.default == "null" else default_value(field)


def _is_default(spec: MessageSpec, field: FieldSpec, value: Any) -> bool:
    """Return whether a reader that lacks the field would assume this value."""
    if not field.struct_name or field.is_array or field.default == "null":
        return bool(value == _default(field))
    subs = {sub.json_name: sub for sub in spec.struct_fields(field)}
    return isinstance(value, dict) and all(
        key in subs and _is_default(spec, subs[key], part) for key, part in value.items()
    )
