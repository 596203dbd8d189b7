"""The cost of a change of a definition: values are written in the old and the new form, and the sizes compared.

A definition has no typical values, so default values give the smallest cost: with empty arrays, and with one element
in each array. Values of real messages can be priced too.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.forms import Form
from kwire_cli.analysis.costs.prices import price
from kwire_cli.spec.evolution.layout import Stretches, layout_at
from kwire_cli.spec.model import default_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.costs.prices import Price
    from kwire_cli.spec.evolution.layout import StructAt
    from kwire_cli.spec.model import MessageSpec


class Cost(NamedTuple):
    """The price of default values in the old and the new form: with empty arrays, or with one element in each array."""

    values: str
    old: Price
    new: Price

    @property
    def difference(self) -> int | None:
        """Return the number of additional bytes, or None if one of the two could not be written."""
        return None if self.old.size is None or self.new.size is None else self.new.size - self.old.size


def costs(old: Form, new: Form) -> Iterator[Cost]:
    """Yield the prices of the default values of each side, with empty arrays and with one element in each array."""
    yield Cost("default", price(old, {}), price(new, {}))
    before = one_element(layout_at(old.spec, old.version))
    after = one_element(layout_at(new.spec, new.version))
    if before or after:
        yield Cost("one element each", price(old, before), price(new, after))


def one_element(struct: StructAt) -> dict[str, Any]:
    """Return the values of a struct with one element in each mandatory array. Other fields are left out."""
    out: dict[str, Any] = {}
    for field in struct.plain:
        spec = field.spec
        inner = one_element(field.struct) if field.struct else None
        if spec.is_array:
            element = default_value(replace(spec, type=spec.element_type, default=None)) if inner is None else inner
            out[spec.json_name] = [element]
        elif inner and not field.nullable:
            out[spec.json_name] = inner
    return out


def forms_to_compare(old: MessageSpec, new: MessageSpec) -> Iterator[tuple[Form, Form]]:
    """Yield the pairs of forms of two definitions to compare.

    These are the versions whose layouts differ between the definitions, with one pair for adjacent versions with equal
    layouts. The highest versions of both follow if they differ.
    """
    stretches = Stretches(old), Stretches(new)
    for _, group in groupby(
        (old.valid_versions & new.valid_versions).each(), lambda version: [stretch.of(version) for stretch in stretches]
    ):
        first, *_ = versions = list(group)
        if layout_at(old, first).wire != layout_at(new, first).wire:
            which = f"version {first}" if len(versions) == 1 else f"versions {first}-{versions[-1]}"
            yield Form(f"the old {which}", old, first), Form(f"the new {which}", new, first)
    before = old.valid_versions.high
    after = new.valid_versions.high
    if old.valid_versions and new.valid_versions and before != after:
        yield Form(f"the old version {before}", old, before), Form(f"the new version {after}", new, after)
