"""The cost of a change of a definition: the same values are written in the old and the new form, and sizes compared.

The values are defaults, defaults with one element in each array, and these with one tagged field set. A definition has
no typical values, so these three give the smallest cost of the change. Values of real messages can be priced too.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.forms import Form
from kwire_cli.analysis.costs.prices import price
from kwire_cli.spec.evolution.layout import Stretches, layout_at
from kwire_cli.spec.model import ZERO_UUID, default_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.analysis.costs.prices import Price
    from kwire_cli.spec.evolution.layout import FieldAt, StructAt
    from kwire_cli.spec.model import MessageSpec


Chain = tuple["FieldAt", ...]
"""The fields from a message down to one of them."""


class Cost(NamedTuple):
    """The price of values in the old and the new form. Each price contains the values that the form lost.

    `values` is one of `default` (empty arrays and strings), `one element each` (one element in every mandatory array),
    `set` (the same with one tagged field set), and `given` (the values of a message). `path` is the path of the tagged
    field that is set, and `when_set` the number of bytes that setting it adds to the new form.
    """

    values: str
    old: Price
    new: Price
    path: str | None = None
    when_set: int | None = None

    @property
    def difference(self) -> int | None:
        """Return the number of additional bytes, or None if one of the two could not be written."""
        return None if self.old.size is None or self.new.size is None else self.new.size - self.old.size


def costs(old: Form, new: Form, renamed: Mapping[str, str] | None = None) -> list[Cost]:
    """Return the prices of default values to compare between two forms.

    The default values of each side are priced with empty arrays, with one element in each array, and with each field
    that only the new form tags, set to its smallest value other than the default. `renamed` maps paths of the old
    definition to paths of the new definition, for fields that were renamed.
    """
    cost_rows = [Cost("default", price(old, {}), price(new, {}))]
    before = layout_at(old.spec, old.version)
    after = layout_at(new.spec, new.version)
    one_each = _one_each(before), _one_each(after)
    if any(one_each):
        cost_rows.append(Cost("one element each", price(old, one_each[0]), price(new, one_each[1])))
    for field in set_fields(new, before, renamed):
        old_price = price(old, _one_each(before, field.former, field.value))
        cost_rows.append(Cost("set", old_price, field.price, field.path, field.size))
    return cost_rows


class SetField(NamedTuple):
    """A tagged field that is set to `value`, and the price of a message in which no other tagged field is set.

    `size` is the number of bytes that setting the field adds, or None if the message cannot be written. `former` is
    the field in the old layout.
    """

    path: str
    former: Chain
    value: Any
    price: Price
    size: int | None


def set_fields(
    form: Form, before: StructAt | None = None, renamed: Mapping[str, str] | None = None
) -> Iterator[SetField]:
    """Yield each tagged field of a form, set to its smallest value other than the default.

    The rest of the message has default values, with one element in each array and with the structs around the field.
    With a layout `before`, yield only the fields that are not tagged in it.
    """
    if not form.is_flexible:
        return
    layout = layout_at(form.spec, form.version)
    without = price(form, _one_each(layout)).size
    for path, former, chain in _newly_tagged(layout, before, renamed or {}):
        smallest = _smallest_value(chain[-1])
        around = _values_with_structs(layout, chain)
        unset = without if around is None else price(form, around).size
        priced = price(form, _one_each(layout, chain, smallest))
        size = None if unset is None or priced.size is None else priced.size - unset
        yield SetField(path, former, smallest, priced, size)


def _one_each(struct: StructAt, chain: Sequence[FieldAt] = (), value: Any = None) -> dict[str, Any]:
    """Return the values of a struct with one element in each mandatory array, and with the last field of `chain` set.

    `chain` contains the fields from the struct down to the field that gets `value`. Fields that are left out have
    their default.
    """
    out: dict[str, Any] = {}
    chosen, rest = (chain[0], chain[1:]) if chain else (None, ())
    for field in (*struct.plain, *struct.tagged):
        is_chosen = field is chosen
        if field.tag is not None and not is_chosen:
            continue
        inner = _one_each(field.struct, rest if is_chosen else (), value) if field.struct else None
        if is_chosen and not rest:
            out[field.spec.json_name] = value
        elif field.spec.is_array:
            out[field.spec.json_name] = [_element(field) if inner is None else inner]
        elif inner and (is_chosen or not field.nullable):
            out[field.spec.json_name] = inner
    return out


def _values_with_structs(layout: StructAt, chain: Chain) -> dict[str, Any] | None:
    """Return the values of a message that contains all structs above the last field of `chain`, and not the field.

    Structs that are null by default are present in these values. Return None if none of the structs is nullable: then
    the default values contain them already.
    """
    nullable = [number for number, field in enumerate(chain[:-1]) if field.nullable and not field.spec.is_array]
    if not nullable:
        return None
    above = chain[: nullable[-1] + 1]
    return _one_each(layout, above, _one_each(above[-1].struct) if above[-1].struct else {})


def _chains(struct: StructAt, prefix: str = "", above: Chain = ()) -> Iterator[tuple[str, Chain]]:
    """Yield each field of a struct, and of the structs in it, with its path."""
    for field in (*struct.plain, *struct.tagged):
        path = f"{prefix}{field.spec.json_name}"
        chain = (*above, field)
        yield path, chain
        if field.struct:
            yield from _chains(field.struct, f"{path}{'[]' if field.spec.is_array else ''}.", chain)


def _newly_tagged(
    after: StructAt, before: StructAt | None, renamed: Mapping[str, str]
) -> Iterator[tuple[str, Chain, Chain]]:
    """Yield the fields that are tagged in the layout `after` and not in `before`.

    Each comes with its path and the old field, if one exists. Fields inside a tagged field are not yielded separately.
    """
    by_path = {renamed.get(path, path): chain for path, chain in _chains(before)} if before else {}
    inside: tuple[str, ...] = ()
    for path, chain in _chains(after):
        former = by_path.get(path, ())
        if chain[-1].tag is None or path.startswith(inside) or (former and former[-1].tag is not None):
            continue
        inside += (f"{path}.", f"{path}[].")
        yield path, former, chain


def _smallest_value(field: FieldAt) -> Any:
    """Return the smallest value of a field that is not its default."""
    if field.default is not None and field.nullable:
        return None
    if field.spec.is_array:
        return [] if field.default is None else [_one_each(field.struct) if field.struct else _element(field)]
    if field.struct:
        subs = (*field.struct.plain, *field.struct.tagged)
        sub = min(subs, key=lambda sub: sub.compact is not None or sub.struct is not None, default=None)
        return {} if field.default is None or sub is None else {sub.spec.json_name: _smallest_value(sub)}
    empty, other = _SMALLEST.get(field.spec.type, (0, 1))
    return other if field.default == empty else empty


_SMALLEST: dict[str, tuple[Any, Any]] = {
    "string": ("", "-"),
    "bytes": ("", "AA=="),
    "records": ("", "AA=="),
    "bool": (False, True),
    "uuid": (ZERO_UUID, f"{ZERO_UUID[:-1]}Q"),
}
"""The two smallest values of each type other than numbers: the empty or zero value, and the next one."""


def _element(field: FieldAt) -> Any:
    return default_value(replace(field.spec, type=field.spec.element_type, default=None))


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
