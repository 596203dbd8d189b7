"""The cost of a change of a definition: the same values are written in the old and the new form, and sizes compared.

The values are defaults, defaults with one element in each array, and these with one tagged field set. A definition has
no typical values, so these three give the smallest cost of the change. Values of real messages can be priced too.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.costs.carrying import with_value
from kwire_cli.analysis.costs.forms import Form
from kwire_cli.analysis.costs.prices import price
from kwire_cli.spec.evolution.layout import Stretches, layout_at
from kwire_cli.spec.model import ZERO_UUID, default_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.analysis.costs.prices import Price
    from kwire_cli.spec.evolution.layout import FieldAt, StructAt
    from kwire_cli.spec.model import MessageSpec


class Cost(NamedTuple):
    """The price of values in the old and the new form. Each price contains the values that the form lost.

    `values` is one of `default` (empty arrays and strings), `one element each` (one element in every mandatory array),
    and `set` (the same with one tagged field set). `path` is the path of the tagged field that is set, and `when_set`
    the number of bytes that setting it adds to the new form.
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


def costs(old: Form, new: Form, renamed: Mapping[str, str] | None = None) -> Iterator[Cost]:
    """Yield the prices of default values to compare between two forms.

    The default values of each side are priced with empty arrays, with one element in each array, and with each field
    that only the new form tags, set to its smallest value other than the default. `renamed` maps paths of the old
    definition to paths of the new definition, for fields that were renamed.
    """
    yield Cost("default", price(old, {}), price(new, {}))
    before = layout_at(old.spec, old.version)
    after = layout_at(new.spec, new.version)
    if one_element(before) or one_element(after):
        yield Cost("one element each", price(old, one_element(before)), price(new, one_element(after)))
    former = {(renamed or {}).get(path, path): (path, field) for path, field in _fields(before)}
    inside: tuple[str, ...] = ()
    for path, field in _fields(after) if new.is_flexible else ():
        old_path, old_field = former.get(path, ("", None))
        if field.tag is None or path.startswith(inside) or (old_field and old_field.tag is not None):
            continue
        inside += (f"{path}.", f"{path}[].")
        value = _smallest_value(field)
        unset = one_element(after, path.split("."))
        when_set = price(new, with_value(unset, path.split("."), value))
        around = price(new, unset).size
        before_set = one_element(before, old_path.split("."))
        if old_field:
            before_set = with_value(before_set, old_path.split("."), value)
        added = None if around is None or when_set.size is None else when_set.size - around
        yield Cost("set", price(old, before_set), when_set, path, added)


def one_element(struct: StructAt, path: Sequence[str] = ()) -> dict[str, Any]:
    """Return the values of a struct with one element in each mandatory array.

    The structs above the field at `path` are present, even if they are tagged or nullable. Other fields are left out,
    so they have their default.
    """
    out: dict[str, Any] = {}
    for field in (*struct.plain, *struct.tagged):
        name = field.spec.json_name
        is_above = len(path) > 1 and path[0].removesuffix("[]") == name
        if field.tag is not None and not is_above:
            continue
        inner = one_element(field.struct, path[1:] if is_above else ()) if field.struct else None
        if field.spec.is_array:
            out[name] = [_element(field) if inner is None else inner]
        elif inner is not None and (is_above or (inner and not field.nullable)):
            out[name] = inner
    return out


def _fields(struct: StructAt, above: str = "") -> Iterator[tuple[str, FieldAt]]:
    """Yield each field of a struct, and of the structs in it, with its path."""
    for field in (*struct.plain, *struct.tagged):
        path = f"{above}{field.spec.json_name}"
        yield path, field
        if field.struct:
            yield from _fields(field.struct, f"{path}{'[]' * field.spec.is_array}.")


def _smallest_value(field: FieldAt) -> Any:
    """Return the smallest value of a field that is not its default."""
    if field.default is not None and field.nullable:
        return None
    if field.spec.is_array:
        return [] if field.default is None else [one_element(field.struct) if field.struct else _element(field)]
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
