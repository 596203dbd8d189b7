"""What a change of a definition costs: the same values written before and after it."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.cost.forms.model import Form, Loss
from kwire_cli.cost.forms.pricing import price
from kwire_cli.spec.changing import fields_by_path
from kwire_cli.spec.defaults import default_value
from kwire_cli.spec.evolution.layout import layout_at
from kwire_cli.spec.evolution.stretches import Stretches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kwire_cli.cost.forms.model import Price
    from kwire_cli.spec.evolution.layout import FieldAt, StructAt
    from kwire_cli.spec.model import MessageSpec


VALUES = ("default", "one element each", "given")
"""Default values, arrays and texts empty; the same with one element in every mandatory array; and values that somebody gave."""


class Cost(NamedTuple):
    """The price of values (one of VALUES) before and after; what either can't carry is in its price."""

    values: str
    old: Price
    new: Price

    @property
    def difference(self) -> int | None:
        """How many bytes more; None where one of them could not be written."""
        return None if self.old.size is None or self.new.size is None else self.new.size - self.old.size


def costs(old: Form, new: Form, given: Any = None, renamed: Mapping[str, str] | None = None) -> list[Cost]:
    """What there is to price of two forms: default values on each side, with arrays empty and with one element each, and values in JSON form.

    The values are of either definition; `renamed` are the paths of the new one by those of the old one that are the same fields.
    """
    found = [Cost("default", price(old, {}), price(new, {}))]
    one_each = [_one_each(layout_at(form.spec, form.version)) for form in (old, new)]
    if any(one_each):
        found.append(Cost("one element each", price(old, one_each[0]), price(new, one_each[1])))
    if given is None:
        return found
    names = {path: new_path.rpartition(".")[2] for path, new_path in (renamed or {}).items()}
    back = {new_path: path.rpartition(".")[2] for path, new_path in (renamed or {}).items()}
    return [*found, Cost("given", _price_given(old, new, given, back), _price_given(new, old, given, names))]


def _price_given(form: Form, other: Form, given: Any, names: Mapping[str, str]) -> Price:
    """The price of values that may be those of another definition: what only that one has a field for can't be carried."""
    here, there = ({path for path, _ in fields_by_path(spec)} for spec in (form.spec, other.spec))
    lost: dict[str, Loss] = {}

    def fitted(value: Any, path: str) -> Any:
        if isinstance(value, list):
            return [fitted(item, f"{path}[]") for item in value]
        if not isinstance(value, dict):
            return value
        out = {}
        for key, part in value.items():
            where = f"{path}.{key}" if path else key
            if where in there and where not in here and where not in names:
                known = lost.get(where)
                lost[where] = Loss(where, known.number + 1, known.value, ignorable=False) if known else Loss(where, 1, part, ignorable=False)
            else:
                out[names.get(where, key)] = fitted(part, where)
        return out

    found = price(form, fitted(given, ""))
    return replace(found, lost=(*lost.values(), *found.lost))


def _one_each(struct: StructAt) -> dict[str, Any]:
    """The mandatory arrays of a struct, each with one element of default values; what is not here is at its default too."""
    out: dict[str, Any] = {}
    for field in struct.plain:
        inner = _one_each(field.struct) if field.struct else None
        if field.spec.is_array:
            out[field.spec.json_name] = [_element(field) if inner is None else inner]
        elif inner and not field.nullable:
            out[field.spec.json_name] = inner
    return out


def _element(field: FieldAt) -> Any:
    return default_value(replace(field.spec, type=field.spec.element_type, default=None))


def forms_to_compare(old: MessageSpec, new: MessageSpec) -> Iterator[tuple[Form, Form]]:
    """Of two definitions: the versions with other layouts in one than in the other, once for those that are alike; then the highest of both."""
    stretches = Stretches(old), Stretches(new)
    for _, group in groupby((old.valid_versions & new.valid_versions).each(), lambda version: [each.of(version) for each in stretches]):
        first, *_ = versions = list(group)
        if layout_at(old, first).wire != layout_at(new, first).wire:
            which = f"version {first}" if len(versions) == 1 else f"versions {first}-{versions[-1]}"
            yield Form(f"the old {which}", old, first), Form(f"the new {which}", new, first)
    before, after = old.valid_versions.high, new.valid_versions.high
    if old.valid_versions and new.valid_versions and before != after:
        yield Form(f"the old version {before}", old, before), Form(f"the new version {after}", new, after)
