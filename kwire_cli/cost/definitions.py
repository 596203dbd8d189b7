"""What a change of a definition costs: the same values written before and after it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.cost.forms.model import Form
from kwire_cli.cost.forms.pricing import price
from kwire_cli.spec.defaults import default_value
from kwire_cli.spec.evolution.layout import layout_at

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def costs(old: Form, new: Form, given: Any = None) -> list[Cost]:
    """What there is to price of two forms: default values on each side, with arrays empty and with one element each, and values in JSON form."""
    found = [Cost("default", price(old, {}), price(new, {}))]
    one_each = [_one_each(layout_at(form.spec, form.version)) for form in (old, new)]
    if any(one_each):
        found.append(Cost("one element each", price(old, one_each[0]), price(new, one_each[1])))
    return found if given is None else [*found, Cost("given", price(old, given), price(new, given))]


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
    """Of two definitions: each version that both have under different layouts, then the highest of both where these are not one."""
    for version in (old.valid_versions & new.valid_versions).each():
        if layout_at(old, version).wire != layout_at(new, version).wire:
            yield Form(f"version {version}", old, version), Form(f"version {version}", new, version)
    before, after = old.valid_versions.high, new.valid_versions.high
    if old.valid_versions and new.valid_versions and before != after:
        yield Form(f"version {before}", old, before), Form(f"version {after}", new, after)
