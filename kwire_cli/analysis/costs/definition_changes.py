"""Messages under a changed definition: their current form, and their forms after the change.

A message is priced at its own version if the change affects the layout of that version. Otherwise it is priced at the
highest version of both definitions, as programs that know the change would use.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.costs.forms import PLAIN, TAGGED, Form, form_of
from kwire_cli.analysis.costs.prices import Prices
from kwire_cli.spec.evolution.layout import layout_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.evolution.changes import Change
    from kwire_cli.spec.model import FieldSpec, MessageSpec

AS_IS = "as is"
PROPOSED = "proposed"


class ChangedDefinition(NamedTuple):
    """The old and the new definition of a message, and the new paths of renamed fields by their old paths.

    `added` contains new fields by path, if they are written both plain and tagged. `versions` specifies two versions to
    compare, if both definitions are the same.
    """

    old: MessageSpec
    new: MessageSpec
    renamed: Mapping[str, str]
    added: Mapping[str, FieldSpec] = MappingProxyType({})
    versions: tuple[int, int] | None = None

    def forms(self, version: int) -> list[Form]:
        """Return the current form of a message, and the new forms if the change affects this version.

        The new form is PROPOSED. With new fields, there are two forms: PLAIN, and TAGGED if the message has flexible
        versions.
        """
        versions = self.versions or self._compared(version)
        if not versions:
            return [Form(AS_IS, self.old, version)]
        forms = [Form(PROPOSED, self.new, versions[1])]
        if self.added:
            names = (PLAIN, *[TAGGED] * bool(self.new.flexible_versions))
            forms = [form_of(name, self.new, versions[1], self.added) for name in names]
        new_names = {path: new_path.rpartition(".")[2] for path, new_path in self.renamed.items()}
        old_names = {new_path: path.rpartition(".")[2] for path, new_path in self.renamed.items()}
        as_is = Form(AS_IS, self.old, versions[0], source=self.new, names=old_names)
        return [as_is, *(replace(form, source=self.old, names=new_names) for form in forms)]

    def _compared(self, version: int) -> tuple[int, int] | None:
        """Return the versions at which a message is priced, or None if the change does not affect it."""
        before = self.old.valid_versions
        after = self.new.valid_versions
        if self.new is self.old:
            return None
        known = version in before and version in after
        if known and layout_at(self.old, version).wire != layout_at(self.new, version).wire:
            return version, version
        return (before.high, after.high) if before and after and (before.high != after.high or not known) else None


def renamed_fields(changes: Iterable[Change]) -> dict[str, str]:
    """Return the new paths of renamed fields by their old paths."""
    return {change.old_path: change.path for change in changes if change.kind == "renamed" and change.path}


def price_traffic(changes: Mapping[str, ChangedDefinition], messages: Iterable[Decoded]) -> tuple[Prices, int]:
    """Return the prices of messages in the old and the new form, and the number of unaffected messages.

    `changes` contains changed definitions by the names of messages, whose values may belong to either definition.
    """

    def forms_of(spec: MessageSpec, version: int) -> Sequence[Form]:
        forms = changes[spec.name].forms(version) if spec.name in changes else ()
        return forms if len(forms) > 1 else ()

    prices = Prices(forms_of)
    return prices, sum(not prices.add(decoded) for decoded in messages)
