"""The size of real messages before and after a change of their definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.costs.definition_costs import sides
from kwire_cli.analysis.costs.forms import Form
from kwire_cli.analysis.costs.prices import Prices
from kwire_cli.spec.evolution.layout import layout_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire_cli.analysis.costs.prices import Total
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.model import MessageSpec


def compared_versions(old: MessageSpec, new: MessageSpec, version: int) -> tuple[int, int] | None:
    """Return the versions of two definitions at which a message of `version` is priced.

    Both are `version` if the layout of that version changed, else the highest versions if these differ. Return None if
    the change does not affect the message.
    """
    before = old.valid_versions
    after = new.valid_versions
    known = version in before and version in after
    if known and layout_at(old, version).wire != layout_at(new, version).wire:
        return version, version
    return (before.high, after.high) if before and after and (before.high != after.high or not known) else None


class Change:
    """A changed message, and its traffic in the old and the new form.

    A message of a version whose layout changed is priced at this version in both forms. Any other message is priced at
    the highest versions of both definitions, if these differ. `versions` specifies two versions of one definition to
    compare instead.
    """

    def __init__(
        self,
        old: MessageSpec,
        new: MessageSpec,
        renamed: Mapping[str, str] | None = None,
        versions: tuple[int, int] | None = None,
    ) -> None:
        self._old = old
        self._new = new
        self._renamed = renamed
        self._fixed = versions
        self._prices = Prices(self._sides)

    def add(self, decoded: Decoded) -> bool:
        """Add a completely decoded message. Return False if the change does not affect its version."""
        return self._prices.add(decoded)

    def _sides(self, _: MessageSpec, version: int) -> Sequence[Form]:
        versions = self._fixed or compared_versions(self._old, self._new, version)
        if versions is None:
            return ()
        return sides(Form("before", self._old, versions[0]), Form("after", self._new, versions[1]), self._renamed)

    @property
    def traffic(self) -> list[tuple[Total, Total]]:
        """Return the totals before and after, in the order of the compared versions."""
        found = self._prices.found
        return [(found[key].totals["before"], found[key].totals["after"]) for key in sorted(found)]


def price_traffic(changes: Mapping[str, Change], messages: Iterable[Decoded]) -> int:
    """Add messages to the changes of their definitions, by name. Return the number of unaffected messages."""
    return sum(not (change := changes.get(decoded.message)) or not change.add(decoded) for decoded in messages)
